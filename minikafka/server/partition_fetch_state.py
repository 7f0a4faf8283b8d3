"""How far a follower is with a partition."""

from enum import Enum
from typing import NamedTuple


class ReplicaFetchState(Enum):
    """What a follower does with a partition next. Kafka: `org.apache.kafka.server.ReplicaState`."""

    TRUNCATING = "TRUNCATING"
    FETCHING = "FETCHING"


class PartitionFetchState(NamedTuple):
    """How far a follower is with a partition; each step makes a new one.

    - `topic_id`: None if unknown. `fetch_offset`: the next offset wanted.
    - `lag`: how many offsets the follower is behind the leader's high watermark, or behind its log end where that was
      asked; None until the first answer.
    - `current_leader_epoch`: the epoch in which the follower fetches.
    - `state`: whether the log has to be cut before anything is fetched.
    - `last_fetched_epoch`: the epoch of the last record in the log, None if the log knows none.
    - `delay_ms`, `due_ms`: for how long (ms), and until when (ms since 1970), the partition is left alone after an
      error. Both are None from the next answer on that brings records.

    The moment is told by the caller: Kafka asks the system's clock even where all else has another one.

    Kafka: `org.apache.kafka.server.PartitionFetchState`.
    """

    topic_id: str | None
    fetch_offset: int
    lag: int | None
    current_leader_epoch: int
    state: ReplicaFetchState
    last_fetched_epoch: int | None
    delay_ms: int | None = None
    due_ms: int | None = None

    def is_ready_for_fetch(self, now_ms: int) -> bool:
        """True when the partition may be fetched at `now_ms`. Kafka: `PartitionFetchState.isReadyForFetch`."""
        return self.state is ReplicaFetchState.FETCHING and not self.is_delayed(now_ms)

    def is_truncating(self, now_ms: int) -> bool:
        """True when the partition's log may be cut at `now_ms`. Kafka: `PartitionFetchState.isTruncating`."""
        return self.state is ReplicaFetchState.TRUNCATING and not self.is_delayed(now_ms)

    def is_delayed(self, now_ms: int) -> bool:
        """True while the partition is left alone after an error. Kafka: `PartitionFetchState.isDelayed`."""
        return self.due_ms is not None and self.due_ms > now_ms

    @property
    def is_replica_in_sync(self) -> bool:
        """True when the follower lacks nothing that is committed. Kafka: `PartitionFetchState.isReplicaInSync`."""
        return self.lag is not None and self.lag <= 0

    def delayed(self, delay_ms: int, now_ms: int) -> "PartitionFetchState":
        """The same, left alone for `delay_ms` from `now_ms` on. Kafka: `PartitionFetchState`'s constructor."""
        return self._replace(delay_ms=delay_ms, due_ms=now_ms + delay_ms)

    def update_topic_id(self, topic_id: str | None) -> "PartitionFetchState":
        """The same with another topic id. Kafka: `PartitionFetchState.updateTopicId`."""
        return self._replace(topic_id=topic_id)
