"""Where a fetch request begins, continues or ends its session."""

import logging
from collections.abc import Callable, Sequence

from minikafka.common.error_codes import Errors
from minikafka.common.time import Time
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.server.fetch_context import (
    FetchContext,
    FetchData,
    FullFetchContext,
    IncrementalFetchContext,
    SessionErrorContext,
    SessionlessFetchContext,
)
from minikafka.server.fetch_metadata import FINAL_EPOCH, INVALID_SESSION_ID, FetchMetadata, next_epoch
from minikafka.server.fetch_session_cache import FetchSessionCache

logger = logging.getLogger(__name__)

FIRST_VERSION_WITH_TOPIC_IDS = 13


class FetchManager:
    """Finds the session of a request. Kafka: `org.apache.kafka.server.FetchManager`."""

    def __init__(self, time: Time, cache: FetchSessionCache):
        self.cache = cache
        self._time = time

    def new_context(
        self,
        version: int,
        metadata: FetchMetadata,
        is_follower: bool,
        fetch_data: FetchData,
        to_forget: Sequence[TopicIdPartition],
        name_of: Callable[[str], str | None],
    ) -> FetchContext:
        """How a request is to be served.

        - `version`, `metadata`: of the request. `fetch_data`: the partitions that it names. `to_forget`: those that its
          session is not to have any more.
        - `name_of(id)`: the name of a topic, None if no topic has the id.

        Raises IndexOutOfBoundsException for a session's id that no broker gives. Kafka: `FetchManager.newContext`.
        """
        uses_topic_ids = version >= FIRST_VERSION_WITH_TOPIC_IDS
        if metadata.is_full:
            # 1. A full request ends the session that it names, and may begin another one.
            if metadata.session_id != INVALID_SESSION_ID:
                self.cache.get_cache_shard(metadata.session_id).remove(metadata.session_id)
            if metadata.epoch == FINAL_EPOCH:
                return SessionlessFetchContext(fetch_data)
            return FullFetchContext(self._time, self.cache, fetch_data, uses_topic_ids, is_follower)
        shard = self.cache.get_cache_shard(metadata.session_id)
        with shard.lock:
            # 2. Any other one must continue a session that is there, in the right order, and by the same names.
            session = shard.get(metadata.session_id)
            if session is None:
                logger.debug("Session error for %d: no such session ID found", metadata.session_id)
                return SessionErrorContext(Errors.FETCH_SESSION_ID_NOT_FOUND)
            with session.lock:
                if session.epoch != metadata.epoch:
                    logger.debug("%s: got epoch %d instead", session, metadata.epoch)
                    return SessionErrorContext(Errors.INVALID_FETCH_SESSION_EPOCH)
                if session.uses_topic_ids != uses_topic_ids:
                    logger.debug("%s: version %d does not name topics as it does", session, version)
                    return SessionErrorContext(Errors.FETCH_SESSION_TOPIC_ID_ERROR)
                # 3. The session changes. One without partitions ends.
                session.update(fetch_data, to_forget)
                if not len(session):
                    shard.remove(session.id)
                    return SessionlessFetchContext(fetch_data)
                shard.touch(session, self._time.milliseconds())
                session.epoch = next_epoch(session.epoch)
                return IncrementalFetchContext(metadata, session, name_of)
