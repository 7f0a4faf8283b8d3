"""The fetch sessions of a broker, in several parts."""

from collections.abc import Sequence

from minikafka.common.errors import IndexOutOfBoundsException
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.server.fetch_session_cache_shard import FetchSessionCacheShard

SHARDS = 8
"""Kafka: `KafkaBroker.NumFetchSessionCacheShards`."""

MIN_EVICTION_MS = 120_000
"""How long a session must be unused before any other one may take its place.

Kafka: `KafkaBroker.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`.
"""


class FetchSessionCache:
    """All shards: a new session goes into the next one in turn, and its id tells later in which one it is.

    Simpler than Kafka: no metrics, and each broker counts its own turns, where the brokers of one JVM count together.
    Kafka: `FetchSession.FetchSessionCache`.
    """

    def __init__(self, shards: Sequence[FetchSessionCacheShard]):
        """`shards`: by their numbers."""
        self._shards = shards
        self._turn = 0

    @classmethod
    def with_slots(cls, slots: int) -> "FetchSessionCache":
        """A cache for at most `slots` sessions, which its shards have in equal parts. Kafka: `BrokerServer.startup`."""
        ids = INT_MAX // SHARDS
        return cls([FetchSessionCacheShard(slots // SHARDS, MIN_EVICTION_MS, ids, number) for number in range(SHARDS)])

    def __len__(self) -> int:
        """The number of sessions. Kafka: its metric `NumIncrementalFetchSessions`."""
        return sum(map(len, self._shards))

    def get_cache_shard(self, session_id: int) -> FetchSessionCacheShard:
        """The shard that has this session, if any has it. Kafka: `FetchSessionCache.getCacheShard`.

        Raises IndexOutOfBoundsException for an id far below 0, and for the few above those of the last shard.
        """
        number = max(session_id, 0) // self._shards[0].session_id_range
        if session_id <= -self._shards[0].session_id_range or number >= len(self._shards):
            raise IndexOutOfBoundsException(f"No shard has the fetch session {session_id}")
        return self._shards[number]

    def get_next_cache_shard(self) -> FetchSessionCacheShard:
        """The shard whose turn it is. Kafka: `FetchSessionCache.getNextCacheShard`."""
        shard = self._shards[self._turn % len(self._shards)]
        self._turn += 1
        return shard
