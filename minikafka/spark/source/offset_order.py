"""Whether the offsets of a segment's batches ascend and belong to the segment, which no checksum tells.

A checksum begins behind a batch's base offset and leader epoch, because a leader writes both into the batch that a
producer has sealed. So a base offset that has changed on the disk would give each record another offset, and a reader
that goes by offsets would lose records, or read some twice.
"""

import os
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from minikafka.common.errors import CorruptRecordException
from minikafka.log.log_file_utils import SWAP_FILE_SUFFIX
from minikafka.record.format.batch_header import LOG_OVERHEAD
from minikafka.spark.source.batch_columns import BatchColumns
from minikafka.spark.source.damage import DAMAGE
from minikafka.spark.source.log_segments_on_disk import DiskSegment
from minikafka.spark.source.partition_names import base_offset_of, is_tiered_segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAGIC_AT = 16


class OffsetOrder:
    """Looks at a segment's batches, some at a time, in the order of the file.

    - Offsets ascend from batch to batch, from the segment's base offset on: also where compaction has left gaps.
    - They end before the next segment begins. But in the middle of a compaction a new segment may have the records of
      old ones that still stand behind it, and of tiered storage two leaders may have copied overlapping segments.
    - Of an old batch only the last offset counts: a compressed one does not say its first.
    """

    def __init__(self, segment: DiskSegment):
        self._segment = segment
        self._reached = segment.base_offset - 1
        self._doubted: int | None = (
            None  # where the batch after those that were looked at begins, if it is out of order
        )

    def ascends(self, batches: BatchColumns, following: int | None) -> bool:
        """Whether these batches are in order, and end before `following`, the next batch's first offset if known."""
        if not len(batches):
            return True
        firsts, lasts = _first_offsets(batches), batches.last_offset
        end, reached = self._segment.end_offset, int(lasts[-1])
        in_order = (
            firsts[0] > self._reached
            and firsts[0] != self._doubted
            and (following is None or reached < following)
            and bool((firsts[1:] > lasts[:-1]).all())
            and bool((lasts >= firsts).all())
            and (end is None or reached < end)
        )
        if in_order:
            self._reached, self._doubted = reached, None
        return in_order

    def objections(self, batches: BatchColumns, following: int | None) -> dict[int, CorruptRecordException]:
        """The numbers of the batches that are out of order, and what is said of each.

        These are the fewest batches without which the others are in order; where that leaves a choice, each that would
        have to go in one of the cases: none of them may be believed.
        """
        if self.ascends(batches, following):
            return {}
        base, end, due = self._segment.base_offset, self._segment.end_offset, self._reached + 1
        if end is not None and may_overlap_the_next(self._segment):
            end = None
        found: dict[int, CorruptRecordException] = {}
        spans: list[tuple[int, int]] = []
        numbers: list[int] = []
        for number, span in enumerate(zip(_first_offsets(batches).tolist(), batches.last_offset.tolist(), strict=True)):
            first, last = span
            if last < first:
                found[number] = _objection(f"it ends at offset {last}, before it begins")
            elif first < base:
                found[number] = _objection(f"it begins at offset {first}, below the segment's base offset {base}")
            elif end is not None and last >= end:
                found[number] = _objection(f"it ends at offset {last}, and the next segment begins at {end}")
            elif first < due or (number == 0 and first == self._doubted):
                found[number] = _out_of_order(first, last)
            else:
                spans.append(span)
                numbers.append(number)
        if following is not None and following >= due:
            spans.append((following, following))
        are_sound = _in_every_longest_chain(spans)
        self._doubted = following if len(spans) > len(numbers) and not are_sound[-1] else None
        for number, is_sound, (first, last) in zip(numbers, are_sound, spans, strict=False):
            if is_sound:
                self._reached = last
            else:
                found[number] = _out_of_order(first, last)
        return found


def following_offset(header: bytes | memoryview) -> int | None:
    """The first offset of the batch with this header; None if there is too little of it, or it cannot be one."""
    if len(header) <= _MAGIC_AT or header[_MAGIC_AT] > 2:
        return None
    if int.from_bytes(header[8:LOG_OVERHEAD], "big", signed=True) <= 0:
        return None
    return int.from_bytes(header[:8], "big", signed=True)


def _first_offsets(batches: BatchColumns) -> "NDArray[np.int64]":
    return np.where(batches.magic == 2, batches.base_offset, batches.last_offset)


def _in_every_longest_chain(spans: list[tuple[int, int]]) -> list[bool]:
    """Which spans (first and last, both inclusive) are in every one of the longest chains that ascend."""
    before = _longest_chains(spans)
    behind = _longest_chains([(-last, -first) for first, last in reversed(spans)])[::-1]
    longest = max(before, default=0)
    is_in_one = [ahead + rest - 1 == longest for ahead, rest in zip(before, behind, strict=True)]
    rivals = Counter(ahead for ahead, is_in in zip(before, is_in_one, strict=True) if is_in)
    return [is_in and rivals[ahead] == 1 for ahead, is_in in zip(before, is_in_one, strict=True)]


def _longest_chains(spans: list[tuple[int, int]]) -> list[int]:
    """How many spans the longest ascending chain has that ends with each."""
    lengths = []
    ends: list[int] = []  # of the chains of each length, the smallest last
    for first, last in spans:
        length = bisect_left(ends, first)
        if length == len(ends):
            ends.append(last)
        else:
            ends[length] = min(ends[length], last)
        lengths.append(length + 1)
    return lengths


def may_overlap_the_next(segment: DiskSegment) -> bool:
    """Whether a compaction was under way when the segment was found, or is now; or it is one of tiered storage."""
    directory, name = os.path.split(segment.path)
    if is_tiered_segment(name):
        return True
    try:
        names = [entry.name for entry in segment.storage.entries(directory)]
    except DAMAGE:
        return True
    is_next_there = any(base_offset_of(each) == segment.end_offset for each in names)
    return not is_next_there or any(each.endswith(SWAP_FILE_SUFFIX) for each in names)


def _out_of_order(first: int, last: int) -> CorruptRecordException:
    return _objection(f"it has the offsets {first} to {last}, which do not ascend from those of the batches around it")


def _objection(what: str) -> CorruptRecordException:
    return CorruptRecordException(f"The batch is out of place: {what}")
