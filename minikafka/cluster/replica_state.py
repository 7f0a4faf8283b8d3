"""What a leader knows of one follower."""

from typing import NamedTuple

from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET, UNKNOWN_OFFSET_METADATA, LogOffsetMetadata


class ReplicaState(NamedTuple):
    """What a leader knows of a follower, all of it from the follower's fetches.

    - `log_start_offset`: the follower's log start, -1 before its first fetch.
    - `log_end_offset_metadata`: the offset that it asked for last, which is where its log ends, with its place in the
      leader's log. Inside a batch it is the batch's first offset; before the first fetch it is -1.
    - `last_fetch_leader_log_end_offset`: where the leader's log ended when that fetch came.
    - `last_fetch_time_ms`: when that fetch came.
    - `last_caught_up_time_ms`: the latest time at which the leader's log ended no later than the offset asked for.
    - `broker_epoch`: the epoch that the fetch brought (-1 if it brought none); None before the first fetch.

    Objects never change. Kafka: `org.apache.kafka.server.replica.ReplicaState`.
    """

    log_start_offset: int
    log_end_offset_metadata: LogOffsetMetadata
    last_fetch_leader_log_end_offset: int
    last_fetch_time_ms: int
    last_caught_up_time_ms: int
    broker_epoch: int | None

    @property
    def log_end_offset(self) -> int:
        """Where the follower's log ends, -1 before its first fetch. Kafka: `ReplicaState.logEndOffset`."""
        return self.log_end_offset_metadata.message_offset

    def is_caught_up(self, leader_end_offset: int, current_time_ms: int, replica_max_lag_ms: int) -> bool:
        """True when the follower's log ends where the leader's does, or did so within the last `replica_max_lag_ms`.

        A follower that has everything stays caught up, however long it is silent. Kafka: `ReplicaState.isCaughtUp`.
        """
        return (
            leader_end_offset == self.log_end_offset
            or current_time_ms - self.last_caught_up_time_ms <= replica_max_lag_ms
        )


EMPTY_REPLICA_STATE = ReplicaState(UNKNOWN_OFFSET, UNKNOWN_OFFSET_METADATA, 0, 0, 0, None)
"""The state of a replica that has not fetched yet. Kafka: `ReplicaState.EMPTY`."""
