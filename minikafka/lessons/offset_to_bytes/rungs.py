"""The ladder of the lesson *From an offset to bytes*: from a time to an offset, and from an offset to bytes."""

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.index.time_index import TimeIndex, TimestampOffset
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_segment import LogSegment
from minikafka.record.format.memory_records import MemoryRecords

_DRAWN = (
    {"weights": {"read": 40, "search": 20}},
    {"epochs": True, "weights": {"read": 40, "search": 20}},
    {"follower": True, "epochs": True, "weights": {"read": 40, "search": 20}},
    {"producers": 3, "transactions": True, "weights": {"read": 40, "consume": 20}},
)
_TIMES = (
    "config index.interval.bytes=0\nappend_as_leader [1x10 ts=1000]\nappend_as_leader [1x10 ts=3000]\n"
    "append_as_leader [1x10 ts=2000]\nappend_as_leader [1x10 ts=5000]\nappend_as_leader [1x10 ts=7000]\n"
    + "".join(f"fetch_offset_by_timestamp {ts}\n" for ts in (0, 1000, 1001, 3000, 3001, 5000, 6999, 7000, 7001))
)
_READS = (
    "config index.interval.bytes=100\n"
    + "append_as_leader [3x30]\n" * 5
    + "update_high_watermark 9\n"
    + "".join(
        f"read {offset} max_length={size} isolation={isolation}{words}\n"
        for offset in (0, 4, 8, 9)
        for size in (0, 50, 200, 5000)
        for isolation in ("log_end", "high_watermark")
        for words in ("", " min_one_message=false")
    )
    + "read 4 max_length=-1\nread 8 max_length=-1 isolation=high_watermark min_one_message=false\n"
)


# Rung 1


def lookup(self, target_timestamp):
    low, high = 0, self.entries
    while low < high:
        middle = (low + high) // 2
        if self.entry(middle).timestamp <= target_timestamp:
            low = middle + 1
        else:
            high = middle
    return self.entry(low - 1) if low else TimestampOffset(-1, self.base_offset)


def _lookup_by(keep, *, last=True, missing=lambda index: TimestampOffset(-1, index.base_offset)):
    def version(self, target_timestamp):
        entries = map(self.entry, range(self.entries))
        found = [entry for entry in entries if keep(entry.timestamp, target_timestamp)]
        if not found:
            return missing(self)
        return found[-1] if last else found[0]

    return version


times = Rung(
    "Rung 1, the search in a time index",
    TimeIndex.lookup,
    why="A search by time (*all records since yesterday noon*) begins here. The entry gives the offset from which to "
    "read records.",
    invariants=(
        "It changes nothing.",
        "It returns the entry with the largest timestamp that is at or below the target.",
        "If there is no such entry, it returns the timestamp -1 and the segment's base offset.",
    ),
    chosen=(_TIMES,),
    profiles=_DRAWN,
    returns=(TimestampOffset,),
    changes_nothing=True,
    solution=lookup,
    beliefs=(
        Belief(
            _lookup_by(lambda ts, target: ts >= target, last=False),
            "You take the first entry at or above the target. Records before its offset may already have the "
            "target's time.",
        ),
        Belief(
            _lookup_by(lambda ts, target: ts < target), "You leave out an entry whose timestamp is exactly the target."
        ),
        Belief(
            _lookup_by(lambda ts, target: ts <= target, last=False),
            "You take the oldest entry that fits. The latest one is nearest to the records you look for.",
        ),
        Belief(
            _lookup_by(lambda ts, target: ts <= target, missing=lambda index: TimestampOffset(-1, 0)),
            "If no entry fits, you return offset 0. The answer is the segment's base offset.",
        ),
    ),
    hints=(
        "`self.entry(n)` is a TimestampOffset(timestamp, offset), n in 0 … `self.entries` - 1, timestamps ascending.",
        "Use a binary search, as in an offset index. The answer is the entry before the first one that is later than "
        "the target.",
    ),
)


# Rung 2


def read(self, start_offset, max_size, max_position=2147483647, *, min_one_message=False):
    if max_size < 0:
        raise IllegalArgumentException(f"a negative size: {max_size}")
    start = self.translate_offset(start_offset)
    if start is None:
        return None
    metadata = LogOffsetMetadata(start.offset, self.base_offset, start.position)
    wanted = max(max_size, start.size) if min_one_message else max_size
    if wanted == 0 or max_position is None:
        return FetchDataInfo(metadata, MemoryRecords.EMPTY)
    size = min(max_position - start.position, wanted)
    return FetchDataInfo(metadata, self.log.slice(start.position, size), wanted < start.size)


def _reads(*, refuses=True, first_whole=True, bounded=True, offset=lambda asked, batch: batch, tells_incomplete=True):
    def version(self, start_offset, max_size, max_position=2147483647, *, min_one_message=False):
        if max_size < 0 and refuses:
            raise IllegalArgumentException("a negative size")
        start = self.translate_offset(start_offset)
        if start is None:
            return None
        metadata = LogOffsetMetadata(offset(start_offset, start.offset), self.base_offset, start.position)
        wanted = max(max_size, start.size) if min_one_message and first_whole else max_size
        if wanted == 0 or max_position is None:
            return FetchDataInfo(metadata, MemoryRecords.EMPTY)
        end = max_position if bounded else self.size
        records = self.log.slice(start.position, min(end - start.position, wanted))
        return FetchDataInfo(metadata, records, tells_incomplete and wanted < start.size)

    return version


reads = Rung(
    "Rung 2, a read of a segment",
    LogSegment.read,
    why="This method chooses the bytes that a consumer or a follower gets. They begin at a batch and may end anywhere.",
    invariants=(
        "The answer begins with the first batch that ends at or after `start_offset` (`self.translate_offset`); its "
        "offset is that batch's base offset.",
        "It returns None if the segment has no such batch.",
        "A negative `max_size` raises `IllegalArgumentException`.",
        "It has at most `max_size` bytes. With `min_one_message` the first batch is complete, even if it is larger.",
        "It has no byte at or after `max_position`. If `max_size` is 0 and `min_one_message` is False, it has no "
        "records.",
        "`max_position` may be None if the byte of the bound is not known. Then the answer has no records. (No "
        "workload here has this case.)",
        "The third field of `FetchDataInfo` is True if the size limit cuts the first batch. In an answer without "
        "records (`MemoryRecords.EMPTY`) it is False, the default.",
    ),
    chosen=(_READS,),
    profiles=_DRAWN,
    returns=(FetchDataInfo, type(None)),
    solution=read,
    beliefs=(
        Belief(
            _reads(first_whole=False),
            "You ignore `min_one_message`. A consumer with a small limit could never read past a large batch.",
        ),
        Belief(_reads(bounded=False), "You read beyond `max_position`, and so above the high watermark."),
        Belief(
            _reads(offset=lambda asked, batch: asked),
            "Your answer has the offset that was asked for. It must have the batch's base offset; the consumer skips "
            "the records before the one it wants.",
        ),
        Belief(_reads(refuses=False), "You answer a read of a negative size. Kafka refuses it."),
        Belief(_reads(tells_incomplete=False), "You do not report that the first batch is incomplete."),
    ),
    hints=(
        "First the refusal: `raise IllegalArgumentException(…)` if `max_size` is negative.",
        "`start = self.translate_offset(start_offset)` has `offset`, `position` and `size` of the first batch.",
        "The position is `LogOffsetMetadata(start.offset, self.base_offset, start.position)`. "
        "`self.log.slice(position, size)` gives bytes; `MemoryRecords.EMPTY` is an answer without records.",
        "`FetchDataInfo(metadata, records, wanted < start.size)`.",
    ),
)

LADDER = (times, reads)
"""The rungs in the order in which they are climbed."""
