"""What handlers decide by themselves: rights, names and ids, acks, the controller's topics, producers' ids."""

import gc
import logging
import weakref

import pytest

from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.produce_handler import known_topic_id_partition
from minikafka.common.error_codes import Errors
from minikafka.common.errors import IllegalStateException
from minikafka.common.uuid import ZERO_UUID, random_uuid
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_class
from minikafka.network.request import NoBytes
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from tests.broker.rules import Rules
from tests.broker.three_brokers import Produce, ThreeBrokers, answer_of, batch, only_partition

CreateTopics = request_class(ApiKeys.CREATE_TOPICS)
DeleteTopics = request_class(ApiKeys.DELETE_TOPICS)
Metadata = request_class(ApiKeys.METADATA)
InitProducerId = request_class(ApiKeys.INIT_PRODUCER_ID)
ListOffsets = request_class(ApiKeys.LIST_OFFSETS)
DeleteRecords = request_class(ApiKeys.DELETE_RECORDS)
OffsetForLeaderEpoch = request_class(ApiKeys.OFFSET_FOR_LEADER_EPOCH)
TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER


@pytest.fixture
def make(tmp_path):
    made = []

    def cluster(**settings):
        made.append(ThreeBrokers(tmp_path / str(len(made)), **settings))
        return made[-1]

    yield cluster
    for each in made:
        each.close()


@pytest.fixture
def three(make):
    three = make()
    three.create("t")
    return three


@pytest.fixture
def guarded(make):
    guarded = make(authorizer=Rules())
    guarded.create("t", [0, 1, 2], [0, 1, 2])
    guarded.create("u")
    return guarded


# Produce


def test_acks_1_is_answered_at_once_and_acks_all_when_the_followers_have_asked_again(three):
    assert only_partition(answer_of(three.produce(0, {("t", 0): batch()}), ApiKeys.PRODUCE, 9)).base_offset == 0
    ticket = three.produce(0, {("t", 0): batch(b"a", b"b")}, acks=-1)
    three.follow()
    assert not ticket.done
    three.follow()
    partition = only_partition(answer_of(ticket, ApiKeys.PRODUCE, 9))
    assert (partition.error_code, partition.base_offset) == (0, 1)


def test_an_answered_request_is_gone_at_once_without_the_garbage_collector(three):
    gc.disable()
    try:
        of_ticket = weakref.ref(three.produce(0, {("t", 0): batch()}))
    finally:
        gc.enable()
    assert of_ticket() is None


def test_a_second_answer_is_refused(three):
    request = three.produce(0, {("t", 0): batch()}).request
    with pytest.raises(IllegalStateException, match="^The request has been answered already$"):
        three.brokers[0].request_channel.send_no_op_response(request)


def test_acks_all_times_out_but_the_records_stay(three):
    ticket = three.produce(0, {("t", 0): batch()}, acks=-1, timeout_ms=100)
    three.time.sleep(101)
    partition = only_partition(answer_of(ticket, ApiKeys.PRODUCE, 9))
    assert (partition.error_code, partition.base_offset) == (Errors.REQUEST_TIMED_OUT, 0)


def test_without_acks_there_is_no_answer_and_an_error_closes_the_connection(three):
    assert three.produce(0, {("t", 0): batch()}, acks=0).result is NoBytes.NO_RESPONSE
    assert three.produce(0, {("t", 0): batch(), ("t", 5): batch()}, acks=0).result is NoBytes.CLOSE
    assert three.produce(1, {("t", 0): batch()}, acks=0).result is NoBytes.CLOSE


def test_acks_that_do_not_exist_are_found_out_only_where_something_may_be_appended(three):
    wrong = only_partition(answer_of(three.produce(0, {("t", 0): batch()}, acks=7), ApiKeys.PRODUCE, 9))
    assert wrong.error_code == Errors.INVALID_REQUIRED_ACKS
    unknown = only_partition(answer_of(three.produce(0, {("no", 0): batch()}, acks=7), ApiKeys.PRODUCE, 9))
    assert unknown.error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_names_that_somebody_makes_up_are_not_kept(three):
    answer_of(three.produce(0, {("t", 0): batch()}), ApiKeys.PRODUCE, 9)
    kept = known_topic_id_partition.cache_info().currsize
    for number in range(10):
        answer_of(three.produce(0, {(f"no{number}", 0): batch()}), ApiKeys.PRODUCE, 9)
    answer_of(three.produce(0, {("t", 0): batch()}), ApiKeys.PRODUCE, 9)
    assert known_topic_id_partition.cache_info().currsize == kept


def test_a_client_learns_who_leads_instead(three):
    answer = answer_of(three.produce(2, {("t", 0): batch()}, version=10), ApiKeys.PRODUCE, 10)
    partition = only_partition(answer)
    assert partition.error_code == Errors.NOT_LEADER_OR_FOLLOWER
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (0, 0)
    assert [(node.node_id, node.port) for node in answer.node_endpoints] == [(0, 9092)]
    assert answer_of(three.produce(2, {("t", 0): batch()}, version=9), ApiKeys.PRODUCE, 9).node_endpoints == []


def test_answers_follow_the_order_of_the_request(make):
    many = make()
    names = ["f", "b", "d", "a", "e", "c"]
    for name in names:
        many.create(name, [0, 1, 2], [0, 1, 2])

    def told(topics, parts):
        return [(topic.name, [part.partition_index for part in getattr(topic, parts)]) for topic in topics]

    produced = answer_of(many.produce(0, {(name, 1): batch() for name in names}), ApiKeys.PRODUCE, 9)
    assert [topic.name for topic in produced.responses] == names
    topic = ListOffsets.ListOffsetsTopic
    asked = [
        topic(name=name, partitions=[topic.ListOffsetsPartition(partition_index=each, timestamp=-1) for each in (1, 0)])
        for name in names
    ]
    offsets = many.ask(0, ApiKeys.LIST_OFFSETS, 7, ListOffsets(topics=asked))
    assert told(offsets.topics, "partitions") == [(name, [1, 0]) for name in names]
    described = many.ask(
        0, ApiKeys.METADATA, 9, Metadata(topics=[Metadata.MetadataRequestTopic(name=n) for n in names])
    )
    assert told(described.topics, "partitions") == [(name, [0, 1]) for name in names]
    every = many.ask(0, ApiKeys.METADATA, 9, Metadata(topics=None))
    assert [each.name for each in every.topics] == sorted(names)


def test_topics_are_found_by_their_ids(three):
    topic_id = three.controller.image.topics.topic_name_to_id_view()["t"]
    known = answer_of(three.produce(0, {(topic_id, 0): batch()}, version=13), ApiKeys.PRODUCE, 13)
    assert (known.responses[0].topic_id, only_partition(known).error_code) == (topic_id, 0)
    unknown = answer_of(three.produce(0, {(random_uuid(), 0): batch()}, version=13), ApiKeys.PRODUCE, 13)
    assert only_partition(unknown).error_code == Errors.UNKNOWN_TOPIC_ID
    nameless = answer_of(three.produce(0, {(ZERO_UUID, 0): batch()}, version=13), ApiKeys.PRODUCE, 13)
    assert only_partition(nameless).error_code == Errors.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("version", "records", "error"),
    [
        (9, b"", Errors.INVALID_RECORD),
        (9, batch() + batch(), Errors.INVALID_RECORD),
        (9, batch()[:16] + b"\1" + batch()[17:], Errors.INVALID_RECORD),
        (6, batch(b"v" * 99, compression=CompressionType.ZSTD), Errors.UNSUPPORTED_COMPRESSION_TYPE),
        (7, batch(b"v" * 99, compression=CompressionType.ZSTD), Errors.NONE),
    ],
)
def test_a_request_brings_one_batch_of_a_form_that_its_version_knows(three, version, records, error):
    ticket = three.produce(0, {("t", 0): records}, version=version)
    assert only_partition(answer_of(ticket, ApiKeys.PRODUCE, version)).error_code == error


def test_of_a_partition_that_is_named_twice_the_last_records_count(three):
    data = Produce.TopicProduceData
    parts = [data.PartitionProduceData(index=0, records=batch(value)) for value in (b"first", b"last")]
    body = Produce(acks=1, timeout_ms=1, topic_data=[data(name="t", partition_data=parts)])
    assert only_partition(three.ask(0, ApiKeys.PRODUCE, 9, body)).base_offset == 0
    three.follow(2)
    read = only_partition(answer_of(three.fetch(0, "t", 0), ApiKeys.FETCH, 12))
    assert [record.value for record in MemoryRecords(bytes(read.records)).records()] == [b"last"]


def test_a_partition_without_records_is_never_answered(three, caplog):
    with caplog.at_level(logging.CRITICAL, "minikafka.broker"):
        assert not three.produce(0, {("t", 0): None}).done
        elsewhere = three.produce(0, {("no", 0): None})
    assert only_partition(answer_of(elsewhere, ApiKeys.PRODUCE, 9)).error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_kafkas_own_topics_may_be_written_by_the_admin_client_only(three):
    three.create("__consumer_offsets")
    partitions = {("__consumer_offsets", 0): batch()}
    refused = only_partition(answer_of(three.produce(0, partitions), ApiKeys.PRODUCE, 9))
    assert refused.error_code == Errors.INVALID_TOPIC_EXCEPTION
    data = Produce.TopicProduceData
    parts = [data.PartitionProduceData(index=0, records=batch())]
    body = Produce(acks=1, timeout_ms=1, topic_data=[data(name="__consumer_offsets", partition_data=parts)])
    assert only_partition(three.ask(0, ApiKeys.PRODUCE, 9, body, client_id="__admin_client")).error_code == 0


def transactional(producer_id=5):
    records = (SimpleRecord(1_000_000, None, b"v"),)
    return bytes(MemoryRecords.with_transactional_records(CompressionType.NONE, producer_id, 0, 0, *records).buffer)


def test_transactional_batches_need_an_id_and_the_right_to_use_it(guarded):
    def error(principal, **more):
        data = Produce.TopicProduceData
        parts = [data.PartitionProduceData(index=0, records=transactional())]
        body = Produce(acks=1, timeout_ms=1, topic_data=[data(name="t", partition_data=parts)], **more)
        return only_partition(guarded.ask(0, ApiKeys.PRODUCE, 9, body, principal=principal)).error_code

    assert error("User:admin") == Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert error("User:any", transactional_id="x") == Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    guarded.authorizer.allowed |= {(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")}
    assert error("User:any", transactional_id="x") == Errors.TOPIC_AUTHORIZATION_FAILED


def test_each_topic_is_asked_about_once_and_the_refused_are_told(guarded):
    guarded.authorizer.allowed |= {(AclOperation.WRITE, TOPIC, "t")}
    partitions = {("t", 0): batch(), ("t", 1): batch(), ("u", 0): batch(), ("no", 0): batch()}
    answer = answer_of(guarded.produce(0, partitions), ApiKeys.PRODUCE, 9)
    errors = {
        (topic.name, part.index): part.error_code for topic in answer.responses for part in topic.partition_responses
    }
    assert errors == {
        ("t", 0): 0,
        ("t", 1): 0,
        ("u", 0): Errors.TOPIC_AUTHORIZATION_FAILED,
        ("no", 0): Errors.TOPIC_AUTHORIZATION_FAILED,  # whether it exists is nobody's business
    }
    assert [action.resource_name for action in guarded.authorizer.asked] == ["t", "u", "no"]


def test_a_refused_batch_is_told_which_record_is_wrong(three):
    three.create("compacted", cleanup__policy="compact")
    partition = only_partition(answer_of(three.produce(0, {("compacted", 0): batch(b"no key")}), ApiKeys.PRODUCE, 9))
    assert partition.error_code == Errors.INVALID_RECORD
    assert partition.error_message.startswith("One or more records have been rejected due to 1 record errors in total")
    assert [(each.batch_index, each.batch_index_error_message) for each in partition.record_errors] == [
        (0, "Compacted topic cannot accept message without key in topic partition compacted-0")
    ]


# Fetch


def test_followers_need_the_right_to_act_in_the_cluster(guarded):
    asked = {"replica_id": 1, "principal": "User:any"}
    partition = only_partition(answer_of(fetch_as(guarded, **asked), ApiKeys.FETCH, 12))
    assert partition.error_code == Errors.TOPIC_AUTHORIZATION_FAILED
    guarded.authorizer.allowed |= {(AclOperation.CLUSTER_ACTION, CLUSTER, "kafka-cluster")}
    assert only_partition(answer_of(fetch_as(guarded, **asked), ApiKeys.FETCH, 12)).error_code == 0


def test_a_consumer_needs_the_right_to_read(guarded):
    asked = {"replica_id": -1, "principal": "User:any"}
    partition = only_partition(answer_of(fetch_as(guarded, **asked), ApiKeys.FETCH, 12))
    assert partition.error_code == Errors.TOPIC_AUTHORIZATION_FAILED
    guarded.authorizer.allowed |= {(AclOperation.READ, TOPIC, "t")}
    assert only_partition(answer_of(fetch_as(guarded, **asked), ApiKeys.FETCH, 12)).error_code == 0


def fetch_as(cluster, replica_id, principal):
    fetch = request_class(ApiKeys.FETCH)
    topic = fetch.FetchTopic(topic="t", partitions=[fetch.FetchTopic.FetchPartition(partition_max_bytes=99)])
    return cluster.send(0, ApiKeys.FETCH, 12, fetch(replica_id=replica_id, topics=[topic]), principal=principal)


@pytest.mark.parametrize(
    ("broker", "epoch", "error"),
    [(1, 0, Errors.FENCED_LEADER_EPOCH), (0, 1, Errors.NOT_LEADER_OR_FOLLOWER)],
    ids=["the leader, with an epoch that is over", "a broker without a replica"],
)
def test_a_fetch_that_cannot_be_served_is_told_the_leader_from_version_16_on(three, broker, epoch, error):
    topic_id = three.create("far", [2, 1])
    three.brokers[2].crash()
    three.controller.fence_broker(2)
    three.publish()

    def told(version):
        answer = answer_of(
            three.fetch(broker, topic_id, 0, version, current_leader_epoch=epoch), ApiKeys.FETCH, version
        )
        leader = only_partition(answer).current_leader
        assert only_partition(answer).error_code == error
        return leader.leader_id, leader.leader_epoch, [node.node_id for node in answer.node_endpoints]

    assert told(15) == (-1, -1, [])
    assert told(16) == (1, 1, [1])


def test_a_fetch_session_tells_only_what_is_new(three):
    begun = answer_of(three.fetch(0, "t", 0, session_epoch=0), ApiKeys.FETCH, 12)
    assert (begun.error_code, only_partition(begun).high_watermark) == (0, 0) and begun.session_id > 0

    def go_on(epoch, offset=0):
        return three.fetch(0, "t", offset, session_id=begun.session_id, session_epoch=epoch)

    nothing = answer_of(go_on(1), ApiKeys.FETCH, 12)
    assert (nothing.error_code, nothing.session_id, nothing.responses) == (0, begun.session_id, [])
    three.produce(0, {("t", 0): batch()})
    three.follow(2)
    assert only_partition(answer_of(go_on(2), ApiKeys.FETCH, 12)).high_watermark == 1
    assert answer_of(go_on(3, offset=1), ApiKeys.FETCH, 12).responses == []
    again = answer_of(go_on(3), ApiKeys.FETCH, 12)
    assert (again.error_code, again.session_id) == (Errors.INVALID_FETCH_SESSION_EPOCH, 0)
    assert len(three.brokers[0].fetch_manager.cache) == 1
    ended = answer_of(go_on(-1), ApiKeys.FETCH, 12)
    assert (ended.session_id, len(ended.responses), len(three.brokers[0].fetch_manager.cache)) == (0, 1, 0)
    gone = answer_of(go_on(4), ApiKeys.FETCH, 12)
    assert (gone.error_code, gone.responses) == (Errors.FETCH_SESSION_ID_NOT_FOUND, [])


def test_a_request_that_waits_loses_its_session_to_the_next_one(three):
    begun = answer_of(three.fetch(0, "t", 0, session_epoch=0), ApiKeys.FETCH, 12)
    waiting = three.fetch(0, "t", 0, session_id=begun.session_id, session_epoch=1, max_wait_ms=100)
    assert not waiting.done
    assert (
        answer_of(three.fetch(0, "t", 0, session_id=begun.session_id, session_epoch=2), ApiKeys.FETCH, 12).responses
        == []
    )
    three.time.sleep(100)
    late = answer_of(waiting, ApiKeys.FETCH, 12)
    assert (late.error_code, late.session_id) == (Errors.INVALID_FETCH_SESSION_EPOCH, begun.session_id)


def test_a_consumer_may_read_from_a_follower_from_version_11_on(three):
    three.produce(0, {("t", 0): batch()})
    three.follow(2)
    assert only_partition(answer_of(three.fetch(1, "t", 0, version=11), ApiKeys.FETCH, 11)).error_code == 0
    refused = only_partition(answer_of(three.fetch(1, "t", 0, version=10), ApiKeys.FETCH, 10))
    assert refused.error_code == Errors.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_waits_until_there_is_enough(three):
    ticket = three.fetch(0, "t", 0, max_wait_ms=1000, min_bytes=1)
    assert not ticket.done
    three.produce(0, {("t", 0): batch()})
    three.follow(2)
    assert len(only_partition(answer_of(ticket, ApiKeys.FETCH, 12)).records) == len(batch())


# Metadata


def test_topics_that_nobody_may_describe_are_not_told_of(guarded):
    body = Metadata(topics=[Metadata.MetadataRequestTopic(name=name) for name in ("t", "no")])
    told = guarded.ask(0, ApiKeys.METADATA, 12, body, principal="User:any").topics
    assert {(topic.name, topic.error_code, topic.topic_id) for topic in told} == {
        ("t", Errors.TOPIC_AUTHORIZATION_FAILED, ZERO_UUID),
        ("no", Errors.TOPIC_AUTHORIZATION_FAILED, ZERO_UUID),
    }
    assert guarded.ask(0, ApiKeys.METADATA, 12, Metadata(topics=None), principal="User:any").topics == []


def test_a_topic_comes_into_being_because_it_is_asked_about(make):
    three = make(auto__create__topics__enable=True, num__partitions=2, default__replication__factor=3)
    body = Metadata(topics=[Metadata.MetadataRequestTopic(name=name) for name in ("new", "not/legal")])
    told = three.ask(0, ApiKeys.METADATA, 12, body).topics
    assert {topic.name: topic.error_code for topic in told} == {
        "new": Errors.UNKNOWN_TOPIC_OR_PARTITION,
        "not/legal": Errors.INVALID_TOPIC_EXCEPTION,
    }
    three.publish()
    (topic,) = three.ask(0, ApiKeys.METADATA, 12, Metadata(topics=None)).topics
    assert (topic.name, len(topic.partitions)) == ("new", 2)
    assert len(topic.partitions[0].replica_nodes) == 3


def test_who_may_describe_but_not_create_makes_no_topic(make):
    guarded = make(authorizer=Rules(), auto__create__topics__enable=True)
    guarded.authorizer.allowed |= {(AclOperation.DESCRIBE, TOPIC, "new")}
    body = Metadata(topics=[Metadata.MetadataRequestTopic(name="new")])
    (topic,) = guarded.ask(0, ApiKeys.METADATA, 12, body, principal="User:any").topics
    assert topic.error_code == Errors.TOPIC_AUTHORIZATION_FAILED
    guarded.publish()
    assert guarded.controller.image.topics.is_empty()


@pytest.mark.parametrize(
    ("version", "error", "replicas"), [(0, Errors.REPLICA_NOT_AVAILABLE, [0, 1]), (1, Errors.NONE, [0, 1, 2])]
)
def test_replicas_that_cannot_be_reached_are_left_out_of_the_oldest_answer(three, version, error, replicas):
    three.controller.fence_broker(2)
    three.publish()
    (topic,) = three.ask(
        0, ApiKeys.METADATA, version, Metadata(topics=[Metadata.MetadataRequestTopic(name="t")])
    ).topics
    (partition,) = topic.partitions
    assert (partition.error_code, sorted(partition.replica_nodes)) == (error, replicas)


@pytest.mark.parametrize(("version", "name"), [(11, None), (10, "t")])
def test_names_and_ids_that_old_versions_do_not_have(three, version, name):
    topic = Metadata.MetadataRequestTopic(name=name, topic_id=random_uuid())
    answer = three.ask(0, ApiKeys.METADATA, version, Metadata(topics=[topic]))
    assert answer.topics[0].error_code == Errors.INVALID_REQUEST


# Offsets and deletion of records


def test_rights_to_ask_for_offsets_and_epochs_and_to_delete_records(guarded):
    who = {"principal": "User:any"}
    topic = ListOffsets.ListOffsetsTopic(name="t", partitions=[ListOffsets.ListOffsetsTopic.ListOffsetsPartition()])
    answer = guarded.ask(0, ApiKeys.LIST_OFFSETS, 7, ListOffsets(topics=[topic]), **who)
    assert only_partition(answer).error_code == Errors.TOPIC_AUTHORIZATION_FAILED
    topic = OffsetForLeaderEpoch.OffsetForLeaderTopic
    topic = topic(topic="t", partitions=[topic.OffsetForLeaderPartition()])
    answer = guarded.ask(0, ApiKeys.OFFSET_FOR_LEADER_EPOCH, 4, OffsetForLeaderEpoch(topics=[topic]), **who)
    assert only_partition(answer).error_code == Errors.TOPIC_AUTHORIZATION_FAILED
    topic = DeleteRecords.DeleteRecordsTopic
    topic = topic(name="t", partitions=[topic.DeleteRecordsPartition(partition_index=0, offset=1)])
    answer = guarded.ask(0, ApiKeys.DELETE_RECORDS, 2, DeleteRecords(topics=[topic]), **who)
    assert only_partition(answer).error_code == Errors.TOPIC_AUTHORIZATION_FAILED


def test_deletion_of_records_waits_for_the_followers(three):
    three.produce(0, {("t", 0): batch(b"a", b"b")})
    three.follow(2)
    topic = DeleteRecords.DeleteRecordsTopic
    body = DeleteRecords(timeout_ms=1000)
    body.topics = [topic(name="t", partitions=[topic.DeleteRecordsPartition(partition_index=0, offset=1)])]
    ticket = three.send(0, ApiKeys.DELETE_RECORDS, 2, body)
    three.follow()
    assert not ticket.done
    three.follow()
    assert only_partition(answer_of(ticket, ApiKeys.DELETE_RECORDS, 2)).low_watermark == 1


# Producers


def test_every_producer_gets_another_id_also_from_another_broker(three):
    body = InitProducerId(transactional_id=None, transaction_timeout_ms=1, producer_id=-1, producer_epoch=-1)
    answers = [three.ask(broker, ApiKeys.INIT_PRODUCER_ID, 4, body) for broker in (0, 0, 1, 0)]
    assert [(answer.producer_id, answer.producer_epoch) for answer in answers] == [(0, 0), (1, 0), (1000, 0), (2, 0)]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"transactional_id": "x"}, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"transactional_id": ""}, Errors.INVALID_REQUEST),
        ({"transactional_id": None, "producer_id": 5}, Errors.INVALID_REQUEST),
        ({"transactional_id": None, "producer_epoch": 5}, Errors.INVALID_REQUEST),
        ({"transactional_id": None, "producer_id": 5, "producer_epoch": 5}, Errors.NONE),
    ],
)
def test_producers_that_get_no_id(three, fields, error):
    answer = three.ask(0, ApiKeys.INIT_PRODUCER_ID, 4, InitProducerId(transaction_timeout_ms=1, **fields))
    assert answer.error_code == error


def test_who_may_write_nothing_gets_no_id(guarded):
    def error():
        body = InitProducerId(transactional_id=None, transaction_timeout_ms=1)
        return guarded.ask(0, ApiKeys.INIT_PRODUCER_ID, 4, body, principal="User:any").error_code

    assert error() == Errors.CLUSTER_AUTHORIZATION_FAILED
    guarded.authorizer.allowed |= {(AclOperation.WRITE, TOPIC, "t")}
    assert error() == Errors.NONE


def test_a_transactional_id_needs_the_right_to_write_with_it(guarded):
    body = InitProducerId(transactional_id="x", transaction_timeout_ms=1)
    refused = guarded.ask(0, ApiKeys.INIT_PRODUCER_ID, 4, body, principal="User:any")
    assert refused.error_code == Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_the_controller_that_knows_no_such_broker_gives_no_ids(three):
    three.brokers[0].broker_epoch = 3
    body = InitProducerId(transactional_id=None, transaction_timeout_ms=1)
    assert three.ask(0, ApiKeys.INIT_PRODUCER_ID, 4, body).error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS


# Topics


def creatable(name, **fields):
    return CreateTopics.CreatableTopic(name=name, **{"num_partitions": 1, "replication_factor": 1, **fields})


def test_topics_are_made_each_on_its_own(three):
    body = CreateTopics(topics=[creatable(name) for name in ("new", "t", "twice", "twice", "not/legal")])
    answer = three.ask(0, ApiKeys.CREATE_TOPICS, 7, body)
    assert {topic.name: topic.error_code for topic in answer.topics} == {
        "new": Errors.NONE,
        "t": Errors.TOPIC_ALREADY_EXISTS,
        "twice": Errors.INVALID_REQUEST,
        "not/legal": Errors.INVALID_TOPIC_EXCEPTION,
    }
    three.publish()
    assert three.brokers[2].metadata_cache.get_all_topics() == {"t", "new"}


def test_a_topic_is_only_tried_if_that_is_wanted(three):
    body = CreateTopics(topics=[creatable("new"), creatable("t")], validate_only=True)
    answer = three.ask(0, ApiKeys.CREATE_TOPICS, 7, body)
    assert [topic.error_code for topic in answer.topics] == [Errors.NONE, Errors.TOPIC_ALREADY_EXISTS]
    assert set(three.controller.image.topics.topic_name_to_id_view()) == {"t"}


@pytest.mark.parametrize(
    ("limit", "cursor", "told", "next_cursor"),
    [
        (3, None, {"a": [0, 1], "b": [0]}, ("b", 1)),
        (2, None, {"a": [0, 1]}, ("b", 0)),
        (9, ("b", 1), {"b": [1], "t": [0]}, None),
        (9, ("c", 0), {"t": [0]}, None),
    ],
)
def test_partitions_are_told_page_by_page(three, limit, cursor, told, next_cursor):
    for name in ("b", "a"):
        three.create(name, [0], [1])
    make = request_class(ApiKeys.DESCRIBE_TOPIC_PARTITIONS)
    body = make(response_partition_limit=limit)
    if cursor:
        body.cursor = make.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    answer = three.ask(0, ApiKeys.DESCRIBE_TOPIC_PARTITIONS, 0, body)
    assert {topic.name: [each.partition_index for each in topic.partitions] for topic in answer.topics} == told
    rest = answer.next_cursor and (answer.next_cursor.topic_name, answer.next_cursor.partition_index)
    assert rest == next_cursor


@pytest.mark.slow
def test_of_a_new_topic_only_who_may_see_them_is_told_the_settings(guarded):
    guarded.authorizer.allowed |= {(AclOperation.CREATE, TOPIC, name) for name in ("a", "b")}
    guarded.authorizer.allowed |= {(AclOperation.DESCRIBE_CONFIGS, TOPIC, "a")}
    body = CreateTopics(topics=[creatable(name) for name in ("a", "b", "c")])
    told = {topic.name: topic for topic in guarded.ask(0, ApiKeys.CREATE_TOPICS, 7, body, principal="User:any").topics}
    assert (told["a"].num_partitions, bool(told["a"].configs), told["a"].topic_config_error_code) == (1, True, 0)
    assert (told["b"].num_partitions, told["b"].configs) == (-1, [])
    assert told["b"].topic_config_error_code == Errors.TOPIC_AUTHORIZATION_FAILED
    assert told["c"].error_code == Errors.TOPIC_AUTHORIZATION_FAILED


def test_topics_are_deleted_by_name_or_by_id(three):
    ids = {name: three.create(name) for name in ("by-name", "by-id", "both", "stays")}
    state = DeleteTopics.DeleteTopicState
    body = DeleteTopics(
        topics=[
            state(name="by-name"),
            state(name=None, topic_id=ids["by-id"]),
            state(name=None, topic_id=ids["both"]),
            state(name="both"),
            state(name="stays", topic_id=ids["stays"]),
            state(name="missing"),
            state(name=None, topic_id=ZERO_UUID),
        ]
    )
    answer = three.ask(0, ApiKeys.DELETE_TOPICS, 6, body)
    assert sorted((topic.name or "", topic.error_code) for topic in answer.responses) == [
        ("", Errors.INVALID_REQUEST),
        ("both", Errors.INVALID_REQUEST),
        ("by-id", Errors.NONE),
        ("by-name", Errors.NONE),
        ("missing", Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("stays", Errors.INVALID_REQUEST),
    ]
    three.publish()
    assert three.brokers[0].metadata_cache.get_all_topics() == {"t", "both", "stays"}
    twice = DeleteTopics(topics=[state(name=None, topic_id=ids["both"]), state(name=None, topic_id=ids["both"])])
    (refused,) = three.ask(0, ApiKeys.DELETE_TOPICS, 6, twice).responses
    assert (refused.error_code, refused.error_message) == (Errors.INVALID_REQUEST, "Duplicate topic id.")
    gone = only_partition(answer_of(three.produce(0, {("by-id", 0): batch()}), ApiKeys.PRODUCE, 9))
    assert gone.error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_who_may_not_delete_a_topic_learns_its_name_only_if_it_may_describe_it(guarded):
    ids = guarded.controller.image.topics.topic_name_to_id_view()
    guarded.authorizer.allowed |= {(AclOperation.DESCRIBE, TOPIC, "u")}
    state = DeleteTopics.DeleteTopicState

    def told(*topics):
        answer = guarded.ask(0, ApiKeys.DELETE_TOPICS, 6, DeleteTopics(topics=topics), principal="User:any")
        assert {topic.error_code for topic in answer.responses} == {Errors.TOPIC_AUTHORIZATION_FAILED}
        return {(topic.name, topic.topic_id) for topic in answer.responses}

    by_id = told(state(name=None, topic_id=ids["t"]), state(name=None, topic_id=ids["u"]))
    assert by_id == {(None, ids["t"]), ("u", ids["u"])}
    assert told(state(name="t"), state(name="u")) == {("t", ZERO_UUID), ("u", ZERO_UUID)}


@pytest.mark.parametrize(("version", "error"), [(2, Errors.INVALID_REQUEST), (3, Errors.TOPIC_DELETION_DISABLED)])
def test_where_topics_are_never_deleted(make, version, error):
    three = make(delete__topic__enable=False)
    three.create("t")
    answer = three.ask(0, ApiKeys.DELETE_TOPICS, version, DeleteTopics(topic_names=["t"]))
    assert answer.responses[0].error_code == error


# Incarnations of brokers


def test_the_replicas_know_of_a_stop_before_the_controller_is_asked(three, monkeypatch):
    """Else they would begin to follow those to whom the controller hands over."""
    broker, told = three.brokers[0], []
    for owner, name in ((broker.replica_manager, "begin_controlled_shutdown"), (three.controller, "alter_partition")):
        monkeypatch.setattr(owner, name, lambda *_, name=name: told.append(name))
    monkeypatch.setattr(three.controller, "begin_controlled_shutdown", lambda *_: told.append("handed over") or True)
    broker.shutdown()
    assert told == ["begin_controlled_shutdown", "handed over"]


def test_a_broker_that_stops_in_order_hands_over_and_its_next_start_is_clean(three):
    three.produce(0, {("t", 0): batch()})
    three.follow(2)
    three.brokers[0].shutdown()
    three.publish()
    assert only_partition(answer_of(three.produce(1, {("t", 0): batch()}), ApiKeys.PRODUCE, 9)).base_offset == 1
    three.start(0)
    three.publish()
    three.follow(2)
    log = three.brokers[0].log_manager.current_logs.values()
    assert [each.log_end_offset for each in log] == [2]


def test_what_was_acknowledged_by_all_survives_the_leader(three):
    ticket = three.produce(0, {("t", 0): batch(b"kept")}, acks=-1)
    three.follow(2)
    assert ticket.done
    three.brokers[0].crash()
    three.controller.fence_broker(0)
    three.publish()
    read = only_partition(answer_of(three.fetch(1, "t", 0), ApiKeys.FETCH, 12))
    assert read.high_watermark in (0, 1)  # the new leader learns of it when its follower has asked
    three.follow(3)
    read = only_partition(answer_of(three.fetch(1, "t", 0), ApiKeys.FETCH, 12))
    assert [record.value for record in MemoryRecords(bytes(read.records)).records()] == [b"kept"]


def test_a_correlation_id_comes_back(three):
    ticket = three.send(0, ApiKeys.METADATA, 12, Metadata(topics=[]))
    assert parse_response(ApiKeys.METADATA, 12, ticket.result)[0] == 5
