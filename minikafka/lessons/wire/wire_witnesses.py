"""The three witnesses of connections. Kafka's `SocketServer` runs in a JVM of its own, Spark knows the lines alone."""

from minikafka.lab.stage.background import asked_beside, told_while_starting, while_the_reader_reads
from minikafka.lab.stage.log_dir_witnesses import log_manager_jvm
from minikafka.witness.connections.expect import connections_expected
from minikafka.witness.connections.minikafka_server import MinikafkaServer
from minikafka.witness.connections.run import run_connections
from minikafka.witness.connections.workload import ConnectionWorkload
from minikafka.witness.kafka.kafka_socket_server import KafkaSocketServer
from minikafka.witness.observation import Observations

_FIRST_QUESTION = "send A 1\nanswer 1\n"


def wake_witnesses() -> None:
    """Start Spark and Kafka's sockets, and let both answer a first question.

    It is done while the reader reads. Outside a notebook nothing happens: there the witnesses start when they are
    asked.
    """
    question = ConnectionWorkload.parse(_FIRST_QUESTION)
    while_the_reader_reads(lambda: connections_expected(question), lambda: _by_kafka(question))


@told_while_starting()
def three_witnesses(
    workload: ConnectionWorkload,
) -> tuple[Observations, Observations, Observations | None]:
    """What minikafka, Spark and Apache Kafka say of connections; the third is None where Kafka's jars are absent."""
    with asked_beside(connections_expected, workload) as spark:
        theirs = _by_kafka(workload)
        return by_minikafka(workload), spark.result(), theirs


def by_minikafka(workload: ConnectionWorkload) -> Observations:
    """What minikafka's sockets make of the workload."""
    return run_connections(workload, MinikafkaServer())


def _by_kafka(workload: ConnectionWorkload) -> Observations | None:
    kafka = log_manager_jvm()
    return kafka and run_connections(workload, KafkaSocketServer(kafka), "kafka")
