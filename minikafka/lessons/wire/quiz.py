"""What the quiz asks about the lesson *The wire*."""

from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question
from minikafka.lessons.wire.connection_lanes import ConnectionLanes
from minikafka.lessons.wire.session_boxes import FetchingReader


def answered_behind_a_fetch() -> int:
    """How many of three requests are answered while the first one, a fetch, waits."""
    lanes = ConnectionLanes().send("A", "fetch", "metadata", "metadata")
    return len(lanes.answers("A"))


def named_when_nothing_moved() -> int:
    """How many of three partitions an incremental fetch names whose reader got nothing new."""
    reader = FetchingReader(3)
    reader.fetch(0, 1, 2)
    return len(reader.fetch().named)


QUESTIONS = (
    Question(
        CHOOSE,
        "Who waits for whom",
        "A client sends a fetch that waits for records, and behind it two metadata requests, all over one connection."
        " How many answers does it have while no record comes?",
        answered_behind_a_fetch,
        "The connection is muted as long as the fetch is in work; the others lie unread.",
        {0: "none", 2: "two", 1: "one", 3: "three"},
        card="One request of a connection is in work; the connection is muted",
        replies={
            2: "The broker has not read them: the connection is muted.",
            1: "Which one should go first? They come behind the fetch.",
            3: "The fetch has nothing to answer with.",
        },
    ),
    Question(
        COMPUTE,
        "A fetch session",
        "A reader has three partitions in a session, and its full fetch brought no records. How many partitions does"
        " its next request name?",
        named_when_nothing_moved,
        "The broker remembers the partitions, and no offset has moved.",
        card="An incremental fetch names what is new, changed or forgotten",
    ),
)
