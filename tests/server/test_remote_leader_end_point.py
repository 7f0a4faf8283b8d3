"""A leader that is asked with Kafka's own requests."""

import pytest

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    FetchSessionTopicIdException,
    IllegalStateException,
    KafkaStorageException,
    NotLeaderOrFollowerException,
)
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ONE_UUID
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_bytes, request_class, response_class
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.in_process_send import InProcessSend
from minikafka.server.initial_fetch_state import BrokerEndPoint
from minikafka.server.leader_end_point import OffsetForLeaderPartition
from minikafka.server.partition_fetch_state import PartitionFetchState, ReplicaFetchState
from minikafka.server.remote_leader_end_point import RemoteLeaderEndPoint

LEADER = BrokerEndPoint(0, "localhost", 9092)
OTHER_ID = "AAAAAAAAAAAAAAAAAAAAAg"
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TOPIC_IDS = {"a": ONE_UUID, "b": OTHER_ID}


class Wire:
    """Notes what is sent, and answers with what a test has prepared."""

    broker_end_point = LEADER

    def __init__(self):
        self.sent = []
        self.response = None
        self.closed = []

    def send_request(self, api_key, version, body):
        self.sent.append((api_key, version, body))
        if isinstance(self.response, Exception):
            raise self.response
        return self.response

    def initiate_close(self):
        self.closed.append("initiate")

    def close(self):
        self.closed.append("close")


class Logs:
    """The follower's logs, of which only the starts matter."""

    def __init__(self):
        self.log_start_offset = 3
        self.offline = set()

    def local_log_or_exception(self, topic_partition):
        if topic_partition in self.offline:
            raise KafkaStorageException(str(topic_partition))
        return self


@pytest.fixture
def wire():
    return Wire()


@pytest.fixture
def logs():
    return Logs()


@pytest.fixture
def leader(wire, logs):
    return RemoteLeaderEndPoint(wire, BrokerConfig({"node.id": 7}), logs, lambda: 42, ManualTime(1000))


def fetching(offset, epoch=5, last_fetched_epoch=4, topic_id=ONE_UUID, **fields):
    return PartitionFetchState(topic_id, offset, None, epoch, ReplicaFetchState.FETCHING, last_fetched_epoch)._replace(
        **fields
    )


def states(**offsets):
    """States of partitions by names like `a0`, in the order of the arguments."""
    return {
        TopicPartition(name[0], int(name[1])): fetching(offset, topic_id=TOPIC_IDS[name[0]])
        for name, offset in offsets.items()
    }


def answer(**partitions):
    """A fetch response with these partitions (`a0={…fields}`), neighbours of a topic together."""
    fetch = response_class(ApiKeys.FETCH)
    topics = []
    for name, fields in partitions.items():
        if not topics or topics[-1].topic_id != TOPIC_IDS[name[0]]:
            topics.append(fetch.FetchableTopicResponse(topic_id=TOPIC_IDS[name[0]], topic=name[0]))
        partition = fetch.FetchableTopicResponse.PartitionData
        topics[-1].partitions.append(partition(partition_index=int(name[1]), **fields))
    return fetch(responses=topics)


# Fetching


def test_a_fetch_asks_for_all_partitions_that_are_ready_with_what_is_known_of_them(leader):
    partitions = {
        A0: fetching(10),
        A1: fetching(0, last_fetched_epoch=None),
        B0: fetching(9, topic_id=OTHER_ID),
        TopicPartition("a", 2): fetching(0, state=ReplicaFetchState.TRUNCATING),
        TopicPartition("a", 3): fetching(0, due_ms=1001),
        TopicPartition("a", 4): fetching(1, due_ms=1000),
    }
    (asked, body), with_error = leader.build_fetch(partitions)
    assert with_error == set()
    assert [(tp, data.fetch_offset) for tp, data in asked.items()] == [
        (A0, 10),
        (A1, 0),
        (B0, 9),
        (TopicPartition("a", 4), 1),
    ]
    assert [topic.topic for topic in body.topics] == ["a", "b", "a"]
    assert (body.max_wait_ms, body.min_bytes, body.max_bytes) == (500, 1, 10 * 1024 * 1024)
    assert (body.replica_state.replica_id, body.replica_state.replica_epoch) == (7, 42)
    assert (body.session_id, body.session_epoch) == (0, 0)
    first, second = body.topics[0].partitions
    assert (first.current_leader_epoch, first.last_fetched_epoch, second.last_fetched_epoch) == (5, 4, -1)
    assert (first.log_start_offset, first.partition_max_bytes) == (3, 1024 * 1024)


def test_a_partition_whose_log_is_offline_is_left_out(leader, logs):
    logs.offline = {A0}
    (asked, _), with_error = leader.build_fetch(states(a0=1, b0=2))
    assert list(asked) == [B0] and with_error == {A0}


def test_without_a_partition_that_is_ready_there_is_no_request(leader, logs):
    assert leader.build_fetch({}) == (None, set())
    logs.offline = {A0}
    assert leader.build_fetch({A0: fetching(0)}) == (None, {A0})


def test_the_answers_of_all_partitions_are_told_in_the_order_of_the_response(leader, wire):
    batch = MemoryRecords.with_records(Compression.NONE, SimpleRecord(value=b"v"))
    wire.response = answer(
        b0=dict(error_code=Errors.OFFSET_OUT_OF_RANGE, high_watermark=-1),
        a0=dict(high_watermark=9, log_start_offset=2, records=memoryview(bytes(batch.buffer)).toreadonly()),
    )
    replica_fetch, _ = leader.build_fetch(states(a0=1, b0=2))
    found = leader.fetch(replica_fetch)
    assert [(tp, data.error) for tp, data in found.items()] == [(B0, Errors.OFFSET_OUT_OF_RANGE), (A0, Errors.NONE)]
    assert (found[A0].high_watermark, found[A0].log_start_offset, found[A0].diverging_epoch) == (9, 2, None)
    assert found[A0].records == batch and found[B0].records == MemoryRecords.EMPTY
    ((api_key, version, _),) = wire.sent
    assert (api_key, version) == (ApiKeys.FETCH, 18)


def test_a_diverging_epoch_is_told(leader, wire):
    wire.response = answer(a0={})
    wire.response.responses[0].partitions[0].diverging_epoch.epoch = 0
    wire.response.responses[0].partitions[0].diverging_epoch.end_offset = 12
    replica_fetch, _ = leader.build_fetch(states(a0=1))
    assert leader.fetch(replica_fetch)[A0].diverging_epoch == EpochEndOffset(0, 12)


def test_a_partition_without_a_topic_id_has_all_asked_for_by_name(leader, wire):
    wire.response = answer(a0={}, b0={})
    replica_fetch, _ = leader.build_fetch({A0: fetching(1, topic_id=None), B0: fetching(2, topic_id=OTHER_ID)})
    assert set(leader.fetch(replica_fetch)) == {A0, B0}
    ((_, version, body),) = wire.sent
    assert version == 12 and (body.replica_id, body.replica_state.replica_id) == (7, -1)


@pytest.mark.parametrize("partitions", [dict(a0={}), dict(a0={}, b0={}, a1={}), {}])
def test_a_response_to_other_partitions_is_not_used(leader, wire, partitions):
    wire.response = answer(**partitions)
    replica_fetch, _ = leader.build_fetch(states(a0=1, b0=2))
    assert leader.fetch(replica_fetch) == {}


def test_a_response_with_an_error_has_no_partitions(leader, wire):
    wire.response = answer(a0={})
    wire.response.error_code = Errors.UNKNOWN_SERVER_ERROR
    replica_fetch, _ = leader.build_fetch(states(a0=1))
    assert leader.fetch(replica_fetch) == {}
    wire.response.error_code = Errors.FETCH_SESSION_TOPIC_ID_ERROR
    with pytest.raises(FetchSessionTopicIdException):
        leader.fetch(replica_fetch)


# Offsets and epochs


def test_the_leader_is_asked_where_its_log_begins_and_ends(leader, wire):
    offsets = response_class(ApiKeys.LIST_OFFSETS)
    topic = offsets.ListOffsetsTopicResponse
    wire.response = offsets(topics=[topic(name="a", partitions=[topic.ListOffsetsPartitionResponse(offset=8)])])
    wire.response.topics[0].partitions[0].leader_epoch = 4
    assert leader.fetch_earliest_offset(A1, 5) == leader.fetch_latest_offset(A1, 5) == (8, 4)
    asked = [body.topics[0].partitions[0] for _, _, body in wire.sent]
    assert [(one.partition_index, one.current_leader_epoch, one.timestamp) for one in asked] == [(1, 5, -2), (1, 5, -1)]
    assert {(api_key, version, body.replica_id) for api_key, version, body in wire.sent} == {
        (ApiKeys.LIST_OFFSETS, 11, 7)
    }
    wire.response.topics[0].partitions[0].error_code = Errors.NOT_LEADER_OR_FOLLOWER
    with pytest.raises(NotLeaderOrFollowerException):
        leader.fetch_latest_offset(A1, 5)


def test_the_leader_is_asked_where_epochs_end(leader, wire):
    ends = response_class(ApiKeys.OFFSET_FOR_LEADER_EPOCH)
    topic = ends.OffsetForLeaderTopicResult
    wire.response = ends(
        topics=[
            topic(topic="b", partitions=[topic.EpochEndOffset(partition=0, error_code=Errors.UNKNOWN_LEADER_EPOCH)]),
            topic(topic="a", partitions=[topic.EpochEndOffset(partition=1, leader_epoch=3, end_offset=30)]),
        ]
    )
    asked = {
        tp: OffsetForLeaderPartition(partition=tp.partition, current_leader_epoch=5, leader_epoch=4) for tp in (A1, B0)
    }
    found = leader.fetch_epoch_end_offsets(asked)
    assert found == {B0: EpochEndOffset(error=Errors.UNKNOWN_LEADER_EPOCH), A1: EpochEndOffset(3, 30)}
    ((api_key, version, body),) = wire.sent
    assert (api_key, version, body.replica_id) == (ApiKeys.OFFSET_FOR_LEADER_EPOCH, 4, 7)
    assert [(topic.topic, [one.leader_epoch for one in topic.partitions]) for topic in body.topics] == [
        ("a", [4]),
        ("b", [4]),
    ]


def test_a_question_about_epochs_that_fails_is_an_error_of_each_partition(leader, wire):
    assert leader.fetch_epoch_end_offsets({}) == {} and wire.sent == []
    wire.response = NotLeaderOrFollowerException("gone")
    asked = {
        tp: OffsetForLeaderPartition(partition=tp.partition, current_leader_epoch=5, leader_epoch=4) for tp in (A1, B0)
    }
    assert leader.fetch_epoch_end_offsets(asked) == dict.fromkeys(
        (A1, B0), EpochEndOffset(error=Errors.NOT_LEADER_OR_FOLLOWER)
    )


def test_closing_goes_to_the_connection(leader, wire):
    leader.initiate_close()
    leader.close()
    assert wire.closed == ["initiate", "close"] and leader.broker_end_point == LEADER


# In one process


class Peer:
    """A broker that answers nothing, or what a test has prepared, at once or when its fetch is completed."""

    def __init__(self, result, waits=False):
        self.replica_manager = self.delayed_fetch_purgatory = self
        self.result = result
        self.done = not waits
        self.waits = waits
        self.delayed = ["another request"]
        self.requests = []

    def handle(self, request):
        self.requests.append(request)
        if self.waits:
            self.delayed = ["another request", self]
        return self

    def force_complete(self):
        self.done = True


def list_offsets_answer():
    return b"\0\0\0\0" + b"\0" + b"\0\0\0\0" + b"\1\0"  # correlation id, header tags, throttle time, no topics, tags


def test_a_request_goes_to_the_peer_as_bytes_and_its_response_comes_back(wire):
    peer = Peer(list_offsets_answer())
    send = InProcessSend(LEADER, "broker-7-fetcher-0", {0: peer}.get)
    body = request_class(ApiKeys.LIST_OFFSETS)(replica_id=7)
    assert send.send_request(ApiKeys.LIST_OFFSETS, 11, body) == response_class(ApiKeys.LIST_OFFSETS)()
    expected = request_bytes(ApiKeys.LIST_OFFSETS, 11, body, correlation_id=0, client_id="broker-7-fetcher-0")
    assert peer.requests == [expected]


def test_a_fetch_that_waits_at_the_peer_is_answered_as_if_its_wait_were_over():
    peer = Peer(list_offsets_answer(), waits=True)
    send = InProcessSend(LEADER, "c", {0: peer}.get)
    send.send_request(ApiKeys.LIST_OFFSETS, 11, request_class(ApiKeys.LIST_OFFSETS)())
    assert peer.done


def test_a_peer_that_is_down_or_does_not_answer_is_an_error():
    send = InProcessSend(LEADER, "c", {}.get)
    body = request_class(ApiKeys.LIST_OFFSETS)()
    with pytest.raises(ConnectionError):
        send.send_request(ApiKeys.LIST_OFFSETS, 11, body)
    send = InProcessSend(LEADER, "c", {0: Peer(None)}.get)
    with pytest.raises(IllegalStateException):
        send.send_request(ApiKeys.LIST_OFFSETS, 11, body)


# Kafka


def kafka_bytes(kafka, builder, version, client_id):
    header = kafka.find_class("org.apache.kafka.common.requests.RequestHeader")
    request = builder.build(version)
    return bytes(request.serializeWithHeader(header(request.apiKey(), version, client_id, 3)).array())


def test_kafka_asks_with_the_same_bytes(kafka, leader, wire):
    common = "org.apache.kafka.common."
    topic_partition = kafka.find_class(common + "TopicPartition")
    uuid = kafka.find_class(common + "Uuid")
    data = kafka.find_class(common + "requests.FetchRequest").PartitionData
    partitions = {**states(a0=10, b0=7, a1=0), A1: fetching(1, last_fetched_epoch=None)}
    wanted = kafka.find_class("java.util.LinkedHashMap")()
    optional = kafka.find_class("java.util.Optional")
    for tp, state in partitions.items():
        last = optional.empty() if state.last_fetched_epoch is None else optional.of(state.last_fetched_epoch)
        asked = data(uuid.fromString(state.topic_id), state.fetch_offset, 3, 1024 * 1024, optional.of(5), last)
        wanted.put(topic_partition(tp.topic, tp.partition), asked)
    fetch = kafka.find_class(common + "requests.FetchRequest").Builder
    builder = fetch.forReplica(18, 7, 42, 500, 1, wanted).setMaxBytes(10 * 1024 * 1024)
    builder.metadata(kafka.constant(common + "requests.FetchMetadata", "INITIAL"))
    (_, body), _ = leader.build_fetch(partitions)
    ours = request_bytes(ApiKeys.FETCH, 18, body, correlation_id=3, client_id="c")
    assert ours == kafka_bytes(kafka, builder, 18, "c")
