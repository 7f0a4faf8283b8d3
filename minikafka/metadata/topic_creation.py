"""How a topic comes into being, grows, and goes."""

import logging
import random
from collections.abc import Container, Iterable, Mapping, Sequence

from minikafka.common import topic as topic_names
from minikafka.common.api_error import NO_ERROR, ApiError
from minikafka.common.config_resource import ConfigResource
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    ApiException,
    InvalidPartitionsException,
    InvalidReplicaAssignmentException,
    InvalidReplicationFactorException,
    InvalidTopicException,
    PolicyViolationException,
    UnknownServerException,
    UnknownTopicIdException,
    UnknownTopicOrPartitionException,
)
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.common.uuid import uuid_from_bytes
from minikafka.messages.apis import CreatePartitionsRequest, CreateTopicsRequest, CreateTopicsResponse
from minikafka.messages.cluster_metadata import MetadataRecord, RemoveTopicRecord, TopicRecord
from minikafka.metadata.cluster_control_manager import ClusterControlManager
from minikafka.metadata.configuration_control_manager import AlterConfigOp, ConfigurationControlManager
from minikafka.metadata.leader_and_isr import NO_LEADER
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.metadata.metadata_log import MetadataLog
from minikafka.metadata.partition_registration import PartitionRegistration
from minikafka.metadata.striped_replica_placer import StripedReplicaPlacer

CreatableTopic = CreateTopicsRequest.CreatableTopic
CreatableTopicResult = CreateTopicsResponse.CreatableTopicResult
CreatePartitionsTopic = CreatePartitionsRequest.CreatePartitionsTopic

MAX_PARTITIONS_PER_BATCH = 10_000
_logger = logging.getLogger(__name__)


class TopicCreation:
    """Checks what is asked for, places replicas, and writes new topics and partitions down; also deletes topics.

    Methods return records; whoever calls appends them. Simpler than Kafka's: no policies and quotas.

    Kafka: `org.apache.kafka.controller.ReplicationControlManager`, the part of it that makes topics.
    """

    def __init__(
        self,
        log: MetadataLog,
        cluster_control: ClusterControlManager,
        configuration_control: ConfigurationControlManager,
        replica_placer: StripedReplicaPlacer,
        ids: random.Random,
        *,
        default_num_partitions: int,
        default_replication_factor: int,
    ):
        """`ids` draws the ids of topics."""
        self._log = log
        self._cluster_control = cluster_control
        self._configuration_control = configuration_control
        self._replica_placer = replica_placer
        self._ids = ids
        self._default_num_partitions = default_num_partitions
        self._default_replication_factor = default_replication_factor

    def create_topics(
        self,
        topics: Sequence[CreatableTopic],
        describable: Container[str] | None = None,
        topic_ids: Mapping[str, str] | None = None,
    ) -> tuple[list[CreatableTopicResult], list[MetadataRecord]]:
        """A result for each topic, and the records of those that can be made.

        `describable`: of which topics more may be told than name and id; None: of all. `topic_ids`: ids that are given,
        by the topics' names; the others are drawn, as Kafka draws all.
        Raises PolicyViolationException for more than 10,000 partitions.
        Kafka: `ReplicationControlManager.createTopics`.
        """
        self._validate_total_number_of_partitions(topics)
        records: list[MetadataRecord] = []
        results = []
        for topic in topics:
            try:
                may_tell = describable is None or topic.name in describable
                result, records_of_topic = self._create_topic(topic, may_tell, (topic_ids or {}).get(topic.name))
            except ApiException as exception:
                result, records_of_topic = refused_topic(topic.name, ApiError.from_exception(exception)), []
            _logger.debug("create topic %s: %s", topic.name, Errors(result.error_code).name)
            results.append(result)
            records += records_of_topic
        return results, records

    def create_partitions(
        self, topics: Sequence[CreatePartitionsTopic]
    ) -> tuple[dict[str, ApiError], list[MetadataRecord]]:
        """A result for each topic, and the records of the partitions that can be added.

        Kafka: `ReplicationControlManager.createPartitions`.
        """
        records: list[MetadataRecord] = []
        results = {}
        for topic in topics:
            try:
                records += self._create_partitions(topic)
                results[topic.name] = NO_ERROR
            except ApiException as exception:
                results[topic.name] = ApiError.from_exception(exception)
            _logger.debug("add partitions to %s: %s", topic.name, results[topic.name])
        return results, records

    def delete_topic(self, topic_id: str) -> list[MetadataRecord]:
        """The record that deletes a topic; raises UnknownTopicIdException.

        Kafka: `ReplicationControlManager.deleteTopic`.
        """
        if self._log.image.topics.get_topic_by_id(topic_id) is None:
            raise UnknownTopicIdException(Errors.UNKNOWN_TOPIC_ID.message)
        return [RemoveTopicRecord(topic_id=topic_id)]

    def _create_topic(
        self, topic: CreatableTopic, may_tell: bool, topic_id: str | None
    ) -> tuple[CreatableTopicResult, list[MetadataRecord]]:
        """Kafka: `ReplicationControlManager.createTopic`, with the checks of `createTopics` before it."""
        # 1. The name. Two that collide may both exist: they were made by one request.
        if self._log.image.topics.get_topic(topic.name) is not None:
            already = ApiError(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
            return refused_topic(topic.name, already), []
        self._validate_new_topic_name(topic.name)
        # 2. The settings.
        nulls = [config.name for config in topic.configs if config.value is None]
        settings = {config.name: config.value for config in topic.configs if config.value is not None}
        if nulls:
            error = ApiError(Errors.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
            return refused_topic(topic.name, error), []
        changes = {name: (AlterConfigOp.SET, settings[name]) for name in in_javas_order(settings)}  # as in the log
        error, config_records = self._configuration_control.incremental_alter_config(
            ConfigResource.topic(topic.name), changes, newly_created_resource=True
        )
        if error.is_failure():
            return refused_topic(topic.name, error), []
        # 3. The replicas of each partition, and which of them are in sync: those that are alive.
        if topic.assignments:
            error, partitions = self._assigned_partitions(topic)
        else:
            error, partitions = self._placed_partitions(topic)
        if error.is_failure():
            return refused_topic(topic.name, error), []
        # 4. The records: the topic, its settings, its partitions.
        topic_id = topic_id or self._random_topic_id()
        partition_records = [partition.to_record(topic_id, number) for number, partition in partitions]
        result = CreatableTopicResult(name=topic.name, topic_id=topic_id, error_message=None)
        if may_tell:
            result.num_partitions, result.replication_factor = len(partitions), len(partitions[0][1].replicas)
            result.configs = [
                CreatableTopicResult.CreatableTopicConfigs(
                    name=entry.name, value=entry.value, config_source=entry.source
                )
                for entry in self._configuration_control.compute_effective_topic_configs(settings)
            ]
        else:
            result.topic_config_error_code = Errors.TOPIC_AUTHORIZATION_FAILED
        return result, [TopicRecord(name=topic.name, topic_id=topic_id), *config_records, *partition_records]

    def _create_partitions(self, asked: CreatePartitionsTopic) -> list[MetadataRecord]:
        """Kafka: `ReplicationControlManager.createPartitions`, for one topic."""
        # 1. How many more?
        topic = self._log.image.topics.get_topic(asked.name)
        if topic is None:
            raise UnknownTopicOrPartitionException(Errors.UNKNOWN_TOPIC_OR_PARTITION.message)
        first = len(topic.partitions)
        if asked.count == first:
            raise InvalidPartitionsException(f"Topic already has {first} partition(s).")
        if asked.count < first:
            raise InvalidPartitionsException(
                f"The topic {asked.name} currently has {first} partition(s); {asked.count} would not be an increase."
            )
        additional = asked.count - first
        if asked.assignments is not None and len(asked.assignments) != additional:
            raise InvalidReplicaAssignmentException(
                f"Attempted to add {additional} additional partition(s), but only {len(asked.assignments)} "
                "assignment(s) were specified."
            )
        if additional > MAX_PARTITIONS_PER_BATCH:  # more records than an operation may have
            raise UnknownServerException(f"Cannot add {additional} partitions at once")
        # 2. The replicas of each, as many as the topic's first partition has.
        factor = len(next(iter(topic.partitions.values())).replicas)
        if asked.assignments is None:
            placed: Sequence[Sequence[int]] = self._replica_placer.place(
                additional, factor, self._cluster_control.usable_brokers()
            )
        else:
            placed = [assignment.broker_ids for assignment in asked.assignments]
        partitions = []
        for number, replicas in enumerate(placed, first):
            if asked.assignments is not None:
                self._validate_manual_partition_assignment(replicas, factor)
            partition = self._build_partition_registration(replicas)
            if not partition.isr and asked.assignments is not None:
                raise InvalidReplicaAssignmentException(
                    f"All brokers specified in the manual partition assignment for partition {number} are fenced or in "
                    "controlled shutdown."
                )
            if not partition.isr:
                raise InvalidReplicationFactorException(
                    f"Unable to replicate the partition {factor} time(s): All brokers are currently fenced or in "
                    "controlled shutdown."
                )
            partitions.append(partition)
        # 3. The records.
        return [partition.to_record(topic.id, number) for number, partition in enumerate(partitions, first)]

    def _validate_total_number_of_partitions(self, topics: Iterable[CreatableTopic]) -> None:
        total = 0
        for topic in topics:
            if topic.assignments:
                total += len(topic.assignments)
            elif topic.num_partitions == -1:
                total += self._default_num_partitions
            else:
                total += max(topic.num_partitions, 0)
        if total > MAX_PARTITIONS_PER_BATCH:
            raise PolicyViolationException("Excessively large number of partitions per request.")

    def _validate_new_topic_name(self, name: str) -> None:
        """Kafka: `ReplicationControlManager.validateNewTopicNames`."""
        topic_names.validate(name)
        if not topic_names.has_collision_chars(name):
            return
        unified = topic_names.unify_collision_chars(name)
        for other in self._log.image.topics.topics_by_name:
            if other != name and topic_names.unify_collision_chars(other) == unified:
                raise InvalidTopicException(f"Topic '{name}' collides with existing topic: {other}")

    def _assigned_partitions(self, topic: CreatableTopic) -> tuple[ApiError, list[tuple[int, PartitionRegistration]]]:
        """The partitions of a topic whose replicas were named by who asked for it."""
        for given, name in ((topic.replication_factor, "replication factor"), (topic.num_partitions, "numPartitions")):
            if given != -1:
                message = f"A manual partition assignment was specified, but {name} was not set to -1."
                return ApiError(Errors.INVALID_REQUEST, message), []
        partitions: dict[int, PartitionRegistration] = {}
        replication_factor = None
        for assignment in topic.assignments:
            number, replicas = assignment.partition_index, assignment.broker_ids
            if number in partitions:
                message = f"Found multiple manual partition assignments for partition {number}"
                return ApiError(Errors.INVALID_REPLICA_ASSIGNMENT, message), []
            self._validate_manual_partition_assignment(replicas, replication_factor)
            replication_factor = len(replicas)
            partition = self._build_partition_registration(replicas)
            if not partition.isr:
                message = (
                    f"All brokers specified in the manual partition assignment for partition {number} are fenced or in "
                    "controlled shutdown."
                )
                return ApiError(Errors.INVALID_REPLICA_ASSIGNMENT, message), []
            partitions[number] = partition
        if sorted(partitions) != list(range(len(partitions))):
            message = "partitions should be a consecutive 0-based integer sequence"
            return ApiError(Errors.INVALID_REPLICA_ASSIGNMENT, message), []
        return NO_ERROR, sorted(partitions.items())

    def _placed_partitions(self, topic: CreatableTopic) -> tuple[ApiError, list[tuple[int, PartitionRegistration]]]:
        """The partitions of a topic whose replicas the controller places."""
        if topic.replication_factor < -1 or topic.replication_factor == 0:
            message = "Replication factor must be larger than 0, or -1 to use the default value."
            return ApiError(Errors.INVALID_REPLICATION_FACTOR, message), []
        if topic.num_partitions < -1 or topic.num_partitions == 0:
            message = "Number of partitions was set to an invalid non-positive value."
            return ApiError(Errors.INVALID_PARTITIONS, message), []
        num_partitions = self._default_num_partitions if topic.num_partitions == -1 else topic.num_partitions
        factor = self._default_replication_factor if topic.replication_factor == -1 else topic.replication_factor
        problem = f"Unable to replicate the partition {factor} time(s): "
        try:
            placed = self._replica_placer.place(num_partitions, factor, self._cluster_control.usable_brokers())
        except InvalidReplicationFactorException as exception:
            return ApiError(Errors.INVALID_REPLICATION_FACTOR, problem + str(exception)), []
        return NO_ERROR, [
            (number, self._build_partition_registration(replicas)) for number, replicas in enumerate(placed)
        ]

    def _validate_manual_partition_assignment(self, replicas: Sequence[int], replication_factor: int | None) -> None:
        """Kafka: `ReplicationControlManager.validateManualPartitionAssignment`."""
        if not replicas:
            raise InvalidReplicaAssignmentException("The manual partition assignment includes an empty replica list.")
        previous = None
        for broker_id in sorted(replicas):
            if self._cluster_control.registration(broker_id) is None:
                raise InvalidReplicaAssignmentException(
                    f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
                )
            if broker_id == previous:
                raise InvalidReplicaAssignmentException(
                    f"The manual partition assignment includes the broker {broker_id} more than once."
                )
            previous = broker_id
        if replication_factor is not None and len(replicas) != replication_factor:
            raise InvalidReplicaAssignmentException(
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is "
                f"not consistent with previous partitions, which have {replication_factor} replica(s)."
            )

    def _build_partition_registration(self, replicas: Sequence[int]) -> PartitionRegistration:
        """A partition whose ISR are those of `replicas` that are alive. It may be empty: then it must not be made."""
        isr = tuple(filter(self._cluster_control.is_active, replicas))
        return PartitionRegistration(
            replicas=tuple(replicas),
            directories=tuple(map(self._cluster_control.default_dir, replicas)),
            isr=isr,
            leader=isr[0] if isr else NO_LEADER,
            leader_recovery_state=LeaderRecoveryState.RECOVERED,
            leader_epoch=0,
            partition_epoch=0,
        )

    def _random_topic_id(self) -> str:
        while (topic_id := uuid_from_bytes(self._ids.randbytes(16))).startswith("-"):
            pass
        return topic_id


def refused_topic(name: str, error: ApiError) -> CreatableTopicResult:
    """The result of a topic that is not made."""
    return CreatableTopicResult(name=name, error_code=error.error, error_message=error.message)
