"""Brokers, minikafka's or Kafka's own, that live through a few lines and tell what they answered."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minikafka.lab.exercises.asked import jvm_of
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response
from minikafka.witness.log.workload import START_MS
from minikafka.witness.replicas.workload import ReplicaWorkload


class AskedBrokers:
    """A cluster of `ReplicaRunner`, with what its operations led to (`observations`, one for each line so far)."""

    def __init__(self, runner: Any):
        self.runner = runner
        self.observations: list[Any] = []

    def do(self, *lines: str) -> None:
        """Do these operations."""
        for operation in ReplicaWorkload.parse("\n".join(lines)):
            self.observations.append(self.runner.apply(operation))

    def log_end(self, partition: str, broker: int = 0) -> int:
        """The log end of a broker's replica."""
        return self.observations[-1].states[broker]["partitions"][partition]["log"][3]

    def parts_of_last(self) -> list[tuple[str, int, int]] | None:
        """What the last operation, a produce request of a version with names, was answered at once: (topic, partition,
        error code) each; None if it waits, and nothing for an answer without bytes.
        """
        answers = list(self.observations[-1].answers.values())
        return parts(answers[0]) if answers else None


def parts(answer: Any) -> list[tuple[str, int, int]]:
    """(topic, partition, error code) of the answer to a produce request; nothing for one without bytes."""
    if getattr(answer, "api_key", None) is not ApiKeys.PRODUCE:
        return []
    _, body = parse_response(answer.api_key, answer.version, answer.data)
    return [(topic.name, part.index, part.error_code) for topic in body.responses for part in topic.partition_responses]


@contextmanager
def brokers_of(factory: Any, count: int, *topics: str) -> Iterator[AskedBrokers]:
    """Brokers 0 to `count` − 1 with these topics (lines of a workload, such as `topic t 0,1`), of whoever opens logs
    with `factory`; they are let go in the end.
    """
    from minikafka.lab.stage.workbench import scratch
    from minikafka.witness.replicas.run import ReplicaRunner

    directory, kafka = scratch("brokers"), jvm_of(factory)
    if kafka is None:
        from minikafka.witness.replicas.minikafka_cluster import MinikafkaCluster

        cluster: Any = MinikafkaCluster(directory, START_MS)
    else:
        from minikafka.witness.kafka.kafka_cluster import KafkaCluster

        cluster = KafkaCluster(kafka, directory, START_MS)
    begin = [*(f"start {broker}" for broker in range(count)), *topics, "publish 0"]
    asked = AskedBrokers(ReplicaRunner(cluster, directory, ReplicaWorkload.parse("")))
    try:
        asked.do(*begin)
        yield asked
    finally:
        asked.runner.let_go()


def fetch_line(follower: int, *places: tuple[str, int]) -> str:
    """The line for a fetch of `follower`, which has everything below the offset of each of these partitions."""
    epoch = 10 * (follower + 1) + 1  # as the scripted controller gives them
    targets: Sequence[str] = [f"{partition}@{offset}:epoch=0:start=0" for partition, offset in places]
    return f"fetch 0 replica={follower} replica_epoch={epoch} {' '.join(targets)}"
