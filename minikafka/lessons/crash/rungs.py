"""The ladder of the lesson *Crash and recovery*: how a segment is scanned, and which segments are."""

from minikafka.common.errors import CorruptRecordException, InvalidOffsetException, InvalidRecordException
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.reopened import drawn, reopened_after
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.index.time_index import UNKNOWN, TimestampOffset
from minikafka.log.log_loader import LogLoader
from minikafka.log.log_segment import LogSegment
from minikafka.log.segment_files import delete_producer_snapshots

_DAMAGES = ("cut:-1.log:10", "cut:-1.log:100", "cut:0.log:20", "flip:1.log:-4", "flip:-1.log:90", "remove:1.index")
_ABORTED = (
    "config index.interval.bytes=60\nappend_as_leader [7x10 pid=7 epoch=0 seq=0 txn]\nroll leo\n"
    "append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]\n"
    + "append_as_leader [2x10]\n"
    * 6
)
"""An aborted transaction that ends at 7, where the second segment begins."""
_ABORTED_THREE = "".join(
    f"append_as_leader [1x10 pid=7 epoch=0 seq={sequence} txn]\n"
    "append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]\n"
    for sequence in range(3)
)


# Rung 1


def recover(self, producer_state_manager, leader_epoch_cache):
    for index in (self.offset_index, self.time_index, self.txn_index):
        index.reset()
    self._max_timestamp_and_offset_so_far = UNKNOWN
    valid = indexed = 0
    try:
        for batch in self.log.batches():
            batch.ensure_valid()
            self._ensure_offset_in_range(batch.last_offset)
            if batch.max_timestamp > self.max_timestamp_so_far:
                self._max_timestamp_and_offset_so_far = TimestampOffset(batch.max_timestamp, batch.last_offset)
            if valid - indexed > self.index_interval_bytes:
                self.offset_index.append(batch.last_offset, valid)
                self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far())
                indexed = valid
            valid += batch.size_in_bytes
            latest = leader_epoch_cache.latest_epoch
            if batch.partition_leader_epoch >= 0 and (latest is None or batch.partition_leader_epoch > latest):
                leader_epoch_cache.assign(batch.partition_leader_epoch, batch.base_offset)
            if batch.has_producer_id:
                self._update_producer_state(producer_state_manager, batch)
            producer_state_manager.update_map_end_offset(batch.last_offset + 1)
    except (CorruptRecordException, InvalidRecordException):
        pass
    truncated = self.log.size_in_bytes - valid
    self.log.truncate_to(valid)
    self.offset_index.trim_to_valid_size()
    self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far(), skip_full_check=True)
    self.time_index.trim_to_valid_size()
    return truncated


def _recovers(*, checks=True, asks_first=True, cuts=True, last_time=True, epochs=True, producers=True):
    """A version that leaves out one of the duties, or counts a batch before it asks about its entry."""

    def version(self, producer_state_manager, leader_epoch_cache):
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.reset()
        self._max_timestamp_and_offset_so_far = UNKNOWN
        valid = indexed = 0
        try:
            for batch in self.log.batches():
                if checks:
                    batch.ensure_valid()
                self._ensure_offset_in_range(batch.last_offset)
                if batch.max_timestamp > self.max_timestamp_so_far:
                    self._max_timestamp_and_offset_so_far = TimestampOffset(batch.max_timestamp, batch.last_offset)
                begins = valid
                if not asks_first:
                    valid += batch.size_in_bytes
                if valid - indexed > self.index_interval_bytes:
                    self.offset_index.append(batch.last_offset, begins)
                    self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far())
                    indexed = valid
                if asks_first:
                    valid += batch.size_in_bytes
                latest, epoch = leader_epoch_cache.latest_epoch, batch.partition_leader_epoch
                if epochs and epoch >= 0 and (latest is None or epoch > latest):
                    leader_epoch_cache.assign(epoch, batch.base_offset)
                if producers and batch.has_producer_id:
                    self._update_producer_state(producer_state_manager, batch)
                producer_state_manager.update_map_end_offset(batch.last_offset + 1)
        except (CorruptRecordException, InvalidRecordException):
            pass
        truncated = self.log.size_in_bytes - valid
        if cuts:
            self.log.truncate_to(valid)
        self.offset_index.trim_to_valid_size()
        if last_time:
            self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far(), skip_full_check=True)
        self.time_index.trim_to_valid_size()
        return truncated

    return version


_OPERATIONS = (
    "config internal.segment.bytes=500 index.interval.bytes=60\n" + "append_as_leader [2x10 ts=now]\ntick 10\n" * 4
    + "append_as_leader leader_epoch=1 [2x10 pid=7 epoch=0 seq=0]\nappend_as_leader leader_epoch=3 [2x10 ts=now-5]\n"
)  # fmt: skip

_FULL_TIME_INDEX = (
    "config segment.index.bytes=36 index.interval.bytes=60\n" + "append_as_leader [2x10 ts=now]\ntick 10\n" * 8
)  # fmt: skip
"""A time index of three entries: the last one is for the largest timestamp of a closed segment."""

recovers = Rung(
    "Rung 1, the scan of a segment",
    LogSegment.recover,
    why="After a crash, this method decides which records of a segment the broker keeps.",
    invariants=(
        "It empties all three indexes (`reset()`) and builds them again. As in an append, a batch gets an entry if "
        "more than `self.index_interval_bytes` bytes came since the last entry, without the batch itself.",
        "`batch.ensure_valid()` raises `CorruptRecordException` or `InvalidRecordException` at the first bad batch. "
        "There the scan ends, and the file is cut before that batch.",
        "A batch whose epoch is higher than the latest one adds this epoch to the cache. A batch with a producer id "
        "updates the producer state.",
        "At the end the time index gets the largest timestamp. Then the files of both indexes are cut to the size of "
        "their entries.",
        "It returns the number of bytes that were cut off.",
    ),
    chosen=(
        reopened_after(before=_OPERATIONS) + "reopen clean=false\nread 0\n",
        reopened_after("cut:-1.log:10", "flip:0.log:150", before=_OPERATIONS),
        reopened_after("remove:@0.snapshot,remove:leader-epoch-checkpoint", before=_OPERATIONS),
        reopened_after("cut:1.log:30", "flip:0.log:180"),
        _ABORTED + "reopen clean=false damage=remove:1.txnindex\nconsume start read_committed=true\n",
        # The index of transactions has several entries already.
        _ABORTED_THREE + "reopen clean=false\nconsume start read_committed=true\n",
        _FULL_TIME_INDEX + "reopen clean=false\nfetch_offset_by_timestamp now-1\n",
        # The scan of the one segment leaves a snapshot where the next one begins, which no later step would write.
        reopened_after("remove:1.index", clean=True),
    ),
    profiles=drawn(*_DAMAGES),
    returns=(int,),
    solution=recover,
    beliefs=(
        Belief(
            _recovers(checks=False),
            "You check no batch. A flipped bit does not change the lengths: only the CRC shows it, in "
            "`ensure_valid()`.",
        ),
        Belief(
            _recovers(asks_first=False),
            "You count a batch before you decide about its entry. Then the first batch can get an entry, unlike in "
            "an append.",
        ),
        Belief(
            _recovers(cuts=False),
            "You leave the bad bytes in the file. A reader cannot find records that are appended after them.",
        ),
        Belief(
            _recovers(last_time=False),
            "You forget the last entry of the time index. A closed segment has an entry for its largest timestamp.",
        ),
        Belief(
            _recovers(epochs=False),
            "You do not record epochs. Epochs that were not yet written to the epoch file are then lost, and "
            "followers need them.",
        ),
        Belief(
            _recovers(producers=False),
            "You do not record producers. The log would then accept their next duplicate.",
        ),
    ),
    hints=(
        "Begin with `valid = indexed = 0`, then `for batch in self.log.batches():` inside a `try`.",
        "At first `self._max_timestamp_and_offset_so_far = UNKNOWN`; later, if a timestamp is larger, "
        "`TimestampOffset(max timestamp, last offset)`. The time index gets "
        "`self.read_max_timestamp_and_offset_so_far()`.",
        "Epochs: `leader_epoch_cache.latest_epoch` and `.assign(epoch, base offset)`. Producers: "
        "`self._update_producer_state(producer_state_manager, batch)` if `batch.has_producer_id`. Then "
        "`producer_state_manager.update_map_end_offset(batch.last_offset + 1)`.",
        "At the end `self.log.truncate_to(valid)`, `maybe_append(…, skip_full_check=True)`, `trim_to_valid_size()`.",
    ),
)


# Rung 2


def _recover_unflushed_segments(self):
    unflushed = list(self.segments.values(self.recovery_point_checkpoint))
    for number, segment in enumerate(unflushed):
        try:
            truncated = self._recover_segment(segment)
        except (InvalidOffsetException, OSError):
            truncated = segment.truncate_to(segment.base_offset)
        if truncated > 0:
            later = unflushed[number + 1 :]
            if later:
                self._remove_and_delete_segments_async(later)
                delete_producer_snapshots(self, self.producer_state_manager, later, async_delete=True)
            return


def _scans(*, which=lambda segments, point: segments.values(point), stops=True, removes=lambda cut, later: later):
    """A version that scans other segments, goes on after a cut, or removes others."""

    def version(self):
        unflushed = list(which(self.segments, self.recovery_point_checkpoint))
        for number, segment in enumerate(unflushed):
            truncated = self._recover_segment(segment)
            if truncated > 0:
                gone = removes(segment, unflushed[number + 1 :])
                if gone:
                    self._remove_and_delete_segments_async(gone)
                    delete_producer_snapshots(self, self.producer_state_manager, gone, async_delete=True)
                if stops:
                    return

    return version


_FLUSHED = (
    "config internal.segment.bytes=300 index.interval.bytes=60\n" + "append_as_leader [2x10]\n" * 4
    + "flush\ncheckpoint\n" + "append_as_leader [2x10]\n" * 10
)  # fmt: skip
"""The five segments, with a recovery point of 8."""

_CUT_AT_THE_NEXT = (
    "config internal.segment.bytes=300\n" + "append_as_leader [2x10 pid=7 epoch=0 seq={}]\n" * 3
    + "reopen clean=false damage=copy:0.log:kept\ntruncate_to 4\nroll leo\n" + "append_as_leader [2x10]\n" * 5
).format(0, 2, 4)  # fmt: skip
"""Segments 0, 4 and 10, and an earlier `.log` of the first one, in which a third batch begins at 4."""

scans = Rung(
    "Rung 2, what is scanned after a crash",
    LogLoader._recover_unflushed_segments,
    kafka="LogLoader.recoverLog",
    why="In Kafka these lines are in `recoverLog`. They decide how long a start takes, and where the log ends.",
    invariants=(
        "It recovers the segment that holds `self.recovery_point_checkpoint`, and then all later segments, in order.",
        "`self._recover_segment(segment)` recovers one segment, and returns the number of bytes that it cut off.",
        "If bytes were cut off, the log ends there: it deletes all later segments and their snapshots, and scans no "
        "more.",
        "The segment that was cut stays, even if nothing is left in it.",
    ),
    chosen=(
        reopened_after("cut:1.log:10"),
        reopened_after("flip:0.log:90", before=_FLUSHED),
        reopened_after("flip:0.log:280", before=_FLUSHED),
        reopened_after("flip:1.log:-4,flip:3.log:-4", before=_FLUSHED),
        reopened_after("cut:2.log:285"),
        reopened_after("cut:-1.log:10", before=_FLUSHED),
        # A single byte is left of the last batch.
        reopened_after("cut:1.log:94"),
        # The log is cut where the second segment begins, so the snapshot there is the scan's own and goes as well.
        _CUT_AT_THE_NEXT + "reopen clean=false damage=rename:kept:0.log,cut:0.log:10\nappend_as_leader [1x10]\n",
        _FLUSHED + "flush\ncheckpoint\nreopen clean=false damage=flip:1.log:90\nread start\n",
    ),
    profiles=drawn(*_DAMAGES),
    returns=(type(None),),
    solution=_recover_unflushed_segments,
    beliefs=(
        Belief(
            _scans(which=lambda segments, point: [each for each in segments.values() if each.base_offset >= point]),
            "You begin with the first segment above the recovery point. The segment that holds it has records after "
            "it: scan it as well.",
        ),
        Belief(
            _scans(which=lambda segments, point: segments.values()),
            "You scan the whole log. Segments below the one with the recovery point were flushed, and Kafka trusts "
            "them.",
        ),
        Belief(
            _scans(removes=lambda cut, later: []),
            "You keep the segments after the cut. The log would have a gap that no reader notices.",
        ),
        Belief(
            _scans(removes=lambda cut, later: [cut, *later]),
            "You delete the damaged segment, too. Its batches before the bad one are sound, and stay.",
        ),
        Belief(
            _scans(stops=False, removes=lambda cut, later: []),
            "You continue after a cut and keep sound segments. A log ends at its first bad batch.",
        ),
        Belief(_scans(which=lambda segments, point: []), "You scan nothing. That is right only after a clean stop."),
    ),
    hints=(
        "`self.segments.values(self.recovery_point_checkpoint)`: from the segment that holds the offset on.",
        "`self._remove_and_delete_segments_async(segments)` deletes segments, and `delete_producer_snapshots(self, "
        "self.producer_state_manager, segments, async_delete=True)` deletes their snapshots.",
        "If the scan raises an `InvalidOffsetException` or `OSError`, the whole segment counts as damaged: "
        "`segment.truncate_to(segment.base_offset)` returns the number of bytes that it cut off.",
    ),
)

LADDER = (recovers, scans)
"""The rungs in the order in which they are climbed."""
