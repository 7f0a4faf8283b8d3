"""What the quiz asks about the lesson *Append*."""

from minikafka.lab.stage.producers import sent
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import CHOOSE, ORDER, Question, in_the_order_of
from minikafka.lab.teaching.quiz.small_runs import or_error


def steps_of_append() -> list[str]:
    """Five steps of an append on a leader, as a walk comes to them."""
    from minikafka.lab.stepper.stepper import step_through

    log = fresh_log()
    walk = step_through(log.append_as_leader, records(3), leader_epoch=0, into={"Log._append"})
    return in_the_order_of(
        walk, "Log._append", {"offsets": "5", "epoch": "6", "roll": "8", "producers": "9", "write": "10"}
    )


def follower_with_a_gap() -> str | int | None:
    """The end of an empty follower after a batch of two records from offset 20 on."""
    follower = fresh_log()
    return or_error(
        lambda: (follower.append_as_follower(sent("2x1 offset=20 leader_epoch=0"), 0), follower.log_end_offset)[1]
    )


QUESTIONS = (
    Question(
        ORDER,
        "On a leader",
        "A leader appends a batch. Bring these steps into their order.",
        steps_of_append,
        "Rolling and the new epoch come before the producers' check. That is why a refused append may leave an empty"
        " segment and an epoch without records.",
        {
            "write": "the bytes are written",
            "producers": "the producer's sequence is checked",
            "offsets": "the records get their offsets",
            "roll": "a new segment begins, if need be",
            "epoch": "a new leader's epoch is noted",
        },
        card="LogValidator: offsets from LEO on … 6 note a new leader epoch … 8 roll if it is full … 9 producers:"
        " epoch, sequence, … 10 write; LEO moves",
    ),
    Question(
        CHOOSE,
        "On a follower",
        "An empty follower is sent a batch with offsets 20 and 21. What then?",
        follower_with_a_gap,
        "A follower keeps its leader's offsets, and compaction leaves gaps.",
        {
            2: "it ends at 2: offsets are given anew",
            "UnexpectedAppendOffsetException": "`UnexpectedAppendOffsetException`: there is a gap",
            22: "it ends at 22",
        },
        card="A follower keeps its leader's offsets, and gaps are allowed … After an append LEO is the last offset + 1",
        replies={
            2: "A leader gives offsets. A follower keeps them, or the two logs would differ.",
            "UnexpectedAppendOffsetException": "That is for a batch that begins below the follower's own end.",
        },
    ),
)
