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
        "A log with a low dirty ratio is not cleaned until the first batch of one of its dirty segments has waited "
        "for max.compaction.lag.ms."
    ),
    invariants=(
        "It changes nothing, and never returns less than 0.",
        "Only dirty segments count, without the active one.",
        "The age of a segment is the age of its first batch. A segment whose first batch has no timestamp (0 or "
        "less) does not count.",
        "A log that has waited up to `max_compaction_lag_ms`, inclusive, is not late: the answer is 0.",
    ),
    chosen=(
        _LATE,
        # First batches of the times 0 and 1.
        _LATE.partition("append")[0] + "append_as_leader [1x1 keys=1 ts=0]\nroll\n"
        "maybe_increment_high_watermark leo\nclean\nappend_as_leader [1x1 keys=1 ts=1]\nroll\n"
        "maybe_increment_high_watermark leo\nclean\n",
    ),
    profiles=drawn({}, {}, OPEN, **{"max.compaction.lag.ms": 100, "min.cleanable.dirty.ratio": 0.6}),
    returns=(int,),
    changes_nothing=True,
    solution=max_compaction_delay,
    beliefs=(
        Belief(
            _delays(of=lambda log, first_dirty: [s for s in log.log_segments if s.base_offset >= first_dirty]),
            "You include the active segment. It cannot be cleaned, so its records do not count.",
        ),
        Belief(
            _delays(of=lambda log, first_dirty: log.non_active_log_segments_from(0)),
            "You include segments that are already clean. Only those from `first_dirty_offset` on count.",
        ),
        Belief(
            _delays(limit=lambda log: 0),
            "You return the age of the oldest segment. Return by how much it exceeds `max_compaction_lag_ms`.",
        ),
        Belief(
            _delays(chosen=max),
            "You take the youngest of the dirty segments. The one that has waited longest counts.",
        ),
    ),
    hints=(
        "`log.non_active_log_segments_from(offset)` gives the segments that count.",
        "Each has `get_first_batch_timestamp()` (ms). Leave out values that are not above 0, and take the least.",
        "The answer is `now - log.config.max_compaction_lag_ms - oldest`, but at least 0. Without any segment it is "
        "0, too.",
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
    why="This one decision, *does the record stay?*, is the core of compaction.",
    invariants=(
        "It returns a list with True or False for each record of the columns.",
        "A record above `latest_offset`, the last offset in the map, stays.",
        "Of the others, a record without a key is removed, and so is a record for whose key the map has a later "
        "offset.",
        "A tombstone that is the newest of its key stays until the delete horizon of its batch, exclusive. The "
        "horizon is None before the first cleaning of the batch; then the tombstone stays.",
    ),
    chosen=(_DELETIONS, _FULL, _KEYLESS),
    profiles=drawn({}, {}, OPEN, **{"delete.retention.ms": 100}) + drawn({}, **{"log.cleaner.dedupe.buffer.size": 96}),
    solution=should_retain_records,
    beliefs=(
        Belief(
            _retains(covered=lambda offset, latest: True),
            "You decide about records above the map's latest offset. The map was built from records below, so the "
            "cleaner does not know whether these are the newest: all of them stay.",
        ),
        Belief(
            _retains(newest=lambda offset, found: offset == found),
            "You keep a record only if the map has exactly its offset. The map is built from the dirty part. A key "
            "that is not in it (-1) has no newer record, so the record stays.",
        ),
        Belief(
            _retains(stands=lambda horizon, now: False),
            "You remove every tombstone. The newest record of a key stays until its horizon, also if it is a "
            "tombstone.",
        ),
        Belief(
            _retains(stands=lambda horizon, now: True),
            "You keep tombstones for ever. From the delete horizon of its batch on, a tombstone is removed.",
        ),
        Belief(
            _retains(stands=lambda horizon, now: horizon is None or now <= horizon),
            "You keep a tombstone at its horizon. It stays only while `current_time < horizon`.",
        ),
        Belief(
            _retains(values_go=True),
            "You remove records with a value at the horizon. The horizon is only for the tombstones in the batch.",
        ),
        Belief(
            _retains(without_key=True),
            "You keep records without a key. Compaction works by key, so they are removed.",
        ),
    ),
    hints=(
        "`self._offset_map.get_columns(columns)` gives the newest offset of each record's key, -1 for a key that the "
        "map does not have. `columns` has `count`, `offsets[n]`, `key(n)` and `value(n)`; key and value may be None.",
        "Check in this order: is the offset above `self._offset_map.latest_offset`? has the record a key? is its "
        "offset at or above the newest?",
        "A tombstone stays if `batch.delete_horizon_ms` is None or above `self.current_time`.",
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
    why="Some batches must stay although all their records are removed: the next append of the same producer is "
    "checked against the last header.",
    invariants=(
        "It calls `self._transaction_metadata.on_control_batch_read(batch)` once for each control batch, and "
        "`self._transaction_metadata.on_batch_read(batch)` once for each other batch. The first returns True if all "
        "data of the marker's transaction are removed, the second if the batch was aborted.",
        "It sets `self._discard_batch_records` to True if the records must be removed: for an aborted batch at once, "
        "for a marker without data when its delete horizon is reached.",
        "A batch for which `_is_last_of_producer` is True, or that is the last one below the first uncleanable offset, "
        "stays at least as an empty header.",
        "The second value of the answer is True for a marker without data. Such a marker then gets a horizon if it "
        "has none.",
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
            "You remove a marker as soon as its data are removed. It gets a horizon first, so that slow readers "
            "still find it.",
        ),
        Belief(
            _checks(last=lambda self, batch: False),
            "You remove the last batch of a producer. The next append is checked against the sequence number in its "
            "header.",
        ),
        Belief(
            _checks(bound=lambda self, batch: False),
            "You remove the last empty batch below the first uncleanable offset. Its header must stay, so that its "
            "offsets are not lost.",
        ),
        Belief(
            _checks(aborted_go=False),
            "You keep aborted records. `on_batch_read` returns True for such a batch, and its records must be removed.",
        ),
        Belief(
            _checks(sets_horizon=False),
            "You never give a marker a horizon. The second value of the answer must be True when its data are removed.",
        ),
        Belief(
            _checks(due=lambda horizon, now: horizon is not None and horizon < now),
            "You keep a marker at its horizon. It is removed if `horizon <= current_time`.",
        ),
    ),
    hints=(
        "There are two kinds of batches: those with `batch.is_control_batch`, and the others. Call "
        "`self._transaction_metadata` for each kind, and set `self._discard_batch_records`.",
        "Then there are three results: `BatchRetention.RETAIN_EMPTY` (the last batch of a producer, or "
        "`batch.next_offset` is `self._upper_bound_offset`), else `DELETE` (its records are discarded), else "
        "`DELETE_EMPTY`.",
        "The answer is `BatchRetentionResult(retention, is_marker_without_data)`.",
    ),
)

LADDER = (delays, retains, checks)
"""The rungs in the order in which they are climbed."""
