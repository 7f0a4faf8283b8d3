"""A line of `minikafka ls`: what a partition's directory tells when as little as possible is read."""

import os
import stat
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.common.errors import IOException, KafkaException, NumberFormatException
from minikafka.common.java.java_numbers import LONG_MAX, parse_long
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import (
    CLEANED_FILE_SUFFIX,
    DELETE_DIR_SUFFIX,
    DELETED_FILE_SUFFIX,
    FUTURE_DIR_SUFFIX,
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    STRAY_DIR_SUFFIX,
    SWAP_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    log_file,
)
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.log.partition_files import objection_to
from minikafka.log.segment_end import SegmentEnd, find_end, first_timestamp, noted_timestamp
from minikafka.record.format.record_batch import NO_TIMESTAMP
from minikafka.tools.checkpoints import beyond_the_end
from minikafka.tools.failure import describe, naming

CURRENT = "current"
_KINDS = {DELETE_DIR_SUFFIX: "delete", STRAY_DIR_SUFFIX: "stray", FUTURE_DIR_SUFFIX: "future"}
_LEFT_OVER = (CLEANED_FILE_SUFFIX, SWAP_FILE_SUFFIX, DELETED_FILE_SUFFIX)
_TRIES = 3


class Checkpoints(NamedTuple):
    """What the files of the log directory say about its partitions, by topic and partition."""

    recovery_points: dict[TopicPartition, int]
    log_start_offsets: dict[TopicPartition, int]
    high_watermarks: dict[TopicPartition, int]
    cleaner_points: dict[TopicPartition, int]


@dataclass
class PartitionListing:
    """What is known about a partition. Offsets are inclusive except `log_end_offset`; None stands for no such thing.

    `kind`: `current`, `delete`, `stray` or `future`, by the directory's name. The high watermark and the points of
    recovery and cleaning are those of the checkpoints. `dirty_ratio`: the share of the bytes open to cleaning that is
    not clean yet, as without min.compaction.lag.ms and open transactions; only a compacted topic has one.
    `findings`: what is odd, in words.
    """

    topic: str
    partition: int
    directory: str
    kind: str
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    high_watermark: int | None = None
    recovery_point: int | None = None
    segments: int = 0
    bytes: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    cleaner_point: int | None = None
    dirty_ratio: float | None = None
    findings: list[str] = field(default_factory=list)


class _Segment(NamedTuple):
    base_offset: int
    size: int
    log: Path


def list_partition(directory: Path, checkpoints: Checkpoints, unread: Callable[[str], None]) -> PartitionListing | None:
    """Look at a partition's directory; None when it is gone. `unread` is called with what cannot be read.

    A broker may be at work in the directory: if a file vanishes between two looks, all of it is looked at again. Raises
    KafkaException when the name is not a partition's.
    """
    for tries_left in reversed(range(_TRIES)):
        listing = _named(directory)
        refused: list[str] = []
        try:
            with naming(directory):
                _look(directory, listing, checkpoints, refused.append)
            break
        except FileNotFoundError as gone:
            if not directory.exists():
                return None
            if not tries_left:
                unread(describe(gone))
        except OSError as error:
            unread(describe(error))
            break
        except KafkaException as error:
            listing.findings.append(describe(error))
            break
    for line in refused:
        unread(line)
    return listing


def _named(directory: Path) -> PartitionListing:
    topic, partition = parse_topic_partition_name(directory)
    kind = next((kind for suffix, kind in _KINDS.items() if directory.name.endswith(suffix)), CURRENT)
    return PartitionListing(topic, partition, directory.name, kind)


def _look(directory: Path, listing: PartitionListing, checkpoints: Checkpoints, unread: Callable[[str], None]) -> None:
    segments = _segments(directory, listing, unread)
    listing.segments, listing.bytes = len(segments), sum(segment.size for segment in segments)
    if segments:
        _look_at_log(segments, listing)
    if listing.kind == CURRENT:  # the checkpoints' lines are about the directory with the plain name
        _add_checkpoints(segments, listing, checkpoints)


def _segments(directory: Path, listing: PartitionListing, unread: Callable[[str], None]) -> list[_Segment]:
    """The segments in the order of their offsets; what else is odd in the directory becomes a finding.

    `unread` is called with each `.log` that is not opened, as it is not a regular file.
    """
    segments, names = [], set()
    with os.scandir(directory) as entries:
        for entry in entries:
            names.add(entry.name)
            if not entry.name.endswith(LOG_FILE_SUFFIX):
                continue
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                objection = objection_to(directory / entry.name)
                listing.findings.append(f"{entry.name} {objection}")
                unread(describe(IOException(f"{directory / entry.name} {objection}")))
                continue
            try:
                base_offset = parse_long(entry.name.removesuffix(LOG_FILE_SUFFIX))
            except NumberFormatException:
                listing.findings.append(f"{entry.name} has no offset for a name")
                continue
            if entry.name != (segment_file := log_file(directory, base_offset).name):
                listing.findings.append(f"{entry.name} is not read: a broker opens {segment_file} in its place")
                continue
            segments.append(_Segment(base_offset, status.st_size, directory / entry.name))
    for suffix in _LEFT_OVER:
        if left_over := sum(name.endswith(suffix) for name in names):
            listing.findings.append(f"{left_over} {suffix} file{'s' if left_over > 1 else ''}")
    for suffix in (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX):
        if missing := sum(segment.log.with_suffix(suffix).name not in names for segment in segments):
            listing.findings.append(f"{missing} segment{'s' if missing > 1 else ''} without {suffix}")
    if not segments:
        listing.findings.append("no segment")
    return sorted(segments)


def _look_at_log(segments: list[_Segment], listing: PartitionListing) -> None:
    first = next((segment for segment in segments if segment.size), None)
    end = _find_end(segments[-1])
    listing.log_start_offset = segments[0].base_offset
    listing.log_end_offset = segments[-1].base_offset if end.next_offset is None else end.next_offset
    if end.bytes_behind:
        listing.findings.append(f"{end.bytes_behind} bytes behind the last batch")
    if first is not None:
        with naming(first.log):
            listing.first_timestamp = _time(first_timestamp(first.log))
    listing.last_timestamp = _time(_largest_timestamp(segments[:-1], end.last_timestamp))


def _largest_timestamp(earlier: list[_Segment], of_last: int) -> int:
    """The largest of all segments. Of `earlier` ones those are looked at whose time index tells a larger one than is
    known so far; an index may lie.
    """
    largest = of_last
    noted = [(_noted(segment), segment) for segment in earlier]
    for timestamp, segment in sorted(noted, reverse=True):
        if timestamp <= largest:
            break
        largest = max(largest, _find_end(segment).last_timestamp)
    return largest


def _noted(segment: _Segment) -> int:
    with naming(segment.log):
        timestamp = noted_timestamp(segment.log)
    return LONG_MAX if timestamp is None else timestamp


def _find_end(segment: _Segment) -> SegmentEnd:
    with naming(segment.log):
        return find_end(segment.log)


def _time(timestamp: int) -> int | None:
    return None if timestamp == NO_TIMESTAMP else timestamp


def _add_checkpoints(segments: list[_Segment], listing: PartitionListing, checkpoints: Checkpoints) -> None:
    partition = TopicPartition(listing.topic, listing.partition)
    listing.high_watermark = checkpoints.high_watermarks.get(partition)
    listing.recovery_point = checkpoints.recovery_points.get(partition)
    listing.cleaner_point = checkpoints.cleaner_points.get(partition)
    log_start_offset = checkpoints.log_start_offsets.get(partition)
    if listing.log_start_offset is None or listing.log_end_offset is None:
        return
    noted = {
        LOG_START_OFFSET_CHECKPOINT_FILE: log_start_offset,
        HIGH_WATERMARK_CHECKPOINT_FILE: listing.high_watermark,
        RECOVERY_POINT_CHECKPOINT_FILE: listing.recovery_point,
        CLEANER_OFFSET_CHECKPOINT_FILE: listing.cleaner_point,
    }
    known = {name: offset for name, offset in noted.items() if offset is not None}
    listing.findings += beyond_the_end(known, listing.log_end_offset).values()
    if log_start_offset is not None:
        listing.log_start_offset = max(listing.log_start_offset, log_start_offset)
    if listing.cleaner_point is not None:
        high_watermark = listing.log_end_offset if listing.high_watermark is None else listing.high_watermark
        is_possible = listing.log_start_offset <= listing.cleaner_point <= listing.log_end_offset
        first_dirty_offset = listing.cleaner_point if is_possible else listing.log_start_offset
        listing.dirty_ratio = _dirty_ratio(segments, first_dirty_offset, high_watermark)


def _dirty_ratio(segments: list[_Segment], first_dirty_offset: int, high_watermark: int) -> float | None:
    """The dirty ratio of a topic without min.compaction.lag.ms and without an open transaction.

    The cleaner stops before the active segment, and before the one that holds the high watermark. None when nothing is
    clean or cleanable. Kafka: `LogToClean.cleanableRatio`, `LogCleanerManager.calculateCleanableBytes`.
    """
    bases = [segment.base_offset for segment in segments]
    first_uncleanable = max(bisect_right(bases, high_watermark) - 1, 0)
    # A segment that is partly clean counts on both sides.
    first_dirty = max(bisect_right(bases, min(first_dirty_offset, bases[first_uncleanable])) - 1, 0)
    clean = sum(segment.size for segment in segments[: bisect_left(bases, first_dirty_offset)])
    dirty = sum(segment.size for segment in segments[first_dirty:first_uncleanable])
    return dirty / (clean + dirty) if clean + dirty else None
