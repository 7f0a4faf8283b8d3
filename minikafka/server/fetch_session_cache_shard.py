"""Some of a broker's fetch sessions, and which of them must go when there are too many."""

import logging
import secrets
import threading
from collections.abc import Iterable

from minikafka.server.fetch_metadata import INITIAL_EPOCH, INVALID_SESSION_ID, next_epoch
from minikafka.server.fetch_session import CachedPartition, EvictableKey, FetchSession

logger = logging.getLogger(__name__)


class FetchSessionCacheShard:
    """Sessions by their ids, never more than `max_entries`.

    When there is no room, a new session takes the place of

    1. the one that was not used for longest, if that is more than `eviction_ms`; else of
    2. the least valuable one (`EvictableKey`), if it is not more valuable than the new one, and if the new one is a
       follower's and the other a consumer's, or the other was, when it was last used, more than `eviction_ms` old.

    Otherwise the reader gets no session.

    Simpler than Kafka, which keeps trees of sessions in both orders: the few sessions of a shard are all looked at when
    one has to go. Kafka: `org.apache.kafka.server.FetchSessionCacheShard`.
    """

    def __init__(self, max_entries: int, eviction_ms: int, session_id_range: int, shard_num: int):
        """`session_id_range`: how many ids each shard has; those of this one begin at its multiple by `shard_num`."""
        self.session_id_range = session_id_range
        self.lock = threading.RLock()
        """Held by whoever looks for a session and then works with it."""
        self._max_entries = max_entries
        self._eviction_ms = eviction_ms
        self._shard_num = shard_num
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        """The number of sessions. Kafka: `FetchSessionCacheShard.size`."""
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        """The session with this id, None if there is none. Kafka: `FetchSessionCacheShard.get`."""
        return self._sessions.get(session_id)

    def new_session_id(self) -> int:
        """An id that no session of this broker has, by chance. Kafka: `FetchSessionCacheShard.newSessionId`."""
        first = max(1, self._shard_num * self.session_id_range)
        behind = (self._shard_num + 1) * self.session_id_range
        while (id := first + secrets.randbelow(behind - first)) in self._sessions:
            pass
        return id

    def maybe_create_session(
        self, now_ms: int, privileged: bool, uses_topic_ids: bool, partitions: list[CachedPartition]
    ) -> int:
        """Begin a session if there is room for it, or another one may be evicted; its id, else INVALID_SESSION_ID.

        Kafka: `FetchSessionCacheShard.maybeCreateSession`.
        """
        with self.lock:
            key = EvictableKey(privileged, len(partitions), 0)
            if len(self._sessions) >= self._max_entries and not self._try_evict(privileged, key, now_ms):
                logger.debug("No fetch session created for privileged=%s, size=%d", privileged, len(partitions))
                return INVALID_SESSION_ID
            session = FetchSession(
                self.new_session_id(), privileged, partitions, uses_topic_ids, now_ms, next_epoch(INITIAL_EPOCH)
            )
            self._sessions[session.id] = session
            logger.debug("Created %s", session)
            return session.id

    def remove(self, session_id: int) -> None:
        """End a session, if it is there. Kafka: `FetchSessionCacheShard.remove`."""
        with self.lock:
            self._sessions.pop(session_id, None)

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """A request has used this session. Kafka: `FetchSessionCacheShard.touch`."""
        with self.lock, session.lock:
            session.last_used_ms = now_ms
            session.cached_size = len(session)

    def _try_evict(self, privileged: bool, key: EvictableKey, now_ms: int) -> bool:
        """Make room for a session that would have `key`. Kafka: `FetchSessionCacheShard.tryEvict`."""
        if not self._sessions:
            return False
        # 1. The one that was not used for longest.
        stalest = min(self._sessions.values(), key=lambda session: session.last_used_key)
        if now_ms - stalest.last_used_ms > self._eviction_ms:
            return self._evict(stalest)
        # 2. The least valuable one.
        evictable = self._evictable(privileged)
        least = min(evictable, key=lambda session: session.evictable_key, default=None)
        if least is None or key < least.evictable_key:
            return False
        return self._evict(least)

    def _evictable(self, by_privileged: bool) -> Iterable[FetchSession]:
        """Kafka: its maps `evictableByAll` and `evictableByPrivileged`."""
        for session in self._sessions.values():
            was_old = session.last_used_ms - session.creation_ms > self._eviction_ms
            if was_old or (by_privileged and not session.privileged):
                yield session

    def _evict(self, session: FetchSession) -> bool:
        logger.debug("Evicting %s", session)
        self.remove(session.id)
        return True
