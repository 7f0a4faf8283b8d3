"""The settings of a broker's logs: the broker's defaults, and each topic's own settings on top of them."""

from collections.abc import Iterable, Mapping

from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.config_repository import ConfigRepository


class LogConfigProvider:
    """Gives each log its settings, and makes sure that none is opened with settings that have just been replaced.

    Whoever opens a log calls `initializing_log` before and `finished_initializing_log` after that. If the topic's
    settings are updated in between, the log may not be in the manager's map yet, so it gets the new ones at the end.

    Kafka: `LogManager`, its fields `_currentDefaultConfig`, `configRepository` and `partitionsInitializing`.
    """

    def __init__(self, config_repository: ConfigRepository, initial_default_config: LogConfig):
        self._config_repository = config_repository
        self.current_default_config = initial_default_config
        """The broker's settings. Kafka: `LogManager.currentDefaultConfig`."""
        # The partitions whose logs are being opened; True: their settings were updated meanwhile.
        self._partitions_initializing: dict[TopicPartition, bool] = {}

    def fetch_topic_config_overrides(
        self, default_config: LogConfig, topic_names: Iterable[str]
    ) -> dict[str, LogConfig]:
        """The settings of the topics that have their own. Kafka: `LogManager.fetchTopicConfigOverrides`."""
        configs = {}
        for topic in topic_names:
            if overrides := self._config_repository.topic_config(topic):
                configs[topic] = LogConfig.from_props(default_config.props, overrides)
        return configs

    def fetch_log_config(self, topic: str) -> LogConfig:
        """The settings of one topic. Kafka: `LogManager.fetchLogConfig`."""
        default_config = self.current_default_config
        return self.fetch_topic_config_overrides(default_config, [topic]).get(topic, default_config)

    def with_overrides(self, topic_config: Mapping[str, object]) -> LogConfig:
        """The broker's settings, replaced by those of `topic_config`. Kafka: `LogManager.updateTopicConfig`."""
        return LogConfig.from_props(self.current_default_config.props, topic_config)

    def initializing_log(self, topic_partition: TopicPartition) -> None:
        """Say that a log is about to be opened. Kafka: `LogManager.initializingLog`."""
        self._partitions_initializing[topic_partition] = False

    def topic_config_updated(self, topic: str) -> None:
        """Note that a topic's settings have changed. Kafka: `LogManager.topicConfigUpdated`."""
        for topic_partition in list(self._partitions_initializing):
            if topic_partition.topic == topic:
                self._partitions_initializing[topic_partition] = True

    def broker_config_updated(self) -> None:
        """Note that the broker's settings have changed. Kafka: `LogManager.brokerConfigUpdated`."""
        for topic_partition in list(self._partitions_initializing):
            self._partitions_initializing[topic_partition] = True

    def finished_initializing_log(self, topic_partition: TopicPartition, log: Log | None) -> None:
        """Say that the log is open (None: it could not be opened); it gets the newest settings if they have changed.

        Kafka: `LogManager.finishedInitializingLog`.
        """
        updated_meanwhile = self._partitions_initializing.pop(topic_partition, False)
        if updated_meanwhile and log is not None:
            log.update_config(self.fetch_log_config(topic_partition.topic))
