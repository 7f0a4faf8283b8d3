"""Three real brokers (KRaft, loopback) answer what Kafka's classes alone cannot be asked: topics, rights, transactions.

What differs, and why:

- ids of topics and the order of results: Kafka draws the one and walks hash sets, or shuffles, for the other;
- without a coordinator, minikafka has no answer of its own about transactions: the tests give it the coordinator's.
"""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.uuid import ZERO_UUID, random_uuid
from minikafka.metadata.controller import Controller
from minikafka.metadata.features_image import ELIGIBLE_LEADER_REPLICAS_VERSION
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.server.add_partitions_to_txn_manager import TransactionSupportedOperation
from minikafka.witness.kafka.kafka_broker import KafkaBroker, free_ports
from tests.broker.three_brokers import Produce, ThreeBrokers, answer_of, batch, only_partition
from tests.framed import answered, framed

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

IDS = (1, 2, 3)
CreateTopics = request_class(ApiKeys.CREATE_TOPICS)
DeleteTopics = request_class(ApiKeys.DELETE_TOPICS)
Metadata = request_class(ApiKeys.METADATA)
GUARDED, TRANSACTIONAL_ID = "guarded", "transactions"


class ThreeNodes:
    """Brokers 1, 2 and 3 of one cluster, whose controller is in the first one's process."""

    def __init__(self, directory):
        ports = free_ports(4)
        shared = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "controller.quorum.voters": f"1@127.0.0.1:{ports[3]}",
        }
        cluster_id = random_uuid()
        self.nodes = {}
        for broker_id, port in zip(IDS, ports):
            own = {**shared, "node.id": str(broker_id)}
            if broker_id != 1:
                own |= {"process.roles": "broker", "listeners": f"PLAINTEXT://127.0.0.1:{port}"}
            self.nodes[broker_id] = KafkaBroker(
                directory / str(broker_id), own, cluster_id=cluster_id, ports=(port, ports[3])
            )
        with ThreadPoolExecutor() as pool:
            list(pool.map(KafkaBroker.start, self.nodes.values()))
        self.until(lambda: len(self.ask(1, ApiKeys.METADATA, 12, Metadata(topics=[])).brokers) == len(IDS))

    def ask(self, broker_id, api, version, body):
        data = request_bytes(api, version, body, correlation_id=5, client_id="c")
        with socket.create_connection(("127.0.0.1", self.nodes[broker_id].port), 10) as connection:
            connection.sendall(framed(data))
            return parse_response(api, version, answered(connection))[1]

    def until(self, what):
        deadline = time.monotonic() + 60
        while not (result := what()):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        return result

    def stop(self):
        for node in self.nodes.values():
            node.kill()


class NobodyOnGuarded:
    """What the real brokers' one access rule comes to: it names somebody else, so nobody may do anything there."""

    def authorize(self, request, actions):
        return [action.resource_name not in (GUARDED, "guarded-new") for action in actions]

    def authorize_by_resource_type(self, request, operation, resource_type):
        return True


class Coordinator:
    """Knows of no partition in the transaction, as the real one in the test."""

    def add_or_verify_transaction(
        self, transactional_id, producer_id, producer_epoch, topic_partitions, callback, transaction_supported_operation
    ):
        error = {
            TransactionSupportedOperation.DEFAULT_ERROR: Errors.INVALID_TXN_STATE,
            TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED: Errors.TRANSACTION_ABORTABLE,
        }.get(transaction_supported_operation)
        callback({} if error is None else dict.fromkeys(topic_partitions, error))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    nodes = ThreeNodes(tmp_path_factory.mktemp("nodes"))
    yield nodes
    nodes.stop()


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    ours = ThreeBrokers(tmp_path_factory.mktemp("ours"), NobodyOnGuarded(), Coordinator(), IDS)
    yield ours
    ours.close()


@pytest.fixture(scope="module")
def both(nodes, ours):
    """Asks both clusters, and has ours read what its controller has written."""

    def ask(broker_id, api, version, body):
        theirs = nodes.ask(broker_id, api, version, body)
        ticket = ours.send(broker_id, api, version, body)
        ours.publish()
        ours.follow(3)
        return answer_of(ticket, api, version), theirs

    topics = [assigned(name, [1, 2, 3]) for name in ("t", GUARDED)]
    for answer in ask(1, ApiKeys.CREATE_TOPICS, 7, CreateTopics(topics=topics, timeout_ms=30_000)):
        assert [topic.error_code for topic in answer.topics if topic.name == "t"] == [0]
    return ask


def assigned(name, *replicas, **configs):
    topic = CreateTopics.CreatableTopic
    places = [topic.CreatableReplicaAssignment(partition_index=n, broker_ids=ids) for n, ids in enumerate(replicas)]
    settings = [topic.CreatableTopicConfig(name=key.replace("__", "."), value=value) for key, value in configs.items()]
    return topic(name=name, num_partitions=-1, replication_factor=-1, assignments=places, configs=settings)


def counted(name, partitions, factor, **configs):
    topic = assigned(name, **configs)
    topic.num_partitions, topic.replication_factor = partitions, factor
    return topic


def told(answer):
    """What an answer says of each topic, by name."""
    return sorted((describe(topic) for topic in answer.topics), key=str)


def describe(topic):
    settings = [(config.name, config.value, config.config_source) for config in topic.configs]
    has_id = topic.topic_id != ZERO_UUID
    numbers = (topic.num_partitions, topic.replication_factor, topic.topic_config_error_code)
    return topic.name, topic.error_code, topic.error_message, has_id, numbers, sorted(settings)


@pytest.mark.parametrize("version", range(2, 8))
@pytest.mark.parametrize("validate_only", [False, True])
def test_topics_that_can_and_cannot_be_made(both, version, validate_only):
    name = f"new-{version}-{validate_only}"
    topics = [
        assigned(f"{name}-a", [1, 2, 3], [3, 1, 2]),
        counted(f"{name}-b", 3, 2, min__insync__replicas="2", retention__ms="1000"),
        counted(f"{name}-much", 1, 4),
        counted(f"{name}-none", 0, 1),
        counted(f"{name}-zero", 1, 0),
        counted(f"{name}-wrong", 1, 1, retention__ms="soon"),
        counted(f"{name}-odd", 1, 1, no__such__setting="1"),
        counted("not/legal", 1, 1),
        counted("", 1, 1),
        counted("t", 1, 1),
        counted("twice", 1, 1),
        counted("twice", 1, 1),
        counted("__cluster_metadata", 1, 1),
        assigned(f"{name}-gap", [1], []),
        assigned(f"{name}-same", [1, 1]),
        assigned(f"{name}-who", [1, 9]),
        assigned(f"{name}-uneven", [1, 2], [3]),
    ]
    both_ways = assigned(f"{name}-both", [1])
    both_ways.num_partitions, both_ways.replication_factor = 1, 1
    topics.append(both_ways)
    if version >= 4:
        topics.append(counted(f"{name}-default", -1, -1))
    body = CreateTopics(topics=topics, timeout_ms=30_000, validate_only=validate_only)
    ours, theirs = (told(answer) for answer in both(1, ApiKeys.CREATE_TOPICS, version, body))
    for our_topic, their_topic in zip(ours, theirs):
        for our_part, their_part in zip(our_topic, their_topic):
            assert our_part == their_part, (our_topic[0], set(our_part) ^ set(their_part))
    assert ours == theirs


@pytest.mark.parametrize("version", [1, 4, 5, 6])
def test_topics_that_can_and_cannot_be_deleted(both, nodes, ours, version):
    names = [f"gone-{version}-{n}" for n in range(4)]
    body = CreateTopics(topics=[assigned(name, [1, 2, 3]) for name in names], timeout_ms=30_000)
    both(1, ApiKeys.CREATE_TOPICS, 7, body)
    answers = []
    for cluster in (ours, nodes):
        if version < 6:
            body = DeleteTopics(topic_names=[names[0], "missing", names[1], names[1], GUARDED], timeout_ms=30_000)
        else:
            view = ids_of(cluster, names)
            state = DeleteTopics.DeleteTopicState
            body = DeleteTopics(timeout_ms=30_000)
            body.topics = [
                state(name=names[0]),
                state(name=None, topic_id=view[names[1]]),
                state(name=names[2], topic_id=view[names[2]]),
                state(name=names[3]),
                state(name=None, topic_id=view[names[3]]),
                state(name=None, topic_id=random_uuid()),
                state(name=None, topic_id=ZERO_UUID),
                state(name="missing"),
                state(name=""),
                state(name=GUARDED),
            ]
        answer = cluster.ask(1, ApiKeys.DELETE_TOPICS, version, body)
        answers.append(sorted((topic.name or "", topic.error_code, topic.error_message) for topic in answer.responses))
    ours.publish()
    assert [row[:2] for row in answers[0]] == [row[:2] for row in answers[1]]
    assert answers[0] == answers[1]


def ids_of(cluster, names):
    def found():
        topics = [Metadata.MetadataRequestTopic(name=name) for name in names]
        answer = cluster.ask(1, ApiKeys.METADATA, 12, Metadata(topics=topics)).topics
        return {topic.name: topic.topic_id for topic in answer if topic.error_code == 0}

    deadline = time.monotonic() + 30
    while len(view := found()) < len(names):
        assert time.monotonic() < deadline
    return view


# Rights


@pytest.fixture(scope="module")
def guarded(both, nodes):
    """An access rule for somebody else on `guarded`, on a topic that is not there, and on a transactional id."""
    create = request_class(ApiKeys.CREATE_ACLS)
    rule = {"resource_pattern_type": 3, "principal": "User:somebody", "host": "*", "operation": 2, "permission_type": 3}
    acls = [create.AclCreation(resource_type=2, resource_name=name, **rule) for name in (GUARDED, "guarded-new")]
    answer = nodes.ask(1, ApiKeys.CREATE_ACLS, 3, create(creations=acls))
    assert [result.error_code for result in answer.results] == [0, 0], answer
    body = Metadata(topics=[Metadata.MetadataRequestTopic(name=GUARDED)])
    for broker_id in IDS:
        nodes.until(lambda: nodes.ask(broker_id, ApiKeys.METADATA, 12, body).topics[0].error_code == 29)
    return both


def guarded_requests():
    """Requests about a topic that may be used, one that may not, and one that does not exist and may not be made."""
    names = ("t", GUARDED, "guarded-new")
    data = Produce.TopicProduceData
    parts = [data.PartitionProduceData(index=0, records=batch())]
    yield (
        ApiKeys.PRODUCE,
        9,
        Produce(acks=1, timeout_ms=1000, topic_data=[data(name=name, partition_data=list(parts)) for name in names]),
    )
    fetch = request_class(ApiKeys.FETCH)
    asked = fetch.FetchTopic.FetchPartition(partition_max_bytes=1)
    yield ApiKeys.FETCH, 12, fetch(topics=[fetch.FetchTopic(topic=name, partitions=[asked]) for name in names])
    yield ApiKeys.METADATA, 12, Metadata(topics=[Metadata.MetadataRequestTopic(name=name) for name in names])
    yield (
        ApiKeys.METADATA,
        8,
        Metadata(
            topics=[Metadata.MetadataRequestTopic(name=name) for name in names],
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=True,
            allow_auto_topic_creation=False,
        ),
    )
    offsets = request_class(ApiKeys.LIST_OFFSETS)
    asked = offsets.ListOffsetsTopic.ListOffsetsPartition(timestamp=-2)
    topics = [offsets.ListOffsetsTopic(name=name, partitions=[asked]) for name in names]
    yield ApiKeys.LIST_OFFSETS, 7, offsets(replica_id=-1, topics=topics)
    records = request_class(ApiKeys.DELETE_RECORDS)
    asked = records.DeleteRecordsTopic.DeleteRecordsPartition(partition_index=0, offset=0)
    topics = [records.DeleteRecordsTopic(name=name, partitions=[asked]) for name in names]
    yield ApiKeys.DELETE_RECORDS, 2, records(timeout_ms=1000, topics=topics)


@pytest.mark.parametrize("number", range(6))
def test_who_may_not_use_a_topic_is_told_so(guarded, nodes, number):
    api, version, body = list(guarded_requests())[number]
    ours, theirs = guarded(1, api, version, body)
    assert errors_in(ours) == errors_in(theirs)
    if api is ApiKeys.METADATA:
        rights = [{t.name: t.topic_authorized_operations for t in answer.topics} for answer in (ours, theirs)]
        assert rights[0] == rights[1]
        assert ours.cluster_authorized_operations == theirs.cluster_authorized_operations


def errors_in(answer):
    """The error of each topic, and of its first partition, by name."""
    topics = answer.responses if hasattr(answer, "responses") else answer.topics
    found = {}
    for topic in topics:
        name = topic.topic if hasattr(topic, "topic") else topic.name
        parts = topic.partition_responses if hasattr(topic, "partition_responses") else topic.partitions
        found[name] = (getattr(topic, "error_code", 0), [part.error_code for part in parts])
    return found


# Features


def test_a_new_cluster_has_eligible_leader_replicas_unless_it_is_told_otherwise(nodes):
    body = request_class(ApiKeys.API_VERSIONS)(client_software_name="a", client_software_version="1")
    answer = nodes.ask(1, ApiKeys.API_VERSIONS, 4, body)
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    ours = Controller().image.features.finalized_versions
    assert ours == {ELIGIBLE_LEADER_REPLICAS_VERSION: 1}
    assert ours.items() <= levels.items()


# Transactions


def test_a_partition_that_the_coordinator_does_not_know_of(both, nodes, ours):
    find = request_class(ApiKeys.FIND_COORDINATOR)
    init = request_class(ApiKeys.INIT_PRODUCER_ID)

    def coordinator():
        body = find(key_type=1, coordinator_keys=[TRANSACTIONAL_ID])
        (found,) = nodes.ask(1, ApiKeys.FIND_COORDINATOR, 4, body).coordinators
        return found.node_id if found.error_code == 0 else None

    def producer():
        body = init(transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=10_000)
        answer = nodes.ask(nodes.until(coordinator), ApiKeys.INIT_PRODUCER_ID, 4, body)
        return (answer.producer_id, answer.producer_epoch) if answer.error_code == 0 else None

    producer_id, epoch = nodes.until(producer)
    record = SimpleRecord(ours.time.milliseconds(), None, b"v")
    arguments = (CompressionType.NONE, producer_id, epoch, 0, record)
    records = bytes(MemoryRecords.with_transactional_records(*arguments).buffer)
    data = Produce.TopicProduceData

    def error(version):
        topic = data(name="t", partition_data=[data.PartitionProduceData(index=0, records=records)])
        body = Produce(transactional_id=TRANSACTIONAL_ID, acks=1, timeout_ms=1000, topic_data=[topic])
        answers = [only_partition(answer) for answer in both(1, ApiKeys.PRODUCE, version, body)]
        return [(answer.error_code, answer.error_message) for answer in answers]

    for version, expected in ((9, Errors.INVALID_TXN_STATE), (10, Errors.INVALID_TXN_STATE)):
        ours_told, theirs_told = error(version)
        assert ours_told == theirs_told
        assert ours_told[0] == expected
    ours_told, theirs_told = error(11)
    assert ours_told == theirs_told
    assert ours_told[0] == Errors.TRANSACTION_ABORTABLE
    ours_told, theirs_told = error(12)
    assert ours_told == theirs_told
    assert ours_told[0] == Errors.NONE
