"""One broker as the metadata log describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from minikafka.common import directory_id
from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.node import Node
from minikafka.messages.cluster_metadata import BrokerRegistrationChangeRecord, RegisterBrokerRecord


class BrokerRegistrationFencingChange(IntEnum):
    """What a record says of `fenced`. Kafka: `org.apache.kafka.metadata.BrokerRegistrationFencingChange`."""

    UNFENCE = -1
    NONE = 0
    FENCE = 1


class BrokerRegistrationInControlledShutdownChange(IntEnum):
    """What a record says of a shutdown; one that has begun is only ended by another registration.

    Kafka: `org.apache.kafka.metadata.BrokerRegistrationInControlledShutdownChange`.
    """

    NONE = 0
    IN_CONTROLLED_SHUTDOWN = 1


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker that has registered; immutable. Kafka: `org.apache.kafka.metadata.BrokerRegistration`.

    - `epoch` grows with every start of the broker: it tells one incarnation of the broker from the next.
    - A `fenced` broker leads nothing and is in no ISR, unless it was the last one there: it has not caught up yet, or
      is believed dead.
    - One that is `in_controlled_shutdown` hands its partitions over, and takes no new ones.

    Simpler than Kafka's: no features, no cordoned directories.
    """

    id: int
    epoch: int
    incarnation_id: str
    listeners: Mapping[str, Endpoint]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    directories: tuple[str, ...]

    @staticmethod
    def from_record(record: RegisterBrokerRecord) -> "BrokerRegistration":
        """The broker of `record`; raises IllegalArgumentException for a listener without a name.

        Kafka: `BrokerRegistration.fromRecord`.
        """
        if not all(end_point.name for end_point in record.end_points):
            raise IllegalArgumentException("Broker listeners must be named.")
        return BrokerRegistration(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            listeners={each.name: Endpoint(each.name, each.host, each.port) for each in record.end_points},
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            directories=tuple(sorted(record.log_dirs)),
        )

    def merge(self, record: BrokerRegistrationChangeRecord) -> "BrokerRegistration":
        """This broker after `record`; no directories leave those as they are. Kafka: `BrokerRegistration.cloneWith`."""
        fencing = BrokerRegistrationFencingChange(record.fenced)
        shutdown = BrokerRegistrationInControlledShutdownChange(record.in_controlled_shutdown)
        return replace(
            self,
            fenced=self.fenced if fencing is fencing.NONE else fencing is fencing.FENCE,
            in_controlled_shutdown=self.in_controlled_shutdown or shutdown is shutdown.IN_CONTROLLED_SHUTDOWN,
            directories=tuple(sorted(record.log_dirs)) or self.directories,
        )

    def node(self, listener_name: str) -> Node | None:
        """Where the broker can be reached by `listener_name`; None without such a listener.

        Kafka: `BrokerRegistration.node`.
        """
        endpoint = self.listeners.get(listener_name)
        return None if endpoint is None else Node(self.id, endpoint.host, endpoint.port, self.rack, self.fenced)

    def is_active(self) -> bool:
        """Whether the broker may lead and be in an ISR. Kafka: `ClusterControlManager.isActive`."""
        return not self.fenced and not self.in_controlled_shutdown

    def has_online_dir(self, directory: str) -> bool:
        """Whether a replica in `directory` can be used. Kafka: `BrokerRegistration.hasOnlineDir`."""
        return directory_id.is_online(directory, self.directories)
