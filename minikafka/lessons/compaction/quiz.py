"""What the quiz asks about the lesson *Compaction*."""

from typing import Any

from minikafka.lab.stage.tables import rows, write
from minikafka.lab.stage.workbench import fresh_log
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FIRST, Question
from minikafka.lab.teaching.quiz.small_runs import HOUR
from minikafka.lessons.compaction.cleaning import Cleaning

_COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.1}


def left_by_compaction() -> list[int]:
    """The offsets that are left of the committed records after a turn."""
    log = fresh_log(_COMPACTED)
    write(log, "a=1 b=1 a=2", roll=True)
    write(log, "b=2 c=1", roll=True)
    write(log, "a=3")
    Cleaning(log).turn()
    return [offset for offset, _, _ in rows(log)]


def hidden_by_an_aborted_record() -> list[int]:
    """The same where the youngest record of `a` belongs to a transaction that was aborted."""
    log = fresh_log(_COMPACTED)
    write(log, "a=1 b=1")
    write(log, "a=9", producer=7, transaction="abort")
    write(log, "b=2", roll=True)
    write(log, "c=1")
    Cleaning(log).turn()
    return [offset for offset, _, _ in rows(log)]


def hours_until_a_tombstone_may_go() -> int:
    """Written at hour 0, `delete.retention.ms` two hours, first cleaned at hour 5: its horizon, in hours."""
    log = fresh_log({**_COMPACTED, "delete.retention.ms": 2 * HOUR})
    began = log.time.milliseconds()
    write(log, "a=1")
    write(log, "-a", roll=True)
    log.time.sleep(5 * HOUR)
    Cleaning(log).turn()
    [horizon] = [batch.delete_horizon_ms for batch in log.log_segments[0].log.batches() if batch.delete_horizon_ms]
    return (horizon - began) // HOUR


def what_holds_a_cleaner() -> str:
    """Which mark a cleaner waits for: the log is cleaned as soon as that one moves."""
    log = fresh_log(_COMPACTED)
    write(log, "a=1 a=2", producer=7, transaction="open", roll=True)
    write(log, "b=1", roll=True)
    waits = Cleaning(log).grab() is None
    _end(log)
    return "stable" if waits and Cleaning(log).grab() is not None else "none"


def _end(log: Any) -> None:
    from minikafka.lab.stage.producers import sent
    from minikafka.log.append_origin import AppendOrigin

    log.append_as_leader(sent("commit pid=7 epoch=0"), 0, AppendOrigin.COORDINATOR, transaction_version=0)
    log.update_high_watermark(log.log_end_offset)


QUESTIONS = (
    Question(
        COMPUTE,
        "Two passes and a swap",
        "A compacted topic has three segments: `a=1 b=1 a=2`, then `b=2 c=1`, then (active) `a=3`. Which offsets are"
        " left after a turn of the cleaner?",
        left_by_compaction,
        "The active segment is not cleaned and hides nothing: of the part that is cleaned, the newest record of each"
        " key stays, and it keeps its offset.",
    ),
    Question(
        COMPUTE,
        "Transactions",
        "`a=1 b=1`, then `a=9` in a transaction that is aborted (its marker has an offset, too), then `b=2`; all of"
        " these are cleaned. Then comes `c=1` in the active segment. Which offsets does a `read_committed` consumer"
        " get afterwards?",
        hidden_by_an_aborted_record,
        "Aborted records never get into the offset map, so `a=9` hides nothing.",
    ),
    Question(
        CHOOSE,
        "The three lives of a tombstone",
        "A tombstone is written at hour 0; `delete.retention.ms` is two hours; a cleaner comes by for the first time"
        " at hour 5. From which hour on may the tombstone go?",
        hours_until_a_tombstone_may_go,
        "The clock begins at the first cleaning that keeps the tombstone.",
        {2: "hour 2", 5: "hour 5", 7: "hour 7"},
    ),
    Question(
        FIRST,
        "From where to where",
        "Your broker shows a compacted topic that grows, and its line in `cleaner-offset-checkpoint` does not move;"
        " its segments roll, and the cleaner cleans other logs. What do you look at first?",
        what_holds_a_cleaner,
        "Nothing above the last stable offset is cleaned. One transaction that nobody ends holds up all that comes"
        " after it; so does a high watermark that stands still.",
        {
            "none": "`log.cleaner.dedupe.buffer.size`",
            "stable": "the last stable offset of the partition",
            "keys": "the number of keys",
        },
    ),
)
