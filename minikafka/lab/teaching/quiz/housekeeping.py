"""Questions about what a broker does by the clock, and about compaction."""

from typing import Any

from minikafka.lab.stage.cleaning import Cleaning
from minikafka.lab.stage.storage_layer import StorageLayer
from minikafka.lab.stage.tables import rows, write
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FIRST, ORDER, Question, in_the_order_of

_COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.1}
_HOUR = 3_600_000
_DAY = 24 * _HOUR


def second_of_retention() -> int:
    """When the records of second 0 go with `retention.ms=400000`: the second."""
    layer = StorageLayer({"retention.ms": 400_000})
    layer.start()
    layer.create("orders-0")
    layer.append("orders-0", *"abc")
    return layer.sleep_until(lambda: layer.log("orders-0").log_start_offset > 0)


def seconds_until_a_topic_is_gone() -> int:
    """How long after `async_delete` the directory is there."""
    layer = StorageLayer()
    layer.start()
    layer.create("orders-0")
    layer.sleep(40)
    layer.delete("orders-0")
    began = layer.second
    return layer.sleep_until(lambda: not any(name.endswith("-delete/") for name in layer.entries())) - began


def recovered_after_an_empty_life() -> int:
    """How many segments are read when a broker was stopped cleanly, started, and killed before it wrote anything.

    It has two logs of three segments each.
    """
    layer = StorageLayer()
    layer.start()
    layer.create("orders-0", "users-0")
    for name in ("orders-0", "users-0"):
        for value in "ab":
            layer.append(name, value)
            layer.roll(name)
        layer.append(name, "c")
    layer.stop()
    layer.start()
    layer.kill()
    return len(layer.start())


def steps_of_a_stop() -> list[str]:
    """Four steps of a clean stop, as a walk comes to them."""
    from minikafka.lab.stepper.stepper import step_through

    layer = StorageLayer()
    layer.start()
    layer.create("orders-0")
    walk = step_through(layer.before_shutdown(), into={"LogManager.shutdown"})
    return in_the_order_of(walk, "LogManager.shutdown", {"flush": "2", "points": "4", "marker": "5", "lock": "7"})


def what_keeps_an_old_segment() -> str:
    """What holds up retention by time: the oldest segment's newest timestamp, if a sound log would have let it go."""
    deleted = {}
    for name, ahead in (("sound", 0), ("future", 30 * _DAY)):
        log = fresh_log({"retention.ms": _DAY, "message.timestamp.after.max.ms": 60 * _DAY})
        log.append_as_leader(records(1, timestamp=log.time.milliseconds() + ahead), leader_epoch=0)
        log.roll()
        log.append_as_leader(records(1), leader_epoch=0)
        log.update_high_watermark(log.log_end_offset)
        log.time.sleep(21 * _DAY)
        deleted[name] = log.delete_old_segments()
    return "timestamp" if deleted["sound"] and not deleted["future"] else "none"


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
    log = fresh_log({**_COMPACTED, "delete.retention.ms": 2 * _HOUR})
    began = log.time.milliseconds()
    write(log, "a=1")
    write(log, "-a", roll=True)
    log.time.sleep(5 * _HOUR)
    Cleaning(log).turn()
    [horizon] = [batch.delete_horizon_ms for batch in log.log_segments[0].log.batches() if batch.delete_horizon_ms]
    return (horizon - began) // _HOUR


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
        "09",
        "What log.retention.* does",
        "A broker with the default settings starts at second 0. Three records of that second are in a topic with"
        " `retention.ms=400000`. At which second do they go?",
        second_of_retention,
        "`retention.ms` says from when on they may go. The task comes by at seconds 30, 330 and 630.",
    ),
    Question(
        COMPUTE,
        "09",
        "A topic is deleted",
        "How many seconds after a topic is deleted is its disk space free, with the default settings?",
        seconds_until_a_topic_is_gone,
        "First the directory gets another name; a minute later (the broker's `log.segment.delete.delay.ms`, whatever"
        " the topic sets) a task deletes it.",
    ),
    Question(
        CHOOSE,
        "09",
        "The stop and the start",
        "Two logs with three segments each. The broker was stopped cleanly, started again, and was killed before it"
        " had written a record. How many of the six segments does the next start read?",
        recovered_after_an_empty_life,
        "The marker goes before the first log is opened, so the start is an unclean one. But the recovery points are"
        " the log ends, and a log is read from the segment on that holds its recovery point.",
        {0: "none", 2: "two", 4: "four", 6: "six"},
    ),
    Question(
        ORDER,
        "09",
        "The stop and the start",
        "A broker's log manager shuts down. Bring these into their order.",
        steps_of_a_stop,
        "The marker says that everything else has been done, so it comes after that; then others may have the"
        " directory.",
        {
            "marker": "the marker of a clean stop is written",
            "lock": "the locks are released",
            "flush": "logs are flushed and closed",
            "points": "recovery points are written",
        },
    ),
    Question(
        FIRST,
        "02",
        "Retention",
        "Your broker shows a partition with `retention.ms` of one day, and its oldest file is three weeks old; the"
        " high watermark moves. What do you look at first?",
        what_keeps_an_old_segment,
        "A segment is as old as its youngest record by *timestamp*, and the walk stops at the first segment that must"
        " stay. One record from the future is enough, if it got in: `message.timestamp.after.max.ms` was raised, or"
        " it is from before 4.0. (The same log with sound timestamps lets the segment go.)",
        {
            "none": "the modification time of the file",
            "clock": "the broker's clock",
            "timestamp": "the largest timestamp in the oldest segment",
        },
    ),
    Question(
        COMPUTE,
        "10",
        "Two passes and a swap",
        "A compacted topic has three segments: `a=1 b=1 a=2`, then `b=2 c=1`, then (active) `a=3`. Which offsets are"
        " left after a turn of the cleaner?",
        left_by_compaction,
        "The active segment is not cleaned and hides nothing: of the part that is cleaned, the newest record of each"
        " key stays, and it keeps its offset.",
    ),
    Question(
        COMPUTE,
        "10",
        "Transactions",
        "`a=1 b=1`, then `a=9` in a transaction that is aborted (its marker has an offset, too), then `b=2`; all of"
        " these are cleaned. Then comes `c=1` in the active segment. Which offsets does a `read_committed` consumer"
        " get afterwards?",
        hidden_by_an_aborted_record,
        "Aborted records never get into the offset map, so `a=9` hides nothing.",
    ),
    Question(
        CHOOSE,
        "10",
        "The three lives of a tombstone",
        "A tombstone is written at hour 0; `delete.retention.ms` is two hours; a cleaner comes by for the first time"
        " at hour 5. From which hour on may the tombstone go?",
        hours_until_a_tombstone_may_go,
        "The clock begins at the first cleaning that keeps the tombstone.",
        {2: "hour 2", 5: "hour 5", 7: "hour 7"},
    ),
    Question(
        FIRST,
        "10",
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
