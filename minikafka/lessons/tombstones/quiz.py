"""What the quiz asks about the lesson *Tombstones and markers*."""

from minikafka.lab.stage.cleaning import Cleaning
from minikafka.lab.stage.tables import rows, write
from minikafka.lab.stage.workbench import fresh_log
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question
from minikafka.lab.teaching.quiz.small_runs import HOUR

_COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.1}


def hidden_by_an_aborted_record() -> list[int]:
    """The offsets that are left where the youngest record of `a` belongs to a transaction that was aborted."""
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


QUESTIONS = (
    Question(
        COMPUTE,
        "Transactions",
        "`a=1 b=1`, then `a=9` in a transaction that is aborted (its marker has an offset, too), then `b=2`; all of"
        " these are cleaned. Then comes `c=1` in the active segment. Which offsets does the application of a"
        " `read_committed` consumer get afterwards?",
        hidden_by_an_aborted_record,
        "Aborted records never get into the offset map, so `a=9` replaces nothing.",
        card="a record of an aborted transaction | goes, newest or not, and replaces no other record",
    ),
    Question(
        CHOOSE,
        "The three stages of a tombstone",
        "A tombstone is written at hour 0; `delete.retention.ms` is two hours; a cleaner cleans for the first time"
        " at hour 5. From which hour on may the tombstone go?",
        hours_until_a_tombstone_may_go,
        "The clock begins at the first cleaning that keeps the tombstone.",
        {2: "hour 2", 5: "hour 5", 7: "hour 7"},
        card="The clock of a tombstone starts at the first cleaning that keeps it",
        replies={
            2: "The clock does not begin when the tombstone is written.",
            5: "The cleaner finds a tombstone without a horizon, and gives it one: two hours later.",
        },
    ),
)
