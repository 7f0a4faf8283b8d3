"""The witnesses of replicas: minikafka's brokers and Apache Kafka's own, which run in a JVM of their own."""

from collections.abc import Callable
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.lab.stage.background import while_the_reader_reads
from minikafka.lab.stage.log_dir_witnesses import log_manager_jvm
from minikafka.lab.stage.workbench import scratch
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response
from minikafka.witness.observation import Observations

_FIRST_QUESTION = "start 0\ntopic t 0\npublish 0\nproduce 0 t-0 [1x10]\n"

_FIRST_CELL_S = 9
"""How long the lesson's first cell waits for the witnesses."""


def wake_witnesses() -> None:
    """Start Kafka's brokers, and let them answer a first question.

    Waits some seconds if they need that long; the rest is done while the reader reads. Outside a notebook nothing
    happens: there the witnesses start when they are asked.
    """
    from minikafka.witness.replica_workload import ReplicaWorkload

    while_the_reader_reads(lambda: _by_kafka(ReplicaWorkload.parse(_FIRST_QUESTION)), wait_s=_FIRST_CELL_S)


def three_witnesses(workload: Any) -> tuple[Any, Any, Any]:
    """What minikafka, Spark and Apache Kafka say of a `ReplicaWorkload`; the second is None so far, the third where
    Kafka's jars are absent.
    """
    return by_minikafka(workload), None, _by_kafka(workload)


def by_minikafka(workload: Any) -> Observations:
    """What minikafka's brokers make of the workload."""
    from minikafka.witness.minikafka_cluster import MinikafkaCluster

    return _run("minikafka", workload, MinikafkaCluster)


def _by_kafka(workload: Any) -> Observations | None:
    from functools import partial

    from minikafka.witness.kafka_cluster import KafkaCluster

    kafka = log_manager_jvm()
    return kafka and _run("kafka", workload, partial(KafkaCluster, kafka))


def _run(witness: str, workload: Any, make_cluster: Callable[..., Any]) -> Observations:
    from minikafka.witness.replica_runner import ReplicaRunner

    directory = scratch("brokers")
    runner = ReplicaRunner(make_cluster(directory, workload.start_ms), directory, workload)
    try:
        observations = [runner.apply(operation) for operation in workload]
    finally:
        runner.let_go()
    return Observations(witness, workload, tuple(map(_row, observations)))


def _row(observed: Any) -> dict[str, Any]:
    """What the lesson compares after an operation, of partition t-0: what its leader knows, and what each replica has.

    `answers`: (number of the request, error's name) of the produce requests that were answered.
    """
    hosted = {broker: state["partitions"].get("t-0") for broker, state in observed.states.items()}
    replicas = {broker: found for broker, found in hosted.items() if found and found["log"]}
    leaders = [found for broker, found in replicas.items() if found["leader"] == broker]
    row: dict[str, Any] = {
        "error": observed.error,
        "answers": tuple(
            (ticket, _error_of(answer)) for ticket, answer in observed.answers.items() if _is_produced(answer)
        ),
        "log_ends": tuple((broker, found["log"][3]) for broker, found in replicas.items()),
        "high_watermarks": tuple((broker, found["log"][1]) for broker, found in replicas.items()),
        "epochs": tuple((broker, *map(tuple, found["log"][4])) for broker, found in replicas.items()),
    }
    for leader in leaders[-1:]:
        row["isr"] = tuple(leader["isr"])
        row["maximal_isr"] = tuple(leader["maximal_isr"])
        row["known_ends"] = tuple((int(broker), seen[0][0]) for broker, seen in leader["replicas"].items())
    return row


def _is_produced(answer: Any) -> bool:
    return getattr(answer, "api_key", None) is ApiKeys.PRODUCE


def _error_of(answer: Any) -> str:
    _, body = parse_response(answer.api_key, answer.version, answer.data)
    return Errors(body.responses[0].partition_responses[0].error_code).name
