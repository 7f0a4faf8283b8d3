"""The one who decides: which brokers are there, who leads, who is in sync."""

import random
import threading
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from minikafka.common import topic as topic_names
from minikafka.common.api_error import NO_ERROR, ApiError
from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.common.endpoint import Endpoint
from minikafka.common.error_codes import Errors
from minikafka.common.errors import ApiException, BrokerIdNotRegisteredException, InvalidUpdateVersionException
from minikafka.common.java.java_random import JavaRandom
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import AlterPartitionRequest, AlterPartitionResponse
from minikafka.messages.cluster_metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    ProducerIdsRecord,
)
from minikafka.metadata.broker_registration import BrokerRegistration
from minikafka.metadata.cluster_control_manager import ClusterControlManager
from minikafka.metadata.configuration_control_manager import (
    MIN_IN_SYNC_REPLICAS_CONFIG,
    ConfigChanges,
    ConfigurationControlManager,
)
from minikafka.metadata.features_image import ELIGIBLE_LEADER_REPLICAS_VERSION
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.metadata.metadata_log import MetadataLog
from minikafka.metadata.partition_change_builder import Election
from minikafka.metadata.replication_control_manager import ReplicationControlManager
from minikafka.metadata.striped_replica_placer import StripedReplicaPlacer
from minikafka.metadata.topic_creation import (
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsTopic,
    TopicCreation,
    refused_topic,
)

PRODUCER_ID_BLOCK_SIZE = 1000


class ProducerIdsBlock(NamedTuple):
    """`size` producer ids for a broker to give away, from `first_producer_id` on. Kafka: `ProducerIdsBlock`."""

    assigned_broker_id: int
    first_producer_id: int
    size: int = PRODUCER_ID_BLOCK_SIZE


class Controller:
    """A controller in the process of its brokers. Kafka: `org.apache.kafka.controller.QuorumController`.

    - Whatever it decides is a row of records, appended to its log all or none; its own state is the image that they
      lead to. Brokers pull the log with `records_after` when they like, so each may be as late as a test wants it.
    - What it answers to a leader and what it writes agree, but a broker may see either of them first.
    - The same calls lead to the same records: ids and placements are drawn from `seed`.

    What KRaft does more: three or five controllers replicate the log by Raft, one of them is active, a record counts
    when most of them have it, and the log is compacted into snapshots. Brokers send heartbeats, and one whose session
    (9 s) ends is fenced; a broker is unfenced only when it has read the log up to its registration, and may stop only
    when everybody has read its controlled shutdown. Here the caller says when a broker dies, is ready, or has stopped.
    Preferred leaders are restored, and unclean elections tried, every five minutes: here, when the caller says so. A
    broker with several log directories tells which of them it has put a replica in; here only the directory of a broker
    that has one is known. Also missing: reassignment of replicas, quotas, access rules, changes of
    features, delegation tokens.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        seed: int = 0,
        eligible_leader_replicas_version: int = 1,
        log: MetadataLog | None = None,
        features: Mapping[str, int] | None = None,
        node_id: int | None = None,
    ):
        """A controller of a new cluster. `settings` has the names and texts of a broker's settings file.

        `node_id`: the node that it is, whose own settings are defaults of topics; None for one that has none.

        `eligible_leader_replicas_version` is the level of the feature (KIP-966) with which the cluster is formatted:
        1 as Kafka does since 4.1, or 0 as before. At 1 the log begins with that level and the least ISR of all brokers.
        `log`: what was decided before; None for a log in memory. `features`: more features of a new cluster, by name.
        Raises InvalidUpdateVersionException for any other level.
        """
        if eligible_leader_replicas_version not in (0, 1):
            raise InvalidUpdateVersionException(
                f"{ELIGIBLE_LEADER_REPLICAS_VERSION} is 0 or 1, not {eligible_leader_replicas_version}"
            )
        settings = settings or {}
        self._lock = threading.RLock()
        self._log = MetadataLog() if log is None else log
        self._cluster_control = ClusterControlManager(self._log, self._add_records_for_shutdown)
        self._configuration_control = ConfigurationControlManager(self._log, settings, node_id)
        self._replication_control = ReplicationControlManager(
            self._log, self._cluster_control, self._configuration_control
        )
        self._topic_creation = TopicCreation(
            self._log,
            self._cluster_control,
            self._configuration_control,
            StripedReplicaPlacer(JavaRandom(seed)),
            random.Random(seed),
            default_num_partitions=int(settings.get("num.partitions", 1)),
            default_replication_factor=int(settings.get("default.replication.factor", 1)),
        )
        if self._log.is_new:
            first = [FeatureLevelRecord(name=name, feature_level=level) for name, level in (features or {}).items()]
            self._log.append([*first, *self._bootstrap_records(eligible_leader_replicas_version)])

    def _bootstrap_records(self, eligible_leader_replicas_version: int) -> list[MetadataRecord]:
        """The first records of the log: which features are on, and what they need.

        With eligible leader replicas the controller must know the least ISR by which brokers decide; so what stands in
        its own file becomes a setting of all brokers, which goes before what stands in theirs.
        Kafka: `ActivationRecordsGenerator.recordsForEmptyLog`.
        """
        if eligible_leader_replicas_version == 0:
            return []
        least_isr = self._configuration_control.get_statically_configured_min_insync_replicas()
        return [
            FeatureLevelRecord(name=ELIGIBLE_LEADER_REPLICAS_VERSION, feature_level=eligible_leader_replicas_version),
            ConfigRecord(
                resource_type=ConfigResourceType.BROKER,
                resource_name="",
                name=MIN_IN_SYNC_REPLICAS_CONFIG,
                value=str(least_isr),
            ),
        ]

    @property
    def image(self) -> MetadataImage:
        """The cluster as it has been decided so far."""
        return self._log.image

    def records_after(self, offset: int) -> list[MetadataRecord]:
        """The records with an offset above `offset` (−1: all), in the order in which every broker replays them."""
        with self._lock:
            return self._log.records_after(offset)

    # Brokers

    def register_broker(
        self,
        broker_id: int,
        incarnation_id: str,
        listeners: Iterable[Endpoint] = (),
        *,
        rack: str | None = None,
        log_dirs: Sequence[str] = (),
        previous_broker_epoch: int = -1,
        features: Mapping[str, tuple[int, int]] | None = None,
    ) -> int:
        """A broker has started, and is fenced at first; the result is the epoch of its new incarnation.

        `incarnation_id` is another one at every start. `log_dirs` are the ids of its directories (none: they are not
        known, and all believed to be usable). `previous_broker_epoch` is what it wrote down when it last stopped
        cleanly; `features`: the levels that it supports, lowest and highest. Raises
        DuplicateBrokerRegistrationException while another incarnation is not fenced, and InvalidRegistrationException.
        Kafka: `QuorumController.registerBroker`.
        """
        with self._lock:
            records = self._cluster_control.register_broker(
                broker_id,
                incarnation_id,
                listeners,
                rack=rack,
                log_dirs=log_dirs,
                previous_broker_epoch=previous_broker_epoch,
                features=features or {},
            )
            self._log.append(records)
            return self._registration(broker_id).epoch

    def unfence_broker(self, broker_id: int, broker_epoch: int) -> None:
        """A broker has read the log and takes part: it may lead, and join ISRs.

        Raises StaleBrokerEpochException. Kafka: `ReplicationControlManager.processBrokerHeartbeat`.
        """
        with self._lock:
            self._cluster_control.check_broker_epoch(broker_id, broker_epoch)
            if self._registration(broker_id).fenced:
                self._log.append(self._replication_control.handle_broker_unfenced(broker_id, broker_epoch))

    def fence_broker(self, broker_id: int) -> None:
        """A broker is dead, or has not been heard of for so long that it is believed to be.

        Others lead from now on. Raises BrokerIdNotRegisteredException.
        Kafka: `ReplicationControlManager.maybeFenceOneStaleBroker`.
        """
        with self._lock:
            registration = self._registration(broker_id)
            if not registration.fenced:
                self._log.append(self._replication_control.handle_broker_fenced(broker_id, registration.epoch))

    def begin_controlled_shutdown(self, broker_id: int, broker_epoch: int) -> bool:
        """A broker wants to stop; whether it may. It asks again until then.

        One that leads something hands it over, which the next question finds done. One that leads nothing may stop, and
        is fenced from then on. Raises StaleBrokerEpochException.
        Kafka: `ReplicationControlManager.processBrokerHeartbeat`, `BrokerHeartbeatManager.calculateNextBrokerState`.
        """
        with self._lock:
            self._cluster_control.check_broker_epoch(broker_id, broker_epoch)
            registration, control = self._registration(broker_id), self._replication_control
            if registration.fenced or not control.has_leaderships(broker_id):
                self._log.append(control.handle_broker_fenced(broker_id, broker_epoch))
                return True
            if not registration.in_controlled_shutdown:
                self._log.append(control.handle_broker_in_controlled_shutdown(broker_id, broker_epoch))
            return False

    def handle_directories_offline(self, broker_id: int, broker_epoch: int, offline_dirs: Collection[str]) -> None:
        """Log directories of a broker cannot be used any more: others lead what is in them.

        Raises StaleBrokerEpochException. Kafka: `ReplicationControlManager.processBrokerHeartbeat`.
        """
        with self._lock:
            self._cluster_control.check_broker_epoch(broker_id, broker_epoch)
            control = self._replication_control
            self._log.append(control.handle_directories_offline(broker_id, broker_epoch, offline_dirs))

    def unregister_broker(self, broker_id: int) -> None:
        """A broker is taken out of the cluster for good. Raises BrokerIdNotRegisteredException.

        Kafka: `ReplicationControlManager.unregisterBroker`.
        """
        with self._lock:
            epoch = self._registration(broker_id).epoch
            self._log.append(self._replication_control.handle_broker_unregistered(broker_id, epoch))

    # Topics and their settings

    def create_topics(
        self,
        topics: Sequence[CreatableTopic],
        *,
        describable: Container[str] | None = None,
        validate_only: bool = False,
        topic_ids: Mapping[str, str] | None = None,
    ) -> list[CreatableTopicResult]:
        """Makes each of `topics` that can be made; a result for each, and one for names that occur twice.

        With `validate_only` nothing is made; the results say what would come of it. For the rest see `TopicCreation`.
        Raises PolicyViolationException for more than 10,000 partitions. Kafka: `ControllerApis.createTopics`.
        """
        with self._lock:
            names = [topic.name for topic in topics]
            twice = {name for name in names if names.count(name) > 1}
            forbidden = {topic_names.CLUSTER_METADATA_TOPIC_NAME}
            possible = [topic for topic in topics if topic.name not in twice | forbidden]
            results, records = self._topic_creation.create_topics(possible, describable, topic_ids)
            if not validate_only:
                self._log.append(records)
            for name in sorted(twice):
                error = ApiError(Errors.INVALID_REQUEST, "Duplicate topic name.")
                results.append(refused_topic(name, error))
            for name in forbidden & set(names) - twice:
                error = ApiError(Errors.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
                results.append(refused_topic(name, error))
            return results

    def delete_topics(self, topic_ids: Iterable[str]) -> dict[str, ApiError]:
        """Deletes the topics with these ids; what came of each. Kafka: `ReplicationControlManager.deleteTopics`."""
        with self._lock:
            results, records = {}, []
            for topic_id in topic_ids:
                try:
                    records += self._topic_creation.delete_topic(topic_id)
                    results[topic_id] = NO_ERROR
                except ApiException as exception:
                    results[topic_id] = ApiError.from_exception(exception)
            self._log.append(records)
            return results

    def create_partitions(
        self, topics: Sequence[CreatePartitionsTopic], *, validate_only: bool = False
    ) -> dict[str, ApiError]:
        """Gives topics more partitions, or only says what would come of it; a result for each.

        Kafka: `QuorumController.createPartitions`.
        """
        with self._lock:
            results, records = self._topic_creation.create_partitions(topics)
            if not validate_only:
                self._log.append(records)
            return results

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, ConfigChanges], *, validate_only: bool = False
    ) -> dict[ConfigResource, ApiError]:
        """Changes settings of topics and brokers, all of one resource or none; what came of each.

        With `validate_only` nothing changes; the results say what would come of it.
        Kafka: `QuorumController.incrementalAlterConfigs`.
        """
        with self._lock:
            results, records = self._configuration_control.incremental_alter_configs(changes)
            if not validate_only:
                self._log.append(records)
            return results

    def legacy_alter_configs(
        self, new_configs: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool = False
    ) -> dict[ConfigResource, ApiError]:
        """Replaces all settings of resources; what came of each. Kafka: `QuorumController.legacyAlterConfigs`."""
        with self._lock:
            results, records = self._configuration_control.legacy_alter_configs(new_configs)
            if not validate_only:
                self._log.append(records)
            return results

    # Leaders and ISRs

    def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """A leader wants other ISRs for partitions of its own. Kafka: `QuorumController.alterPartition`."""
        with self._lock:
            try:
                response, records = self._replication_control.alter_partition(request)
            except ApiException as exception:
                return AlterPartitionResponse(error_code=Errors.for_exception(exception))
            self._log.append(records)
            return response

    def elect_leaders(
        self, election: Election, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, ApiError]:
        """Elects preferred leaders (`PREFERRED`), or leaders for partitions without (`UNCLEAN`); what came of each.

        None stands for all partitions: then those that need no election are left out of the result.
        Kafka: `ReplicationControlManager.electLeaders`.
        """
        with self._lock:
            all_partitions = [
                TopicPartition(topic.name, number)
                for topic in self.image.topics.topics_by_id.values()
                for number in topic.partitions
            ]
            results, records = {}, []
            for place in all_partitions if partitions is None else partitions:
                error, new = self._replication_control.elect_leader(*place, election)
                records += new
                if partitions is not None or error.error is not Errors.ELECTION_NOT_NEEDED:
                    results[place] = error
            self._log.append(records)
            return results

    def maybe_elect_unclean_leaders(self) -> None:
        """Elects a leader wherever there is none and losing records is allowed.

        Kafka: `ReplicationControlManager.maybeElectUncleanLeaders`, every five minutes.
        """
        with self._lock:
            self._log.append(self._replication_control.maybe_elect_unclean_leaders())

    def maybe_balance_partition_leaders(self) -> None:
        """Elects preferred leaders wherever another replica leads.

        Kafka: `ReplicationControlManager.maybeBalancePartitionLeaders`, every five minutes.
        """
        with self._lock:
            self._log.append(self._replication_control.maybe_balance_partition_leaders())

    # Producers

    def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> ProducerIdsBlock:
        """Ids that no other broker will give away. Raises StaleBrokerEpochException.

        Kafka: `ProducerIdControlManager.generateNextProducerId`.
        """
        with self._lock:
            self._cluster_control.check_broker_epoch(broker_id, broker_epoch)
            block = ProducerIdsBlock(broker_id, max(self.image.next_producer_id, 0))
            next_producer_id = block.first_producer_id + block.size
            self._log.append(
                [ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=next_producer_id)]
            )
            return block

    def _registration(self, broker_id: int) -> BrokerRegistration:
        registration = self._cluster_control.registration(broker_id)
        if registration is None:
            raise BrokerIdNotRegisteredException(f"Broker ID {broker_id} is not currently registered")
        return registration

    def _add_records_for_shutdown(self, broker_id: int, is_clean_shutdown: bool, records: list[MetadataRecord]) -> None:
        self._replication_control.handle_broker_shutdown(broker_id, is_clean_shutdown, records)
