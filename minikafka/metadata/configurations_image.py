"""All settings that were changed while the cluster ran, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from minikafka.common.config_resource import ConfigResource


@dataclass(frozen=True, slots=True)
class ConfigurationsImage:
    """The own settings of topics and brokers, as texts by Kafka's names; immutable.

    Kafka: `org.apache.kafka.image.ConfigurationsImage`.
    """

    resource_data: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether nothing has a setting of its own. Kafka: `ConfigurationsImage.isEmpty`."""
        return not self.resource_data

    def config_map_for_resource(self, resource: ConfigResource) -> Mapping[str, str]:
        """The own settings of `resource`, without any defaults. Kafka: `ConfigurationsImage.configMapForResource`."""
        return self.resource_data.get(resource, {})
