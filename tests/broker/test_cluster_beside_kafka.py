"""minikafka's controller leads Kafka's own brokers, and minikafka's, through the same drawn steps: they stay equal."""

import random

import pytest

from minikafka.broker.cluster import Cluster
from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import ApiException
from minikafka.common.topic_partition import TopicPartition
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.metadata.partition_change_builder import Election
from minikafka.witness.kafka.kafka_cluster import KafkaCluster
from minikafka.witness.log.batch import Batch

START_MS = 1_000_000
SETTINGS = {
    "min.insync.replicas": "2",
    "replica.fetch.wait.max.ms": "0",  # nobody else could end the wait
    "replica.fetch.backoff.ms": "0",  # which Kafka measures by the machine's clock
    "log.cleaner.enable": "false",
}


class KafkaBrokers:
    """Kafka's brokers under a controller of minikafka's, with the methods of `Cluster` that are used here."""

    def __init__(self, kafka, directory, level):
        self.directory = directory
        self.controller = Controller(SETTINGS, eligible_leader_replicas_version=level)
        self.cluster = KafkaCluster(kafka, directory, START_MS)
        self.seen: dict[int, int] = {}
        self._incarnations = 0

    def start(self, broker_id):
        directory = self.directory / f"broker-{broker_id}"
        directory.mkdir(exist_ok=True)
        directory_id = "ZGlyZWN0b3J5LS0tAAAAA" + "AQgw"[broker_id]
        (directory / "meta.properties").write_text(
            f"version=1\nnode.id={broker_id}\ncluster.id=minikafka\ndirectory.id={directory_id}\n"
        )
        self._incarnations += 1
        end_points = [Endpoint("PLAINTEXT", "localhost", 9092 + broker_id)]
        incarnation = f"{self._incarnations:021}A"
        stopped = CleanShutdownFileHandler(directory).read()  # the epoch that Kafka wrote down when it stopped
        epoch = self.controller.register_broker(
            broker_id,
            incarnation,
            end_points,
            log_dirs=[directory_id],
            previous_broker_epoch=-1 if stopped is None else stopped,
        )
        own = {"node.id": broker_id, "listeners": f"PLAINTEXT://localhost:{9092 + broker_id}", "log.dirs": directory}
        ways = {"process.roles": "broker", "controller.quorum.voters": "100@localhost:9093"}
        ways["controller.listener.names"] = "CONTROLLER"
        self.cluster.start(broker_id, epoch, {**ways, **SETTINGS, **own})
        self.seen[broker_id] = -1
        self.publish_to(broker_id)
        self.controller.unfence_broker(broker_id, epoch)
        self.publish()

    def stop(self, broker_id):
        epoch = self.controller.image.cluster.broker_epoch(broker_id)
        while not self.controller.begin_controlled_shutdown(broker_id, epoch):
            self.publish_to(broker_id)
        del self.seen[broker_id]
        self.cluster.stop(broker_id)
        self.publish()

    def crash(self, broker_id):
        del self.seen[broker_id]
        self.cluster.crash(broker_id)

    def fence(self, broker_id):
        self.controller.fence_broker(broker_id)
        self.publish()

    def restart(self, broker_id):
        self.fence(broker_id)
        self.start(broker_id)

    def create_topic(self, name, topic_id, *replicas):
        self.controller.create_topics(
            [creatable_topic(name, assignments=enumerate(replicas))], topic_ids={name: topic_id}
        )
        self.publish()

    def elect(self, topic):
        (error,) = self.controller.elect_leaders(Election.PREFERRED, [TopicPartition(topic, 0)]).values()
        if error.is_failure():
            raise error.error.exception(error.message)
        self.publish()

    def produce(self, leader, records, acks):
        self.cluster.append(leader, {"t-0": records}, acks, 30_000, False, "CLIENT")
        self.publish()

    def follow(self, broker_id):
        self.cluster.follow(broker_id)
        self.publish()

    def sleep(self, ms):
        self.cluster.sleep(ms)
        self.publish()

    def publish_to(self, broker_id):
        records = self.controller.records_after(self.seen[broker_id])
        self.seen[broker_id] += len(records)
        if records:
            self.cluster.publish(broker_id, records)

    def publish(self):
        """Answers what leaders propose, and lets everybody read what is decided, until there is nothing new."""
        while True:
            for broker_id in self.seen:
                self.publish_to(broker_id)
            asked = {broker_id: self.cluster.alter_partition(broker_id) for broker_id in self.seen}
            for broker_id, request in asked.items():
                if request is not None:
                    self.cluster.answer_alter_partition(broker_id, self.controller.alter_partition(request))
            if not any(asked.values()):
                break

    def state(self, broker_id):
        (told,) = self.cluster.state(broker_id)["partitions"].values()
        ends = {int(id): replica[0][0] for id, replica in told["replicas"].items()}
        names = ("leader", "leader_epoch", "partition_epoch", "isr", "maximal_isr")
        return [told[name] for name in names], told["log"][:4], ends


def state(cluster, broker_id):
    """What minikafka's broker knows, as `KafkaBrokers.state` tells it of Kafka's."""
    it = cluster.state(broker_id, "t")
    isrs = [sorted(it.isr), sorted(it.maximal_isr)]
    ends = {id: replica.log_end_offset for id, replica in it.remote_replicas.items()}
    offsets = [it.log_start_offset, it.high_watermark, it.last_stable_offset, it.log_end_offset]
    return [it.leader, it.leader_epoch, it.partition_epoch, *isrs], offsets, ends


class BothClusters:
    """Does the same to both clusters."""

    def __init__(self, kafka, directory, seed, level):
        self.random = random.Random(seed)
        for name in ("ours", "theirs"):
            (directory / name).mkdir()
        self.ours = Cluster(
            directory / "ours", settings=SETTINGS, start_ms=START_MS, eligible_leader_replicas_version=level
        )
        self.theirs = KafkaBrokers(kafka, directory / "theirs", level)
        for id in range(3):
            self.ours.start(id)
            self.theirs.start(id)
        topic_id = self.ours.create_topic("t", [0, 1, 2])
        self.theirs.create_topic("t", topic_id, [0, 1, 2])
        self.done = []

    def step(self):
        draw, running = self.random, list(self.ours.brokers)
        down = [id for id in range(3) if id not in running]
        kinds = ["produce"] * 6 + ["follow"] * 12 + ["sleep"] * 3 + ["stop", "crash", "elect"] + ["start"] * 2
        kind, id = draw.choice(kinds), draw.choice(running or [0])
        if kind == "produce" and self.ours.leader("t") in running:
            acks, count = draw.choice([1, -1]), draw.choice([1, 3])
            batch = Batch.parse(f"[{count}x20 data={len(self.done)}]").encode(self.ours.time.milliseconds())
            leader = self.ours.leader("t")
            self.note(kind, acks, count)
            self.ours.produce("t", batch, acks=acks)
            self.theirs.produce(leader, batch, acks)
        elif kind == "follow" and running:
            self.both(kind, id)
        elif kind == "sleep":
            self.both(kind, draw.choice([1, 1000, 16_000]))
        elif kind in ("stop", "crash") and len(running) > 1:
            self.both(kind, id)
            if kind == "crash":
                self.both("fence", id)
        elif kind == "start" and down:
            id = draw.choice(down)
            self.both("restart" if self.ours.controller.image.cluster.broker(id).is_active() else "start", id)
        elif kind == "elect":
            self.both(kind, "t")

    def both(self, name, *arguments):
        self.note(name, *arguments)
        errors = []
        for cluster in (self.ours, self.theirs):
            try:
                getattr(cluster, name)(*arguments)
                errors.append(None)
            except ApiException as error:
                errors.append(type(error))
        assert errors[0] == errors[1], self.done

    def note(self, *words):
        self.done.append(words)

    def compare(self):
        ours, theirs = self.ours.controller, self.theirs.controller
        ours = {name: topic.partitions for name, topic in ours.image.topics.topics_by_name.items()}
        theirs = {name: topic.partitions for name, topic in theirs.image.topics.topics_by_name.items()}
        assert ours == theirs, self.done
        for id in self.ours.brokers:
            assert state(self.ours, id) == self.theirs.state(id), (id, self.done)

    def files(self, cluster):
        names = ["00000000000000000000.log", "leader-epoch-checkpoint", "partition.metadata"]
        places = [cluster.directory / f"broker-{id}" / "t-0" / name for id in range(3) for name in names]
        return [place.read_bytes() if place.exists() else None for place in places]


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1], ids=["isr", "elr"])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_is_done_to_brokers_of_both_kinds(kafka, tmp_path, seed, level):
    both = BothClusters(kafka, tmp_path, seed, level)
    for _ in range(50):
        both.step()
        both.compare()
    for id in list(both.ours.brokers):
        both.both("crash", id)
    assert both.files(both.ours) == both.files(both.theirs)
    assert len({words[0] for words in both.done}) >= 7
