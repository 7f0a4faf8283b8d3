"""The settings of a broker that replication and the requests of clients read."""

from collections.abc import Mapping
from typing import cast

from minikafka.common.abstract_config import AbstractConfig
from minikafka.common.config_def import ConfigDef, ConfigKey, Range, Type
from minikafka.common.errors import ConfigException
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.broker_settings import log_settings
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig
from minikafka.metadata.kafka_config import require_valid

CONFIG = ConfigDef(
    [
        ConfigKey("node.id", Type.INT, None, Range(0)),
        ConfigKey("broker.rack", Type.STRING, None),
        ConfigKey("log.dir", Type.LIST, ["/tmp/kafka-logs"]),
        ConfigKey("log.dirs", Type.LIST, None),
        ConfigKey("inter.broker.listener.name", Type.STRING, None),
        # Topics
        ConfigKey("num.partitions", Type.INT, 1, Range(1)),
        ConfigKey("default.replication.factor", Type.INT, 1),
        ConfigKey("auto.create.topics.enable", Type.BOOLEAN, True),
        ConfigKey("delete.topic.enable", Type.BOOLEAN, True),
        # Requests
        ConfigKey("message.max.bytes", Type.INT, 1024 * 1024 + 12, Range(0)),
        ConfigKey("fetch.max.bytes", Type.INT, 55 * 1024 * 1024, Range(1024)),
        ConfigKey("max.incremental.fetch.session.cache.slots", Type.INT, 1000, Range(0)),
        ConfigKey("max.request.partition.size.limit", Type.INT, 2000, Range(1)),
        ConfigKey("request.timeout.ms", Type.INT, 30_000),
        ConfigKey("producer.purgatory.purge.interval.requests", Type.INT, 1000),
        ConfigKey("fetch.purgatory.purge.interval.requests", Type.INT, 1000),
        ConfigKey("delete.records.purgatory.purge.interval.requests", Type.INT, 1),
        # Replication
        ConfigKey("replica.lag.time.max.ms", Type.LONG, 30_000),
        ConfigKey("replica.high.watermark.checkpoint.interval.ms", Type.LONG, 5_000),
        ConfigKey("num.replica.fetchers", Type.INT, 1, Range(1)),
        ConfigKey("replica.fetch.max.bytes", Type.INT, 1024 * 1024, Range(0)),
        ConfigKey("replica.fetch.response.max.bytes", Type.INT, 10 * 1024 * 1024, Range(0)),
        ConfigKey("replica.fetch.min.bytes", Type.INT, 1),
        ConfigKey("replica.fetch.wait.max.ms", Type.INT, 500),
        ConfigKey("replica.fetch.backoff.ms", Type.INT, 1_000, Range(0)),
        ConfigKey("replica.socket.timeout.ms", Type.INT, 30_000),
        ConfigKey("replica.selector.class", Type.STRING, None),
        # Transactions
        ConfigKey("transaction.max.timeout.ms", Type.INT, 900_000, Range(1)),
        ConfigKey("transaction.partition.verification.enable", Type.BOOLEAN, True),
        ConfigKey("add.partitions.to.txn.retry.backoff.ms", Type.INT, 20, Range(1)),
        ConfigKey("add.partitions.to.txn.retry.backoff.max.ms", Type.INT, 100, Range(0)),
        ConfigKey("producer.id.expiration.ms", Type.INT, 86_400_000, Range(1)),
        ConfigKey("producer.id.expiration.check.interval.ms", Type.INT, 600_000, Range(1)),
        # The log manager's work
        ConfigKey("num.recovery.threads.per.data.dir", Type.INT, 2, Range(1)),
        ConfigKey("log.flush.scheduler.interval.ms", Type.LONG, LONG_MAX),
        ConfigKey("log.flush.offset.checkpoint.interval.ms", Type.INT, 60_000, Range(0)),
        ConfigKey("log.flush.start.offset.checkpoint.interval.ms", Type.INT, 60_000, Range(0)),
        ConfigKey("log.retention.check.interval.ms", Type.LONG, 300_000, Range(1)),
        ConfigKey("log.initial.task.delay.ms", Type.LONG, 30_000, Range(0)),
    ]
)
"""Kafka: `AbstractKafkaConfig.CONFIG_DEF`."""


class BrokerConfig(AbstractConfig):
    """The settings of one broker, by Kafka's names and with Kafka's defaults.

    Simpler than Kafka: settings of listeners, security, quotas, coordinators, remote storage and metrics are checked as
    Kafka checks them, and have no effect. Kafka: `KafkaConfig`.
    """

    def __init__(self, props: Mapping[str, object]):
        """Parse `props`, text or values by name; `node.id` must be among them.

        Raises what `require_valid` raises for settings with which Kafka would not start.
        """
        if "node.id" not in props:
            raise ConfigException('Missing required configuration "node.id" which has no default value.')
        require_valid(props)
        super().__init__(CONFIG, props)
        self.originals = dict(props)
        """What was given, by name. Kafka: `KafkaConfig.originals`."""
        get = self.get_int
        self.broker_id = get("node.id")
        """Kafka: `KafkaConfig.brokerId`, `KafkaConfig.nodeId`."""
        self.replica_lag_time_max_ms = get("replica.lag.time.max.ms")
        self.replica_high_watermark_checkpoint_interval_ms = get("replica.high.watermark.checkpoint.interval.ms")
        self.num_replica_fetchers = get("num.replica.fetchers")
        self.replica_fetch_max_bytes = get("replica.fetch.max.bytes")
        self.replica_fetch_response_max_bytes = get("replica.fetch.response.max.bytes")
        self.replica_fetch_min_bytes = get("replica.fetch.min.bytes")
        self.replica_fetch_wait_max_ms = get("replica.fetch.wait.max.ms")
        self.replica_fetch_backoff_ms = get("replica.fetch.backoff.ms")
        self.producer_purgatory_purge_interval_requests = get("producer.purgatory.purge.interval.requests")
        self.fetch_purgatory_purge_interval_requests = get("fetch.purgatory.purge.interval.requests")
        self.delete_records_purgatory_purge_interval_requests = get("delete.records.purgatory.purge.interval.requests")
        self.fetch_max_bytes = get("fetch.max.bytes")
        self.max_incremental_fetch_session_cache_slots = get("max.incremental.fetch.session.cache.slots")
        self.request_timeout_ms = get("request.timeout.ms")
        self.transaction_partition_verification_enable = self.get_boolean("transaction.partition.verification.enable")
        self.add_partitions_to_txn_retry_backoff_ms = get("add.partitions.to.txn.retry.backoff.ms")
        self.add_partitions_to_txn_retry_backoff_max_ms = get("add.partitions.to.txn.retry.backoff.max.ms")
        self.replica_selector_class_name = cast(str | None, self._values["replica.selector.class"])

    @property
    def rack(self) -> str | None:
        """Where the broker stands, None if it is not said. Kafka: `AbstractKafkaConfig.rack`."""
        return cast(str | None, self._values["broker.rack"])

    @property
    def inter_broker_listener_name(self) -> str:
        """The listener of the other brokers. Kafka: `AbstractKafkaConfig.interBrokerListenerName`."""
        return cast(str | None, self._values["inter.broker.listener.name"]) or "PLAINTEXT"

    def log_config(self) -> LogConfig:
        """The settings of topics that have none of their own. Kafka: `KafkaConfig.extractLogConfigMap`."""
        return LogConfig(log_settings({name: str(value) for name, value in self.originals.items()}))

    def cleaner_config(self) -> CleanerConfig:
        """The settings of the log cleaner. Kafka: `CleanerConfig(AbstractConfig)`."""
        return CleanerConfig.of(self.originals)

    def producer_state_manager_config(self) -> ProducerStateManagerConfig:
        """How long producers are remembered, and whether transactions are verified. Kafka: `LogManager.apply`."""
        return ProducerStateManagerConfig(
            producer_id_expiration_ms=self.get_int("producer.id.expiration.ms"),
            transaction_verification_enabled=self.transaction_partition_verification_enable,
        )
