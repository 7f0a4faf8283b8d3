"""What the quiz asks about the lesson *From an offset to bytes*."""

from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question
from minikafka.log.fetch_isolation import FetchIsolation


def bytes_of_a_cut_answer() -> int:
    """The bytes of an answer with a limit of 150 where batches have 95."""
    log = fresh_log()
    for number in range(4):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    if {batch.size_in_bytes for batch in log.active_segment.log.batches()} != {95}:
        raise AssertionError("the question speaks of other batches")
    return log.read(0, 150, FetchIsolation.LOG_END, min_one_message=True).records.size_in_bytes


def by_timestamp() -> int:
    """The offset found for second 3, where records are of seconds 0, 5, 2 and 3."""
    log = fresh_log()
    start = log.time.milliseconds()
    for second in (0, 5, 2, 3):
        log.append_as_leader(records(1, timestamp=start + 1000 * second), leader_epoch=0)
    return log.fetch_offset_by_timestamp(start + 3000).offset


QUESTIONS = (
    Question(
        COMPUTE,
        "How much",
        "Batches of 95 bytes, a limit of 150 bytes, `min_one_message`. How many bytes has the answer?",
        bytes_of_a_cut_answer,
        "The limit counts bytes and knows nothing of batches; the reader drops the piece at the end. The first batch"
        " alone may exceed the limit.",
        card="with a limit inside a batch | the bytes up to the limit",
    ),
    Question(
        CHOOSE,
        "By timestamp",
        "Offsets 0 to 3 have records of second 0, 5, 2 and 3. Which offset does a search for second 3 find?",
        by_timestamp,
        "The first, by offset, that is not older: it is of second 5.",
        {0: "0", 1: "1", 3: "3"},
        card="A search by time finds the first record, in the order of offsets, that is not older",
        replies={
            0: "It is older than second 3. The time index may lead there; the search goes on to a record that is not.",
            3: "It has exactly that timestamp, but a record before it is not older either.",
        },
    ),
)
