"""What the quiz asks about the lesson *High watermark*."""

from typing import Any

from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question
from minikafka.lab.teaching.quiz.small_runs import after, or_error
from minikafka.log.log_offset_metadata import LogOffsetMetadata

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


def set_below_the_start() -> str | int:
    """What `update_high_watermark(2)` gives where the log is 5 to 10."""
    log = _from_5_to_10()
    return log.update_high_watermark(2)


def raised_above_the_end() -> str | int | None:
    """What `maybe_increment_high_watermark` gives for 11 where the log ends at 10."""
    return or_error(lambda: _from_5_to_10().maybe_increment_high_watermark(LogOffsetMetadata(11)))


def _from_5_to_10() -> Any:
    log = fresh_log()
    log.truncate_fully_and_start_at(5)
    for number in range(5):
        log.append_as_leader(records(1, 1, first=number), leader_epoch=0)
    return log


QUESTIONS = (
    Question(
        COMPUTE,
        "A leader and two followers",
        "Followers 1 and 2 are in sync. Where is the leader's high watermark after the last fetch?",
        mark_after_fetches,
        "*Fetch from 4* says: I have everything below 4. The mark is the least end in the ISR, and follower 2 holds it"
        " back.",
        workload=_FETCHES,
    ),
    Question(
        CHOOSE,
        "Many ways, one setter",
        "A log begins at 5 and ends at 10. What does `update_high_watermark(2)` return?",
        set_below_the_start,
        "The setter bends what it is given into the bounds of the log, at either end.",
        {2: "2", 5: "5", 10: "10", "IllegalArgumentException": "nothing: `IllegalArgumentException`"},
    ),
    Question(
        CHOOSE,
        "The leader's method",
        "The same log. What does `maybe_increment_high_watermark(11)` return on its leader?",
        raised_above_the_end,
        "The leader has worked the number out from what its replicas told. Above its own end it can only be a bug, and"
        " is refused.",
        {
            10: "10",
            None: "None: the mark stays",
            "IllegalArgumentException": "nothing: `IllegalArgumentException`",
            "OffsetOutOfRangeException": "nothing: `OffsetOutOfRangeException`",
        },
    ),
)
