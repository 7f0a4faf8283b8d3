"""What a controller decides about leaders and replicas in sync."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from minikafka.common import directory_id
from minikafka.common.api_error import NO_ERROR, ApiError
from minikafka.common.error_codes import Errors
from minikafka.messages.apis import AlterPartitionRequest, AlterPartitionResponse
from minikafka.messages.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    UnregisterBrokerRecord,
)
from minikafka.metadata.broker_registration import (
    BrokerRegistrationFencingChange,
    BrokerRegistrationInControlledShutdownChange,
)
from minikafka.metadata.cluster_control_manager import ClusterControlManager
from minikafka.metadata.configuration_control_manager import ConfigurationControlManager
from minikafka.metadata.leader_and_isr import NO_LEADER_CHANGE
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.metadata.metadata_log import MetadataLog
from minikafka.metadata.partition_change_builder import Election, PartitionChangeBuilder
from minikafka.metadata.partition_registration import PartitionRegistration
from minikafka.metadata.topics_image import TopicImage

_Proposal: TypeAlias = AlterPartitionRequest.TopicData.PartitionData
_BrokerState: TypeAlias = _Proposal.BrokerState
_Result: TypeAlias = AlterPartitionResponse.TopicData.PartitionData

_logger = logging.getLogger(__name__)


class ReplicationControlManager:
    """Leaders are elected, ISRs changed. Kafka: `org.apache.kafka.controller.ReplicationControlManager`.

    Methods return records that fit the image they were made from; whoever calls appends them at once. Topics are made
    by `TopicCreation`. Simpler than Kafka's: no reassignment; where Kafka keeps maps of which broker is in which ISR,
    this reads through all partitions. One of these maps goes wrong in 4.3.0: after a ClearElrRecord it still names the
    brokers that had been eligible, and if the topic is deleted then, such a broker cannot register any more.
    """

    def __init__(
        self,
        log: MetadataLog,
        cluster_control: ClusterControlManager,
        configuration_control: ConfigurationControlManager,
    ):
        self._log = log
        self._cluster_control = cluster_control
        self._configuration_control = configuration_control

    # ISRs

    def alter_partition(self, request: AlterPartitionRequest) -> tuple[AlterPartitionResponse, list[MetadataRecord]]:
        """What becomes of each proposed ISR, and the records of those that are accepted.

        Raises StaleBrokerEpochException. Kafka: `ReplicationControlManager.alterPartition`.
        """
        # 1. A broker that has been registered anew since is not asked what it means.
        self._cluster_control.check_broker_epoch(request.broker_id, request.broker_epoch)
        response = AlterPartitionResponse()
        records: list[MetadataRecord] = []
        for topic_data in request.topics:
            topic = self._log.image.topics.get_topic_by_id(topic_data.topic_id)
            results = [
                _refused(data, Errors.UNKNOWN_TOPIC_ID)
                if topic is None
                else self._alter_one(topic, request.broker_id, data, records)
                for data in topic_data.partitions
            ]
            response.topics.append(AlterPartitionResponse.TopicData(topic_id=topic_data.topic_id, partitions=results))
        return response, records

    def _alter_one(self, topic: TopicImage, broker_id: int, data: _Proposal, records: list[MetadataRecord]) -> _Result:
        """What becomes of one proposal; the record of one that is accepted is added to `records`."""
        # 2. Is the proposal made by the leader, with its epochs up to date, and are its members alive?
        partition = topic.partitions.get(data.partition_index)
        error = self._validate_alter_partition_data(broker_id, partition, data)
        if partition is None or error is not Errors.NONE:
            return _refused(data, error)
        # 3. Accepted: one partition epoch later; nothing is written if nothing changes.
        record = self._change_builder(
            topic,
            data.partition_index,
            self._leader_acceptor(partition),
            target_isr=tuple(member.broker_id for member in data.new_isr_with_epochs),
            target_leader_recovery_state=LeaderRecoveryState(data.leader_recovery_state),
        ).build()
        if record is not None:
            records.append(record)
            partition = partition.merge(record)
            if record.leader not in {broker_id, NO_LEADER_CHANGE}:
                error = Errors.NEW_LEADER_ELECTED
        # 4. The partition as it is now.
        _logger.debug("broker %s alters %s-%s: %s", broker_id, topic.name, data.partition_index, partition)
        return _result(data, partition) if error is Errors.NONE else _refused(data, error)

    def _validate_alter_partition_data(
        self, broker_id: int, partition: PartitionRegistration | None, data: _Proposal
    ) -> Errors:
        """Kafka: `ReplicationControlManager.validateAlterPartitionData`."""
        if partition is None:
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        # 1. A leader that knows more than this controller has been told by another one.
        if data.leader_epoch > partition.leader_epoch or data.partition_epoch > partition.partition_epoch:
            return Errors.NOT_CONTROLLER
        # 2. A leader of the past, somebody else, or a leader that has not seen the last change yet.
        if data.leader_epoch < partition.leader_epoch:
            return Errors.FENCED_LEADER_EPOCH
        if broker_id != partition.leader:
            return Errors.INVALID_REQUEST
        if data.partition_epoch < partition.partition_epoch:
            return Errors.INVALID_UPDATE_VERSION
        # 3. An ISR is made of replicas, each once, and the leader is one of them.
        isr = [member.broker_id for member in data.new_isr_with_epochs]
        if len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
            return Errors.INVALID_REQUEST
        # 4. A leader that recovers is alone; who has recovered stays so.
        if data.leader_recovery_state == LeaderRecoveryState.RECOVERING:
            if len(isr) > 1 or partition.leader_recovery_state is LeaderRecoveryState.RECOVERED:
                return Errors.INVALID_REQUEST
        # 5. Members are alive, and the leader has heard of their present incarnation.
        if not all(map(self._is_eligible, data.new_isr_with_epochs)):
            return Errors.INELIGIBLE_REPLICA
        return Errors.NONE

    def _is_eligible(self, member: _BrokerState) -> bool:
        """Kafka: `ReplicationControlManager.ineligibleReplicasForIsr`."""
        registration = self._cluster_control.registration(member.broker_id)
        if registration is None or not registration.is_active():
            return False
        return member.broker_epoch in {-1, registration.epoch}

    # Elections

    def elect_leader(
        self, topic_name: str, partition_id: int, election: Election
    ) -> tuple[ApiError, list[MetadataRecord]]:
        """The record of an election that somebody asked for: `PREFERRED`, or `UNCLEAN` where there is no leader.

        Kafka: `ReplicationControlManager.electLeader`.
        """
        topic = self._log.image.topics.get_topic(topic_name)
        if topic is None:
            return ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic_name}"), []
        partition = topic.partitions.get(partition_id)
        if partition is None:
            reason = f"No such partition as {topic_name}-{partition_id}"
            return ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION, reason), []
        is_preferred = election is Election.PREFERRED
        if partition.has_preferred_leader() if is_preferred else partition.has_leader():
            return ApiError.of(Errors.ELECTION_NOT_NEEDED), []
        builder = self._change_builder(topic, partition_id, self._leader_acceptor(partition), election=election)
        record = builder.build()
        if record is not None:
            return NO_ERROR, [record]
        if is_preferred:
            return ApiError.of(Errors.PREFERRED_LEADER_NOT_AVAILABLE), []
        return ApiError.of(Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE), []

    def maybe_elect_unclean_leaders(self) -> list[MetadataRecord]:
        """Unclean elections where there is no leader and losing records is allowed.

        A Kafka controller tries it every five minutes. Kafka: `ReplicationControlManager.maybeElectUncleanLeaders`.
        """
        records: list[MetadataRecord] = []
        for topic, partition_id, partition in self._partitions():
            if not partition.has_leader() and self._unclean_election_enabled(topic):
                records += self.elect_leader(topic.name, partition_id, Election.UNCLEAN)[1]
        return records

    def maybe_balance_partition_leaders(self) -> list[MetadataRecord]:
        """Elections of preferred replicas wherever another one leads.

        A Kafka controller does so every five minutes. Kafka: `ReplicationControlManager.maybeBalancePartitionLeaders`.
        """
        records: list[MetadataRecord] = []
        for topic, partition_id, partition in self._partitions():
            if not partition.has_preferred_leader():
                acceptor = self._leader_acceptor(partition)
                record = self._change_builder(topic, partition_id, acceptor, election=Election.PREFERRED).build()
                records += [] if record is None else [record]
        return records

    # Brokers that come and go

    def handle_broker_fenced(self, broker_id: int, broker_epoch: int) -> list[MetadataRecord]:
        """A broker is believed dead: it leads nothing, and leaves every ISR, the last one if it may be empty.

        Kafka: `ReplicationControlManager.handleBrokerFenced`.
        """
        records = self._generate_leader_and_isr_updates(self._with_broker_in_isr(broker_id), broker_to_remove=broker_id)
        return [
            *records,
            BrokerRegistrationChangeRecord(
                broker_id=broker_id, broker_epoch=broker_epoch, fenced=BrokerRegistrationFencingChange.FENCE
            ),
        ]

    def handle_broker_unfenced(self, broker_id: int, broker_epoch: int) -> list[MetadataRecord]:
        """A broker takes part again, and leads what had no leader without it. Kafka: `handleBrokerUnfenced`."""
        leaderless = [place for place in self._partitions() if not place[2].has_leader()]
        records = self._generate_leader_and_isr_updates(leaderless, broker_to_add=broker_id)
        return [
            BrokerRegistrationChangeRecord(
                broker_id=broker_id, broker_epoch=broker_epoch, fenced=BrokerRegistrationFencingChange.UNFENCE
            ),
            *records,
        ]

    def handle_broker_in_controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[MetadataRecord]:
        """A broker is about to stop, and hands over what it leads. Kafka: `handleBrokerInControlledShutdown`."""
        records = self._generate_leader_and_isr_updates(self._with_broker_in_isr(broker_id), broker_to_remove=broker_id)
        return [
            BrokerRegistrationChangeRecord(
                broker_id=broker_id,
                broker_epoch=broker_epoch,
                in_controlled_shutdown=BrokerRegistrationInControlledShutdownChange.IN_CONTROLLED_SHUTDOWN,
            ),
            *records,
        ]

    def handle_broker_unregistered(self, broker_id: int, broker_epoch: int) -> list[MetadataRecord]:
        """A broker is taken out of the cluster for good. Kafka: `handleBrokerUnregistered`."""
        records = [
            *self._generate_leader_and_isr_updates(self._with_broker_in_isr(broker_id), broker_to_remove=broker_id),
            *self._generate_leader_and_isr_updates(self._with_broker_in_elr(broker_id), broker_to_remove=broker_id),
        ]
        return [*records, UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_epoch)]

    def handle_broker_shutdown(self, broker_id: int, is_clean_shutdown: bool, records: list[MetadataRecord]) -> None:
        """A broker has started again: what its incarnation before led is led by others. Kafka: `handleBrokerShutdown`.

        After an unclean end it may have lost records, so it is no eligible leader either.
        """
        in_isr = self._with_broker_in_isr(broker_id)
        if not self._log.image.features.is_elr_enabled() or is_clean_shutdown:
            records += self._generate_leader_and_isr_updates(in_isr, broker_to_remove=broker_id)
            return
        in_elr = self._with_broker_in_elr(broker_id)
        records += self._generate_leader_and_isr_updates(in_isr, broker_with_unclean_shutdown=broker_id)
        records += self._generate_leader_and_isr_updates(in_elr, broker_with_unclean_shutdown=broker_id)

    def handle_directories_offline(
        self, broker_id: int, broker_epoch: int, offline_dirs: Collection[str]
    ) -> list[MetadataRecord]:
        """Directories of a broker cannot be used any more: it leaves the ISRs of the partitions in them.

        Kafka: `ReplicationControlManager.handleDirectoriesOffline`.
        """
        registration = self._cluster_control.registration(broker_id)
        directories = () if registration is None else registration.directories
        new_offline = [directory for directory in directories if directory in offline_dirs]
        if not new_offline:
            return []
        records: list[MetadataRecord] = []
        for directory in new_offline:
            places = [place for place in self._partitions() if directory in place[2].directories]
            records += self._generate_leader_and_isr_updates(places, broker_to_remove=broker_id)
        online = [directory for directory in directories if directory not in offline_dirs]
        return [
            *records,
            BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, log_dirs=online),
        ]

    def _generate_leader_and_isr_updates(
        self,
        places: Iterable[tuple[TopicImage, int, PartitionRegistration]],
        *,
        broker_to_remove: int | None = None,
        broker_to_add: int | None = None,
        broker_with_unclean_shutdown: int | None = None,
    ) -> list[MetadataRecord]:
        """The records of elections among `places`, as if one broker had gone or come already.

        Kafka: `ReplicationControlManager.generateLeaderAndIsrUpdates`.
        """
        gone = {broker_to_remove, broker_with_unclean_shutdown}

        def is_acceptable(replica: int) -> bool:
            return replica not in gone and (replica == broker_to_add or self._cluster_control.is_active(replica))

        records: list[MetadataRecord] = []
        for topic, partition_id, partition in places:
            record = self._change_builder(
                topic,
                partition_id,
                self._leader_acceptor(partition, is_acceptable),
                target_isr=tuple(replica for replica in partition.isr if replica not in gone),
                unclean_shutdown_replicas=(
                    () if broker_with_unclean_shutdown is None else (broker_with_unclean_shutdown,)
                ),
            ).build()
            if record is not None:
                _logger.debug("%s-%s changes: %s", topic.name, partition_id, record)
                records.append(record)
        return records

    def has_leaderships(self, broker_id: int) -> bool:
        """Whether the broker leads a partition. Kafka: `BrokersToIsrs.hasLeaderships`."""
        return any(partition.leader == broker_id for _, _, partition in self._partitions())

    # Helpers

    def _change_builder(
        self,
        topic: TopicImage,
        partition_id: int,
        is_acceptable_leader: Callable[[int], bool],
        *,
        election: Election | None = None,
        target_isr: tuple[int, ...] | None = None,
        target_leader_recovery_state: LeaderRecoveryState | None = None,
        unclean_shutdown_replicas: Sequence[int] = (),
    ) -> PartitionChangeBuilder:
        if election is None:
            election = Election.UNCLEAN if self._unclean_election_enabled(topic) else Election.ONLINE
        return PartitionChangeBuilder(
            topic.partitions[partition_id],
            topic.id,
            partition_id,
            is_acceptable_leader,
            self.get_topic_effective_min_isr(topic),
            eligible_leader_replicas_enabled=self._log.image.features.is_elr_enabled(),
            election=election,
            target_isr=target_isr,
            target_leader_recovery_state=target_leader_recovery_state,
            unclean_shutdown_replicas=unclean_shutdown_replicas,
        )

    def get_topic_effective_min_isr(self, topic: TopicImage) -> int:
        """`min.insync.replicas` of a topic, at most its replicas. Kafka: `getTopicEffectiveMinIsr`."""
        min_isr = self._configuration_control.get_topic_config(topic.name).min_in_sync_replicas
        return min(min_isr, len(topic.partitions[0].replicas))

    def _unclean_election_enabled(self, topic: TopicImage) -> bool:
        return self._configuration_control.get_topic_config(topic.name).unclean_leader_election_enable

    def _leader_acceptor(
        self, partition: PartitionRegistration, is_acceptable: Callable[[int], bool] | None = None
    ) -> Callable[[int], bool]:
        """Whether a replica may lead: its broker is alive, and so is its directory. Kafka: `LeaderAcceptor`."""
        is_alive = self._cluster_control.is_active if is_acceptable is None else is_acceptable

        def accepts(replica: int) -> bool:
            directory = partition.directory(replica) if replica in partition.replicas else directory_id.LOST_DIR
            return is_alive(replica) and self._cluster_control.has_online_dir(replica, directory)

        return accepts

    def _partitions(self) -> Iterator[tuple[TopicImage, int, PartitionRegistration]]:
        """Every partition with its topic and number; topics in the order in which they were made."""
        for topic in self._log.image.topics.topics_by_id.values():
            for partition_id, partition in topic.partitions.items():
                yield topic, partition_id, partition

    def _with_broker_in_isr(self, broker_id: int) -> list[tuple[TopicImage, int, PartitionRegistration]]:
        """Kafka: `BrokersToIsrs.partitionsWithBrokerInIsr`."""
        return [place for place in self._partitions() if broker_id in place[2].isr]

    def _with_broker_in_elr(self, broker_id: int) -> list[tuple[TopicImage, int, PartitionRegistration]]:
        """Kafka: `BrokersToElrs.partitionsWithBrokerInElr`."""
        return [place for place in self._partitions() if broker_id in place[2].elr]


def _refused(data: _Proposal, error: Errors) -> _Result:
    return _Result(partition_index=data.partition_index, error_code=error)


def _result(data: _Proposal, partition: PartitionRegistration) -> _Result:
    return _Result(
        partition_index=data.partition_index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
