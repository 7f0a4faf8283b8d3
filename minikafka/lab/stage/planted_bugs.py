"""Bugs that a lesson plants into minikafka for a moment, so that the witnesses can find them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest import mock


def _rolls_when_exactly_full(segment: Any, params: Any) -> bool:
    """`>=` where Kafka has `>`: a batch that would just fill the segment begins a new one."""
    return segment.size > 0 and segment.size >= params.max_segment_bytes - params.messages_size


def _may_fall(log: Any, new_high_watermark: Any) -> Any:
    """The high watermark without the question whether the new one is higher."""
    if new_high_watermark.message_offset < 0:  # the end of a follower that has not fetched
        return None
    old = log._fetch_high_watermark_metadata()
    log._update_high_watermark_metadata(new_high_watermark)
    return old


def _one_segment_only(local_log: Any, start_offset: int, upper_bound_offset: int, segment: Any) -> Any:
    """The search for aborted transactions, without later segments, where the marker may lie."""
    return segment.collect_aborted_txns(start_offset, upper_bound_offset).aborted_transactions


def _one_record_more(local_log: Any) -> int:
    """One record less than are not flushed: a flush comes one record too late."""
    return local_log.log_end_offset_metadata.message_offset - local_log.recovery_point - 1


def _not_scanned(loader: Any) -> None:
    """Recovery that believes every directory as it is, whatever the last stop was."""


def _not_renamed(loader: Any) -> None:
    """A load that leaves `.swap` files as they are."""


def _ends_with_its_index(segment: Any) -> int:
    """The end of a segment by its last index entry alone, without the batches behind it."""
    return int(segment.offset_index.last_offset) + 1 if segment.offset_index.entries else segment.base_offset


def _first_undecided(producers: Any) -> Any:
    """The first unstable offset without the transactions whose marker is written but not replicated."""
    ongoing = producers.ongoing_txns
    return ongoing[0].first_offset if ongoing else None


def _counting_aborted_ones(build_offset_map_for_segment: Callable[..., bool]) -> Callable[..., bool]:
    """Without what is known of aborted transactions: their records hide the older ones of their keys."""
    from minikafka.log.cleaner.cleaned_transaction_metadata import CleanedTransactionMetadata

    def build(*arguments: Any) -> bool:
        *others, _aborted, stats = arguments
        return build_offset_map_for_segment(*others, CleanedTransactionMetadata(), stats)

    return build


def _checkpointing_the_end(checkpoints: Any, log_dir: Any, logs: Mapping[Any, Any]) -> None:
    """The logs' ends, also what has not been flushed, where the recovery points are to be written."""
    recovery_points, _ = checkpoints._files[log_dir]
    recovery_points.write({partition: log.log_end_offset for partition, log in logs.items()})


def _no_epoch(log: Any) -> None:
    """A log without leader epochs: a broker that begins to follow cuts it to the high watermark."""


def _named_as_asked(end_offset_for: Callable[..., tuple[int, int]]) -> Callable[..., tuple[int, int]]:
    """The end of an epoch, as if it were always that of the epoch that was asked about."""

    def end(cache: Any, requested_epoch: int, log_end_offset: int) -> tuple[int, int]:
        found_epoch, found_end = end_offset_for(cache, requested_epoch, log_end_offset)
        return (requested_epoch if found_epoch >= 0 else found_epoch), found_end

    return end


def _sent_is_received(update_follower_fetch_state: Callable[..., None]) -> Callable[..., None]:
    """A leader that believes that a follower has what the answer to its fetch will bring it."""

    def update(partition: Any, replica: Any, **named: Any) -> None:
        named["follower_fetch_offset_metadata"] = partition.log.log_end_offset_metadata
        update_follower_fetch_state(partition, replica, **named)

    return update


def _answers_at_once(
    manager: Any, required_acks: int, timeout_ms: int, results: Any, produce_status: Any, response_callback: Any
) -> None:
    """The answer with the leader's part done, whatever the acks are."""
    response_callback({key: status.response_status for key, status in produce_status.items()})


def _waiting_for_the_last_offset(build: Callable[[Any], Any]) -> Any:
    """The required high watermark one too low: the last record's own offset, not the one after it."""

    def built(results: Any) -> Any:
        found = build(results)
        for status in found.values():
            status.required_offset -= 1
        return found

    return staticmethod(built)


def _without_a_new_crc(set_max_timestamp: Callable[..., None]) -> Callable[..., None]:
    """The timestamp written into a batch as if the CRC did not cover it."""

    def set_(batch: Any, timestamp_type: Any, max_timestamp: int) -> None:
        stored = bytes(batch.buffer[17:21])
        set_max_timestamp(batch, timestamp_type, max_timestamp)
        batch.buffer[17:21] = stored

    return set_


def _always_valid(_batch: Any) -> bool:
    """A batch that is believed as it is."""
    return True


def _time_of_the_last(segment: Any) -> int:
    """The timestamp with which a segment ends, taken for the largest in it."""
    from minikafka.spark.source.segment_positions import batches_from

    times = [batch.max_timestamp for batch in batches_from(segment, segment.base_offset)]
    return times[-1] if times else -1


def _bugs() -> dict[str, tuple[type | ModuleType, str, Callable[..., Any]]]:
    from minikafka.cluster.partition import Partition
    from minikafka.log.cleaner.cleaner import Cleaner
    from minikafka.log.leader_epoch_file_cache import LeaderEpochFileCache
    from minikafka.log.local_log import LocalLog
    from minikafka.log.log import Log
    from minikafka.log.log_dir_checkpoints import LogDirCheckpoints
    from minikafka.log.log_loader import LogLoader
    from minikafka.log.log_segment import LogSegment
    from minikafka.log.producer.producer_state_manager import ProducerStateManager
    from minikafka.record.record_batch import RecordBatch
    from minikafka.server.replica_manager import ReplicaManager
    from minikafka.spark.source import read_task

    return {
        "a segment rolls when it would be exactly full": (LogSegment, "should_roll", _rolls_when_exactly_full),
        "aborted transactions are looked up in one segment": (
            LocalLog,
            "_collect_aborted_transactions",
            _one_segment_only,
        ),
        "a flush waits for one record more": (LocalLog, "unflushed_messages", property(_one_record_more)),
        "a marker frees its transaction before it is replicated": (
            ProducerStateManager,
            "first_unstable_offset",
            property(_first_undecided),
        ),
        "the leader's high watermark may fall": (Log, "maybe_increment_high_watermark", _may_fall),
        "an aborted record counts as the newest of its key": (
            Cleaner,
            "_build_offset_map_for_segment",
            _counting_aborted_ones(Cleaner._build_offset_map_for_segment),
        ),
        "the log end is written as the recovery point": (
            LogDirCheckpoints,
            "checkpoint_recovery_offsets_in_dir",
            _checkpointing_the_end,
        ),
        "a follower knows no leader epochs": (Log, "latest_epoch", property(_no_epoch)),
        "a leader does not say of which epoch it speaks": (
            LeaderEpochFileCache,
            "end_offset_for",
            _named_as_asked(LeaderEpochFileCache.end_offset_for),
        ),
        "what was sent to a follower counts as received": (
            Partition,
            "update_follower_fetch_state",
            _sent_is_received(Partition.update_follower_fetch_state),
        ),
        "acks=all is answered as soon as the leader has the records": (
            ReplicaManager,
            "_maybe_add_delayed_produce",
            _answers_at_once,
        ),
        "a request waits for its last offset, not for the one after it": (
            ReplicaManager,
            "_build_produce_partition_status",
            _waiting_for_the_last_offset(ReplicaManager._build_produce_partition_status),
        ),
        "the last timestamp of a segment is taken for its largest": (
            read_task,
            "largest_timestamp",
            _time_of_the_last,
        ),
        "a .swap file keeps its name": (LogLoader, "_rename_swap_files", _not_renamed),
        "a segment ends where its index does": (LogSegment, "read_next_offset", _ends_with_its_index),
        "a batch's CRC is not compared": (RecordBatch, "is_valid", _always_valid),
        "a timestamp is written without a new CRC": (
            RecordBatch,
            "set_max_timestamp",
            _without_a_new_crc(RecordBatch.set_max_timestamp),
        ),
        "an unclean log is not scanned": (LogLoader, "_recover_unflushed_segments", _not_scanned),
    }


@contextmanager
def planted(bug: str) -> Iterator[None]:
    """Run minikafka with `bug` inside the `with` block; outside it is sound again. Raises KeyError for an unknown
    bug.
    """
    owner, name, wrong = _bugs()[bug]
    with mock.patch.object(owner, name, wrong):
        yield
