"""Produce requests at a broker, alone and with two followers: minikafka against Kafka's own ReplicaManager.

*append*: `ReplicaManager.append_records` with acks=1 in a loop, one replica. *replicate*: with acks=all, three
replicas; after each request both followers fetch its records, then fetch on, which lets the high watermark rise and the
request be acknowledged. Followers' requests and responses are bytes on both sides; there are no sockets and no threads,
and the clock stands still. Both sides do the same rounds on the same batches; the first round warms up, the best of the
others counts, and the directories that they leave are compared byte by byte. A ratio above 1 means that minikafka is
faster; the goals are 1.0 with 1 MB batches and 0.1 with 1.1 KB.

    python benchmarks/replica_bench.py
"""

import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from jvm_peer import compile_replica_peer, run_peer
from log_bench import SHAPES, Shape, one_batch, timed

from minikafka.broker.broker import Broker
from minikafka.common.error_codes import Errors
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.kernels.record_columns import use_compiled_kernel
from minikafka.witness.directory_diff import directory_diff

ROUNDS = 4
START_MS = 1_700_000_000_000
SETTINGS = {"message.max.bytes": 10_000_000, "replica.fetch.max.bytes": 10_000_000, "log.cleaner.enable": False}
UNEQUAL = {".kafka_cleanshutdown": "names the broker's epoch, which each side's controller gives in its own way"}
TOPIC_ID = "cmVwbGljYS1iZW5jaC1pZA"


@dataclass(frozen=True)
class Load:
    """Batches of one shape: how many requests a round of each measurement has, and the goal for the ratio."""

    shape: Shape
    appends: int
    replications: int
    goal: float


LOADS = (Load(SHAPES[0], 150, 50, 1.0), Load(SHAPES[2], 20_000, 3_000, 0.1))


class Brokers:
    """Three brokers on directories of their own, and a topic `bench` that broker 0 leads."""

    def __init__(self, directory: Path, replicas: int):
        self.time = ManualTime(START_MS)
        self.controller = Controller()
        self.brokers: dict[int, Broker] = {}
        for broker_id in range(replicas):
            self.brokers[broker_id] = Broker(
                broker_id,
                [directory / f"broker-{broker_id}"],
                self.controller,
                time=self.time,
                scheduler=ManualScheduler(self.time),
                settings=SETTINGS,
                find_peer=self.brokers.get,
                incarnation_id=f"incarnation-{broker_id}AAAAAAAA",
            )
            self.brokers[broker_id].startup()
        topic = creatable_topic("bench", assignments=[(0, list(range(replicas)))])
        self.controller.create_topics([topic], topic_ids={"bench": TOPIC_ID})
        for broker in self.brokers.values():
            broker.publish()
        self.followers = [self.brokers[broker_id] for broker_id in range(1, replicas)]
        self.key = TopicIdPartition(TOPIC_ID, TopicPartition("bench", 0))

    def produce(self, buffer: bytearray, acks: int, answers: list) -> None:
        """One request: `ReplicaManager.append_records`, and what `KafkaApis.handle` does after it."""
        manager = self.brokers[0].replica_manager
        buffer[:8] = bytes(8)  # a client's batch begins at offset 0; the append before left its own there
        records = {self.key: MemoryRecords.readable_records(buffer)}
        manager.append_records(30_000, acks, False, AppendOrigin.CLIENT, records, answers.append)
        manager.try_complete_actions()

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.shutdown()


def append(brokers: Brokers, batch: bytes, requests: int) -> None:
    buffer, answers = bytearray(batch), []
    for _ in range(requests):
        brokers.produce(buffer, 1, answers)
    check(answers, requests)


def replicate(brokers: Brokers, batch: bytes, requests: int) -> None:
    buffer, answers = bytearray(batch), []
    for number in range(requests):
        brokers.produce(buffer, -1, answers)
        assert len(answers) == number
        for _ in range(2):
            for follower in brokers.followers:
                follower.follow_once()
        assert len(answers) == number + 1
    check(answers, requests)


def check(answers: list, requests: int) -> None:
    errors = [response.error for answer in answers for response in answer.values()]
    assert errors == [Errors.NONE] * requests


def minikafka_rounds(directory: Path, load: Load, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """The seconds of each round for each measurement, by name: what `ReplicaBench.rounds` does."""
    seconds = defaultdict(list)
    batch = one_batch(load.shape)
    for number in range(rounds):
        for name, work, replicas, requests in (
            ("append", append, 1, load.appends),
            ("replicate", replicate, 3, load.replications),
        ):
            brokers = Brokers(directory / f"{name}-{number}", replicas)
            seconds[name].append(timed(lambda: work(brokers, batch, requests)))
            brokers.close()
    return seconds


def kafka_rounds(class_path: list[str], directory: Path, load: Load) -> dict[str, list[float]]:
    """The same of Kafka's own classes."""
    directory.mkdir()
    batch = directory / "batch"
    batch.write_bytes(one_batch(load.shape))
    arguments = (directory, batch, load.appends, load.replications, ROUNDS)
    seconds = run_peer(class_path, *arguments, main="kafka.server.ReplicaBench")
    batch.unlink()
    return seconds


def main() -> None:
    use_compiled_kernel()  # as after the first few hundred thousand records
    class_path = compile_replica_peer()
    missed = []
    print(f"{'':14} {'':10} {'minikafka':>14} {'Kafka':>14} {'ratio':>7} {'goal':>6}")
    for load in LOADS:
        with tempfile.TemporaryDirectory() as scratch:
            mine, theirs = Path(scratch, "minikafka"), Path(scratch, "kafka")
            ours = minikafka_rounds(mine, load)
            peer = kafka_rounds(class_path, theirs, load)
            for name, requests in (("append", load.appends), ("replicate", load.replications)):
                one, other = (min(seconds[name][1:]) / requests for seconds in (ours, peer))
                row = f"{load.shape.name:14} {name:10} {one * 1e6:11.1f} µs {other * 1e6:11.1f} µs"
                print(f"{row} {other / one:7.2f} {load.goal:6.1f}", flush=True)
                missed += [f"{load.shape.name} {name}"] * (other / one < load.goal)
            directory_diff(mine, theirs, excluded=UNEQUAL).require()
    print("below its goal: " + ", ".join(missed) if missed else "all goals are reached")


if __name__ == "__main__":
    main()
