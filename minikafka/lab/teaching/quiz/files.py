"""Questions about bytes, segments and indexes, and about which files change."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minikafka.lab.stage.batch_bytes import batch_of, batches_in
from minikafka.lab.stage.producers import sent
from minikafka.lab.stage.readers import log_after
from minikafka.lab.stage.workbench import fresh_log, records, scratch
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FILES, ORDER, Question, in_the_order_of

_ROLLS = """config internal.segment.bytes=400
append_as_leader [4x10]
append_as_leader [3x10]
append_as_leader [9x10]
append_as_leader [1x10]
append_as_leader [1x10]"""
_KINDS = {kind: f"the active segment's `.{kind}`" for kind in ("log", "index", "timeindex")}
_EPOCHS = {"leader-epoch-checkpoint": "`leader-epoch-checkpoint`"}


def varint_of_minus_65() -> int:
    """Its bytes."""
    from minikafka.record.varint import write_varint

    out = bytearray()
    write_varint(-65, out)
    return len(out)


def fields_a_leader_writes() -> tuple[str, ...]:
    """The fields of a batch that differ between what came in and what is stored, in a topic with CreateTime."""
    from minikafka.lab.widgets.append_tables import changed_fields

    log, batch = log_after_three(), batch_of("one", "two")
    before = bytes(batch.buffer)
    log.append_as_leader(batch, leader_epoch=4)
    return tuple(row[0] for row in changed_fields(before, batches_in(log)[-1].buffer).rows)


def log_after_three() -> Any:
    """A log with three records."""
    log = fresh_log()
    log.append_as_leader(records(3), leader_epoch=0)
    return log


def first_entry() -> tuple[int, int]:
    """Offset and position of an entry `00 00 00 0c 00 00 01 4a` in the index of segment 40."""
    from minikafka.log.index.offset_index import OffsetIndex

    file = scratch("00000000000000000040.index")
    file.write_bytes(bytes.fromhex("0000000c0000014a"))
    return tuple(OffsetIndex(file, 40, writable=False).entry(0))


def bases() -> list[int]:
    """The base offsets of the segments after the workload."""
    return [segment.base_offset for segment in log_after(_workload(_ROLLS)).log_segments]


def deleted_by_size() -> int:
    """How many of six segments, five of 336 bytes and the active one of 112, a `retention.bytes` of 800 deletes."""
    log = fresh_log({"internal.segment.bytes": 340, "retention.bytes": 800})
    for number in range(16):
        log.append_as_leader(records(3, first=3 * number), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)
    sizes = [segment.size for segment in log.log_segments]
    if sizes != [336] * 5 + [112]:
        raise AssertionError(f"the question speaks of other segments: {sizes}")
    return log.delete_old_segments()


def changed_by_a_small_append() -> set[str]:
    """The kinds of files of the active segment that change when a second, small batch is appended."""
    log = log_after_three()
    changed, _ = _effect_on_files(log, lambda: log.append_as_leader(records(1), leader_epoch=0))
    return {name.partition(".")[2] for name in changed}


def changed_by_an_indexed_append() -> set[str]:
    """The same where the batch is due for an entry in the index, and is younger than all before it."""
    log = fresh_log({"index.interval.bytes": 0})
    log.append_as_leader(sent("1x10 ts=now"), leader_epoch=0)
    changed, _ = _effect_on_files(log, lambda: log.append_as_leader(sent("1x10 ts=now+1"), leader_epoch=0))
    return {name.partition(".")[2] for name in changed}


def changed_by_delete_records() -> set[str]:
    """The kinds of files of the partition that change when DeleteRecords raises the log start inside a segment."""
    from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason

    log = log_after_three()
    log.update_high_watermark(3)
    reason = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
    changed, new = _effect_on_files(log, lambda: log.maybe_increment_log_start_offset(2, reason))
    return {name.partition(".")[2] or name for name in changed | new}


def new_after_a_roll() -> set[str]:
    """The kinds of files that are there after a roll and were not there before."""
    log = log_after_three()
    _, new = _effect_on_files(log, log.roll)
    return {name.partition(".")[2] for name in new}


def steps_of_append() -> list[str]:
    """Five steps of an append on a leader, as a walk comes to them."""
    from minikafka.lab.stepper.stepper import step_through

    log = fresh_log()
    walk = step_through(log.append_as_leader, records(3), leader_epoch=0, into={"Log._append"})
    return in_the_order_of(
        walk, "Log._append", {"offsets": "5", "epoch": "6", "roll": "8", "producers": "9", "write": "10"}
    )


def _effect_on_files(log: Any, action: Callable[[], object]) -> tuple[set[str], set[str]]:
    """The names of the log's files that have other bytes after `action` (a new length counts), and of those that are
    new.
    """
    before = _digests(log)
    action()
    log.time.sleep(0)
    after = _digests(log)
    return {name for name in before if after.get(name) != before[name]}, after.keys() - before.keys()


def _digests(log: Any) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(log.dir).iterdir()}


def _workload(text: str) -> Any:
    from minikafka.witness import Workload

    return Workload.parse(text)


QUESTIONS = (
    Question(
        COMPUTE,
        "01",
        "Varints",
        "How many bytes does a record need for the number −65?",
        varint_of_minus_65,
        "Zigzag makes 129 of it, which needs eight bits: two groups of seven.",
    ),
    Question(
        CHOOSE,
        "01",
        "Offsets in place",
        "A producer's batch of two records comes to a log that ends at 3, in a topic with CreateTime; the leader's"
        " epoch is 4. Which fields of the stored batch differ from what was sent?",
        fields_a_leader_writes,
        "A producer counts from 0 and knows no epoch. Both fields lie in front of what the CRC covers, so it still"
        " holds.",
        {
            ("baseOffset",): "the base offset",
            ("baseOffset", "partitionLeaderEpoch"): "the base offset and the leader epoch",
            ("baseOffset", "partitionLeaderEpoch", "crc"): "the base offset, the leader epoch and the CRC",
            ("baseOffset", "crc", "records"): "the base offset, the CRC, and the offset of each record",
        },
    ),
    Question(
        COMPUTE,
        "02",
        "The sparse index",
        "`00000000000000000040.index` begins with the bytes `00 00 00 0c 00 00 01 4a`. Which offset has the entry, and"
        " to which byte of the `.log` does it lead?",
        first_entry,
        "Four bytes are the distance from the base offset, 40; four are the position.",
    ),
    Question(
        COMPUTE,
        "02",
        "Rolling",
        "What are the base offsets of all segments afterwards? (A batch has 61 bytes and, here, 17 for each record.)",
        bases,
        "Before each append the segment is asked whether the batch still fits: exactly full is allowed, one byte more"
        " is not. The new segment is named after the offset at which that append begins.",
        workload=_ROLLS,
    ),
    Question(
        CHOOSE,
        "02",
        "Retention",
        "Five segments of 336 bytes each and an active one of 112; all is replicated. How many segments does"
        " `retention.bytes=800` delete?",
        deleted_by_size,
        "The oldest goes only while what stays has at least 800 bytes. After three, 784 would be left.",
        {1: "one", 2: "two", 3: "three", 4: "four"},
    ),
    Question(
        FILES,
        "02",
        "The sparse index",
        "A log with the default settings has one small batch, and gets a second one. Which of these files change?",
        changed_by_a_small_append,
        "An entry is due only when more than `index.interval.bytes` have come since the last one. Until then both"
        " indexes stay as they are, at their full length.",
        _KINDS,
    ),
    Question(
        FILES,
        "04",
        "When the time index gets an entry",
        "The same with `index.interval.bytes=0`, and the second batch is a millisecond younger. Which files change?",
        changed_by_an_indexed_append,
        "The batch is due for an entry in the offset index; with it the largest timestamp so far is offered to the time"
        " index, which takes it because it is larger than its last one.",
        _KINDS,
    ),
    Question(
        FILES,
        "04",
        "LEO's four moments, the log start's five",
        "DeleteRecords raises the log start from 0 to 2, in the middle of the only segment. Which files of the"
        " partition's directory change then?",
        changed_by_delete_records,
        "No record is touched. The log start itself is written down later, in `log-start-offset-checkpoint` beside the"
        " partition's directory. But the epoch that holds the log start begins there now, and the file of epochs says"
        " so.",
        {**_KINDS, **_EPOCHS},
    ),
    Question(
        FILES,
        "05",
        "The snapshot",
        "A log is rolled. Which kinds of files are there afterwards under a name that was not there before?",
        new_after_a_roll,
        "The snapshot has the same offset in its name as the new segment, and says what was known of producers before"
        " it. The new segment's indexes are made when they are first used.",
        {
            "log": "a `.log`",
            "index": "an `.index`",
            "timeindex": "a `.timeindex`",
            "txnindex": "a `.txnindex`",
            "snapshot": "a `.snapshot`",
            "swap": "a `.swap`",
        },
    ),
    Question(
        ORDER,
        "04",
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
    ),
)
