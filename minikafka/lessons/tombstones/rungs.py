"""The ladder of the lesson *Tombstones and markers*: which log waits too long, which records stay, and what becomes of
a batch.
"""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.cleaned_workloads import OPEN, drawn
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.cleaner import cleanable_offsets as bounds
from minikafka.log.cleaner import log_cleaner_manager  # noqa: F401  (who calls the function)
from minikafka.log.cleaner.log_cleaner_filter import LogCleanerFilter
from minikafka.record.kernels.record_filter import BatchRetention, BatchRetentionResult

# Rung 1


def max_compaction_delay(log, first_dirty_offset, now):
    segments = log.non_active_log_segments_from(first_dirty_offset)
    timestamps = [segment.get_first_batch_timestamp() for segment in segments]
    oldest = min([timestamp for timestamp in timestamps if timestamp > 0], default=now)
    return max(now - log.config.max_compaction_lag_ms - oldest, 0)


def _delays(
    *,
    of=lambda log, first_dirty: log.non_active_log_segments_from(first_dirty),
    time=lambda segment: segment.get_first_batch_timestamp(),
    limit=lambda log: log.config.max_compaction_lag_ms,
    chosen=min,
):
    """A version that asks other segments, for another time, or compares with another limit."""

    def version(log, first_dirty_offset, now):
        times = [time(segment) for segment in of(log, first_dirty_offset)]
        return max(now - limit(log) - chosen([each for each in times if each > 0], default=now), 0)

    return version


_LATE = (
    "config cleanup.policy=compact min.cleanable.dirty.ratio=0.9 max.compaction.lag.ms=1000\n"
    "append_as_leader [3x10 keys=3]\nroll\nmaybe_increment_high_watermark leo\nclean\ntick 900\n"
    "append_as_leader [1x1 keys=1 ts=now-50]\nappend_as_leader [1x1 keys=1 ts=now+200]\nroll\ntick 100\n"
    "append_as_leader [1x1 keys=1 ts=now-9000]\nmaybe_increment_high_watermark leo\n"
    "clean\ntick 850\nclean\ntick 1\nclean\ntick 2000\nclean\n"
)

delays = Rung(
    "Rung 1, a log that has waited too long",
    bounds.max_compaction_delay,
    why=(
        "A log that is hardly dirty is left alone, until the first batch of one of its dirty segments has waited for "
        "max.compaction.lag.ms."
    ),
    invariants=(
        "It only asks, and never answers less than 0.",
        "Only segments count that are dirty and are not the active one.",
        "A segment is as old as its first batch says; a first batch without a timestamp (0 or less) says nothing.",
        "Up to `max_compaction_lag_ms` no log is late.",
    ),
    chosen=(_LATE,),
    profiles=drawn({}, {}, OPEN, **{"max.compaction.lag.ms": 100, "min.cleanable.dirty.ratio": 0.6}),
    returns=(int,),
    solution=max_compaction_delay,
    beliefs=(
        Belief(
            _delays(of=lambda log, first_dirty: [s for s in log.log_segments if s.base_offset >= first_dirty]),
            "You ask the active segment, too. It cannot be cleaned, so its records do not make the log late.",
        ),
        Belief(
            _delays(of=lambda log, first_dirty: log.non_active_log_segments_from(0)),
            "You ask segments that are clean. They have had their turn; what counts begins at `first_dirty_offset`.",
        ),
        Belief(
            _delays(limit=lambda log: 0),
            "You answer how old the oldest record is. The answer is by how much that exceeds `max_compaction_lag_ms`.",
        ),
        Belief(
            _delays(chosen=max),
            "You take the youngest of the dirty segments. The one that has waited longest makes the log late.",
        ),
    ),
    hints=(
        "`log.non_active_log_segments_from(offset)` gives the segments that count.",
        "Each has `get_first_batch_timestamp()` (ms). Leave out what is not above 0, and take the least.",
        "The answer is `now - log.config.max_compaction_lag_ms - oldest`, but at least 0; 0 also without any segment.",
    ),
)


# Rung 2


def should_retain_records(self, batch, columns):
    offset_map, horizon = self._offset_map, batch.delete_horizon_ms
    deletions_stand = horizon is None or self.current_time < horizon
    newest = offset_map.get_columns(columns)
    stays = []
    for n in range(columns.count):
        offset = columns.offsets[n]
        if offset > offset_map.latest_offset:
            stays.append(True)
        elif columns.key(n) is None:
            stays.append(False)
        else:
            stays.append(offset >= newest[n] and (columns.value(n) is not None or deletions_stand))
    return stays


def _retains(
    *,
    covered=lambda offset, latest: offset <= latest,
    newest=lambda offset, found: offset >= found,
    stands=lambda horizon, now: horizon is None or now < horizon,
    without_key=False,
    values_go=False,
):
    """A version with another idea of one of the rules."""

    def version(self, batch, columns):
        stands_now = stands(batch.delete_horizon_ms, self.current_time)
        found, stays = self._offset_map.get_columns(columns), []
        for n, offset in enumerate(columns.offsets):
            if not covered(offset, self._offset_map.latest_offset):
                stays.append(True)
            elif columns.key(n) is None:
                stays.append(without_key)
            else:
                is_tombstone = columns.value(n) is None or values_go
                stays.append(bool(newest(offset, found[n]) and (not is_tombstone or stands_now)))
        return stays

    return version


_DELETIONS = (
    "config cleanup.policy=compact min.cleanable.dirty.ratio=0 delete.retention.ms=1000\n"
    "append_as_leader [3x10 keys=3]\nappend_as_leader [2xnull,10 keys=3 data=1]\nroll\n"
    "maybe_increment_high_watermark leo\nclean\nappend_as_leader [1x10 keys=3]\nroll\n"
    "maybe_increment_high_watermark leo\ntick 999\nclean\nappend_as_leader [1x10 keys=3]\nroll\n"
    "maybe_increment_high_watermark leo\ntick 1\nclean\ntick 1\nappend_as_leader [1x10 keys=3]\nroll\n"
    "maybe_increment_high_watermark leo\nclean\n"
)
_FULL = (  # the map has room for two keys, and ends within a batch
    "config cleanup.policy=compact min.cleanable.dirty.ratio=0 log.cleaner.dedupe.buffer.size=72\n"
    "append_as_leader [3x10 keys=2]\nappend_as_leader [2xnull keys=2]\nappend_as_leader [6x10 keys=6]\nroll\n"
    "maybe_increment_high_watermark leo\nclean\nclean\nclean\nupdate_config cleanup.policy=delete\n"
    "append_as_leader [3x10 keys=3]\nappend_as_leader [2x10]\nroll\nmaybe_increment_high_watermark leo\n"
    "update_config cleanup.policy=compact\nclean\nclean\nclean\nclean\n"
)
_KEYLESS = (
    "config cleanup.policy=delete min.cleanable.dirty.ratio=0\nappend_as_leader [2x10]\n"
    "append_as_leader [2x10 keys=2]\nroll\nmaybe_increment_high_watermark leo\n"
    "update_config cleanup.policy=compact\nclean\n"
)

retains = Rung(
    "Rung 2, which records stay",
    LogCleanerFilter.should_retain_records,
    why="All of compaction is in this one question.",
    invariants=(
        "Its answer is a list of True and False, one for each record of the columns.",
        "Above the offset that the map covers last, `latest_offset`, every record stays.",
        "Up to there a record without a key goes, and so does one for whose key the map has a later offset.",
        "A tombstone that is the newest stays until the delete horizon of its batch; that is `None` before the first "
        "cleaning that meets it.",
    ),
    chosen=(_DELETIONS, _FULL, _KEYLESS),
    profiles=drawn({}, {}, OPEN, **{"delete.retention.ms": 100}) + drawn({}, **{"log.cleaner.dedupe.buffer.size": 96}),
    solution=should_retain_records,
    beliefs=(
        Belief(
            _retains(covered=lambda offset, latest: True),
            "You judge records above the map's latest offset. The map ended below them: nobody knows whether they are "
            "the newest, so all of them stay.",
        ),
        Belief(
            _retains(newest=lambda offset, found: offset == found),
            "You keep a record only where the map names it. The map is built from the dirty part: a key that is not in "
            "there (-1) has no newer record, and stays.",
        ),
        Belief(
            _retains(stands=lambda horizon, now: False),
            "You drop every tombstone. The newest record of a key stays even when it is a deletion, until its horizon.",
        ),
        Belief(
            _retains(stands=lambda horizon, now: True),
            "You keep tombstones for ever. From the delete horizon of its batch on, a tombstone goes.",
        ),
        Belief(
            _retains(stands=lambda horizon, now: horizon is None or now <= horizon),
            "You keep a tombstone at its horizon. It stays while `current_time < horizon`, no longer.",
        ),
        Belief(
            _retains(values_go=True),
            "You let records with a value go at the horizon. It is for the tombstones in the batch.",
        ),
        Belief(
            _retains(without_key=True),
            "You keep records without a key. Nothing can tell what would replace them: they go.",
        ),
    ),
    hints=(
        "`self._offset_map.get_columns(columns)` has the newest offset of each record's key, -1 for one that the map "
        "does not know. `columns` has `count`, `offsets[n]`, `key(n)` and `value(n)`; the last two may be None.",
        "First ask whether the map covers the record (`self._offset_map.latest_offset`), then for its key, then if "
        "its offset is at or above the newest.",
        "A tombstone stays while `batch.delete_horizon_ms` is None or above `self.current_time`.",
    ),
)


# Rung 3


def check_batch_retention(self, batch):
    if batch.is_control_batch:
        is_empty_txn = self._transaction_metadata.on_control_batch_read(batch)
        horizon = batch.delete_horizon_ms
        self._discard_batch_records = is_empty_txn and horizon is not None and horizon <= self.current_time
    else:
        is_empty_txn = False
        self._discard_batch_records = self._transaction_metadata.on_batch_read(batch)
    if self._is_last_of_producer(batch) or batch.next_offset == self._upper_bound_offset:
        retention = BatchRetention.RETAIN_EMPTY
    elif self._discard_batch_records:
        retention = BatchRetention.DELETE
    else:
        retention = BatchRetention.DELETE_EMPTY
    return BatchRetentionResult(retention, is_empty_txn)


def _checks(
    *,
    due=lambda horizon, now: horizon is not None and horizon <= now,
    last=lambda self, batch: self._is_last_of_producer(batch),
    bound=lambda self, batch: batch.next_offset == self._upper_bound_offset,
    aborted_go=True,
    sets_horizon=True,
):
    """A version that forgets one of the reasons, or has another idea of the horizon."""

    def version(self, batch):
        is_empty_txn = False
        if batch.is_control_batch:
            is_empty_txn = self._transaction_metadata.on_control_batch_read(batch)
            self._discard_batch_records = is_empty_txn and due(batch.delete_horizon_ms, self.current_time)
        else:
            self._discard_batch_records = self._transaction_metadata.on_batch_read(batch) and aborted_go
        if last(self, batch) or bound(self, batch):
            retention = BatchRetention.RETAIN_EMPTY
        elif self._discard_batch_records:
            retention = BatchRetention.DELETE
        else:
            retention = BatchRetention.DELETE_EMPTY
        return BatchRetentionResult(retention, is_empty_txn and sets_horizon)

    return version


_MARKER = "append_as_leader origin=coordinator transaction_version=0 [{} pid={} epoch=0]\n"
_TURN = "append_as_leader [1x10 keys=3]\nroll\nmaybe_increment_high_watermark leo\nclean\n"
_TRANSACTIONS = (
    "config cleanup.policy=compact min.cleanable.dirty.ratio=0 delete.retention.ms=1000\n"
    "append_as_leader [2x10 keys=8 data=3 pid=7 epoch=0 seq=0 txn]\n" + _MARKER.format("abort", 7)
    + "append_as_leader [2x10 keys=3 pid=23 epoch=0 seq=0 txn]\n" + _MARKER.format("commit", 23)
    + "append_as_leader [3x10 keys=3]\nroll\nmaybe_increment_high_watermark leo\nclean\n"
    "append_as_leader [1x10 keys=3 pid=7 epoch=0 seq=2 txn]\n" + _MARKER.format("commit", 7)
    + "append_as_leader [1x10 keys=3 pid=23 epoch=0 seq=2 txn]\n" + _MARKER.format("commit", 23)
    + f"roll\nmaybe_increment_high_watermark leo\nclean\n{_TURN}tick 999\n{_TURN}tick 1\n{_TURN}"
)  # fmt: skip

checks = Rung(
    "Rung 3, what becomes of a batch",
    LogCleanerFilter.check_batch_retention,
    why="An empty batch may have to stay: the next append of its producer is checked against its header.",
    invariants=(
        "Each control batch is shown to `on_control_batch_read` once, each other batch to `on_batch_read`. The first "
        "tells whether all data of the marker's transaction are gone, the second whether the batch was aborted.",
        "Aborted data go at once; a marker without data goes when its own horizon is reached. `_discard_batch_records` "
        "says so for the records.",
        "A batch that `_is_last_of_producer`, or that ends at `_upper_bound_offset`, stays at least as a header.",
        "The second answer is True for a marker without data: it gets a horizon if it has none.",
    ),
    chosen=(
        _TRANSACTIONS,
        "config cleanup.policy=delete min.cleanable.dirty.ratio=0\nappend_as_leader [2x10 keys=2]\n"
        "append_as_leader [2x10]\nroll\nmaybe_increment_high_watermark leo\nupdate_config cleanup.policy=compact\n"
        "clean\n",
    ),
    profiles=drawn(OPEN, OPEN, OPEN, {"producers": 2}, **{"delete.retention.ms": 100}),
    returns=(BatchRetentionResult, tuple),
    kafka="Cleaner.checkBatchRetention",
    solution=check_batch_retention,
    beliefs=(
        Belief(
            _checks(due=lambda horizon, now: True),
            "You drop a marker as soon as its data are gone. It gets a horizon first, so that slow readers meet it.",
        ),
        Belief(
            _checks(last=lambda self, batch: False),
            "You forget the last batch of a producer. Its header holds the sequence number that the next append is "
            "checked against.",
        ),
        Belief(
            _checks(bound=lambda self, batch: False),
            "You drop an empty batch at `_upper_bound_offset`. Its header stays, so that no offset is forgotten.",
        ),
        Belief(
            _checks(aborted_go=False),
            "You keep what was aborted. `on_batch_read` is True for such a batch, and its records go.",
        ),
        Belief(
            _checks(sets_horizon=False),
            "You never let a marker have a horizon. The second answer asks for one once its data are gone.",
        ),
        Belief(
            _checks(due=lambda horizon, now: horizon is not None and horizon < now),
            "You keep a marker at its horizon. It goes when `horizon <= current_time`.",
        ),
    ),
    hints=(
        "Two kinds of batches: `batch.is_control_batch`, and the others. Ask `self._transaction_metadata` about "
        "either, and set `self._discard_batch_records`.",
        "Then three fates: `BatchRetention.RETAIN_EMPTY` (the last of a producer, or `batch.next_offset` is "
        "`self._upper_bound_offset`), `DELETE` (its records are discarded), `DELETE_EMPTY` (all others).",
        "The answer is `BatchRetentionResult(retention, is_marker_without_data)`.",
    ),
)

LADDER = (delays, retains, checks)
"""The rungs in the order in which they are climbed."""
