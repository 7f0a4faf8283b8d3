"""One follower, as the leader sees it."""

import logging
import threading

from minikafka.cluster.replica_state import EMPTY_REPLICA_STATE, ReplicaState
from minikafka.common.errors import NotLeaderOrFollowerException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET, UNKNOWN_OFFSET_METADATA, LogOffsetMetadata
from minikafka.metadata.metadata_cache import MetadataCache

logger = logging.getLogger(__name__)


class Replica:
    """One follower of a partition, as the leader sees it: by its fetches, and by nothing else.

    - A follower says how far it has come by asking for what follows: the offset of a fetch is the end of its log. So
      the leader learns of records that arrived one fetch later.
    - `state_snapshot` is replaced as a whole, under a lock: whoever reads it sees one moment.

    Kafka: `org.apache.kafka.server.replica.Replica`.
    """

    def __init__(self, broker_id: int, topic_partition: TopicPartition, metadata_cache: MetadataCache):
        self.broker_id = broker_id
        self.topic_partition = topic_partition
        self._metadata_cache = metadata_cache
        self._lock = threading.Lock()
        self.state_snapshot = EMPTY_REPLICA_STATE
        """What is known now. Kafka: `Replica.stateSnapshot`."""

    def update_fetch_state_or_throw(
        self,
        follower_fetch_offset_metadata: LogOffsetMetadata,
        follower_start_offset: int,
        follower_fetch_time_ms: int,
        leader_end_offset: int,
        broker_epoch: int,
    ) -> None:
        """Note a fetch of the follower.

        - `follower_fetch_offset_metadata`: the offset asked for, with its place in the leader's log.
        - `follower_start_offset`: the log start of the follower.
        - `leader_end_offset`: where the leader's log ended just before it was read for this fetch.
        - `broker_epoch`: the epoch that the fetch brought, -1 if it brought none.

        Raises NotLeaderOrFollowerException, and notes nothing, when a later epoch of that broker is known: the fetch is
        a leftover from before the broker was restarted. Kafka: `Replica.updateFetchStateOrThrow`.
        """
        with self._lock:
            state = self.state_snapshot
            # 1. A leftover of the broker's earlier incarnation says nothing about its present one.
            cached_broker_epoch = self._metadata_cache.get_alive_broker_epoch(self.broker_id)
            if broker_epoch != -1 and cached_broker_epoch is not None and cached_broker_epoch > broker_epoch:
                raise NotLeaderOrFollowerException(
                    f"Fetch of {self.topic_partition} by broker {self.broker_id} has the old broker epoch "
                    f"{broker_epoch}; the broker is registered with {cached_broker_epoch}, and {state.broker_epoch} "
                    "was the epoch of its last fetch"
                )
            # 2. It asks for the leader's end: it is caught up now.
            fetch_offset = follower_fetch_offset_metadata.message_offset
            if fetch_offset >= leader_end_offset:
                last_caught_up_time_ms = max(state.last_caught_up_time_ms, follower_fetch_time_ms)
            # 3. It asks for what was the end when it fetched last: it was caught up then. (So a follower counts as
            #    caught up even if something new is appended before each of its fetches.)
            elif fetch_offset >= state.last_fetch_leader_log_end_offset:
                last_caught_up_time_ms = max(state.last_caught_up_time_ms, state.last_fetch_time_ms)
            else:
                last_caught_up_time_ms = state.last_caught_up_time_ms
            # 4. Note it all at once.
            self.state_snapshot = ReplicaState(
                log_start_offset=follower_start_offset,
                log_end_offset_metadata=follower_fetch_offset_metadata,
                last_fetch_leader_log_end_offset=max(leader_end_offset, state.last_fetch_leader_log_end_offset),
                last_fetch_time_ms=follower_fetch_time_ms,
                last_caught_up_time_ms=last_caught_up_time_ms,
                broker_epoch=broker_epoch,
            )

    def reset_replica_state(
        self, current_time_ms: int, leader_end_offset: int, *, is_new_leader: bool, is_follower_in_sync: bool
    ) -> None:
        """Begin a new leader epoch: forget the follower's fetches if another broker led before (`is_new_leader`).

        A follower in the ISR counts as caught up now, so it has the time that every lagging follower has before it must
        leave. Any other counts as never caught up: the high watermark does not wait for it.
        Kafka: `Replica.resetReplicaState`.
        """
        now_if_in_sync = current_time_ms if is_follower_in_sync else 0
        with self._lock:
            if is_new_leader:
                self.state_snapshot = ReplicaState(
                    UNKNOWN_OFFSET, UNKNOWN_OFFSET_METADATA, UNKNOWN_OFFSET, 0, now_if_in_sync, None
                )
            else:
                self.state_snapshot = self.state_snapshot._replace(
                    last_fetch_leader_log_end_offset=leader_end_offset,
                    last_fetch_time_ms=now_if_in_sync,
                    last_caught_up_time_ms=now_if_in_sync,
                )
        logger.debug("Begin a new leader epoch with %s", self)

    def __str__(self) -> str:
        state = self.state_snapshot
        return (
            f"Replica({self.broker_id}, log_start_offset={state.log_start_offset}, "
            f"log_end_offset={state.log_end_offset}, last_caught_up_time_ms={state.last_caught_up_time_ms}, "
            f"broker_epoch={state.broker_epoch})"
        )
