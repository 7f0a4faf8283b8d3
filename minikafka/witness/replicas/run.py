"""Does a workload to a cluster of brokers, minikafka's or Kafka's own, and notes what is seen after each operation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from minikafka.checkpoint.meta_properties import MetaProperties
from minikafka.common.error_codes import Errors
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.apis import AlterPartitionRequest, AlterPartitionResponse
from minikafka.metadata.features_image import ELIGIBLE_LEADER_REPLICAS_VERSION
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_bytes, request_class
from minikafka.witness.kafka.kafka_errors import WitnessFailedError
from minikafka.witness.replicas.scripted_controller import ScriptedController, directory_id, fixed_id
from minikafka.witness.replicas.workload import ReplicaOperation, ReplicaWorkload, Target

BROKER_SETTINGS = {
    "process.roles": "broker",
    "controller.quorum.voters": "100@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "log.cleaner.enable": "false",  # its threads would work at their own time
    "log.index.size.max.bytes": "4096",
    "auto.create.topics.enable": "false",
    "replica.fetch.backoff.ms": "0",  # Kafka measures it by the machine's clock
    "replica.fetch.wait.max.ms": "0",  # a leader without news says so
    "transaction.partition.verification.enable": "false",  # there is no coordinator to ask
}
"""What every broker of a workload is set to, unless the workload says something else."""


class ReplicaCluster(Protocol):
    """What the runner needs of brokers: `KafkaCluster` and `MinikafkaCluster` have it."""

    def start(self, broker_id: int, broker_epoch: int, settings: Mapping[str, object]) -> None: ...
    def crash(self, broker_id: int) -> None: ...
    def stop(self, broker_id: int) -> None: ...
    def publish(self, broker_id: int, records) -> None: ...
    def handle(self, broker_id: int, request: bytes) -> int: ...
    def append(
        self, broker_id: int, entries: Mapping[str, bytes], acks: int, timeout_ms: int, internal: bool, origin: str
    ) -> int: ...
    def take_answers(self) -> dict[int, object]: ...
    def sleep(self, ms: int) -> None: ...
    def follow(self, broker_id: int) -> None: ...
    def checkpoint(self, broker_id: int) -> None: ...
    def truncate(self, broker_id: int, partition: str, offset: int) -> None: ...
    def alter_partition(self, broker_id: int) -> AlterPartitionRequest | None: ...
    def answer_alter_partition(self, broker_id: int, response: AlterPartitionResponse) -> None: ...
    def state(self, broker_id: int) -> dict: ...


@dataclass(frozen=True)
class Answer:
    """The bytes of a response to a request of an API and version."""

    api_key: ApiKeys
    version: int
    data: bytes


@dataclass(frozen=True)
class ReplicaObservation:
    """What one operation led to.

    `error`, `message`: what was raised. `answers`: by ticket, what was answered, be it to this operation's request or
    to one that had waited: a response, "none" or "close", or what an append came to. `states`: what each broker knows
    of its partitions, and how many requests wait in it. `asked`: what leaders ask of the controller.
    """

    error: str = ""
    message: str = ""
    answers: Mapping[int, object] = field(default_factory=dict)
    states: Mapping[int, dict] = field(default_factory=dict)
    asked: Mapping[int, str] = field(default_factory=dict)


class ReplicaRunner:
    """Does one operation after another to one cluster.

    `running`: the brokers that run. Each has the directory `directory/N-0` (and `N-1`, if the workload's settings name
    two `directories`), which outlives it.
    """

    def __init__(self, cluster: ReplicaCluster, directory: Path, workload: ReplicaWorkload):
        self.cluster = cluster
        self.directory = directory
        self.settings = dict(workload.settings)
        self.directories = int(self.settings.pop("directories", 1))
        self.now_ms = workload.start_ms
        self.controller = ScriptedController(
            eligible_leader_replicas_version=int(self.settings.pop(ELIGIBLE_LEADER_REPLICAS_VERSION, 0)),
            min_insync_replicas=int(self.settings.get("min.insync.replicas", 1)),
        )
        self.running: dict[int, int] = {}  # broker: how many records it has seen
        self._requests: dict[int, tuple[ApiKeys, int]] = {}  # ticket: what it was asked, in which version
        self._states: dict[int, dict] = {}

    def apply(self, operation: ReplicaOperation) -> ReplicaObservation:
        """Do it, and look. What it raises becomes part of the observation, but for WitnessFailedError."""
        error = message = ""
        try:
            getattr(self, f"_{operation.kind}")(operation)
        except Impossible as impossible:
            return ReplicaObservation(error="impossible", message=str(impossible))
        except WitnessFailedError:
            raise
        except Exception as failure:
            error, message = type(failure).__name__, str(failure)
        answers = {ticket: self._answer_to(ticket, answer) for ticket, answer in self.cluster.take_answers().items()}
        self._states = {broker: self.cluster.state(broker) for broker in self.running}
        asked = {broker: in_words(self.cluster.alter_partition(broker)) for broker in self.running}
        return ReplicaObservation(error, message, dict(sorted(answers.items())), self._states, asked)

    def let_go(self) -> None:
        """Let go of all files, and write nothing more."""
        for broker in list(self.running):
            del self.running[broker]
            self.cluster.crash(broker)

    # Brokers

    def _start(self, operation: ReplicaOperation) -> None:
        broker = int(operation.arguments[0])
        if broker in self.running:
            raise Impossible(f"broker {broker} runs")
        directories = [self.directory / f"{broker}-{number}" for number in range(self.directories)]
        ids = [directory_id(broker, number) for number in range(self.directories)]
        for directory, unique in zip(directories, ids, strict=True):
            MetaProperties("minikafka", broker, unique).format(directory, self.now_ms)
        epoch = self.controller.register_broker(broker, ids)
        own = {
            "node.id": broker,
            "listeners": f"PLAINTEXT://localhost:{9100 + broker}",
            "log.dirs": ",".join(map(str, directories)),
        }
        self.cluster.start(broker, epoch, {**BROKER_SETTINGS, **self.settings, **own})
        self.running[broker] = 0
        self._publish(operation)

    def _crash(self, operation: ReplicaOperation) -> None:
        broker = self._broker(operation)
        del self.running[broker]
        self.cluster.crash(broker)

    def _stop(self, operation: ReplicaOperation) -> None:
        broker = self._broker(operation)
        del self.running[broker]
        self.cluster.stop(broker)

    def _publish(self, operation: ReplicaOperation) -> None:
        broker = self._broker(operation)
        new = self.controller.records[self.running[broker] :]
        self.running[broker] = len(self.controller.records)
        if new:
            self.cluster.publish(broker, new)

    def _checkpoint(self, operation: ReplicaOperation) -> None:
        self.cluster.checkpoint(self._broker(operation))

    def _truncate(self, operation: ReplicaOperation) -> None:
        (target,) = operation.targets
        self.cluster.truncate(self._broker(operation), target.partition, self._offset(operation, target))

    def _follow(self, operation: ReplicaOperation) -> None:
        self.cluster.follow(self._broker(operation))

    def _sleep(self, operation: ReplicaOperation) -> None:
        ms = int(operation.arguments[0])
        self.now_ms += ms
        self.cluster.sleep(ms)

    def _broker(self, operation: ReplicaOperation) -> int:
        if operation.broker not in self.running:
            raise Impossible(f"broker {operation.broker} does not run")
        return operation.broker

    # The controller

    def _fence(self, operation: ReplicaOperation) -> None:
        self._registered(operation.broker)
        self.controller.fence(operation.broker, True)

    def _unfence(self, operation: ReplicaOperation) -> None:
        self._registered(operation.broker)
        self.controller.fence(operation.broker, False)

    def _registered(self, broker: int) -> None:
        if broker not in self.controller.broker_epochs:
            raise Impossible(f"broker {broker} is unknown")

    def _answer(self, operation: ReplicaOperation) -> None:
        broker = self._broker(operation)
        request = self.cluster.alter_partition(broker)
        if request is None:
            raise Impossible(f"broker {broker} asks for nothing")
        whole, error = Errors[operation.option("whole")], Errors[operation.option("error")]
        if whole is not Errors.NONE:
            response = AlterPartitionResponse(error_code=whole)
        elif error is not Errors.NONE:
            response = self.controller.refuse(request, error)
        else:
            response = self.controller.accept(request)
        self.cluster.answer_alter_partition(broker, response)

    def _topic(self, operation: ReplicaOperation) -> None:
        name, assignment = operation.arguments
        if any(topic == name for topic, _ in self.controller.partitions):
            raise Impossible(f"topic {name} exists")
        replicas = [tuple(map(int, each.split(","))) for each in assignment.split("/")]
        self.controller.create_topic(name, replicas, operation.options)

    def _delete_topic(self, operation: ReplicaOperation) -> None:
        self._known(operation.arguments[0])
        self.controller.delete_topic(operation.arguments[0])

    def _settings(self, operation: ReplicaOperation) -> None:
        self._known(operation.arguments[0])
        settings = {name: None if value == "-" else value for name, value in operation.options.items()}
        self.controller.change_settings(operation.arguments[0], settings)

    def _change(self, operation: ReplicaOperation) -> None:
        target = Target.parse(operation.arguments[0])
        if (target.topic, target.number) not in self.controller.partitions:
            raise Impossible(f"there is no {target.partition}")
        leader = operation.option("leader")
        self.controller.change_partition(
            target.topic,
            target.number,
            leader=None if leader == "-" else int(leader),
            isr=operation.numbers("isr"),
            replicas=operation.numbers("replicas"),
            elr=operation.numbers("elr"),
            last_known_elr=operation.numbers("last_known"),
            recovering=operation.option("recovering") == "true",
        )

    def _known(self, topic: str) -> None:
        if all(name != topic for name, _ in self.controller.partitions):
            raise Impossible(f"there is no topic {topic}")

    # Requests

    def _produce(self, operation: ReplicaOperation) -> None:
        body = request_class(ApiKeys.PRODUCE)
        transaction = operation.option("transaction")
        topics = [
            body.TopicProduceData(
                name=name,
                topic_id=self._topic_id(name),
                partition_data=[
                    body.TopicProduceData.PartitionProduceData(index=each.number, records=self._encoded(each))
                    for each in targets
                ],
            )
            for name, targets in by_topic(operation)
        ]
        self._ask(
            operation,
            ApiKeys.PRODUCE,
            body(
                transactional_id=None if transaction == "-" else transaction,
                acks=operation.number("acks"),
                timeout_ms=operation.number("timeout"),
                topic_data=topics,
            ),
        )

    def _append(self, operation: ReplicaOperation) -> None:
        entries = {target.partition: self._encoded(target) for target in operation.targets}
        self.cluster.append(
            self._broker(operation),
            entries,
            operation.number("acks"),
            operation.number("timeout"),
            operation.option("origin") == "COORDINATOR",
            operation.option("origin"),
        )

    def _fetch(self, operation: ReplicaOperation) -> None:
        body = request_class(ApiKeys.FETCH)
        topics = [
            body.FetchTopic(
                topic=name,
                topic_id=self._topic_id(name),
                partitions=[
                    body.FetchTopic.FetchPartition(
                        partition=each.number,
                        current_leader_epoch=each.option("epoch"),
                        fetch_offset=self._offset(operation, each),
                        last_fetched_epoch=each.option("last"),
                        log_start_offset=each.option("start"),
                        partition_max_bytes=each.option("max"),
                    )
                    for each in targets
                ],
            )
            for name, targets in by_topic(operation)
        ]
        replica, epoch, version = (operation.number(name) for name in ("replica", "replica_epoch", "version"))
        by_state = version >= 15
        self._ask(
            operation,
            ApiKeys.FETCH,
            body(
                replica_id=-1 if by_state else replica,
                replica_state=body.ReplicaState(replica_id=replica, replica_epoch=epoch)
                if by_state
                else body.ReplicaState(),
                max_wait_ms=operation.number("wait"),
                min_bytes=operation.number("min"),
                max_bytes=operation.number("max"),
                isolation_level=operation.number("isolation"),
                session_id=operation.number("session"),
                session_epoch=operation.number("session_epoch"),
                topics=topics,
            ),
        )

    def _list_offsets(self, operation: ReplicaOperation) -> None:
        body = request_class(ApiKeys.LIST_OFFSETS)
        topics = [
            body.ListOffsetsTopic(
                name=name,
                partitions=[
                    body.ListOffsetsTopic.ListOffsetsPartition(
                        partition_index=each.number,
                        current_leader_epoch=each.option("epoch"),
                        timestamp=self._offset(operation, each),
                    )
                    for each in targets
                ],
            )
            for name, targets in by_topic(operation)
        ]
        replica, isolation = operation.number("replica"), operation.number("isolation")
        self._ask(operation, ApiKeys.LIST_OFFSETS, body(replica_id=replica, isolation_level=isolation, topics=topics))

    def _offset_for_leader_epoch(self, operation: ReplicaOperation) -> None:
        body = request_class(ApiKeys.OFFSET_FOR_LEADER_EPOCH)
        topics = [
            body.OffsetForLeaderTopic(
                topic=name,
                partitions=[
                    body.OffsetForLeaderTopic.OffsetForLeaderPartition(
                        partition=each.number,
                        current_leader_epoch=each.option("epoch"),
                        leader_epoch=each.option("last"),
                    )
                    for each in targets
                ],
            )
            for name, targets in by_topic(operation)
        ]
        body = body(replica_id=operation.number("replica"), topics=topics)
        self._ask(operation, ApiKeys.OFFSET_FOR_LEADER_EPOCH, body)

    def _delete_records(self, operation: ReplicaOperation) -> None:
        body = request_class(ApiKeys.DELETE_RECORDS)
        topics = [
            body.DeleteRecordsTopic(
                name=name,
                partitions=[
                    body.DeleteRecordsTopic.DeleteRecordsPartition(
                        partition_index=each.number, offset=self._offset(operation, each)
                    )
                    for each in targets
                ],
            )
            for name, targets in by_topic(operation)
        ]
        self._ask(operation, ApiKeys.DELETE_RECORDS, body(topics=topics, timeout_ms=operation.number("timeout")))

    def _metadata(self, operation: ReplicaOperation) -> None:
        body = request_class(ApiKeys.METADATA)
        topics = [body.MetadataRequestTopic(name=name) for name, _ in by_topic(operation)]
        self._ask(operation, ApiKeys.METADATA, body(topics=topics))

    def _ask(self, operation: ReplicaOperation, api_key: ApiKeys, body) -> None:
        version = operation.number("version")
        client = operation.options.get("client", "client")
        request = request_bytes(api_key, version, body, correlation_id=7, client_id=client)
        ticket = self.cluster.handle(self._broker(operation), request)
        self._requests[ticket] = api_key, version

    def _topic_id(self, name: str) -> str:
        """The topic's id, an unknown one for a topic that does not exist."""
        ids = (state.topic_id for (topic, _), state in self.controller.partitions.items() if topic == name)
        return next(ids, ZERO_UUID if name == "zero" else fixed_id(name, -1 & 0xFFFF))

    def _encoded(self, target: Target) -> bytes:
        return b"".join(batch.encode(self.now_ms) for batch in target.batches)

    def _offset(self, operation: ReplicaOperation, target: Target) -> int:
        """The offset that is meant, counted from places in the log of the broker that is asked."""
        known = self._states.get(operation.broker, {}).get("partitions", {}).get(target.partition)
        start, hw, lso, leo, _ = (known and known["log"]) or (0, 0, 0, 0, ())
        places = {"start": start, "hw": hw, "lso": lso, "leo": leo, "now": self.now_ms}
        return target.offset.resolve(places)

    def _answer_to(self, ticket: int, answer: object) -> object:
        return Answer(*self._requests[ticket], answer) if isinstance(answer, bytes) else answer


class Impossible(Exception):
    """An operation that makes no sense at this moment, as an answer to a question that was not asked: it is passed
    over, so that workloads can be made smaller.
    """


def in_words(request: AlterPartitionRequest | None) -> str:
    """What a leader asks for, in the order of the partitions' names: Kafka's order is that of its hash maps."""
    if request is None:
        return "nothing"
    proposals = sorted(
        (topic.topic_id, asked.partition_index, _proposal_in_words(topic.topic_id, asked))
        for topic in request.topics
        for asked in topic.partitions
    )
    return f"broker epoch {request.broker_epoch}: " + "; ".join(words for _, _, words in proposals)


def _proposal_in_words(topic_id: str, asked: AlterPartitionRequest.TopicData.PartitionData) -> str:
    isr = ", ".join(f"{each.broker_id} (broker epoch {each.broker_epoch})" for each in asked.new_isr_with_epochs)
    return (
        f"ISR {isr} for partition {asked.partition_index} of topic {topic_id}, "
        f"leader epoch {asked.leader_epoch}, partition epoch {asked.partition_epoch}, "
        f"{LeaderRecoveryState(asked.leader_recovery_state).name}"
    )


def by_topic(operation: ReplicaOperation) -> list[tuple[str, list[Target]]]:
    """The operation's targets, those of a topic together, in the order of first mention."""
    topics: dict[str, list[Target]] = {}
    for target in operation.targets:
        topics.setdefault(target.topic, []).append(target)
    return list(topics.items())
