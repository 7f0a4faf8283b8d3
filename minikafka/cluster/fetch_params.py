"""What a fetch request asks: of all its partitions together, and of one of them."""

from typing import NamedTuple

from minikafka.log.fetch_isolation import FUTURE_LOCAL_REPLICA_ID, FetchIsolation

CONSUMER_REPLICA_ID = -1


class ClientMetadata(NamedTuple):
    """What a consumer says of itself, by which a replica near it can be chosen. Kafka: `ClientMetadata`."""

    rack_id: str
    client_id: str
    client_address: str
    principal: str
    listener_name: str


class FetchParams(NamedTuple):
    """What a fetch request asks of all its partitions.

    - `replica_id`: the broker that follows, -1 for a consumer, -2 for a debugging one, -3 for a log that is moved to
      another log directory. `replica_epoch`: the epoch with which that broker is registered, -1 if it does not say.
    - `max_wait_ms`: how long the answer may wait for `min_bytes`. `max_bytes`: the size of the answer, over all
      partitions.
    - `client_metadata`: None for followers, and for consumers older than version 11.

    Simpler than Kafka: there are no share fetches. Kafka: `org.apache.kafka.server.storage.log.FetchParams`.
    """

    replica_id: int
    replica_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: FetchIsolation
    client_metadata: ClientMetadata | None = None

    @property
    def is_from_follower(self) -> bool:
        """True for a broker that replicates. Kafka: `FetchParams.isFromFollower`."""
        return self.replica_id >= 0

    @property
    def is_from_future(self) -> bool:
        """True for a log that is moved to another log directory. Kafka: `FetchParams.isFromFuture`."""
        return self.replica_id == FUTURE_LOCAL_REPLICA_ID

    @property
    def is_from_consumer(self) -> bool:
        """True for every reader that is no replica. Kafka: `FetchParams.isFromConsumer`."""
        return self.replica_id < 0 and self.replica_id != FUTURE_LOCAL_REPLICA_ID

    @property
    def fetch_only_leader(self) -> bool:
        """True when a follower must refuse the request: consumers of version 11 and later may read from followers.

        Kafka: `FetchParams.fetchOnlyLeader`.
        """
        return self.is_from_follower or (self.is_from_consumer and self.client_metadata is None)


class FetchRequestPartitionData(NamedTuple):
    """What a fetch request asks of one partition.

    - `topic_id`: 22 characters, `ZERO_UUID` in versions that send names.
    - `fetch_offset`: the first offset wanted. `log_start_offset`: that of the follower, -1 for a consumer.
    - `max_bytes`: how much of the partition is wanted.
    - `current_leader_epoch`: what the reader takes for the leader's epoch, None if it does not say.
    - `last_fetched_epoch`: the epoch of the last record that a follower has, None if it does not say; the leader finds
      out by it whether their logs differ.

    Kafka: `FetchRequest.PartitionData`.
    """

    topic_id: str
    fetch_offset: int
    log_start_offset: int
    max_bytes: int
    current_leader_epoch: int | None
    last_fetched_epoch: int | None = None
