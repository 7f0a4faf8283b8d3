"""What changes about the brokers between two images."""

from minikafka.common.errors import IllegalStateException
from minikafka.messages.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from minikafka.metadata.broker_registration import BrokerRegistration
from minikafka.metadata.cluster_image import ClusterImage


class ClusterDelta:
    """The brokers that have changed since `image`. Kafka: `org.apache.kafka.image.ClusterDelta`.

    `changed_brokers` holds each of them as it is now, None if it is no longer registered.
    """

    def __init__(self, image: ClusterImage):
        self.image = image
        self.changed_brokers: dict[int, BrokerRegistration | None] = {}

    def broker(self, node_id: int) -> BrokerRegistration | None:
        """The broker `node_id` as it is now, if it is registered. Kafka: `ClusterDelta.broker`."""
        if node_id in self.changed_brokers:
            return self.changed_brokers[node_id]
        return self.image.broker(node_id)

    def replay_register_broker(self, record: RegisterBrokerRecord) -> None:
        """A broker registers, be it again. Kafka: `ClusterDelta.replay(RegisterBrokerRecord)`."""
        self.changed_brokers[record.broker_id] = BrokerRegistration.from_record(record)

    def replay_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        """A broker is taken out of the cluster. Kafka: `ClusterDelta.replay(UnregisterBrokerRecord)`."""
        self.changed_brokers[record.broker_id] = None

    def replay_broker_registration_change(self, record: BrokerRegistrationChangeRecord, action: str = "change") -> None:
        """A registration changes. Kafka: `ClusterDelta.replay(BrokerRegistrationChangeRecord)`.

        Raises IllegalStateException unless the broker is registered with the epoch of the record.
        """
        broker = self.broker(record.broker_id)
        if broker is None:
            raise IllegalStateException(
                f"Tried to {action} broker {record.broker_id}, but that broker was not registered."
            )
        if broker.epoch != record.broker_epoch:
            raise IllegalStateException(
                f"Tried to {action} broker {record.broker_id}, but the given epoch, {record.broker_epoch}, did not "
                f"match the current broker epoch, {broker.epoch}"
            )
        changed = broker.merge(record)
        if changed != broker:
            self.changed_brokers[record.broker_id] = changed

    def apply(self) -> ClusterImage:
        """The brokers after the changes. Kafka: `ClusterDelta.apply`."""
        brokers = {**self.image.brokers, **self.changed_brokers}
        return ClusterImage({node_id: broker for node_id, broker in sorted(brokers.items()) if broker is not None})
