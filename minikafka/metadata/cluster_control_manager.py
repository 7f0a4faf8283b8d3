"""Which brokers are there, and which of them may lead."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from minikafka.common import directory_id
from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import (
    DuplicateBrokerRegistrationException,
    InvalidRegistrationException,
    StaleBrokerEpochException,
)
from minikafka.messages.cluster_metadata import MetadataRecord, RegisterBrokerRecord
from minikafka.metadata.broker_registration import BrokerRegistration
from minikafka.metadata.metadata_log import MetadataLog
from minikafka.metadata.striped_replica_placer import UsableBroker

AddRecordsForShutdown = Callable[[int, bool, list[MetadataRecord]], None]


class ClusterControlManager:
    """The registrations of brokers. Kafka: `org.apache.kafka.controller.ClusterControlManager`.

    Methods return records; whoever calls appends them. Simpler than Kafka's: what features a broker supports is
    written down and not looked at; no cordoned directories; and no heartbeats: a broker has a session as long as it is
    not fenced, and it is fenced when the controller is told so.
    """

    def __init__(self, log: MetadataLog, add_records_for_shutdown: AddRecordsForShutdown):
        """`add_records_for_shutdown` (broker id, whether it stopped cleanly, records) says what a new start of a broker
        means for the partitions of its incarnation before.
        """
        self._log = log
        self._add_records_for_shutdown = add_records_for_shutdown

    def register_broker(
        self,
        broker_id: int,
        incarnation_id: str,
        listeners: Iterable[Endpoint],
        *,
        rack: str | None,
        log_dirs: Sequence[str],
        previous_broker_epoch: int,
        features: Mapping[str, tuple[int, int]],
    ) -> list[MetadataRecord]:
        """The records of a broker's start, the last one a RegisterBrokerRecord with the epoch of its new incarnation.

        An incarnation that registers again keeps its epoch. Raises DuplicateBrokerRegistrationException while another
        one with the same id is alive, and InvalidRegistrationException for directories that cannot be its own.
        Kafka: `ClusterControlManager.registerBroker`.
        """
        # 1. Is the id taken?
        existing = self.registration(broker_id)
        is_new = existing is None or existing.incarnation_id != incarnation_id
        if existing is not None and not existing.fenced and is_new:
            raise DuplicateBrokerRegistrationException(
                "Another broker is registered with that broker id. If the broker was recently restarted this should "
                "self-resolve once the heartbeat manager expires the broker's session."
            )
        # 2. Are the directories its own?
        self._check_directories(broker_id, log_dirs)
        # 3. A new incarnation: the old one is over, and the partitions that it led need other leaders.
        records: list[MetadataRecord] = []
        if is_new:
            stopped_cleanly = existing is not None and existing.epoch == previous_broker_epoch
            self._add_records_for_shutdown(broker_id, stopped_cleanly, records)
        # 4. Fenced, until it has read the log up to this record.
        kept = None if is_new else existing
        record = RegisterBrokerRecord(
            broker_id=broker_id,
            broker_epoch=self._log.next_write_offset if kept is None else kept.epoch,
            incarnation_id=incarnation_id,
            end_points=[
                RegisterBrokerRecord.BrokerEndpoint(name=each.listener_name, host=each.host, port=each.port)
                for each in listeners
            ],
            features=[
                RegisterBrokerRecord.BrokerFeature(
                    name=name, min_supported_version=lowest, max_supported_version=highest
                )
                for name, (lowest, highest) in features.items()
            ],
            rack=rack,
            fenced=kept is None or kept.fenced,
            in_controlled_shutdown=kept is not None and kept.in_controlled_shutdown,
            log_dirs=list(log_dirs),
        )
        return [*records, record]

    def registration(self, broker_id: int) -> BrokerRegistration | None:
        """The broker's registration, if it has one. Kafka: `ClusterControlManager.registration`."""
        return self._log.image.cluster.broker(broker_id)

    def is_active(self, broker_id: int) -> bool:
        """Whether the broker is neither fenced nor stopping. Kafka: `ClusterControlManager.isActive`."""
        registration = self.registration(broker_id)
        return registration is not None and registration.is_active()

    def has_online_dir(self, broker_id: int, directory: str) -> bool:
        """Whether the broker can use that directory. Kafka: `ClusterControlManager.hasOnlineDir`."""
        registration = self.registration(broker_id)
        return registration is not None and registration.has_online_dir(directory)

    def default_dir(self, broker_id: int) -> str:
        """The directory of a new replica: the broker's only one, else one of its choice.

        Kafka: `ClusterControlManager.defaultDir`.
        """
        registration = self.registration(broker_id)
        if registration is None:
            return directory_id.UNASSIGNED_DIR
        if not registration.directories:
            return directory_id.MIGRATING_DIR
        return registration.directories[0] if len(registration.directories) == 1 else directory_id.UNASSIGNED_DIR

    def usable_brokers(self) -> list[UsableBroker]:
        """The brokers that new replicas may go to. Kafka: `ClusterControlManager.usableBrokers`."""
        brokers = self._log.image.cluster.brokers.values()
        return [
            UsableBroker(broker.id, broker.rack, broker.fenced)
            for broker in brokers
            if broker.fenced or not broker.in_controlled_shutdown
        ]

    def check_broker_epoch(self, broker_id: int, broker_epoch: int) -> None:
        """Raises StaleBrokerEpochException unless the broker is the incarnation that it believes to be.

        Kafka: `ClusterControlManager.checkBrokerEpoch`.
        """
        registration = self.registration(broker_id)
        if registration is None:
            raise StaleBrokerEpochException(f"No broker registration found for broker id {broker_id}")
        if registration.epoch != broker_epoch:
            raise StaleBrokerEpochException(
                f"Expected broker epoch {registration.epoch}, but got broker epoch {broker_epoch}"
            )

    def _check_directories(self, broker_id: int, log_dirs: Sequence[str]) -> None:
        if any(directory_id.is_reserved(directory) for directory in log_dirs):
            raise InvalidRegistrationException("Reserved directory ID in request")
        if len(set(log_dirs)) != len(log_dirs):
            raise InvalidRegistrationException("Duplicate directory ID in request")
        for broker in self._log.image.cluster.brokers.values():
            for directory in log_dirs:
                if broker.id != broker_id and directory in broker.directories:
                    raise InvalidRegistrationException(
                        f"Broker {broker.id} is already registered with directory {directory}"
                    )
