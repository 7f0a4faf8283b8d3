"""Which features of the cluster are on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"


@dataclass(frozen=True, slots=True)
class FeaturesImage:
    """The level of each feature that is on, by its name; immutable.

    Simpler than Kafka's: the metadata version is one of them, and always that of 4.3.

    Kafka: `org.apache.kafka.image.FeaturesImage`.
    """

    finalized_versions: Mapping[str, int] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether no feature is on. Kafka: `FeaturesImage.isEmpty`."""
        return not self.finalized_versions

    def is_elr_enabled(self) -> bool:
        """Whether partitions have eligible leader replicas (KIP-966). Kafka: `FeaturesImage.isElrEnabled`."""
        return self.finalized_versions.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) >= 1
