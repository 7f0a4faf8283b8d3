"""Where the settings of topics come from."""

from collections.abc import Mapping
from typing import Protocol


class ConfigRepository(Protocol):
    """What a log manager needs to know about topics. Kafka: `org.apache.kafka.metadata.ConfigRepository`."""

    def topic_config(self, topic: str) -> Mapping[str, object]:
        """A topic's own settings, by Kafka's names. Kafka: `ConfigRepository.topicConfig`."""


class MapConfigRepository:
    """Settings from a mapping of topic names to settings, as it is when asked.

    Kafka: `MockConfigRepository`, in its tests.
    """

    def __init__(self, topic_configs: Mapping[str, Mapping[str, object]] | None = None):
        self.topic_configs = {} if topic_configs is None else topic_configs

    def topic_config(self, topic: str) -> Mapping[str, object]:
        """A topic's own settings; none for an unknown topic."""
        return self.topic_configs.get(topic, {})
