"""A topic's settings."""

import random
import re
from collections.abc import Iterable, Mapping

from minikafka.common.abstract_config import AbstractConfig
from minikafka.common.config_def import ConfigDef, ConfigKey, Range, Type, ValidList, ValidString, invalid_value
from minikafka.common.errors import ConfigException, InvalidConfigurationException
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.log.broker_compression_type import BrokerCompressionType
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.timestamp_type import TimestampType

_WEEK_MS = 7 * 24 * 60 * 60 * 1000
_DAY_MS = 24 * 60 * 60 * 1000
_HOUR_MS = 60 * 60 * 1000
_FOLLOW_RETENTION = -2  # the broker's own disk keeps as much as `retention.ms` and `retention.bytes` say
_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")

INTERNAL_SEGMENT_BYTES_CONFIG = "internal.segment.bytes"


def gzip_level(name: str, level: object) -> None:
    """Accepts -1 and 1 to 9. Kafka: `CompressionType.levelValidator`."""
    if not isinstance(level, int):  # the setting is an INT: None is all else that it can be
        raise invalid_value(name, None, "Value must be non-null")
    if level > 9 or (level < 1 and level != -1):
        raise invalid_value(name, level, "Value must be between 1 and 9 or equal to -1")


def _throttled_replicas(name: str, replicas: object) -> None:
    """Accepts `*`, or a list of `partition:broker`. Kafka: `ThrottledReplicaListValidator`."""
    if not isinstance(replicas, list):  # the setting is a LIST: None is all else that it can be
        raise invalid_value(name, None, f"{name} must be a List")
    proposed = [str(replica).strip() for replica in replicas]
    if not all(map(_REPLICA.fullmatch, proposed)) and "".join(proposed) != "*":
        raise invalid_value(
            name,
            replicas,
            f"{name} must be the literal '*' or a list of replicas in the following format:"
            " [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )


CONFIG = ConfigDef(
    [
        ConfigKey("segment.bytes", Type.INT, 1024 * 1024 * 1024, Range(1024 * 1024)),
        ConfigKey("segment.ms", Type.LONG, _WEEK_MS, Range(1)),
        ConfigKey("segment.jitter.ms", Type.LONG, 0, Range(0)),
        ConfigKey("segment.index.bytes", Type.INT, 10 * 1024 * 1024, Range(4)),
        ConfigKey("flush.messages", Type.LONG, LONG_MAX, Range(1)),
        ConfigKey("flush.ms", Type.LONG, LONG_MAX, Range(0)),
        ConfigKey("retention.bytes", Type.LONG, -1),
        ConfigKey("retention.ms", Type.LONG, _WEEK_MS, Range(-1)),
        ConfigKey("max.message.bytes", Type.INT, 1024 * 1024 + 12, Range(0)),
        ConfigKey("index.interval.bytes", Type.INT, 4096, Range(0)),
        ConfigKey("delete.retention.ms", Type.LONG, _DAY_MS, Range(0)),
        ConfigKey("min.compaction.lag.ms", Type.LONG, 0, Range(0)),
        ConfigKey("max.compaction.lag.ms", Type.LONG, LONG_MAX, Range(1)),
        ConfigKey("file.delete.delay.ms", Type.LONG, 60000, Range(0)),
        ConfigKey("min.cleanable.dirty.ratio", Type.DOUBLE, 0.5, Range(0, 1)),
        ConfigKey("cleanup.policy", Type.LIST, ["delete"], ValidList("compact", "delete")),
        ConfigKey("unclean.leader.election.enable", Type.BOOLEAN, False),
        ConfigKey("min.insync.replicas", Type.INT, 1, Range(1)),
        ConfigKey("compression.type", Type.STRING, "producer", ValidString(*BrokerCompressionType.names())),
        ConfigKey("compression.gzip.level", Type.INT, -1, gzip_level),
        ConfigKey("compression.lz4.level", Type.INT, 9, Range(1, 17)),
        ConfigKey("compression.zstd.level", Type.INT, 3, Range(-131072, 22)),
        ConfigKey("preallocate", Type.BOOLEAN, False),
        ConfigKey("message.timestamp.type", Type.STRING, "CreateTime", ValidString("CreateTime", "LogAppendTime")),
        ConfigKey("message.timestamp.before.max.ms", Type.LONG, LONG_MAX, Range(0)),
        ConfigKey("message.timestamp.after.max.ms", Type.LONG, _HOUR_MS, Range(0)),
        ConfigKey("leader.replication.throttled.replicas", Type.LIST, [], _throttled_replicas),
        ConfigKey("follower.replication.throttled.replicas", Type.LIST, [], _throttled_replicas),
        ConfigKey("remote.storage.enable", Type.BOOLEAN, False),
        ConfigKey("local.retention.ms", Type.LONG, _FOLLOW_RETENTION, Range(-2)),
        ConfigKey("local.retention.bytes", Type.LONG, _FOLLOW_RETENTION, Range(-2)),
        ConfigKey("remote.log.copy.disable", Type.BOOLEAN, False),
        ConfigKey("remote.log.delete.on.disable", Type.BOOLEAN, False),
        ConfigKey(INTERNAL_SEGMENT_BYTES_CONFIG, Type.INT, None, internal=True),
    ]
)


class LogConfig(AbstractConfig):
    """A topic's settings, parsed and checked once. They never change; a log gets a new object instead.

    `overrides` maps Kafka's names to text or values. A setting that is missing has Kafka's default; names that Kafka
    does not know are ignored here and refused by `validate`. Attributes have the names of Kafka's fields: sizes in
    bytes, times in ms, -1 for no limit in the two retention settings. `compression` is None for
    `compression.type=producer`.

    Simpler than Kafka: settings of remote storage are accepted and checked but have no effect, since there is none.

    Raises ConfigException. Kafka: `LogConfig`.
    """

    def __init__(self, overrides: Mapping[str, object] | None = None, overridden_configs: Iterable[str] = ()):
        self.props = dict(overrides or {})
        self.overridden_configs = frozenset(overridden_configs)
        for name, value in self.props.items():
            if not isinstance(name, str):
                raise invalid_value(name, value, "Key must be a string.")
        super().__init__(CONFIG, self.props)
        for name, value in self._values.items():
            if value is None and name != INTERNAL_SEGMENT_BYTES_CONFIG:
                raise invalid_value(name, None, "Value must be non-null")

        is_internal = self._values[INTERNAL_SEGMENT_BYTES_CONFIG] is not None
        self.segment_size = self.get_int(INTERNAL_SEGMENT_BYTES_CONFIG if is_internal else "segment.bytes")
        self.segment_ms = self.get_int("segment.ms")
        self.segment_jitter_ms = self.get_int("segment.jitter.ms")
        self.max_index_size = self.get_int("segment.index.bytes")
        self.flush_interval = self.get_int("flush.messages")
        self.flush_ms = self.get_int("flush.ms")
        self.retention_size = self.get_int("retention.bytes")
        self.retention_ms = self.get_int("retention.ms")
        self.max_message_size = self.get_int("max.message.bytes")
        self.index_interval = self.get_int("index.interval.bytes")
        self.file_delete_delay_ms = self.get_int("file.delete.delay.ms")
        self.delete_retention_ms = self.get_int("delete.retention.ms")
        self.compaction_lag_ms = self.get_int("min.compaction.lag.ms")
        self.max_compaction_lag_ms = self.get_int("max.compaction.lag.ms")
        self.min_cleanable_ratio = self.get_double("min.cleanable.dirty.ratio")
        self.compact = "compact" in self.get_list("cleanup.policy")
        self.delete = "delete" in self.get_list("cleanup.policy")
        self.unclean_leader_election_enable = self.get_boolean("unclean.leader.election.enable")
        self.min_in_sync_replicas = self.get_int("min.insync.replicas")
        self.compression_type = BrokerCompressionType.for_name(self.get_string("compression.type"))
        self.compression = self._get_compression()
        self.preallocate = self.get_boolean("preallocate")
        self.message_timestamp_type = TimestampType.for_name(self.get_string("message.timestamp.type"))
        self.message_timestamp_before_max_ms = self.get_int("message.timestamp.before.max.ms")
        self.message_timestamp_after_max_ms = self.get_int("message.timestamp.after.max.ms")
        self.leader_replication_throttled_replicas = tuple(self.get_list("leader.replication.throttled.replicas"))
        self.follower_replication_throttled_replicas = tuple(self.get_list("follower.replication.throttled.replicas"))
        self.max_segment_ms = self.segment_ms
        """The age (ms) at which a segment is rolled.

        Only rolled segments are compacted, so a compacted topic rolls after `max.compaction.lag.ms` at the latest.
        Kafka: `LogConfig.maxSegmentMs`.
        """
        if self.compact and self.max_compaction_lag_ms > 0:
            self.max_segment_ms = min(self.max_compaction_lag_ms, self.segment_ms)

    @property
    def init_file_size(self) -> int:
        """Bytes of a new `.log` file: those of a segment if it is preallocated, else 0. Kafka: `initFileSize`."""
        return self.segment_size if self.preallocate else 0

    def random_segment_jitter(self) -> int:
        """How many ms early a new segment is rolled: drawn below `segment.jitter.ms`, so that topics that were created
        together do not roll together. Kafka: `LogConfig.randomSegmentJitter`.
        """
        if self.segment_jitter_ms == 0:
            return 0
        return random.getrandbits(31) % min(self.segment_jitter_ms, self.segment_ms)

    @staticmethod
    def from_props(defaults: Mapping[str, object], overrides: Mapping[str, object]) -> "LogConfig":
        """The settings of a topic with `overrides` on a broker with `defaults`. Kafka: `LogConfig.fromProps`."""
        return LogConfig({**defaults, **overrides}, overrides.keys())

    @staticmethod
    def config_names() -> list[str]:
        """The names of all settings, sorted. Kafka: `LogConfig.configNames`."""
        return sorted(CONFIG.names)

    @staticmethod
    def non_internal_config_names() -> list[str]:
        """The names of the documented settings, sorted. Kafka: `LogConfig.nonInternalConfigNames`."""
        return sorted(key.name for key in CONFIG.config_keys.values() if not key.internal)

    @staticmethod
    def validate_names(props: Mapping[str, object]) -> None:
        """Raises InvalidConfigurationException for an unknown name. Kafka: `LogConfig.validateNames`."""
        for name in props:
            if name not in CONFIG.config_keys:
                raise InvalidConfigurationException(f"Unknown topic config name: {name}")

    @staticmethod
    def validate_values(settings: AbstractConfig) -> None:
        """Raises InvalidConfigurationException for settings that contradict each other.

        Kafka: `LogConfig.validateValues`.
        """
        smallest, largest = settings.get_int("min.compaction.lag.ms"), settings.get_int("max.compaction.lag.ms")
        if smallest > largest:
            raise InvalidConfigurationException(
                f"conflict topic config setting min.compaction.lag.ms ({smallest}) > max.compaction.lag.ms ({largest})"
            )

    @staticmethod
    def validate_topic_log_config_values(settings: AbstractConfig) -> None:
        """Refuse what a broker without tiered storage does not give a topic, `settings` on top of the broker's own.

        Raises InvalidConfigurationException and ConfigException. Kafka: `LogConfig.validateTopicLogConfigValues`.
        """
        LogConfig.validate_values(settings)
        if settings.values["remote.storage.enable"]:
            raise ConfigException(
                "Tiered Storage functionality is disabled in the broker. "
                "Topic cannot be configured with remote log storage."
            )

    @staticmethod
    def validate(props: Mapping[str, object]) -> None:
        """Refuse what a topic cannot be created with: unknown names, bad values, contradictions.

        Raises InvalidConfigurationException and ConfigException. Kafka: `LogConfig.validate`.
        """
        LogConfig.validate_names(props)
        LogConfig.validate_values(AbstractConfig(CONFIG, props))

    def __repr__(self) -> str:
        return f"LogConfig({self.props})"

    def _get_compression(self) -> Compression | None:
        match self.compression_type:
            case BrokerCompressionType.GZIP:
                return Compression(CompressionType.GZIP, self.get_int("compression.gzip.level"))
            case BrokerCompressionType.LZ4:
                return Compression(CompressionType.LZ4, self.get_int("compression.lz4.level"))
            case BrokerCompressionType.ZSTD:
                return Compression(CompressionType.ZSTD, self.get_int("compression.zstd.level"))
            case BrokerCompressionType.SNAPPY:
                return Compression(CompressionType.SNAPPY)
            case BrokerCompressionType.UNCOMPRESSED:
                return Compression(CompressionType.NONE)
            case BrokerCompressionType.PRODUCER:
                return None
