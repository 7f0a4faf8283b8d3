"""What the quiz asks about the lesson *Segments*."""

from typing import Any

from minikafka.lab.stage.readers import log_after
from minikafka.lab.stage.workbench import fresh_log, records, scratch
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FILES, FIRST, Question
from minikafka.lab.teaching.quiz.small_runs import HOUR, KINDS, effect_on_files, log_after_three
from minikafka.log.index.offset_index import OffsetIndex

_ROLLS = """config internal.segment.bytes=400
append_as_leader [4x10]
append_as_leader [3x10]
append_as_leader [9x10]
append_as_leader [1x10]
append_as_leader [1x10]"""


def first_entry() -> tuple[int, int]:
    """Offset and position of an entry `00 00 00 0c 00 00 01 4a` in the index of segment 40."""
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
    changed, _ = effect_on_files(log, lambda: log.append_as_leader(records(1), leader_epoch=0))
    return {name.partition(".")[2] for name in changed}


def _workload(text: str) -> Any:
    from minikafka.witness import Workload

    return Workload.parse(text)


_DAY = 24 * HOUR


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


QUESTIONS = (
    Question(
        COMPUTE,
        "The sparse index",
        "`00000000000000000040.index` begins with the bytes `00 00 00 0c 00 00 01 4a`. Which offset has the entry, and"
        " to which byte of the `.log` does it lead?",
        first_entry,
        "Four bytes are the distance from the base offset, 40; four are the position.",
        card="two numbers of four bytes: the last offset of a batch, relative to the segment's base offset, and"
        " the byte",
    ),
    Question(
        COMPUTE,
        "Rolling",
        "What are the base offsets of all segments afterwards? (`4x10`: a batch of 4 records. `internal.segment.bytes`"
        " counts as `segment.bytes` here. A batch has 61 bytes and, in this workload, 17 for each record.)",
        bases,
        "Before each append the segment is asked whether the batch still fits: exactly full is allowed, one byte more"
        " is not. The new segment is named after the offset at which that append begins.",
        workload=_ROLLS,
        card="the incoming records do not fit into what is left of `segment.bytes`; exactly full is allowed",
    ),
    Question(
        CHOOSE,
        "Retention",
        "Five segments of 336 bytes each and an active one of 112; all is replicated. How many segments does"
        " `retention.bytes=800` delete?",
        deleted_by_size,
        "The oldest goes only while what stays has at least 800 bytes. After two, 1120 are left.",
        {1: "one", 2: "two", 3: "three"},
        card="it is deleted by size | what stays still has at least `retention.bytes`",
        replies={
            1: "Retention asks about the next segment, too, and stops only at one that must stay.",
            3: "784 bytes would be left, fewer than 800.",
        },
    ),
    Question(
        FILES,
        "The sparse index",
        "A log with the default settings has one small batch, and gets a second one. Which of these files change?",
        changed_by_a_small_append,
        "Only the records are written. Both indexes stay as they are, at their full length.",
        KINDS,
        card="The indexes are sparse: an entry comes only after more than `index.interval.bytes`",
        replies={
            "index": "An entry is due only when more than `index.interval.bytes`, by default 4096, have come since the"
            " last one.",
            "timeindex": "It may get an entry only when the offset index gets one.",
        },
    ),
    Question(
        FIRST,
        "Retention",
        "Your broker shows a partition with `retention.ms` of one day, and its oldest file is three weeks old; the"
        " high watermark moves, and other partitions lose their old files in time. What do you look at first?",
        what_keeps_an_old_segment,
        "A segment is as old as its youngest record by *timestamp*, and the walk stops at the first segment that must"
        " stay. One record from the future is enough, if it got in: `message.timestamp.after.max.ms` was raised, or"
        " it is from before 4.0. (The same log with sound timestamps lets the segment go.)",
        {
            "timestamp": "the largest timestamp in the oldest segment",
            "none": "the time at which the oldest file was last written",
            "clock": "the broker's clock",
        },
        card="it is deleted by time | its youngest record is older than `retention.ms`",
        replies={
            "none": "That time counts only for a segment in which no record has a timestamp.",
            "clock": "The same clock lets the files of other partitions go.",
        },
    ),
)
