"""A loaded log as `minikafka recover --json` describes it."""

from minikafka.log.log import Log
from minikafka.log.log_state_snapshot import ProducerSnapshot


def state_of(log: Log) -> dict[str, object]:
    """The offsets of the log, its segments as [base offset, size in bytes], its producers and leader epochs."""
    state = log.fetch_state_snapshot()
    return {
        "topic": log.topic_partition.topic,
        "partition": log.topic_partition.partition,
        "log_start_offset": state.log_start_offset,
        "log_end_offset": state.log_end_offset,
        "high_watermark": state.high_watermark,
        "last_stable_offset": state.last_stable_offset,
        "recovery_point": state.recovery_point,
        "segments": [list(segment) for segment in state.segments],
        "producers": [_producer(producer) for producer in state.producers],
        "epochs": [epoch._asdict() for epoch in state.epochs],
    }


def _producer(producer: ProducerSnapshot) -> dict[str, object]:
    first = producer.current_txn_first_offset
    return {**producer._asdict(), "current_txn_first_offset": None if first < 0 else first}
