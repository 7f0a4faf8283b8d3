"""Where the settings of topics come from."""

from collections.abc import Mapping
from typing import Protocol


class ConfigRepository(Protocol):
    """What a log manager needs to know of topics. Kafka: `org.apache.kafka.metadata.ConfigRepository`."""

    def topic_config(self, topic: str) -> Mapping[str, object]:
        """The settings that a topic has of its own, by Kafka's names. Kafka: `ConfigRepository.topicConfig`."""


class MapConfigRepository:
    """The settings that it is given: a topic's name to its settings. Kafka: `MockConfigRepository`, of its tests."""

    def __init__(self, topic_configs: Mapping[str, Mapping[str, object]] | None = None):
        self.topic_configs = dict(topic_configs or {})

    def topic_config(self, topic: str) -> Mapping[str, object]:
        """The settings that a topic has of its own; none for one that is not known."""
        return self.topic_configs.get(topic, {})
