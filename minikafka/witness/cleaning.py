"""One turn of a log cleaner's thread, minikafka's or Kafka's, as an observation tells of it."""

from collections.abc import Mapping
from typing import NamedTuple

CHECKPOINT = "cleaner-offset-checkpoint"
"""The file beside a partition that says how far its log has been cleaned."""


class CleanerSettings(NamedTuple):
    """The settings of a cleaner with one thread.

    `dedupe_buffer_size`: the offset map's memory in bytes, 24 for each key; `load_factor`: the share of it that is
    used; `io_buffer_size`: bytes, half of them for reading; `max_message_size`: how many bytes both buffers may grow
    to.
    """

    dedupe_buffer_size: int = 4 * 1024 * 1024
    load_factor: float = 0.9
    io_buffer_size: int = 1024 * 1024
    max_message_size: int = 32 * 1024 * 1024

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> "CleanerSettings":
        """The cleaner's settings among those of a workload, by Kafka's names for a broker; for the others, the defaults
        of Kafka's tests.

        Kafka: `CleanerConfig(boolean)`.
        """
        given = {
            "dedupe_buffer_size": ("log.cleaner.dedupe.buffer.size", int),
            "load_factor": ("log.cleaner.io.buffer.load.factor", float),
            "io_buffer_size": ("log.cleaner.io.buffer.size", int),
            "max_message_size": ("message.max.bytes", int),
        }
        return cls(**{field: read(settings[name]) for field, (name, read) in given.items() if name in settings})


class CleaningStats(NamedTuple):
    """What a cleaning counted: messages and bytes that it read, wrote, and read for the offset map; messages without a
    key; the share of the map that was used (0 to 1).
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

    `cleaned`: whether it chose the log; `stats`: of the cleaning, None if that was given up; `max_compaction_delay`: by
    how many ms the log is later than `max.compaction.lag.ms` allows; `offline`: whether its directory has failed.
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
        s = self.stats
        return ", ".join(
            [
                f"kept {s.messages_written} of {s.messages_read} messages",
                f"{s.bytes_written} of {s.bytes_read} bytes",
                f"map of {s.map_messages_read} messages",
                f"{s.map_bytes_read} bytes",
                f"{s.buffer_utilization:.6f} full",
                f"{s.invalid_messages_read} without key",
                *words,
            ]
        )
