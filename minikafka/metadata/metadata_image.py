"""The whole cluster's state, at one moment."""

from dataclasses import dataclass, field

from minikafka.metadata.cluster_image import ClusterImage
from minikafka.metadata.configurations_image import ConfigurationsImage
from minikafka.metadata.features_image import FeaturesImage
from minikafka.metadata.topics_image import TopicsImage


@dataclass(frozen=True, slots=True)
class MetadataImage:
    """What all records up to and including `offset` lead to (−1: no record yet); immutable.

    Simpler than Kafka's: features, topics, brokers, settings and producer ids; no quotas, access rules, tokens.

    Kafka: `org.apache.kafka.image.MetadataImage`.
    """

    offset: int = -1
    features: FeaturesImage = field(default_factory=FeaturesImage)
    cluster: ClusterImage = field(default_factory=ClusterImage)
    topics: TopicsImage = field(default_factory=TopicsImage)
    configs: ConfigurationsImage = field(default_factory=ConfigurationsImage)
    next_producer_id: int = -1

    def is_empty(self) -> bool:
        """Whether nothing is known. Kafka: `MetadataImage.isEmpty`."""
        parts = (self.features, self.cluster, self.topics, self.configs)
        return all(part.is_empty() for part in parts) and self.next_producer_id < 0


EMPTY = MetadataImage()
