"""Records replayed into images, and what a broker reads out of them."""

from dataclasses import replace

import pytest

from minikafka.common import directory_id
from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import IllegalStateException, RuntimeException
from minikafka.common.node import Node
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from minikafka.metadata import metadata_image
from minikafka.metadata.broker_registration import (
    BrokerRegistrationFencingChange,
    BrokerRegistrationInControlledShutdownChange,
)
from minikafka.metadata.leader_and_isr import LeaderAndIsr
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.metadata.metadata_image import EMPTY

TOPIC = "B" * 21 + "A"
OTHER_TOPIC = "C" * 21 + "A"
LISTENER = "PLAINTEXT"


def broker(id, epoch=10, *, fenced=False, listener=LISTENER):
    return RegisterBrokerRecord(
        broker_id=id,
        broker_epoch=epoch,
        incarnation_id=ZERO_UUID,
        end_points=[RegisterBrokerRecord.BrokerEndpoint(name=listener, host="host", port=9090 + id)],
        rack=None,
        fenced=fenced,
    )


def partition(number=0, leader=0, isr=(0, 1), replicas=(0, 1, 2), topic=TOPIC, **fields):
    return PartitionRecord(
        partition_id=number,
        topic_id=topic,
        replicas=list(replicas),
        isr=list(isr),
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
        **fields,
    )


def image_of(*records, image=metadata_image.EMPTY):
    return MetadataDelta(image).replay_all(records).apply()


def cache_of(*records):
    cache = MetadataCache(0)
    cache.set_image(image_of(*records))
    return cache


def cluster_of_three(*more):
    return [broker(0), broker(1), broker(2), TopicRecord(name="t", topic_id=TOPIC), partition(), *more]


def test_every_change_of_a_partition_raises_its_epoch_and_a_named_leader_the_leader_epoch():
    image = image_of(*cluster_of_three())
    for change, epochs in [
        (PartitionChangeRecord(partition_id=0, topic_id=TOPIC, isr=[0]), (0, 1)),
        (PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=0), (1, 2)),
        (PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=1, isr=[1]), (2, 3)),
        (PartitionChangeRecord(partition_id=0, topic_id=TOPIC), (2, 4)),
    ]:
        image = image_of(change, image=image)
        registration = image.topics.get_partition(TOPIC, 0)
        assert (registration.leader_epoch, registration.partition_epoch) == epochs
    assert registration.leader == 1 and registration.isr == (1,) and registration.replicas == (0, 1, 2)
    assert image.offset == 8


def test_an_image_never_changes():
    before = image_of(*cluster_of_three())
    copy = image_of(*cluster_of_three())
    image_of(
        FenceBrokerRecord(id=1, epoch=10),
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=-1),
        RemoveTopicRecord(topic_id=TOPIC),
        image=before,
    )
    assert before == copy


def test_what_is_not_there_cannot_change():
    with pytest.raises(RuntimeException, match=f"Unable to find partition {TOPIC}:7"):
        image_of(*cluster_of_three(PartitionChangeRecord(partition_id=7, topic_id=TOPIC)))
    with pytest.raises(RuntimeException, match="Unable to delete topic"):
        image_of(RemoveTopicRecord(topic_id=TOPIC))
    with pytest.raises(IllegalStateException, match="fence broker 3, but that broker was not registered"):
        image_of(FenceBrokerRecord(id=3, epoch=1))
    with pytest.raises(IllegalStateException, match="epoch, 11, did not match the current broker epoch, 10"):
        image_of(broker(0), UnfenceBrokerRecord(id=0, epoch=11))


def test_a_deleted_topic_takes_its_settings_with_it():
    config = ConfigRecord(
        resource_type=ConfigResourceType.TOPIC, resource_name="t", name="min.insync.replicas", value="2"
    )
    image = image_of(*cluster_of_three(config))
    assert image.configs.config_map_for_resource(ConfigResource.topic("t")) == {"min.insync.replicas": "2"}
    delta = MetadataDelta(image).replay_all(
        [RemoveTopicRecord(topic_id=TOPIC), TopicRecord(name="t", topic_id=OTHER_TOPIC)]
    )
    assert delta.topics_delta.deleted_topic_ids == {TOPIC}
    after = delta.apply()
    assert after.topics.get_topic("t").id == OTHER_TOPIC and after.topics.get_topic_by_id(TOPIC) is None
    assert after.configs.is_empty()


def test_a_topic_made_and_deleted_in_one_delta_leaves_no_trace():
    image = image_of(broker(0), TopicRecord(name="t", topic_id=TOPIC), partition(), RemoveTopicRecord(topic_id=TOPIC))
    assert image.topics.is_empty()


def test_a_setting_is_removed_by_a_record_without_a_value():
    owner = ConfigResource(ConfigResourceType.BROKER, "")

    def config(name, value):
        return ConfigRecord(resource_type=owner.type, resource_name=owner.name, name=name, value=value)

    image = image_of(config("a", "1"), config("b", "2"), config("a", None))
    assert image.configs.config_map_for_resource(owner) == {"b": "2"}
    assert image_of(config("b", None), image=image).configs.is_empty()


def test_brokers_register_change_and_leave():
    image = fencing, stopping = BrokerRegistrationFencingChange, BrokerRegistrationInControlledShutdownChange
    image = image_of(
        broker(0, fenced=True),
        BrokerRegistrationChangeRecord(broker_id=0, broker_epoch=10, fenced=fencing.UNFENCE),
        BrokerRegistrationChangeRecord(
            broker_id=0, broker_epoch=10, in_controlled_shutdown=stopping.IN_CONTROLLED_SHUTDOWN
        ),
        BrokerRegistrationChangeRecord(broker_id=0, broker_epoch=10, fenced=fencing.FENCE),
    )
    registration = image.cluster.broker(0)
    assert registration.fenced and registration.in_controlled_shutdown
    again = image_of(broker(0, epoch=20), image=image).cluster.broker(0)
    assert again.is_active() and again.epoch == 20
    assert image_of(UnregisterBrokerRecord(broker_id=0, broker_epoch=10), image=image).is_empty()
    assert image.cluster.broker_epoch(0) == 10 and image.cluster.broker_epoch(9) == -1


def test_clearing_eligible_leaders_counts_as_a_change_of_those_that_had_some():
    records = [partition(0, isr=(0,), eligible_leader_replicas=(1,)), partition(1)]
    image = image_of(TopicRecord(name="t", topic_id=TOPIC), *records)
    for record in (ClearElrRecord(), ClearElrRecord(topic_name="t")):
        cleared = image_of(record, image=image).topics.get_topic("t").partitions
        assert cleared[0].elr == () and cleared[0].partition_epoch == 1
        assert cleared[1].partition_epoch == 0
    with pytest.raises(RuntimeException, match="no such topic found"):
        image_of(ClearElrRecord(topic_name="u"), image=image)


def test_the_next_producer_id_is_the_last_record_s():
    assert (
        image_of(
            ProducerIdsRecord(broker_id=0, broker_epoch=10, next_producer_id=1000),
            ProducerIdsRecord(broker_id=1, broker_epoch=11, next_producer_id=2000),
        ).next_producer_id
        == 2000
    )


def test_an_image_that_knows_a_producer_id_is_not_empty():
    assert EMPTY.is_empty() and not replace(EMPTY, next_producer_id=0).is_empty()


def test_a_leader_and_its_isr_are_made_of_ids():
    made = LeaderAndIsr.of(1, 5, [1, 2], LeaderRecoveryState.RECOVERED, 7)
    assert (made.leader, made.leader_epoch, made.isr, made.partition_epoch) == (1, 5, {1, 2}, 7)


def local_changes(image, broker_id, *records):
    return MetadataDelta(image).replay_all(records).topics_delta.local_changes(broker_id)


def test_local_changes_of_a_new_topic():
    image = image_of(*cluster_of_three())
    new = [
        TopicRecord(name="u", topic_id=OTHER_TOPIC),
        partition(topic=OTHER_TOPIC, leader=1, isr=(1, 2), replicas=(1, 2)),
    ]
    place = TopicPartition("u", 0)
    leader = local_changes(image, 1, *new)
    assert set(leader.leaders) == set(leader.elected_leaders) == {place} and not leader.followers
    assert leader.topic_ids == {"u": OTHER_TOPIC} and leader.leaders[place].topic_id == OTHER_TOPIC
    follower = local_changes(image, 2, *new)
    assert set(follower.followers) == {place} and not follower.leaders
    assert not local_changes(image, 0, *new).topic_ids


def test_local_changes_tell_a_new_leader_epoch_from_a_new_partition_epoch():
    image = image_of(*cluster_of_three())
    place = TopicPartition("t", 0)
    shrunk = local_changes(image, 0, PartitionChangeRecord(partition_id=0, topic_id=TOPIC, isr=[0]))
    assert set(shrunk.leaders) == {place} and not shrunk.elected_leaders
    deposed = local_changes(image, 0, PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=1))
    assert set(deposed.followers) == {place}
    assert set(
        local_changes(image, 1, PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=1)).elected_leaders
    ) == {place}
    leaderless = local_changes(image, 1, PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=-1))
    assert set(leaderless.followers) == {place}


def test_local_changes_name_what_a_broker_no_longer_holds():
    image = image_of(*cluster_of_three(partition(1, replicas=(1, 2), leader=1, isr=(1,))))
    moved = PartitionChangeRecord(partition_id=0, topic_id=TOPIC, replicas=[0, 1])
    assert local_changes(image, 2, moved).deletes == {TopicPartition("t", 0)}
    assert not local_changes(image, 1, moved).deletes
    assert local_changes(image, 0, RemoveTopicRecord(topic_id=TOPIC)).deletes == {TopicPartition("t", 0)}
    assert len(local_changes(image, 1, RemoveTopicRecord(topic_id=TOPIC)).deletes) == 2


def test_the_cache_knows_topics_by_name_and_by_id():
    cache = cache_of(
        *cluster_of_three(
            ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name="t", name="retention.ms", value="5")
        )
    )
    assert cache.contains("t") and not cache.contains("u")
    assert cache.contains(TopicPartition("t", 0)) and not cache.contains(TopicPartition("t", 1))
    assert cache.get_topic_id("t") == TOPIC and cache.get_topic_id("u") == ZERO_UUID
    assert cache.get_topic_name(TOPIC) == "t" and cache.get_topic_name(OTHER_TOPIC) is None
    assert cache.get_all_topics() == {"t"}
    assert cache.num_partitions("t") == 1 and cache.num_partitions("u") is None
    assert cache.topic_config("t") == {"retention.ms": "5"} and cache.topic_config("u") == {}


def test_the_cache_knows_leaders():
    cache = cache_of(*cluster_of_three(PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=1)))
    leader_and_isr = cache.get_leader_and_isr("t", 0)
    assert (leader_and_isr.leader, leader_and_isr.leader_epoch, leader_and_isr.partition_epoch) == (1, 1, 1)
    assert leader_and_isr.isr == {0, 1}
    assert leader_and_isr.leader_recovery_state is LeaderRecoveryState.RECOVERED
    assert cache.get_leader_and_isr("t", 1) is None and cache.get_leader_and_isr("u", 0) is None
    assert cache.get_partition_leader_endpoint("t", 0, LISTENER) == Node(1, "host", 9091)
    assert cache.get_partition_leader_endpoint("t", 0, "SSL").is_empty()
    assert cache.get_partition_leader_endpoint("t", 1, LISTENER) is None


def test_the_cache_knows_which_brokers_are_alive():
    stopping = BrokerRegistrationChangeRecord(
        broker_id=2,
        broker_epoch=10,
        in_controlled_shutdown=BrokerRegistrationInControlledShutdownChange.IN_CONTROLLED_SHUTDOWN,
    )
    cache = cache_of(*cluster_of_three(FenceBrokerRecord(id=1, epoch=10), stopping))
    assert [cache.has_alive_broker(id) for id in range(4)] == [True, False, True, False]
    assert [cache.is_broker_fenced(id) for id in range(4)] == [False, True, False, False]
    assert [cache.is_broker_shutting_down(id) for id in range(4)] == [False, False, True, False]
    assert [cache.get_alive_broker_epoch(id) for id in range(4)] == [10, None, 10, None]
    assert [node.id for node in cache.get_alive_broker_nodes(LISTENER)] == [0, 2]
    assert [node.id for node in cache.get_broker_nodes(LISTENER)] == [0, 1, 2]
    assert cache.get_alive_broker_nodes("SSL") == []
    assert cache.get_alive_broker_node(1, LISTENER) is None
    assert set(cache.get_partition_replica_endpoints(TopicPartition("t", 0), LISTENER)) == {0, 2}
    assert cache.get_partition_replica_endpoints(TopicPartition("u", 0), LISTENER) == {}


def described(cache, **options):
    (topic,) = cache.get_topic_metadata(["t", "u"], LISTENER, **options)
    return topic.partitions[0]


def test_metadata_of_a_topic_names_replicas_that_cannot_be_reached():
    cache = cache_of(
        *cluster_of_three(FenceBrokerRecord(id=1, epoch=10), UnregisterBrokerRecord(broker_id=2, broker_epoch=10))
    )
    told = described(cache)
    assert (told.error, told.leader_id, told.replica_nodes) == (Errors.NONE, 0, (0, 1, 2))
    assert told.offline_replicas == (1, 2)
    first_version = described(cache, error_unavailable_endpoints=True)
    assert first_version.error is Errors.REPLICA_NOT_AVAILABLE
    assert first_version.replica_nodes == (0,) and first_version.isr_nodes == (0,)


def test_metadata_of_a_topic_whose_leader_cannot_be_reached():
    gone = described(cache_of(*cluster_of_three(UnregisterBrokerRecord(broker_id=0, broker_epoch=10))))
    assert (gone.error, gone.leader_id) == (Errors.LEADER_NOT_AVAILABLE, -1)
    elsewhere = cache_of(*cluster_of_three(broker(0, listener="SSL")))
    assert described(elsewhere).error is Errors.LEADER_NOT_AVAILABLE
    assert described(elsewhere, error_unavailable_listeners=True).error is Errors.LISTENER_NOT_FOUND


def test_a_replica_in_a_lost_directory_is_offline():
    places = (directory_id.LOST_DIR, directory_id.UNASSIGNED_DIR, OTHER_TOPIC)
    cache = cache_of(
        broker(0), broker(1), broker(2), TopicRecord(name="t", topic_id=TOPIC), partition(directories=list(places))
    )
    assert described(cache).offline_replicas == (0,)
    known = RegisterBrokerRecord(
        broker_id=2,
        broker_epoch=10,
        incarnation_id=ZERO_UUID,
        end_points=broker(2).end_points,
        fenced=False,
        log_dirs=[TOPIC],
    )
    cache = cache_of(
        broker(0), broker(1), known, TopicRecord(name="t", topic_id=TOPIC), partition(directories=list(places))
    )
    assert described(cache).offline_replicas == (0, 2)
