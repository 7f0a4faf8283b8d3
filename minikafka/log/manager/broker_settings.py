"""What a broker's settings mean for its logs.

Kafka: `KafkaConfig.extractLogConfigMap`, `AbstractKafkaConfig`.
"""

from collections.abc import Mapping

from minikafka.common.errors import ConfigException, NumberFormatException
from minikafka.common.java_numbers import parse_long

_SAME_MEANING = {
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "flush.messages": "log.flush.interval.messages",
    "retention.bytes": "log.retention.bytes",
    "max.message.bytes": "message.max.bytes",
    "index.interval.bytes": "log.index.interval.bytes",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "cleanup.policy": "log.cleanup.policy",
    "min.insync.replicas": "min.insync.replicas",
    "compression.type": "compression.type",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.zstd.level": "compression.zstd.level",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "preallocate": "log.preallocate",
    "message.timestamp.type": "log.message.timestamp.type",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "local.retention.ms": "log.local.retention.ms",
    "local.retention.bytes": "log.local.retention.bytes",
}
_HOUR_MS = 3_600_000

# A topic's setting in ms, and the broker's settings for it with their units in ms: the first one that is set counts.
_TIMES = {
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _HOUR_MS)),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR_MS)),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", _HOUR_MS),
    ),
}

LOG_SETTINGS = frozenset({*_SAME_MEANING.values(), *(name for choices in _TIMES.values() for name, _ in choices)})
"""The settings of a broker that mean something for its logs."""


def log_settings(broker_settings: Mapping[str, str]) -> dict[str, object]:
    """The topic settings that a broker with these settings has for defaults, by their names as topic settings.

    Raises ConfigException for a time that is not a number.
    """
    settings: dict[str, object] = {
        topics: broker_settings[brokers] for topics, brokers in _SAME_MEANING.items() if brokers in broker_settings
    }
    for topics, choices in _TIMES.items():
        given = [(_number(name, broker_settings[name]), unit) for name, unit in choices if name in broker_settings]
        if given:
            time, unit = given[0]
            settings[topics] = -1 if topics == "retention.ms" and time < 0 else time * unit
    return settings


def _number(name: str, text: str) -> int:
    try:
        return parse_long(text.strip())
    except NumberFormatException:
        raise ConfigException(f"Invalid value {text} for configuration {name}: Not a number") from None
