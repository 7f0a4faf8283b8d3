"""What a broker's settings mean for its logs.

Kafka: `KafkaConfig.extractLogConfigMap`, `AbstractKafkaConfig`.
"""

from collections.abc import Mapping
from typing import cast

from minikafka.common.config_def import ConfigDef, ConfigKey, Range, Type
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.java.java_numbers import LONG_MAX

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

TOPIC_CONFIG_SYNONYMS = {**_SAME_MEANING, **{topics: choices[0][0] for topics, choices in _TIMES.items()}}
"""A topic's settings that a broker has, too, and their names there; of several the one that counts first.

Kafka: `ServerTopicConfigSynonyms.TOPIC_CONFIG_SYNONYMS`.
"""

_TIMES_CONFIG = ConfigDef(
    [
        ConfigKey("log.roll.ms", Type.LONG, None),
        ConfigKey("log.roll.hours", Type.INT, 168, Range(1)),
        ConfigKey("log.roll.jitter.ms", Type.LONG, None),
        ConfigKey("log.roll.jitter.hours", Type.INT, 0, Range(0)),
        ConfigKey("log.retention.ms", Type.LONG, None),
        ConfigKey("log.retention.minutes", Type.INT, None),
        ConfigKey("log.retention.hours", Type.INT, 168),
        ConfigKey("log.flush.interval.ms", Type.LONG, None),
        ConfigKey("log.flush.scheduler.interval.ms", Type.LONG, LONG_MAX),
    ]
)
"""Kafka: `LogConfig.SERVER_CONFIG_DEF`."""

LOG_SETTINGS = frozenset({*_SAME_MEANING.values(), *_TIMES_CONFIG.names})
"""The settings of a broker that mean something for its logs."""


def log_settings(broker_settings: Mapping[str, object]) -> dict[str, object]:
    """The topic settings that a broker with these settings has for defaults, by their names as topic settings.

    Raises ConfigException for a time that is not a number of its type, and IllegalArgumentException for one with which
    a broker does not start: `log.retention.ms=0` would delete all records.
    """
    settings: dict[str, object] = {
        topics: broker_settings[brokers] for topics, brokers in _SAME_MEANING.items() if brokers in broker_settings
    }
    times = _times(broker_settings)
    for topics, choices in _TIMES.items():
        if any(name in broker_settings for name, _ in choices):
            settings[topics] = times[topics]
    return settings


def _times(broker_settings: Mapping[str, object]) -> dict[str, int]:
    """The times (ms) by their names as topic settings. Kafka: `KafkaConfig.validateValues`."""
    values = _TIMES_CONFIG.parse(broker_settings)
    times = {}
    for topics, choices in _TIMES.items():
        name, unit = next((name, unit) for name, unit in choices if values[name] is not None)
        times[topics] = cast(int, values[name]) * unit
    times["retention.ms"] = max(times["retention.ms"], -1)
    for topics, name, least in (("segment.ms", "log.roll.ms", 1), ("segment.jitter.ms", "log.roll.jitter.ms", 0)):
        if times[topics] < least:
            raise IllegalArgumentException(f"requirement failed: {name} must be greater than or equal to {least}")
    if times["retention.ms"] == 0:
        raise IllegalArgumentException(
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
        )
    return times
