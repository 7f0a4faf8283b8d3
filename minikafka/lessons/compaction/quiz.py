"""What the quiz asks about the lesson *Compaction*."""

from typing import Any

from minikafka.lab.stage.cleaning import Cleaning
from minikafka.lab.stage.producers import sent
from minikafka.lab.stage.tables import rows, write
from minikafka.lab.stage.workbench import fresh_log
from minikafka.lab.teaching.quiz.question import COMPUTE, FIRST, Question
from minikafka.log.append_origin import AppendOrigin

_COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.1}


def left_by_compaction() -> list[int]:
    """The offsets that are left of the committed records after a turn."""
    log = fresh_log(_COMPACTED)
    write(log, "a=1 b=1 a=2", roll=True)
    write(log, "b=2 c=1", roll=True)
    write(log, "a=3")
    Cleaning(log).turn()
    return [offset for offset, _, _ in rows(log)]


def what_holds_a_cleaner() -> str:
    """Which mark a cleaner waits for: the log is cleaned as soon as that one moves."""
    log = fresh_log(_COMPACTED)
    write(log, "a=1 a=2", producer=7, transaction="open", roll=True)
    write(log, "b=1", roll=True)
    waits = Cleaning(log).grab() is None
    _end(log)
    return "stable" if waits and Cleaning(log).grab() is not None else "none"


def _end(log: Any) -> None:
    log.append_as_leader(sent("commit pid=7 epoch=0"), 0, AppendOrigin.COORDINATOR, transaction_version=0)
    log.update_high_watermark(log.log_end_offset)


QUESTIONS = (
    Question(
        COMPUTE,
        "Two passes and a swap",
        "A compacted topic has three segments: `a=1 b=1 a=2`, then `b=2 c=1`, then (active) `a=3`. The offsets"
        " begin at 0. Which are left in the whole log after a turn of the cleaner?",
        left_by_compaction,
        "The active segment is not cleaned, and its records replace nothing. Of the part that is cleaned, the newest"
        " record of each key stays, and it keeps its offset.",
        card="the newest record of its key | stays … A record that stays keeps its offset … The active segment always"
        " lies at or above it",
    ),
    Question(
        FIRST,
        "From where to where",
        "Your broker shows a compacted topic that grows. Its line in `cleaner-offset-checkpoint` does not move, and"
        " most of the log lies above it; its segments roll, and the cleaner cleans other logs. What do you look at"
        " first?",
        what_holds_a_cleaner,
        "Nothing above the last stable offset is cleaned. One transaction that nobody ends delays the cleaning of"
        " everything after it; so does a high watermark that stands still.",
        {
            "stable": "the last stable offset of the partition",
            "none": "`log.cleaner.dedupe.buffer.size`: is the map too small?",
            "retention": "`retention.ms` of the topic",
        },
        card="One open transaction delays the cleaning of everything after it",
        replies={
            "none": "A full map costs another turn. The line would still move.",
            "retention": "The cleaner does not ask for it.",
        },
    ),
)
