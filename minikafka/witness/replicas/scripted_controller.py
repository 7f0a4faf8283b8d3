"""A controller that does what a workload says: it writes metadata records, and answers a leader when it is told to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.uuid import uuid_from_bytes
from minikafka.messages.apis import AlterPartitionRequest, AlterPartitionResponse
from minikafka.messages.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from minikafka.metadata.broker_registration import BrokerRegistrationFencingChange
from minikafka.metadata.configuration_control_manager import MIN_IN_SYNC_REPLICAS_CONFIG
from minikafka.metadata.features_image import ELIGIBLE_LEADER_REPLICAS_VERSION
from minikafka.metadata.leader_and_isr import NO_LEADER_CHANGE
from minikafka.metadata.leader_recovery_state import NO_CHANGE, LeaderRecoveryState

_Proposal: TypeAlias = AlterPartitionRequest.TopicData.PartitionData
_Result: TypeAlias = AlterPartitionResponse.TopicData.PartitionData


@dataclass(frozen=True)
class ScriptedPartition:
    """What the controller's records say of a partition so far."""

    topic_id: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


class ScriptedController:
    """The metadata log of a cluster whose every decision a workload makes.

    Nothing is checked or decided here, so that brokers can be shown what an honest controller would avoid, too. Each
    broker reads `records` as far as it is published to. Ids follow from names, so every run has the same.

    With eligible leader replicas (`eligible_leader_replicas_version` 1) the records begin with the feature's level and
    with the least ISR of all brokers, and another least ISR clears what is remembered of eligible leaders, as from
    Kafka's controller.
    """

    def __init__(self, eligible_leader_replicas_version: int = 0, min_insync_replicas: int = 1) -> None:
        self.records: list[MetadataRecord] = []
        self._elr_enabled = eligible_leader_replicas_version > 0
        if self._elr_enabled:
            self.records += [
                FeatureLevelRecord(
                    name=ELIGIBLE_LEADER_REPLICAS_VERSION, feature_level=eligible_leader_replicas_version
                ),
                ConfigRecord(
                    resource_type=ConfigResourceType.BROKER,
                    resource_name="",
                    name=MIN_IN_SYNC_REPLICAS_CONFIG,
                    value=str(min_insync_replicas),
                ),
            ]
        self.broker_epochs: dict[int, int] = {}
        self.partitions: dict[tuple[str, int], ScriptedPartition] = {}

    def register_broker(self, broker_id: int, log_dirs: Sequence[str] = ()) -> int:
        """A broker registers, unfenced; returns its epoch, which is new and larger each time.

        `log_dirs`: the ids of its log directories, if there is not just the first.
        """
        epoch = self.broker_epochs.get(broker_id, 10 * (broker_id + 1)) + 1
        self.broker_epochs[broker_id] = epoch
        self.records.append(
            RegisterBrokerRecord(
                broker_id=broker_id,
                broker_epoch=epoch,
                incarnation_id=fixed_id(f"incarnation-{epoch}", broker_id),
                end_points=[
                    RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host="localhost", port=9100 + broker_id)
                ],
                fenced=False,
                rack=None,
                log_dirs=list(log_dirs) or [directory_id(broker_id)],
            )
        )
        return epoch

    def fence(self, broker_id: int, fenced: bool) -> None:
        """A broker is shut out, or let in again."""
        epoch, kinds = self.broker_epochs[broker_id], BrokerRegistrationFencingChange
        change = kinds.FENCE if fenced else kinds.UNFENCE
        self.records.append(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=change))

    def create_topic(
        self, topic: str, assignment: Sequence[Sequence[int]], settings: Mapping[str, object] | None = None
    ) -> None:
        """A topic comes into being; partition p has the replicas `assignment[p]`, the first of which leads."""
        number = sum(isinstance(record, TopicRecord) for record in self.records)
        topic_id = fixed_id(f"topic-{topic}", number)
        self.records.append(TopicRecord(name=topic, topic_id=topic_id))
        self.change_settings(topic, settings or {})
        for partition, replicas in enumerate(assignment):
            state = ScriptedPartition(topic_id, partition, tuple(replicas), tuple(replicas), replicas[0])
            self.partitions[topic, partition] = state
            self.records.append(
                PartitionRecord(
                    partition_id=partition,
                    topic_id=topic_id,
                    replicas=list(state.replicas),
                    isr=list(state.isr),
                    leader=state.leader,
                    leader_epoch=0,
                    partition_epoch=0,
                )
            )

    def delete_topic(self, topic: str) -> None:
        """A topic is deleted."""
        gone = [key for key in self.partitions if key[0] == topic]
        self.records.append(RemoveTopicRecord(topic_id=self.partitions[gone[0]].topic_id))
        for key in gone:
            del self.partitions[key]

    def change_settings(self, topic: str, settings: Mapping[str, object | None]) -> None:
        """Settings of a topic change; None removes one."""
        for name, value in settings.items():
            text = None if value is None else str(value)
            self.records.append(
                ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name=topic, name=name, value=text)
            )
        if self._elr_enabled and MIN_IN_SYNC_REPLICAS_CONFIG in settings:
            self._clear_elr(topic)

    def _clear_elr(self, topic: str) -> None:
        """The partitions of a topic forget their eligible leader replicas; those that had some are one epoch later."""
        self.records.append(ClearElrRecord(topic_name=topic))
        for key, state in self.partitions.items():
            if key[0] == topic and (state.elr or state.last_known_elr):
                later = state.partition_epoch + 1
                self.partitions[key] = replace(state, partition_epoch=later, elr=(), last_known_elr=())

    def change_partition(
        self,
        topic: str,
        partition: int,
        *,
        leader: int | None = None,
        isr: Sequence[int] | None = None,
        replicas: Sequence[int] | None = None,
        elr: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
        recovering: bool = False,
    ) -> None:
        """A partition gets another leader (−1: none; the same one: only a new leader epoch), ISR, replicas, or eligible
        leader replicas.
        """
        state = self.partitions[topic, partition]
        recovery = LeaderRecoveryState.RECOVERING if recovering else NO_CHANGE
        self.records.append(
            PartitionChangeRecord(
                partition_id=partition,
                topic_id=state.topic_id,
                isr=None if isr is None else list(isr),
                leader=NO_LEADER_CHANGE if leader is None else leader,
                replicas=None if replicas is None else list(replicas),
                leader_recovery_state=recovery,
                eligible_leader_replicas=None if elr is None else list(elr),
                last_known_elr=None if last_known_elr is None else list(last_known_elr),
            )
        )
        self.partitions[topic, partition] = replace(
            state,
            isr=state.isr if isr is None else tuple(isr),
            leader=state.leader if leader is None else leader,
            replicas=state.replicas if replicas is None else tuple(replicas),
            leader_epoch=state.leader_epoch + (leader is not None),
            partition_epoch=state.partition_epoch + 1,
            recovery=LeaderRecoveryState.RECOVERING if recovering else state.recovery,
            elr=state.elr if elr is None else tuple(elr),
            last_known_elr=state.last_known_elr if last_known_elr is None else tuple(last_known_elr),
        )

    def accept(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Do what a leader asks, where its epochs are the controller's, and say what came of it."""
        return _answer(request, self._accept)

    def refuse(self, request: AlterPartitionRequest, error: Errors) -> AlterPartitionResponse:
        """Answer each of a leader's proposals with this error."""
        return _answer(request, lambda _, asked: _Result(partition_index=asked.partition_index, error_code=error))

    def _accept(self, topic_id: str, asked: _Proposal) -> _Result:
        found = [key for key, state in self.partitions.items() if state.topic_id == topic_id]
        key = next((key for key in found if key[1] == asked.partition_index), None)
        error = Errors.NONE
        if key is None:
            error = Errors.UNKNOWN_TOPIC_ID
        elif asked.leader_epoch < self.partitions[key].leader_epoch:
            error = Errors.FENCED_LEADER_EPOCH
        elif asked.leader_epoch > self.partitions[key].leader_epoch:
            error = Errors.NOT_CONTROLLER
        elif asked.partition_epoch != self.partitions[key].partition_epoch:
            error = Errors.INVALID_UPDATE_VERSION
        if key is None or error is not Errors.NONE:
            return _Result(partition_index=asked.partition_index, error_code=error)
        self.change_partition(*key, isr=[member.broker_id for member in asked.new_isr_with_epochs])
        state = self.partitions[key]
        return _Result(
            partition_index=asked.partition_index,
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            leader_recovery_state=state.recovery,
            partition_epoch=state.partition_epoch,
        )


def _answer(request: AlterPartitionRequest, decide: Callable[[str, _Proposal], _Result]) -> AlterPartitionResponse:
    make_topic = AlterPartitionResponse.TopicData
    return AlterPartitionResponse(
        topics=[
            make_topic(
                topic_id=topic.topic_id, partitions=[decide(topic.topic_id, asked) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def fixed_id(name: str, number: int) -> str:
    """An id that follows from a name and a number: two runs have the same."""
    return uuid_from_bytes(name.encode()[:12].ljust(12, b".") + number.to_bytes(4, "big"))


def directory_id(broker_id: int, number: int = 0) -> str:
    """The id of a broker's log directory, as in its meta.properties."""
    return fixed_id(f"directory-{number}", broker_id)
