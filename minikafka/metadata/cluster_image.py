"""All brokers of the cluster, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from minikafka.metadata.broker_registration import BrokerRegistration


@dataclass(frozen=True, slots=True)
class ClusterImage:
    """Every registered broker by its id, in ascending order; immutable. Kafka: `image.ClusterImage`."""

    brokers: Mapping[int, BrokerRegistration] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether no broker is registered. Kafka: `ClusterImage.isEmpty`."""
        return not self.brokers

    def broker(self, node_id: int) -> BrokerRegistration | None:
        """The registration of the broker `node_id`, if there is one. Kafka: `ClusterImage.broker`."""
        return self.brokers.get(node_id)

    def broker_epoch(self, broker_id: int) -> int:
        """The epoch of a broker's registration; −1 if it has none. Kafka: `ClusterImage.brokerEpoch`."""
        broker = self.brokers.get(broker_id)
        return -1 if broker is None else broker.epoch
