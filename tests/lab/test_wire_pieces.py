"""The pieces of the lesson *The wire*: a broker moved by hand, lanes of connections, bytes by version, sessions."""

import pytest

from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.stepper.stepper import step_through
from minikafka.lessons.wire.connection_lanes import ConnectionLanes, render_lanes
from minikafka.lessons.wire.hand_run_broker import HandRunBroker
from minikafka.lessons.wire.request_bytes import field_named, fields_of_request, in_versions
from minikafka.lessons.wire.session_boxes import FetchingReader, render_session
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_bytes, request_class
from minikafka.witness.connections.minikafka_server import MinikafkaServer
from minikafka.witness.connections.run import run_connections
from minikafka.witness.connections.workload import ConnectionWorkload
from tests.lab.pictures import unreadable

READ_ON = "a broker reads the next request while one is in work"
STAYS_MUTED = "without an answer the connection stays muted"


def test_the_stepper_stops_inside_the_request_of_a_real_client():
    broker = HandRunBroker("orders")
    shop = broker.client()
    broker.send(shop, b"first")
    request = broker.until("PRODUCE")
    assert request[4:8] == bytes([0, 0, 0, 10]) and int.from_bytes(request[:4]) == len(request) - 4
    assert broker.asked[0] == ("API_VERSIONS", 3) and "PRODUCE" not in broker.count and broker.values() == []
    walk = step_through(broker.turn, into={"SocketServer._read", "KafkaChannel.receive", "SocketServer._unmute"})
    names = [frame.method.name for frame in walk.frames]
    assert names[0] == "SocketServer._read" and names[-1] == "SocketServer._unmute" and walk.raised is None
    assert broker.values() == ["first"] and broker.count["PRODUCE"] == 1
    broker.deliver(shop)


@pytest.mark.slow
@pytest.mark.parametrize(("is_idempotent", "records"), [(False, ["paid", "paid"]), (True, ["paid"])])
def test_a_client_without_an_answer_sends_again(is_idempotent, records):
    broker = HandRunBroker("orders")
    broker.lose_an_answer()
    client = broker.client(socket_timeout_ms=1000, enable_idempotence=is_idempotent)
    broker.send(client, b"paid")
    broker.deliver(client)
    assert broker.values() == records and broker.count["PRODUCE"] == 2


def test_lanes_show_what_is_unread_in_work_and_answered():
    lanes = ConnectionLanes().send("A", "fetch", "metadata", "produce0").send("B", "metadata")
    a, b = lanes.frames[-1].lanes
    assert a.state == "muted" and a.unread == ("2 metadata", "3 produce0") and a.in_work == ("1 fetch",)
    assert b.state == "not muted" and b.answered == ("4 metadata",) and lanes.answers("A") == []
    lanes.send("B", "produce").send("C", "old")
    a, b, c = lanes.frames[-1].lanes
    assert lanes.answers("A") == [1, 2] and a.state == "not muted" and not a.unread and not a.in_work
    assert c.state == "closed" and lanes.broker.values() == ["record", "record"]
    for frame in lanes.frames:
        assert unreadable(render_lanes(frame)) == []


def test_the_planted_bugs_break_the_order_and_the_mute():
    with planted(READ_ON):
        lanes = ConnectionLanes().send("A", "fetch").send("A", "metadata").send("B", "produce")
        assert lanes.answers("A") == [2, 1]
    workload = ConnectionWorkload.parse("send A 1 2\nno_response 1\n")
    with planted(STAYS_MUTED):
        assert run_connections(workload, MinikafkaServer()).rows[-1]["in_work"] == ()
    assert run_connections(workload, MinikafkaServer()).rows[-1]["in_work"] == (2,)


def _produce_request(version=10):
    produce = request_class(ApiKeys.PRODUCE)
    part = produce.TopicProduceData.PartitionProduceData(index=3, records=b"x" * 200)
    body = produce(acks=-1, timeout_ms=5, topic_data=[produce.TopicProduceData(name="orders", partition_data=[part])])
    data = request_bytes(ApiKeys.PRODUCE, version, body, correlation_id=77, client_id="shop")
    return len(data).to_bytes(4) + data


def test_every_byte_of_a_request_belongs_to_one_field():
    for version in range(3, 13):
        request = _produce_request(version)
        at = 0
        for field in fields_of_request(request):
            assert field.start == at and field.size > 0
            at += field.size
        assert at == len(request)
    assert field_named(request, "records").size == 200 and field_named(request, "records length").size == 2
    assert field_named(request, "correlationId").value == "77"


@pytest.mark.slow
def test_a_request_is_shown_in_every_version():
    player = in_versions(_produce_request(), range(3, 14))
    assert len(player.frames) == 11 and player.frame.version == 10
    assert [frame.version for frame in player.frames if any(frame.is_new)] == [9, 13]
    assert field_named(player.frames[-1].data, "correlationId").value == "1"
    player.slider.value = 10
    assert "topicId (16)" in str(player.frame)
    for picture in player.pictures:
        assert unreadable(picture) == []


def test_a_session_grows_shrinks_and_begins_again():
    reader = FetchingReader(4)
    reader.append(0, "a", "b")
    assert reader.fetch(0, 1, 2).answered == ((0, 2), (1, 0), (2, 0))
    quiet = reader.fetch()
    assert (quiet.named, quiet.answered) == (((0, 2),), ())
    reader.append(2, "c")
    third = reader.fetch()
    assert (third.named, third.answered, third.epoch) == ((), ((2, 1),), 2)
    grown = reader.fetch(3, forget=[0])
    assert [number for number, _ in grown.session] == [1, 2, 3]
    reader.append(1, "d")
    assert [number for number, _ in reader.fetch().session] == [2, 3, 1]
    refused = reader.fetch(epoch=2)
    assert refused.error == "INVALID_FETCH_SESSION_EPOCH" and refused.session == ()
    assert reader.fetch().caption == "full fetch"
    for frame in reader.frames:
        assert unreadable(render_session(frame)) == []
