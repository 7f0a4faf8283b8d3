"""Kafka's own brokers, one step after the other."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from minikafka.common.error_codes import Errors
from minikafka.jvm import cache, scala_compiler
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.witness.kafka.kafka_cluster import KafkaCluster
from minikafka.witness.log.batch import Batch
from minikafka.witness.replicas.differ import contents
from minikafka.witness.replicas.minikafka_cluster import MinikafkaCluster
from minikafka.witness.replicas.run import ReplicaRunner
from minikafka.witness.replicas.scripted_controller import ScriptedController, directory_id
from minikafka.witness.replicas.workload import ReplicaWorkload

pytestmark = pytest.mark.kafka

START_MS = 1_000_000


class TwoBrokers:
    """Brokers 0 and 1, which replicate t-0, and all that is published to both at once."""

    def __init__(self, kafka, directory):
        self.directory = directory
        self.controller = ScriptedController()
        self.cluster = KafkaCluster(kafka, directory, START_MS)
        self.seen = {0: 0, 1: 0}
        for broker_id in self.seen:
            self.start(broker_id)
        self.controller.create_topic("t", [[0, 1]], {"min.insync.replicas": 1})
        self.publish()

    def start(self, broker_id: int) -> None:
        directory = self.directory / str(broker_id)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "meta.properties").write_text(
            f"version=1\nnode.id={broker_id}\ncluster.id=minikafka\ndirectory.id={directory_id(broker_id)}\n"
        )
        epoch = self.controller.register_broker(broker_id, [directory_id(broker_id)])
        self.cluster.start(
            broker_id,
            epoch,
            {
                "process.roles": "broker",
                "node.id": broker_id,
                "controller.quorum.voters": "100@localhost:9093",
                "controller.listener.names": "CONTROLLER",
                "listeners": f"PLAINTEXT://localhost:{9100 + broker_id}",
                "log.dirs": directory,
                "log.cleaner.enable": False,
                "log.index.size.max.bytes": 1024,
                "replica.fetch.backoff.ms": 0,
                "replica.fetch.wait.max.ms": 0,
            },
        )
        self.seen[broker_id] = 0

    def publish(self) -> None:
        for broker_id, seen in self.seen.items():
            self.cluster.publish(broker_id, self.controller.records[seen:])
            self.seen[broker_id] = len(self.controller.records)

    def append(self, text: str, acks: int) -> int:
        return self.cluster.append(0, {"t-0": Batch.parse(text).encode(START_MS)}, acks, 30_000, False, "CLIENT")

    def partition(self, broker_id: int) -> dict:
        return self.cluster.state(broker_id)["partitions"]["t-0"]

    def high_watermarks(self) -> list[int]:
        return [self.partition(broker_id)["log"][1] for broker_id in self.seen]


@pytest.fixture
def two(kafka, tmp_path):
    two = TwoBrokers(kafka, tmp_path)
    yield two
    for broker_id in two.seen:
        two.cluster.crash(broker_id)


def test_a_record_is_acknowledged_when_the_follower_asks_for_the_next(two):
    ticket = two.append("[3x100]", acks=-1)
    two.cluster.follow(1)
    assert two.cluster.take_answers() == {}
    two.cluster.follow(1)
    assert two.cluster.take_answers() == {ticket: {"t-0": [0, 0, -1, 0]}}
    assert two.high_watermarks() == [3, 0]
    two.cluster.follow(1)
    assert two.high_watermarks() == [3, 3]


def test_a_silent_follower_leaves_the_isr_when_the_controller_agrees(two):
    ticket = two.append("[1x10]", acks=-1)
    two.cluster.sleep(29_999)
    assert two.cluster.take_answers() == {}
    two.cluster.sleep(1)
    assert two.cluster.take_answers() == {ticket: {"t-0": [int(Errors.REQUEST_TIMED_OUT), 0, -1, 0]}}
    two.cluster.sleep(15_000)
    assert two.partition(0)["state"] == "PendingShrinkIsr"
    two.cluster.answer_alter_partition(0, two.controller.accept(two.cluster.alter_partition(0)))
    assert (two.partition(0)["isr"], two.high_watermarks()) == ([0], [1, 0])


def test_a_killed_broker_keeps_its_files(two):
    two.append("[2x10]", acks=1)
    two.cluster.crash(0)
    two.start(0)
    two.publish()
    assert two.partition(0)["log"][3] == 2


@pytest.mark.slow
def test_two_threads_may_ask_for_the_first_clusters_at_once(tmp_path, monkeypatch):
    """As a lesson's background work and its cell do on a machine where Scala's classes are not compiled yet."""
    for module in (cache, scala_compiler):
        monkeypatch.setattr(module, "cache_dir", lambda: tmp_path / "cache")
    kafka = KafkaJvm.start()
    try:
        with ThreadPoolExecutor(2) as threads:
            for brokers in threads.map(lambda name: TwoBrokers(kafka, tmp_path / name), "ab"):
                assert brokers.cluster.state(0)
    finally:
        kafka.close()


@pytest.mark.parametrize("level", [0, 1])
def test_with_eligible_leaders_the_cluster_s_least_isr_goes_before_a_broker_s_own(kafka, tmp_path, level):
    """Brokers of both kinds are set to 1, the controller to 2; without the feature it keeps that to itself."""
    workload = ReplicaWorkload.parse("start 0\ntopic t 0,1\nchange t-0 isr=0\npublish 0\nproduce 0 t-0 [1x10]\n")
    answers = {}
    for name, cluster in [
        ("ours", MinikafkaCluster(tmp_path / "ours", workload.start_ms)),
        ("theirs", KafkaCluster(kafka, tmp_path / "theirs", workload.start_ms)),
    ]:
        runner = ReplicaRunner(cluster, tmp_path / name, workload)
        runner.controller = ScriptedController(eligible_leader_replicas_version=level, min_insync_replicas=2)
        *_, last = [runner.apply(operation) for operation in workload]
        runner.let_go()
        (answer,) = last.answers.values()
        answers[name] = contents(answer)["responses"][0]["partition_responses"][0]["error_code"]
    expected = Errors.NOT_ENOUGH_REPLICAS if level else Errors.NONE
    assert answers == {"ours": expected, "theirs": expected}
