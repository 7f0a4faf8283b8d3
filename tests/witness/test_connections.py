"""Workloads of connections: their text, what minikafka's sockets make of them, and what Spark and Kafka say."""

import pytest

from minikafka.witness import agree
from minikafka.witness.connections.draw import draw_connection_workload
from minikafka.witness.connections.expect import connections_expected
from minikafka.witness.connections.minikafka_server import MinikafkaServer
from minikafka.witness.connections.run import answers_in, run_connections
from minikafka.witness.connections.workload import JUNK, ConnectionOperation, ConnectionWorkload, framed_request
from minikafka.witness.kafka.kafka_socket_server import KafkaSocketServer
from minikafka.witness.log.workload import WorkloadError

STORY = """
send A 1 2 3
send B 4[:10]
answer 1
send B 4[10:] 5
answer 4
no_response 2
answer 5
answer 3
"""


def test_a_workload_is_its_text():
    for seed in range(20):
        workload = draw_connection_workload(seed, 40, junk=0.1)
        assert ConnectionWorkload.parse(str(workload)) == workload
        assert draw_connection_workload(seed, 40, junk=0.1) == workload


@pytest.mark.parametrize(
    "line", ["open A", "send A", "send A x", "answer", "answer A", "junk A nonsense", "answer 1 2"]
)
def test_a_line_that_cannot_be_read_is_named(line):
    with pytest.raises(WorkloadError, match="^line 2: "):
        ConnectionWorkload.parse(f"send A 1\n{line}\n")


def test_pieces_are_bytes_of_framed_requests():
    request = framed_request(4)
    operation = ConnectionOperation.parse("send A 3[5:] 4[:10]")
    assert operation.data == framed_request(3)[5:] + request[:10]
    assert int.from_bytes(request[:4]) == len(request) - 4


def test_one_request_of_a_connection_is_in_work_and_answers_come_in_order():
    rows = run_connections(ConnectionWorkload.parse(STORY), MinikafkaServer()).rows
    assert [row["in_work"] for row in rows] == [(1,), (1,), (2,), (2, 4), (2, 5), (3, 5), (3,), ()]
    assert rows[-1]["answered"] == (("A", (1, 3)), ("B", (4, 5)))
    assert rows[3]["arrived"] == ("4: API_VERSIONS v4 of 'ü'",)
    assert all(row["open"] == ("A", "B") for row in rows[1:])


@pytest.mark.parametrize("kind", JUNK)
def test_junk_closes_its_connection_and_no_other(kind):
    workload = ConnectionWorkload.parse(f"send A 1\nsend B 2\njunk B {kind}\nanswer 2\njunk C {kind}\nanswer 1\n")
    rows = run_connections(workload, MinikafkaServer()).rows
    assert rows[2]["in_work"] == (1, 2)  # B is muted: the junk is not read yet
    assert rows[-1]["open"] == ("A",) and rows[-1]["answered"] == (("A", (1,)), ("B", (2,)), ("C", ()))


def test_answers_are_read_by_their_sizes():
    assert answers_in(b"".join((8).to_bytes(4) + n.to_bytes(4) + b"more" for n in (7, 5))) == (7, 5)


@pytest.mark.spark
def test_spark_knows_what_is_in_work_and_answered(spark):
    workload = ConnectionWorkload.parse(STORY)
    found = agree(run_connections(workload, MinikafkaServer()), connections_expected(workload)).check()
    assert found.agreed_quantities == ["in_work", "answered"]


@pytest.mark.kafka
@pytest.mark.parametrize("seed", range(12))
def test_drawn_workloads_go_as_by_kafkas_own_socket_server(kafka, seed):
    workload = draw_connection_workload(
        seed, 40, connections=1 + seed % 4, junk=0.05 * (seed % 3), split=0.3 * (seed % 4)
    )
    ours, theirs = (
        run_connections(workload, MinikafkaServer()),
        run_connections(workload, KafkaSocketServer(kafka), "kafka"),
    )
    agree(ours, theirs).check()
