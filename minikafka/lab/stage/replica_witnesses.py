"""The three witnesses of replicas. Kafka's brokers run in a JVM of their own."""

from collections.abc import Callable
from functools import partial
from typing import Any

from minikafka.lab.stage.background import told_while_starting, while_the_reader_reads
from minikafka.lab.stage.log_dir_witnesses import log_manager_jvm
from minikafka.lab.stage.recorded_answers import three_answers
from minikafka.lab.stage.workbench import scratch
from minikafka.witness.kafka.kafka_cluster import KafkaCluster
from minikafka.witness.observation import Observations
from minikafka.witness.replicas.minikafka_cluster import MinikafkaCluster
from minikafka.witness.replicas.quantities import replica_quantities
from minikafka.witness.replicas.run import ReplicaRunner
from minikafka.witness.replicas.workload import ReplicaWorkload

_FIRST_QUESTION = "start 0\nstart 1\ntopic t 0,1\npublish 0\npublish 1\nproduce 0 t-0 [1x10]\nfollow 1\nfollow 1\n"

_PARTITION = "t-0"
"""The partition of which the lessons' witnesses speak."""


def wake_witnesses() -> None:
    """Start Spark and Kafka's brokers, and let both answer a first question.

    It is done while the reader reads. Outside a notebook nothing happens: there the witnesses start when they are
    asked.
    """
    question = ReplicaWorkload.parse(_FIRST_QUESTION)
    while_the_reader_reads(lambda: _by_spark(question), lambda: _by_kafka(question))


@told_while_starting()
def three_witnesses(workload: Any) -> tuple[Any, Any, Any]:
    """What minikafka, Spark and Apache Kafka say of partition t-0 of a `ReplicaWorkload` (`three_answers`)."""
    return three_answers(
        f"partition {_PARTITION}",
        workload,
        lambda: by_minikafka(workload),
        lambda: _by_spark(workload),
        lambda: _by_kafka(workload),
    )


def by_minikafka(workload: Any) -> Observations:
    """What minikafka's brokers make of the workload."""
    return _run("minikafka", workload, MinikafkaCluster)


def _by_spark(workload: Any) -> Observations:
    from minikafka.witness.replicas.expect import replica_expected

    (expected,) = replica_expected([workload])
    return Observations("spark", workload, tuple(map(_of_the_partition, expected.rows)))


def _by_kafka(workload: Any) -> Observations | None:
    kafka = log_manager_jvm()
    return kafka and _run("kafka", workload, partial(KafkaCluster, kafka))


def _run(witness: str, workload: Any, make_cluster: Callable[..., Any]) -> Observations:
    directory = scratch("brokers")
    runner = ReplicaRunner(make_cluster(directory, workload.start_ms), directory, workload)
    try:
        seen = [runner.apply(operation) for operation in workload]
    finally:
        runner.let_go()
    of_leader = replica_quantities(witness, workload, seen).rows
    rows = (_of_the_partition(row) | _of_each_replica(observed) for row, observed in zip(of_leader, seen, strict=True))
    return Observations(witness, workload, tuple(rows))


def _of_the_partition(row: dict[str, Any]) -> dict[str, Any]:
    """The partition's quantities without its name."""
    named = (name.split() for name in row)
    return {quantity: row[f"{quantity} {of}"] for quantity, of in named if of == _PARTITION}


def _of_each_replica(observed: Any) -> dict[str, Any]:
    """What each running broker has of the partition, and the exception that the operation raised."""
    hosted = {broker: state["partitions"].get(_PARTITION) for broker, state in observed.states.items()}
    logs = {broker: found["log"] for broker, found in hosted.items() if found and found["log"]}
    return {
        "log_ends": tuple((broker, log[3]) for broker, log in logs.items()),
        "high_watermarks": tuple((broker, log[1]) for broker, log in logs.items()),
        "epochs": tuple((broker, *map(tuple, log[4])) for broker, log in logs.items()),
        "error": observed.error,
    }
