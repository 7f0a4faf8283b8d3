"""Where a follower begins to fetch a partition, and from whom."""

from typing import NamedTuple


class BrokerEndPoint(NamedTuple):
    """A broker that can be connected to. Kafka: `org.apache.kafka.server.network.BrokerEndPoint`."""

    id: int
    host: str
    port: int


class InitialFetchState(NamedTuple):
    """What a fetcher is told of a partition that it is to follow.

    - `topic_id`: None for a log without one.
    - `current_leader_epoch`: the epoch in which `leader` leads.
    - `init_offset`: the first offset to fetch; < 0: ask the leader.

    Kafka: `kafka.server.InitialFetchState`.
    """

    topic_id: str | None
    leader: BrokerEndPoint
    current_leader_epoch: int
    init_offset: int
