"""Drawn steps of a cluster, decided by minikafka's controller and by Kafka's: the same answers, the same records."""

import itertools
import random
from collections import Counter
from dataclasses import astuple, replace

import pytest

from minikafka.common.config_resource import ConfigResource
from minikafka.common.error_codes import Errors
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import uuid_from_bytes
from minikafka.messages.apis import AlterPartitionRequest, CreateTopicsRequest
from minikafka.messages.cluster_metadata import ConfigRecord, PartitionChangeRecord, RegisterBrokerRecord
from minikafka.messages.framed_message import read_framed
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.metadata.metadata_image import EMPTY
from minikafka.metadata.metadata_version import record_version
from minikafka.metadata.partition_change_builder import Election
from minikafka.metadata.topic_creation import CreatePartitionsTopic
from tests.metadata.kafka_controller import KafkaController

BROKERS = 5
NAMES = ["t", "u", "a.b", "a_b", "a b", "", "__cluster"]
SEVERAL_SETTINGS = [
    *(("retention.ms", value) for value in ("7", "8")),
    *(
        (name, "50")
        for name in ("segment.ms", "flush.ms", "flush.messages", "max.message.bytes", "delete.retention.ms")
    ),
    *(("cleanup.policy", value) for value in ("compact", "delete")),
    *(("compression.type", value) for value in ("zstd", "lz4")),
]
SETTINGS = {"num.partitions": "2", "default.replication.factor": "3"}


class TwoControllers:
    """Does the same to both controllers, and compares what they answer and write."""

    def __init__(self, kafka, seed: int, level: int):
        self.random = random.Random(seed)
        settings = SETTINGS | ({"unclean.leader.election.enable": "true"} if seed % 5 == 4 else {})
        self.ours = Controller(settings, seed=seed, eligible_leader_replicas_version=level)
        self.theirs = KafkaController(kafka, seed, settings, level)
        assert of_ours(self.ours.records_after(-1)) == of_theirs(self.theirs.written)
        self._incarnations = itertools.count(1)
        self.counts: dict[str, int] = {}
        for id in range(BROKERS):
            self.compare(lambda id=id: self.register(id))
            self.compare(lambda id=id: self.unfence(id))
        self.compare(lambda: self.create_topic(creatable_topic("t", 3, 3)))

    def step(self) -> None:
        """One operation, drawn."""
        operations = {
            self.register: 3,
            self.unfence: 4,
            self.fence: 3,
            self.shut_down: 2,
            self.unregister: 0.3,
            self.lose_directories: 1,
            self.create_topic: 2,
            self.delete_topic: 0.3,
            self.alter_partition: 12,
            self.elect_leader: 4,
            self.balance: 0.5,
            self.create_partitions: 2,
            self.alter_config: 2,
            self.replace_config: 1,
            self.allocate: 0.3,
        }
        (operation,) = self.random.choices(list(operations), list(operations.values()))
        self.compare(operation)

    def compare(self, operation) -> None:
        """Does an operation, which may find that it makes no sense now."""
        before = len(self.theirs.written)
        told = operation()
        if told is None:
            return
        ours, theirs = told
        note = f"{operation.__name__} {ours} {theirs}"
        assert ours == theirs, note
        written = of_ours(self.ours.records_after(before - 1))
        assert in_any_order(written) == in_any_order(of_theirs(self.theirs.written[before:])), note
        self.counts[operation.__name__] = self.counts.get(operation.__name__, 0) + 1

    # Brokers

    def register(self, id=None):
        id = self.random.randrange(BROKERS) if id is None else id
        broker = self.ours.image.cluster.broker(id)
        incarnation = an_id("I", next(self._incarnations))
        previous = -1
        if broker is not None:
            if broker.in_controlled_shutdown and not broker.fenced:
                return None  # Kafka's list of heartbeats, which minikafka lacks, would forget that it stops
            if not broker.fenced or self.random.random() < 0.2:
                incarnation = broker.incarnation_id
            previous = self.random.choice([-1, broker.epoch])
        log_dirs = [an_id("D", id), an_id("E", id)][: self.random.choice([1, 1, 2])]
        epoch = self.ours.register_broker(id, incarnation, log_dirs=log_dirs, previous_broker_epoch=previous)
        return epoch, self.theirs.register_broker(id, incarnation, log_dirs, previous)

    def unfence(self, id=None):
        broker = self.a_broker() if id is None else self.ours.image.cluster.broker(id)
        if broker is None or broker.in_controlled_shutdown:
            return None  # it wants to stop, or has stopped: it registers anew before it takes part again
        ours = self.ours.unfence_broker(broker.id, broker.epoch)
        return ours, self.theirs.unfence_broker(broker.id, broker.epoch)

    def fence(self):
        broker = self.a_broker()
        if broker is None or broker.fenced:
            return None
        return self.ours.fence_broker(broker.id), self.theirs.fence_broker(broker.id)

    def shut_down(self):
        broker = self.a_broker()
        if broker is None:
            return None
        ours = self.ours.begin_controlled_shutdown(broker.id, broker.epoch)
        return ours, self.theirs.begin_controlled_shutdown(broker.id, broker.epoch)

    def unregister(self):
        broker = self.a_broker()
        if broker is None:
            return None
        return self.ours.unregister_broker(broker.id), self.theirs.unregister_broker(broker.id)

    def lose_directories(self):
        broker = self.a_broker()
        if broker is None:
            return None
        lost = self.random.sample([an_id("D", broker.id), an_id("E", broker.id), an_id("N", 1)], 2)
        ours = self.ours.handle_directories_offline(broker.id, broker.epoch, lost)
        return ours, self.theirs.handle_directories_offline(broker.id, broker.epoch, lost)

    # Topics

    def create_topic(self, topic=None):
        topic = topic or self.a_new_topic()
        error, words, topic_id, settings = self.theirs.create_topic(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            [(each.partition_index, each.broker_ids) for each in topic.assignments],
            [(each.name, each.value) for each in topic.configs],
        )
        (told,) = self.ours.create_topics([topic], topic_ids={topic.name: topic_id})
        settings_of_ours = [(entry.name, entry.value, entry.config_source) for entry in told.configs]
        ours = (Errors(told.error_code).name, told.error_message, settings_of_ours)
        return ours, (error, words, settings)

    def a_new_topic(self) -> CreateTopicsRequest.CreatableTopic:
        draw, name = self.random, self.random.choice(NAMES)
        num_partitions, factor = draw.choice([-1, 0, 1, 2, 3, 5]), draw.choice([-1, -2, 1, 2, 3, 4])
        assignments = []
        if draw.random() < 0.5:
            size = draw.choice([0, 1, 2, 3])
            numbers = [draw.choice([0, number]) for number in range(draw.choice([1, 2, 3]))]
            ids = [*range(BROKERS), 0, BROKERS] if draw.random() < 0.2 else list(range(BROKERS))
            assignments = [(number, draw.sample(ids, draw.choice([size, size, size, 2]))) for number in numbers]
            num_partitions, factor = draw.choice([-1, -1, -1, 1]), draw.choice([-1, -1, -1, 1])
        configs = dict(draw.sample([("min.insync.replicas", "2"), ("retention.ms", "7"), ("cleanup.policy", "x")], 1))
        configs = draw.choice(
            [{}, configs, {"retention.ms": None}, {"no.such": "1"}, {"remote.storage.enable": "true"}]
        )
        return creatable_topic(name, num_partitions, factor, assignments, configs)

    def delete_topic(self):
        topics = list(self.ours.image.topics.topics_by_id)
        if not topics:
            return None
        chosen = [self.random.choice([*topics, an_id("N", 1)])]
        told = {id: (error.error.name, error.message) for id, error in self.ours.delete_topics(chosen).items()}
        return told, self.theirs.delete_topics(chosen)

    def create_partitions(self):
        place = self.a_place()
        if place is None:
            return None
        draw = self.random
        topic = self.ours.image.topics.get_topic(place.topic)
        additional = draw.choice([0, -1, 1, 1, 2, 3])
        places = None
        if draw.random() < 0.4:
            factor = len(topic.partitions[0].replicas)
            sizes = [
                draw.choice([factor, factor, factor, 1]) for _ in range(max(additional, 0) + draw.choice([0, 0, 1]))
            ]
            places = [draw.sample(range(BROKERS), size) for size in sizes]
        name, count = draw.choice([place.topic, place.topic, place.topic, "none"]), len(topic.partitions) + additional
        make = CreatePartitionsTopic.CreatePartitionsAssignment
        assignments = None if places is None else [make(broker_ids=place) for place in places]
        asked = CreatePartitionsTopic(name=name, count=count, assignments=assignments)
        (told,) = self.ours.create_partitions([asked]).values()
        return (told.error.name, told.message), self.theirs.create_partitions(name, count, places)

    def replace_config(self):
        place = self.a_place()
        if place is None:
            return None
        settings = self.random.choice(
            [
                {},
                {"retention.ms": "7"},
                {"min.insync.replicas": "2", "flush.ms": "5"},
                {"retention.ms": "-2"},
                {"no.such": "1"},
            ]
        )
        (told,) = self.ours.legacy_alter_configs({ConfigResource.topic(place.topic): settings}).values()
        return (told.error.name, told.message), self.theirs.legacy_alter_config(2, place.topic, settings)

    def alter_config(self):
        place = self.a_place()
        if place is None:
            return None
        name, operation, operand = self.random.choice(
            [
                ("min.insync.replicas", "SET", "1"),
                ("min.insync.replicas", "SET", "2"),
                ("min.insync.replicas", "DELETE", None),
                ("unclean.leader.election.enable", "SET", "true"),
                ("unclean.leader.election.enable", "DELETE", None),
                ("cleanup.policy", "APPEND", "compact"),
                ("cleanup.policy", "SUBTRACT", "compact"),
                ("remote.storage.enable", "SET", "true"),
                ("retention.ms", "SET", "-2"),
                ("retention.ms", "APPEND", "1"),
            ]
        )
        changes = {name: (AlterConfigOp[operation], operand)}
        resource = ConfigResource.topic(place.topic)
        (told,) = self.ours.incremental_alter_configs({resource: changes}).values()
        theirs = self.theirs.incremental_alter_config(2, place.topic, {name: (operation, operand)})
        return (told.error.name, told.message), theirs

    # Leaders and ISRs

    def alter_partition(self):
        place = self.a_place()
        if place is None:
            return None
        draw, topic = self.random, self.ours.image.topics.get_topic(place.topic)
        partition = topic.partitions[place.partition]
        ids = draw.sample(partition.replicas, draw.randint(1, len(partition.replicas)))
        if partition.leader in partition.replicas and partition.leader not in ids and draw.random() < 0.9:
            ids.insert(draw.randint(0, len(ids)), partition.leader)
        if draw.random() < 0.05:
            ids.append(draw.randrange(BROKERS))
        epochs = {id: self.ours.image.cluster.broker_epoch(id) for id in ids}
        make = AlterPartitionRequest.TopicData
        make_member = make.PartitionData.BrokerState
        members = [make_member(broker_id=id, broker_epoch=draw.choice([-1, epochs[id], epochs[id], 0])) for id in ids]
        sender = partition.leader if draw.random() < 0.95 else draw.randrange(BROKERS)
        if self.ours.image.cluster.broker(sender) is None:
            return None
        state = partition.leader_recovery_state if draw.random() < 0.7 else draw.choice(list(LeaderRecoveryState))
        topic_id = topic.id if draw.random() < 0.97 else an_id("N", 1)
        data = make.PartitionData(
            partition_index=place.partition if draw.random() < 0.97 else 7,
            leader_epoch=partition.leader_epoch + draw.choices([0, 1, -1], [30, 1, 1])[0],
            partition_epoch=partition.partition_epoch + draw.choices([0, 1, -1], [30, 1, 1])[0],
            new_isr_with_epochs=members,
            leader_recovery_state=state,
        )
        request = AlterPartitionRequest(
            broker_id=sender,
            broker_epoch=self.ours.image.cluster.broker_epoch(sender),
            topics=[make(topic_id=topic_id, partitions=[data])],
        )
        ((told,),) = (topic.partitions for topic in self.ours.alter_partition(request).topics)
        ours = (Errors(told.error_code).name,)
        if told.error_code == 0:
            ours += (
                told.leader_id,
                tuple(told.isr),
                int(told.leader_recovery_state),
                told.leader_epoch,
                told.partition_epoch,
            )
        return ours, self.theirs.alter_partition(request)

    def elect_leader(self):
        place, election = self.a_place(), self.random.choice([Election.PREFERRED, Election.UNCLEAN])
        if place is None:
            return None
        place = self.random.choices([place, TopicPartition(place.topic, 7), TopicPartition("none", 0)], [20, 1, 1])[0]
        (error,) = self.ours.elect_leaders(election, [place]).values()
        return (error.error.name, error.message), self.theirs.elect_leader(*place, election)

    def balance(self):
        if self.random.random() < 0.5:
            return self.ours.maybe_balance_partition_leaders(), self.theirs.maybe_balance_partition_leaders()
        return self.ours.maybe_elect_unclean_leaders(), self.theirs.maybe_elect_unclean_leaders()

    def allocate(self):
        broker = self.a_broker()
        if broker is None:
            return None
        _, first, size = self.ours.allocate_producer_ids(broker.id, broker.epoch)
        return (first, size), self.theirs.allocate_producer_ids(broker.id, broker.epoch)

    def a_broker(self):
        brokers = list(self.ours.image.cluster.brokers.values())
        return self.random.choice(brokers) if brokers else None

    def a_place(self):
        topics = self.ours.image.topics.topics_by_name.values()
        places = [TopicPartition(topic.name, number) for topic in topics for number in topic.partitions]
        return self.random.choice(places) if places else None


def an_id(letter: str, number: int) -> str:
    return uuid_from_bytes(letter.encode() * 12 + number.to_bytes(4, "big"))


def of_ours(records) -> list[tuple]:
    return [(record_version(record), record) for record in records]


def of_theirs(written) -> list[tuple]:
    """The records with their versions, without what minikafka's controller leaves out."""
    read = []
    for data in written:
        _, version, record = read_framed("cluster-metadata", bytes(data))
        if isinstance(record, RegisterBrokerRecord):
            record = replace(record, features=[], rack=None, end_points=[])
        read.append((version, record))
    return read


def in_any_order(records) -> list[tuple]:
    """The records, with each run of changes sorted: Kafka writes them in the order of its hash maps."""
    runs = itertools.groupby(records, lambda each: isinstance(each[1], PartitionChangeRecord | ConfigRecord))
    return [each for is_run, run in runs for each in (sorted(run, key=repr) if is_run else run)]


@pytest.fixture(scope="module", params=[0, 1], ids=["isr", "elr"])
def pairs(kafka, request):
    """Pairs of controllers to which a few hundred operations were done, and which agreed after each."""
    pairs = [TwoControllers(kafka, seed, request.param) for seed in range(5)]
    for two in pairs:
        for _ in range(100):
            two.step()
    return pairs


@pytest.mark.slow
def test_controllers_agree(pairs):
    counts = Counter()
    for two in pairs:
        counts.update(two.counts)
    assert len(counts) == 16 and counts["alter_partition"] > 100 and min(counts.values()) > 0


@pytest.mark.slow
def test_several_settings_of_a_new_topic(kafka):
    """In any order, some of them twice, some null: they come into the log in Kafka's order."""
    two, draw = TwoControllers(kafka, 1, level=0), random.Random(7)
    ends = Counter()
    for number in range(60):
        topic = creatable_topic(f"several-{number}", assignments=[(0, [0])])
        settings = draw.choices(SEVERAL_SETTINGS, k=draw.choice([2, 4, 8]))
        settings += draw.choice([[], [], [("flush.ms", None)], [("a.b", "1"), ("c.d", "2")], [("retention.ms", "x")]])
        draw.shuffle(settings)
        topic.configs = [topic.CreatableTopicConfig(name=name, value=value) for name, value in settings]
        before = len(two.theirs.written)
        ours, theirs = two.create_topic(topic)
        assert ours == theirs, settings
        assert of_ours(two.ours.records_after(before - 1)) == of_theirs(two.theirs.written[before:]), settings
        ends[ours[0]] += 1
    assert ends["NONE"] > 20 and ends["INVALID_CONFIG"] > 10


@pytest.mark.slow
def test_a_broker_that_kafka_cannot_register_any_more(kafka):
    """Kafka 4.3.0 forgets to take a replica out of its map of eligible leaders when these are cleared."""
    two = TwoControllers(kafka, 1, level=1)
    created = two.theirs.create_topic("u", -1, -1, [(0, [0, 1])], [("min.insync.replicas", "2")])
    topic = creatable_topic("u", assignments=[(0, [0, 1])], configs={"min.insync.replicas": "2"})
    two.ours.create_topics([topic], topic_ids={"u": created[2]})
    change = {"min.insync.replicas": (AlterConfigOp.SET, "1")}
    for controller in (two.ours, two.theirs):
        controller.fence_broker(1)
    two.ours.incremental_alter_configs({ConfigResource.topic("u"): change})
    two.theirs.incremental_alter_config(2, "u", {"min.insync.replicas": ("SET", "1")})
    for controller in (two.ours, two.theirs):
        controller.delete_topics([created[2]])
    two.ours.register_broker(1, an_id("I", 99))
    with pytest.raises(Exception, match="existed in isrMembers, but not in the topics map"):
        two.theirs.register_broker(1, an_id("I", 99), [an_id("D", 1)], -1)


class KafkaImage:
    """An image of Kafka's, made of the first records of a history; and the delta of those that follow."""

    def __init__(self, kafka, messages, cut: int):
        image = kafka.find_class("org.apache.kafka.image.MetadataImage").EMPTY
        self.delta = self._delta(kafka, image, messages[:cut])
        image = self._apply(kafka, self.delta)
        self.delta = self._delta(kafka, image, messages[cut:])
        self.image = self._apply(kafka, self.delta)

    @staticmethod
    def _delta(kafka, image, messages):
        delta = kafka.find_class("org.apache.kafka.image.MetadataDelta").Builder().setImage(image).build()
        for message in messages:
            delta.replay(message)
        return delta

    @staticmethod
    def _apply(kafka, delta):
        return delta.apply(kafka.find_class("org.apache.kafka.image.MetadataProvenance")(0, 0, 0, True))


@pytest.mark.slow
def test_images_and_deltas_agree(kafka, pairs):
    for two in pairs:
        cut = two.random.randrange(len(two.theirs.messages))
        theirs = KafkaImage(kafka, two.theirs.messages, cut)
        records = two.ours.records_after(-1)
        before = MetadataDelta(EMPTY).replay_all(records[:cut]).apply()
        delta = MetadataDelta(before).replay_all(records[cut:])
        image = delta.apply()
        assert (image.cluster, image.topics) == (two.ours.image.cluster, two.ours.image.topics)
        assert image.features.is_elr_enabled() == theirs.image.features().isElrEnabled()
        assert dict(image.features.finalized_versions) == dict(theirs.image.features().finalizedVersions())
        topics = {
            topic.name(): {number: partition.toString() for number, partition in topic.partitions().items()}
            for topic in theirs.image.topics().topicsById().values()
        }
        assert topics == {
            topic.name: {number: registered(partition) for number, partition in topic.partitions.items()}
            for topic in image.topics.topics_by_id.values()
        }
        brokers = {
            broker.id(): (broker.epoch(), broker.fenced(), broker.inControlledShutdown())
            for broker in theirs.image.cluster().brokers().values()
        }
        assert brokers == {
            broker.id: (broker.epoch, broker.fenced, broker.in_controlled_shutdown)
            for broker in image.cluster.brokers.values()
        }
        configs = {
            resource.name(): dict(settings.toMap())
            for resource, settings in theirs.image.configs().resourceData().items()
        }
        assert configs == {resource.name: dict(settings) for resource, settings in image.configs.resource_data.items()}
        if theirs.delta.topicsDelta() is None:
            assert delta.topics_delta is None
            continue
        for broker_id in range(BROKERS):
            their_changes = theirs.delta.topicsDelta().localChanges(broker_id)
            changes = delta.topics_delta.local_changes(broker_id)
            assert places(their_changes.deletes()) == set(map(str, changes.deletes))
            for name, of_ours in [
                ("leaders", changes.leaders),
                ("electedLeaders", changes.elected_leaders),
                ("followers", changes.followers),
            ]:
                told = {
                    place.toString(): (info.topicId().toString(), info.partition().toString())
                    for place, info in getattr(their_changes, name)().items()
                }
                assert told == {
                    str(place): (info.topic_id, registered(info.partition)) for place, info in of_ours.items()
                }
            topic_ids = {name: id.toString() for name, id in their_changes.topicIds().items()}
            assert topic_ids == changes.topic_ids


@pytest.mark.slow
def test_caches_agree(kafka, pairs):
    version = kafka.find_class("org.apache.kafka.server.common.KRaftVersion")
    name = kafka.find_class("org.apache.kafka.common.network.ListenerName").normalised("PLAINTEXT")
    for two in pairs:
        with_listeners = [
            replace(
                record, end_points=[RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host="localhost", port=9092)]
            )
            if isinstance(record, RegisterBrokerRecord) and record.broker_id < 4
            else record
            for record in two.ours.records_after(-1)
        ]
        cache = MetadataCache(0)
        cache.set_image(MetadataDelta(EMPTY).replay_all(with_listeners).apply())
        messages = list(map(with_listener(kafka), two.theirs.messages))
        theirs = kafka.find_class("org.apache.kafka.metadata.KRaftMetadataCache")(0, Supplier(version.KRAFT_VERSION_1))
        theirs.setImage(KafkaImage(kafka, messages, 0).image)
        topics = [*cache.get_all_topics(), "no such topic"]
        names = kafka.find_class("java.util.LinkedHashSet")()
        for topic in topics:
            names.add(topic)
        for endpoints, listeners in itertools.product([False, True], [False, True]):
            told = {
                topic.name(): [
                    (
                        partition.errorCode(),
                        partition.partitionIndex(),
                        partition.leaderId(),
                        partition.leaderEpoch(),
                        tuple(partition.replicaNodes()),
                        tuple(partition.isrNodes()),
                        tuple(partition.offlineReplicas()),
                    )
                    for partition in topic.partitions()
                ]
                for topic in theirs.getTopicMetadata(names, name, endpoints, listeners)
            }
            ours = cache.get_topic_metadata(topics, "PLAINTEXT", endpoints, listeners)
            assert told == {topic.name: [astuple(partition)[:7] for partition in topic.partitions] for topic in ours}
        alive = [(node.id, node.host, node.port) for node in cache.get_alive_broker_nodes("PLAINTEXT")]
        assert alive == [(node.id(), node.host(), node.port()) for node in theirs.getAliveBrokerNodes(name)]
        for broker_id in range(BROKERS + 1):
            epoch = theirs.getAliveBrokerEpoch(broker_id)
            assert cache.get_alive_broker_epoch(broker_id) == (epoch.get() if epoch.isPresent() else None)
            assert cache.has_alive_broker(broker_id) == theirs.hasAliveBroker(broker_id)
            assert cache.is_broker_fenced(broker_id) == theirs.isBrokerFenced(broker_id)
            assert cache.is_broker_shutting_down(broker_id) == theirs.isBrokerShuttingDown(broker_id)


class Supplier:
    """A `java.util.function.Supplier` of one value."""

    def __init__(self, value):
        self._value = value

    def get(self):
        return self._value

    class Java:
        implements = ["java.util.function.Supplier"]


def with_listener(kafka):
    """A registration of Kafka's gets a listener, if its broker's id is below 4."""
    register = kafka.find_class("org.apache.kafka.common.metadata.RegisterBrokerRecord")

    def change(message):
        if message.getClass().getSimpleName() == "RegisterBrokerRecord" and message.brokerId() < 4:
            end_points = register.BrokerEndpointCollection()
            end_points.add(register.BrokerEndpoint().setName("PLAINTEXT").setHost("localhost").setPort(9092))
            message = message.duplicate().setEndPoints(end_points)
        return message

    return change


def places(partitions) -> set[str]:
    return {partition.toString() for partition in partitions}


def java(numbers) -> str:
    return "[" + ", ".join(map(str, numbers)) + "]"


def registered(partition) -> str:
    """The partition as Kafka prints it."""
    return (
        f"PartitionRegistration(replicas={java(partition.replicas)}, directories={java(partition.directories)}, "
        f"isr={java(partition.isr)}, removingReplicas=[], addingReplicas=[], elr={java(partition.elr)}, "
        f"lastKnownElr={java(partition.last_known_elr)}, leader={partition.leader}, "
        f"leaderRecoveryState={partition.leader_recovery_state.name}, leaderEpoch={partition.leader_epoch}, "
        f"partitionEpoch={partition.partition_epoch})"
    )
