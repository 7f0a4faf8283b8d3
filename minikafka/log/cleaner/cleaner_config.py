"""The settings of the log cleaner."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from minikafka.common.config_def import ConfigDef, ConfigKey, Range, Type

_MAX_DOUBLE = 1.7976931348623157e308
_MAX_MESSAGE_BYTES = 1024 * 1024 + 12

CONFIG = ConfigDef(
    [
        ConfigKey("log.cleaner.threads", Type.INT, 1, Range(0)),
        ConfigKey("log.cleaner.io.max.bytes.per.second", Type.DOUBLE, _MAX_DOUBLE),
        ConfigKey("log.cleaner.dedupe.buffer.size", Type.LONG, 128 * 1024 * 1024),
        ConfigKey("log.cleaner.io.buffer.size", Type.INT, 512 * 1024, Range(0)),
        ConfigKey("log.cleaner.io.buffer.load.factor", Type.DOUBLE, 0.9),
        ConfigKey("log.cleaner.backoff.ms", Type.LONG, 15 * 1000, Range(0)),
        ConfigKey("log.cleaner.enable", Type.BOOLEAN, True),
        ConfigKey("message.max.bytes", Type.INT, _MAX_MESSAGE_BYTES, Range(0)),
    ]
)
"""The cleaner's part of a broker's settings. Kafka: `CleanerConfig.CONFIG_DEF`."""


@dataclass(frozen=True)
class CleanerConfig:
    """How many threads clean logs, and what all of them together may use.

    - `dedupe_buffer_size`: the memory for their offset maps, in bytes; `dedupe_buffer_load_factor`: the share of it
      that may be filled, 0 to 1.
    - `io_buffer_size`: the memory for their read and write buffers, in bytes; each buffer may grow to
      `max_message_size` for a large batch.
    - `max_io_bytes_per_second`: how fast they may read and write.
    - `backoff_ms`: how long a thread waits when it has found nothing to do.

    The defaults are those of Kafka's tests; `of` applies a broker's. Kafka: `CleanerConfig`.
    """

    num_threads: int = 1
    dedupe_buffer_size: int = 4 * 1024 * 1024
    dedupe_buffer_load_factor: float = 0.9
    io_buffer_size: int = 1024 * 1024
    max_message_size: int = 32 * 1024 * 1024
    max_io_bytes_per_second: float = _MAX_DOUBLE
    backoff_ms: int = 15 * 1000
    enable_cleaner: bool = True

    @classmethod
    def of(cls, props: Mapping[str, object]) -> "CleanerConfig":
        """The settings of a broker with these `props`, by Kafka's names; raises ConfigException.

        Kafka: `CleanerConfig(AbstractConfig)`.
        """
        values = CONFIG.parse(props)
        return cls(
            cast(int, values["log.cleaner.threads"]),
            cast(int, values["log.cleaner.dedupe.buffer.size"]),
            cast(float, values["log.cleaner.io.buffer.load.factor"]),
            cast(int, values["log.cleaner.io.buffer.size"]),
            cast(int, values["message.max.bytes"]),
            cast(float, values["log.cleaner.io.max.bytes.per.second"]),
            cast(int, values["log.cleaner.backoff.ms"]),
            cast(bool, values["log.cleaner.enable"]),
        )
