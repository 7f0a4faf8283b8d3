"""What changes about the settings between two images."""

from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.messages.cluster_metadata import ConfigRecord
from minikafka.metadata.configurations_image import ConfigurationsImage


class ConfigurationsDelta:
    """The settings that were changed since `image`. Kafka: `org.apache.kafka.image.ConfigurationsDelta`.

    `changes` has, for every topic and broker concerned, the new value of each changed setting; None: removed. As in
    Kafka, a topic that is made, given settings and deleted within one delta leaves these settings behind.
    """

    def __init__(self, image: ConfigurationsImage):
        self.image = image
        self.changes: dict[ConfigResource, dict[str, str | None]] = {}

    def replay_config(self, record: ConfigRecord) -> None:
        """A setting has a new value, or none. Kafka: `ConfigurationsDelta.replay(ConfigRecord)`."""
        resource = ConfigResource(ConfigResourceType.for_id(record.resource_type), record.resource_name)
        self.changes.setdefault(resource, {})[record.name] = record.value

    def replay_remove_topic(self, topic_name: str) -> None:
        """A deleted topic loses its settings. Kafka: `ConfigurationsDelta.replay(RemoveTopicRecord, String)`."""
        resource = ConfigResource.topic(topic_name)
        if resource in self.image.resource_data:
            self.changes[resource] = dict.fromkeys(self.image.resource_data[resource])

    def apply(self) -> ConfigurationsImage:
        """The settings after the changes; who has none left is not there. Kafka: `ConfigurationsDelta.apply`."""
        data = dict(self.image.resource_data)
        for resource, changes in self.changes.items():
            settings = {**data.pop(resource, {}), **changes}
            remaining = {name: value for name, value in settings.items() if value is not None}
            if remaining:
                data[resource] = remaining
        return ConfigurationsImage(data)
