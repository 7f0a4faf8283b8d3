"""A follower that goes round by itself."""

import logging
import threading

from minikafka.server.replica_fetcher import ReplicaFetcher

logger = logging.getLogger(__name__)


class ReplicaFetcherThread:
    """Lets a fetcher go round until it is shut down; while it has nothing to ask for, it looks every back-off.

    How long a fetch waits for records is the leader's matter, and the clock the machine's.

    Kafka: `kafka.server.ReplicaFetcherThread`, `org.apache.kafka.server.util.ShutdownableThread`.
    """

    def __init__(self, fetcher: ReplicaFetcher, fetch_backoff_ms: int):
        self.fetcher = fetcher
        self._fetch_backoff_s = fetch_backoff_ms / 1000
        self._should_run = True
        self._has_news = threading.Event()
        self._thread = threading.Thread(target=self._run, name=fetcher.name, daemon=True)

    def start(self) -> None:
        """Begin. Java: `Thread.start`."""
        self._thread.start()

    def wake_up(self) -> None:
        """There may be something to fetch. Kafka: `AbstractFetcherThread.partitionMapCond`, signalled."""
        self._has_news.set()

    def shutdown(self) -> None:
        """End the fetcher, and wait until its thread has ended, unless it is this one. Kafka: `.shutdown`."""
        self._should_run = False
        self.fetcher.initiate_shutdown()
        self.wake_up()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self.fetcher.shutdown()

    def _run(self) -> None:
        """Kafka: `ShutdownableThread.run`."""
        while self._should_run:
            self._has_news.clear()
            try:
                has_fetched = self.fetcher.do_work()
            except Exception:
                logger.exception("[%s]: Error due to", self.fetcher.name)
                return
            if not has_fetched and self._should_run:
                self._has_news.wait(self._fetch_backoff_s)
