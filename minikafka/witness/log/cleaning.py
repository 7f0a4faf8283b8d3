"""One turn of a log cleaner's thread, as an observation reports it, and minikafka's log cleaner, which takes it."""

from collections.abc import Mapping
from typing import NamedTuple

from minikafka.common.errors import LogCleaningException
from minikafka.common.throttler import Throttler
from minikafka.common.time import Time
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.cleaner.cleaner_thread import CleanerThread
from minikafka.log.cleaner.log_cleaner_manager import LogCleanerManager

_SMALL = {"log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024}
_CHECK_INTERVAL_MS = 300  # of the throttle


class CleaningStats(NamedTuple):
    """What a cleaning counted.

    Messages and bytes that it read, wrote, and read for the offset map; messages without a key; and the share of the
    map that was used (0 to 1).
    """

    messages_read: int
    bytes_read: int
    messages_written: int
    bytes_written: int
    map_messages_read: int
    map_bytes_read: int
    invalid_messages_read: int
    buffer_utilization: float


class CleaningTurn(NamedTuple):
    """What a thread did in its turn.

    `cleaned`: whether it chose the log. `stats`: those of the cleaning, None if it was given up.
    `max_compaction_delay`: for how many ms longer than `max.compaction.lag.ms` the log has waited. `offline`: whether
    its directory has failed.
    """

    cleaned: bool
    stats: CleaningStats | None
    max_compaction_delay: int
    offline: bool

    def __str__(self) -> str:
        if not self.cleaned:
            return "nothing to clean"
        words = [f"late {self.max_compaction_delay} ms"] if self.max_compaction_delay else []
        if self.offline:
            words.append("directory offline")
        if self.stats is None:
            return ", ".join(["given up", *words])
        stats = self.stats
        return ", ".join(
            [
                f"kept {stats.messages_written} of {stats.messages_read} messages",
                f"{stats.bytes_written} of {stats.bytes_read} bytes",
                f"map of {stats.map_messages_read} messages",
                f"{stats.map_bytes_read} bytes",
                f"{stats.buffer_utilization:.6f} full",
                f"{stats.invalid_messages_read} without key",
                *words,
            ]
        )


class LogCleanerTurns:
    """minikafka's log cleaner for one log, with one thread, which takes its turns when the caller says so."""

    def __init__(self, log, config: CleanerConfig, time: Time):
        channel = log.log_dir_failure_channel
        throttler = Throttler(config.max_io_bytes_per_second, _CHECK_INTERVAL_MS, time)
        self._log = log
        self._manager = LogCleanerManager([log.parent_dir], {log.topic_partition: log}, channel)
        self._thread = CleanerThread(
            0, config, self._manager, throttler=throttler, log_dir_failure_channel=channel, time=time
        )

    def take_turn(self) -> CleaningTurn:
        """Let the thread look for work once.

        Raises what kept the log from being cleaned; the log is then left alone.

        Kafka: `LogCleaner.CleanerThread.tryCleanFilthiestLog`.
        """
        thread, log = self._thread, self._log
        before = thread.last_stats
        try:
            cleaned = thread.clean_filthiest_log()
        except LogCleaningException as failure:
            self._manager.mark_partition_uncleanable(log.parent_dir, log.topic_partition)
            raise failure.__cause__ from None
        return CleaningTurn(
            cleaned,
            None if thread.last_stats is before else _numbers(thread.last_stats),
            thread.last_pre_clean_stats.max_compaction_delay_ms,
            log.log_dir_failure_channel.has_offline_log_dir(log.parent_dir),
        )


def cleaner_config(settings: Mapping[str, object]) -> CleanerConfig:
    """The cleaner's settings among those of a workload, by a broker's names. The default is a small offset map."""
    return CleanerConfig.of({**_SMALL, **settings})


def _numbers(stats) -> CleaningStats:
    return CleaningStats(*(getattr(stats, name) for name in CleaningStats._fields))
