"""A loaded log as `minikafka recover --json` describes it."""

from minikafka.log.log import Log
from minikafka.log.producer.producer_state_entry import ProducerStateEntry


def state_of(log: Log) -> dict[str, object]:
    """The offsets of the log, its segments as [base offset, size in bytes], its producers and leader epochs."""
    return {
        "topic": log.topic_partition.topic,
        "partition": log.topic_partition.partition,
        "log_start_offset": log.log_start_offset,
        "log_end_offset": log.log_end_offset,
        "high_watermark": log.high_watermark,
        "last_stable_offset": log.last_stable_offset,
        "recovery_point": log.recovery_point,
        "segments": [[segment.base_offset, segment.size] for segment in log.log_segments],
        "producers": [_producer(entry) for _, entry in sorted(log.producer_state_manager.active_producers.items())],
        "epochs": [
            {"epoch": entry.epoch, "start_offset": entry.start_offset} for entry in log.leader_epoch_cache.epoch_entries
        ],
    }


def _producer(entry: ProducerStateEntry) -> dict[str, object]:
    return {
        "producer_id": entry.producer_id,
        "producer_epoch": entry.producer_epoch,
        "last_sequence": entry.last_seq,
        "last_offset": entry.last_data_offset,
        "last_timestamp": entry.last_timestamp,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_first_offset": entry.current_txn_first_offset,
    }
