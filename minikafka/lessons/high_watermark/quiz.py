"""What the quiz asks about the lesson *High watermark*."""

from minikafka.lab.stage.producers import sent
from minikafka.lab.stage.workbench import fresh_log
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question
from minikafka.lab.teaching.quiz.small_runs import after

_FETCHES = """isr 1,2
append_as_leader [4x10]
append_as_leader [6x10]
fetch 1 4
fetch 2 0
fetch 1 10
fetch 2 4"""


def mark_after_fetches() -> int:
    """The leader's high watermark after the fetches."""
    return after(_FETCHES).high_watermark


_FETCH_FROM_BELOW = """isr 1,2
append_as_leader [6x10]
append_as_leader [2x10]
append_as_leader [2x10]
fetch 1 10
fetch 2 8
fetch 2 6"""


def told_above_the_end() -> int:
    """The high watermark of a follower that ends at 10 when its leader says 12."""
    follower = fresh_log()
    follower.append_as_follower(sent("10x10 offset=0 leader_epoch=0"), 0)
    follower.maybe_update_high_watermark(12)
    return follower.high_watermark


def mark_after_a_fetch_from_below() -> int:
    """The leader's high watermark after a follower has fetched from 8, and then from 6."""
    return after(_FETCH_FROM_BELOW).high_watermark


QUESTIONS = (
    Question(
        COMPUTE,
        "A leader and two followers",
        "The leader and its followers 1 and 2 are in the ISR. Where is the leader's high watermark after the last"
        " fetch? (`fetch 1 4`: follower 1 fetches from offset 4.)",
        mark_after_fetches,
        "*Fetch from 4* says: I have everything below 4. The mark is the least end in the ISR, and follower 2 holds it"
        " back.",
        workload=_FETCHES,
        card="by the offset from which it fetches … The in-sync replica with the least end holds it",
    ),
    Question(
        CHOOSE,
        "The follower's method",
        "A follower is slow. It has the records 0 to 9, and its leader says that the high watermark is 12. Where is the"
        " follower's high watermark then?",
        told_above_the_end,
        "It does what its leader says, within its own log: the mark goes to its end.",
        {9: "9", 10: "10", 12: "12"},
        card="HW is what the leader says, but never more than the follower has",
        replies={
            9: "A mark of 10 says that 9 is committed: it is the offset after the last such record.",
            12: "The follower has no records 10 and 11, and a mark is never above LEO.",
        },
    ),
    Question(
        CHOOSE,
        "A leader and two followers",
        "A leader's log ends at 10; followers 1 and 2 have fetched from 10 and from 8, so the high watermark is 8. A"
        " crash takes two records from follower 2, and it fetches from 6 while it is still in the ISR. Where is the"
        " leader's high watermark then?",
        mark_after_a_fetch_from_below,
        "The least end in the ISR is 6 now, but the mark stays.",
        {6: "6", 8: "8", 10: "10"},
        card="On the leader, fetches never lower HW",
        replies={
            6: "On the leader fetches only raise the mark. Consumers may have read 6 and 7 by now.",
            10: "For that, every replica in the ISR must have fetched from 10.",
        },
    ),
)
