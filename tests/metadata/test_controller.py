"""What the controller decides, by what its log then says."""

import pytest

from minikafka.common import directory_id
from minikafka.common.api_error import ApiError
from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    BrokerIdNotRegisteredException,
    DuplicateBrokerRegistrationException,
    InvalidRegistrationException,
    InvalidReplicationFactorException,
    InvalidUpdateVersionException,
    PolicyViolationException,
    StaleBrokerEpochException,
)
from minikafka.common.java.java_random import JavaRandom
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import AlterPartitionRequest
from minikafka.messages.cluster_metadata import ConfigRecord, FeatureLevelRecord, PartitionRecord, TopicRecord
from minikafka.metadata.configuration_control_manager import AlterConfigOp, ConfigSource
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.metadata.leader_and_isr import BrokerState
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.metadata.metadata_image import EMPTY
from minikafka.metadata.partition_change_builder import Election
from minikafka.metadata.striped_replica_placer import StripedReplicaPlacer, UsableBroker

TOPIC = "B" * 21 + "A"
PLACE = TopicPartition("t", 0)


def a_cluster(brokers=3, settings=None, **options):
    controller = Controller(settings, **options)
    for id in range(brokers):
        controller.unfence_broker(id, controller.register_broker(id, f"first incarnation of {id}"))
    return controller


def with_topic(replicas=(0, 1, 2), configs=(), **options):
    controller = a_cluster(**options)
    (result,) = controller.create_topics([creatable_topic("t", assignments=[(0, replicas)], configs=dict(configs))])
    assert result.error_code == Errors.NONE
    return controller


def partition(controller, number=0):
    return controller.image.topics.get_topic("t").partitions[number]


def leader_isr_epochs(controller):
    it = partition(controller)
    return it.leader, it.isr, it.leader_epoch, it.partition_epoch


def alter(controller, isr, *, broker_id=0, epoch=None, **fields):
    it = partition(controller)
    data = {
        "leader_epoch": it.leader_epoch,
        "partition_epoch": it.partition_epoch,
        "leader_recovery_state": it.leader_recovery_state,
        **fields,
    }
    make = AlterPartitionRequest.TopicData
    of_leader = [member if isinstance(member, BrokerState) else BrokerState(member) for member in isr]
    members = [make.PartitionData.BrokerState(broker_id=id, broker_epoch=epoch) for id, epoch in of_leader]
    topic_id = controller.image.topics.get_topic("t").id
    topic = make(topic_id=topic_id, partitions=[make.PartitionData(new_isr_with_epochs=members, **data)])
    broker_epoch = controller.image.cluster.broker_epoch(broker_id) if epoch is None else epoch
    return controller.alter_partition(
        AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch, topics=[topic])
    )


def the_partition(response):
    (topic,) = response.topics
    (partition,) = topic.partitions
    return partition


def altered(*arguments, **fields):
    return Errors(the_partition(alter(*arguments, **fields)).error_code)


def test_the_image_is_what_the_records_lead_to():
    controller = with_topic()
    controller.fence_broker(0)
    records = controller.records_after(-1)
    assert MetadataDelta(EMPTY).replay_all(records).apply() == controller.image
    assert controller.records_after(len(records) - 2) == records[-1:]


@pytest.mark.parametrize("level", [-1, 2])
def test_eligible_leader_replicas_have_levels_0_and_1(level):
    with pytest.raises(
        InvalidUpdateVersionException, match=rf"eligible\.leader\.replicas\.version is 0 or 1, not {level}"
    ):
        Controller(eligible_leader_replicas_version=level)


def test_a_new_cluster_writes_down_its_least_isr_only_with_eligible_leader_replicas():
    settings = {"min.insync.replicas": "2"}
    assert Controller(settings, eligible_leader_replicas_version=0).image == EMPTY
    (level, least_isr) = Controller(settings).records_after(-1)
    assert level == FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)
    assert least_isr == ConfigRecord(
        resource_type=ConfigResourceType.BROKER, resource_name="", name="min.insync.replicas", value="2"
    )
    off = MetadataDelta(Controller().image).replay_all([FeatureLevelRecord(name=level.name, feature_level=0)]).apply()
    assert off.features.is_empty() and not off.features.is_elr_enabled()


# Brokers


def test_each_incarnation_of_a_broker_has_a_larger_epoch_and_begins_fenced():
    controller = Controller()
    first = controller.register_broker(0, "a")
    assert controller.image.cluster.broker(0).fenced
    assert controller.register_broker(0, "a") == first
    second = controller.register_broker(0, "b")
    assert second > first
    with pytest.raises(
        StaleBrokerEpochException, match=f"Expected broker epoch {second}, but got broker epoch {first}"
    ):
        controller.unfence_broker(0, first)
    controller.unfence_broker(0, second)
    assert controller.image.cluster.broker(0).is_active()


def test_a_broker_that_is_alive_keeps_its_id():
    controller = a_cluster(1)
    with pytest.raises(DuplicateBrokerRegistrationException):
        controller.register_broker(0, "second incarnation")
    controller.fence_broker(0)
    controller.register_broker(0, "second incarnation")


def test_an_incarnation_that_registers_again_stays_as_it_is():
    controller = with_topic((0,))
    epoch = controller.image.cluster.broker_epoch(0)
    controller.begin_controlled_shutdown(0, epoch)
    assert controller.register_broker(0, "first incarnation of 0") == epoch
    registration = controller.image.cluster.broker(0)
    assert not registration.fenced and registration.in_controlled_shutdown


def test_directories_belong_to_one_broker():
    controller = Controller()
    controller.register_broker(0, "a", log_dirs=[TOPIC])
    with pytest.raises(InvalidRegistrationException, match=f"Broker 0 is already registered with directory {TOPIC}"):
        controller.register_broker(1, "b", log_dirs=[TOPIC])
    with pytest.raises(InvalidRegistrationException, match="Duplicate directory ID"):
        controller.register_broker(0, "a", log_dirs=[TOPIC, TOPIC])
    with pytest.raises(InvalidRegistrationException, match="Reserved directory ID"):
        controller.register_broker(0, "a", log_dirs=[directory_id.LOST_DIR])


@pytest.mark.parametrize(("level", "last_isr"), [(0, (2,)), (1, ())])
def test_a_dead_leader_is_followed_by_the_next_replica_in_sync(level, last_isr):
    controller = with_topic(eligible_leader_replicas_version=level)
    controller.fence_broker(1)
    assert leader_isr_epochs(controller) == (0, (0, 2), 0, 1)
    controller.fence_broker(0)
    assert leader_isr_epochs(controller) == (2, (2,), 1, 2)
    controller.fence_broker(2)
    assert leader_isr_epochs(controller) == (-1, last_isr, 2, 3)
    epoch = controller.register_broker(0, "second incarnation")
    controller.unfence_broker(0, epoch)
    assert partition(controller).leader == -1
    controller.unfence_broker(2, controller.register_broker(2, "second incarnation"))
    assert leader_isr_epochs(controller) == (2, (2,), 3, 4 + level)  # at level 1 it leaves the eligible ones first
    controller.fence_broker(2)
    controller.fence_broker(2)
    assert leader_isr_epochs(controller) == (-1, last_isr, 4, 5 + level)


def test_losing_records_is_allowed_by_a_setting_only():
    unclean = {"unclean.leader.election.enable": "true"}
    for options, expected in [
        ({}, None),
        ({"configs": unclean}, (1, (1,), LeaderRecoveryState.RECOVERING)),
        ({"settings": unclean}, (1, (1,), LeaderRecoveryState.RECOVERING)),
        ({"settings": unclean, "configs": {**unclean, "unclean.leader.election.enable": "false"}}, None),
    ]:
        controller = with_topic((0, 1), **options)
        assert altered(controller, [0]) is Errors.NONE
        controller.fence_broker(0)
        it = partition(controller)
        assert (it.leader, it.isr, it.leader_recovery_state) == (expected or (-1, (), LeaderRecoveryState.RECOVERED))


def test_an_unclean_election_can_be_asked_for_and_is_tried_again():
    controller = with_topic((0, 1))
    altered(controller, [0])
    controller.fence_broker(0)
    before = len(controller.records_after(-1))
    controller.maybe_elect_unclean_leaders()
    assert len(controller.records_after(-1)) == before
    topic = ConfigResource.topic("t")
    change = {"unclean.leader.election.enable": (AlterConfigOp.SET, "true")}
    controller.incremental_alter_configs({topic: change})
    assert partition(controller).leader == -1
    controller.maybe_elect_unclean_leaders()
    assert leader_isr_epochs(controller) == (1, (1,), 2, 3)


def test_a_broker_that_stops_hands_over_what_it_leads():
    controller = with_topic((0, 1))
    epoch = controller.image.cluster.broker_epoch(0)
    assert not controller.begin_controlled_shutdown(0, epoch)
    assert leader_isr_epochs(controller) == (1, (1,), 1, 1)
    assert controller.image.cluster.broker(0).in_controlled_shutdown
    assert altered(controller, [0, 1], broker_id=1) is Errors.INELIGIBLE_REPLICA
    assert not controller.begin_controlled_shutdown(1, controller.image.cluster.broker_epoch(1))
    assert leader_isr_epochs(controller) == (-1, (), 2, 2)
    assert controller.begin_controlled_shutdown(0, epoch)
    assert controller.image.cluster.broker(0).fenced


def test_a_broker_that_leads_nothing_may_stop_at_once():
    controller = with_topic((0, 1))
    assert controller.begin_controlled_shutdown(1, controller.image.cluster.broker_epoch(1))
    assert controller.image.cluster.broker(1).fenced
    assert leader_isr_epochs(controller) == (0, (0,), 0, 1)


def test_a_broker_that_returns_before_anybody_missed_it_leads_no_longer():
    controller = with_topic((0, 1))
    epoch = controller.image.cluster.broker_epoch(0)
    controller.begin_controlled_shutdown(0, epoch)
    controller.fence_broker(0)
    controller.unfence_broker(0, controller.register_broker(0, "second incarnation", previous_broker_epoch=epoch))
    assert leader_isr_epochs(controller) == (1, (1,), 1, 1)


def test_unregistered_brokers_are_forgotten():
    controller = with_topic((0, 1))
    controller.unregister_broker(0)
    assert leader_isr_epochs(controller) == (1, (1,), 1, 1)
    assert controller.image.cluster.broker(0) is None
    for action in (controller.unregister_broker, controller.fence_broker):
        with pytest.raises(BrokerIdNotRegisteredException, match="Broker ID 0 is not currently registered"):
            action(0)
    with pytest.raises(StaleBrokerEpochException, match="No broker registration found for broker id 0"):
        controller.allocate_producer_ids(0, 1)


# ISRs


def test_a_leader_changes_its_isr_without_a_new_leader_epoch():
    controller = with_topic()
    answer = the_partition(alter(controller, [0, 2]))
    assert (answer.error_code, answer.leader_id, answer.isr) == (Errors.NONE, 0, [0, 2])
    assert (answer.leader_epoch, answer.partition_epoch) == (0, 1)
    assert leader_isr_epochs(controller) == (0, (0, 2), 0, 1)
    again = len(controller.records_after(-1))
    assert the_partition(alter(controller, [0, 2])).partition_epoch == 1
    assert len(controller.records_after(-1)) == again


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"leader_epoch": 1}, Errors.NOT_CONTROLLER),
        ({"partition_epoch": 2}, Errors.NOT_CONTROLLER),
        ({"leader_epoch": -1}, Errors.FENCED_LEADER_EPOCH),
        ({"broker_id": 1}, Errors.INVALID_REQUEST),
        ({"partition_epoch": 0}, Errors.INVALID_UPDATE_VERSION),
        ({"isr": [0, 3]}, Errors.INVALID_REQUEST),
        ({"isr": [0, 0]}, Errors.INVALID_REQUEST),
        ({"isr": [1]}, Errors.INVALID_REQUEST),
        ({"isr": []}, Errors.INVALID_REQUEST),
        ({"leader_recovery_state": LeaderRecoveryState.RECOVERING}, Errors.INVALID_REQUEST),
        ({"isr": [0], "leader_recovery_state": LeaderRecoveryState.RECOVERING}, Errors.INVALID_REQUEST),
        ({"isr": [0, BrokerState(1, 999)]}, Errors.INELIGIBLE_REPLICA),
        ({"isr": [0, 2]}, Errors.INELIGIBLE_REPLICA),
        ({"partition_index": 1}, Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ({}, Errors.NONE),
    ],
)
def test_what_a_leader_may_not_propose(fields, error):
    controller = with_topic()
    controller.fence_broker(2)  # partition epoch 1
    records = controller.records_after(-1)
    assert altered(controller, fields.pop("isr", [0, 1]), **fields) is error
    assert controller.records_after(-1) == records


def test_a_request_of_an_earlier_incarnation_is_refused_as_a_whole():
    controller = with_topic()
    assert alter(controller, [0]).error_code == Errors.NONE
    answer = alter(controller, [0], epoch=77)
    assert answer.error_code == Errors.STALE_BROKER_EPOCH and not answer.topics


def test_who_recovers_may_take_others_in_afterwards():
    controller = with_topic((0, 1), settings={"unclean.leader.election.enable": "true"})
    altered(controller, [0])
    controller.fence_broker(0)
    controller.unfence_broker(0, controller.register_broker(0, "second incarnation"))
    recovering = LeaderRecoveryState.RECOVERING
    assert altered(controller, [1, 0], broker_id=1, leader_recovery_state=recovering) is Errors.INVALID_REQUEST
    recovered = LeaderRecoveryState.RECOVERED
    assert altered(controller, [1, 0], broker_id=1, leader_recovery_state=recovered) is Errors.NONE
    assert partition(controller).leader_recovery_state is recovered


# Elections


def elect(controller, election):
    return controller.elect_leaders(election, [PLACE])[PLACE].error


def test_the_preferred_replica_is_elected_when_it_is_in_sync():
    controller = with_topic((0, 1))
    assert elect(controller, Election.PREFERRED) is Errors.ELECTION_NOT_NEEDED
    controller.fence_broker(0)
    assert elect(controller, Election.PREFERRED) is Errors.PREFERRED_LEADER_NOT_AVAILABLE
    controller.unfence_broker(0, controller.register_broker(0, "second incarnation"))
    assert elect(controller, Election.PREFERRED) is Errors.PREFERRED_LEADER_NOT_AVAILABLE
    altered(controller, [1, 0], broker_id=1)
    assert controller.elect_leaders(Election.PREFERRED) == {PLACE: (Errors.NONE, None)}
    assert leader_isr_epochs(controller) == (0, (1, 0), 2, 3)
    assert controller.elect_leaders(Election.PREFERRED) == {}


def test_leaders_are_balanced():
    controller = with_topic((0, 1))
    controller.fence_broker(0)
    controller.unfence_broker(0, controller.register_broker(0, "second incarnation"))
    controller.maybe_balance_partition_leaders()
    assert partition(controller).leader == 1
    altered(controller, [1, 0], broker_id=1)
    controller.maybe_balance_partition_leaders()
    assert partition(controller).leader == 0


def test_an_unclean_election_needs_somebody_who_is_alive():
    controller = with_topic((0, 1))
    assert elect(controller, Election.UNCLEAN) is Errors.ELECTION_NOT_NEEDED
    altered(controller, [0])
    controller.fence_broker(0)
    controller.fence_broker(1)
    assert elect(controller, Election.UNCLEAN) is Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
    controller.unfence_broker(1, controller.register_broker(1, "second incarnation"))
    assert elect(controller, Election.UNCLEAN) is Errors.NONE
    assert leader_isr_epochs(controller) == (1, (1,), 2, 3)
    unknown = [TopicPartition("t", 1), TopicPartition("u", 0)]
    errors = controller.elect_leaders(Election.UNCLEAN, unknown)
    assert {error.error for error in errors.values()} == {Errors.UNKNOWN_TOPIC_OR_PARTITION}


def test_eligible_leaders_lead_when_nobody_is_in_sync():
    controller = with_topic((0, 1, 2), {"min.insync.replicas": "2"}, eligible_leader_replicas_version=1)
    controller.fence_broker(2)
    assert (partition(controller).isr, partition(controller).elr) == ((0, 1), ())
    controller.fence_broker(0)
    assert (partition(controller).isr, partition(controller).elr) == ((1,), (0,))
    controller.fence_broker(1)
    it = partition(controller)
    assert (it.leader, it.isr, it.elr, it.last_known_elr) == (-1, (), (0, 1), (1,))
    controller.unfence_broker(2, controller.register_broker(2, "second incarnation"))
    assert partition(controller).leader == -1
    epoch = controller.image.cluster.broker_epoch(0)
    controller.unfence_broker(0, controller.register_broker(0, "second incarnation", previous_broker_epoch=epoch))
    it = partition(controller)
    assert (it.leader, it.isr, it.elr, it.last_known_elr) == (0, (0,), (1,), ())


def test_a_broker_that_did_not_stop_cleanly_is_no_eligible_leader():
    controller = with_topic((0, 1), {"min.insync.replicas": "2"}, eligible_leader_replicas_version=1)
    controller.fence_broker(1)
    assert partition(controller).elr == (1,)
    controller.register_broker(1, "second incarnation")
    assert partition(controller).elr == ()


def test_the_last_known_leader_leads_when_nobody_else_is_eligible():
    controller = with_topic((0, 1), {"min.insync.replicas": "2"}, eligible_leader_replicas_version=1)
    for id in (1, 0):
        controller.fence_broker(id)
    controller.unfence_broker(1, controller.register_broker(1, "second incarnation"))
    it = partition(controller)
    assert (it.leader, it.isr, it.elr, it.last_known_elr) == (-1, (), (0,), (0,))
    controller.unfence_broker(0, controller.register_broker(0, "second incarnation"))
    it = partition(controller)
    assert (it.leader, it.isr, it.elr, it.last_known_elr) == (0, (0,), (), ())
    assert it.leader_recovery_state is LeaderRecoveryState.RECOVERING


def test_a_directory_that_fails_takes_its_replicas_out_of_the_isr():
    controller = Controller()
    ids = ["D" * 21 + letter for letter in "AQgw"]
    for id in range(2):
        directories = [ids[0]] if id == 0 else ids[1:3]
        controller.unfence_broker(id, controller.register_broker(id, f"incarnation of {id}", log_dirs=directories))
    created(controller, assignments=[(0, [0, 1]), (1, [1, 0])])
    assert partition(controller).directories == (ids[0], directory_id.UNASSIGNED_DIR)
    epoch = controller.image.cluster.broker_epoch(0)
    controller.handle_directories_offline(0, epoch, [ids[3]])
    assert leader_isr_epochs(controller) == (0, (0, 1), 0, 0)
    controller.handle_directories_offline(0, epoch, ids)
    assert leader_isr_epochs(controller) == (1, (1,), 1, 1)
    assert partition(controller, 1).isr == (1,)
    controller.handle_directories_offline(1, controller.image.cluster.broker_epoch(1), [ids[1]])
    assert controller.image.cluster.broker(1).directories == (ids[2],)
    with pytest.raises(StaleBrokerEpochException):
        controller.handle_directories_offline(0, epoch + 1, ids)


def test_another_min_isr_clears_the_eligible_leaders():
    controller = with_topic((0, 1), {"min.insync.replicas": "2"}, eligible_leader_replicas_version=1)
    controller.fence_broker(1)
    controller.incremental_alter_configs({ConfigResource.topic("t"): {"min.insync.replicas": (AlterConfigOp.SET, "1")}})
    assert partition(controller).elr == ()
    of_broker = ConfigResource(ConfigResourceType.BROKER, "0")
    change = {"min.insync.replicas": (AlterConfigOp.SET, "1")}
    (error,) = controller.incremental_alter_configs({of_broker: change}).values()
    assert error.error is Errors.INVALID_CONFIG and "cannot be altered while ELR is enabled" in error.message


# Topics


def created(controller, name="t", topic_id=None, **fields):
    topic_ids = {} if topic_id is None else {name: topic_id}
    (result,) = controller.create_topics([creatable_topic(name, **fields)], topic_ids=topic_ids)
    return ApiError(Errors(result.error_code), result.error_message)


def test_a_topic_is_spread_over_the_brokers():
    controller = a_cluster(3, {"num.partitions": "6", "default.replication.factor": "2"})
    (result,) = controller.create_topics([creatable_topic("t")])
    assert (result.num_partitions, result.replication_factor, result.error_message) == (6, 2, None)
    partitions = controller.image.topics.get_topic_by_id(result.topic_id).partitions
    leaders = [it.leader for it in partitions.values()]
    assert sorted(leaders) == [0, 0, 1, 1, 2, 2]
    assert all(len(set(it.replicas)) == 2 and it.isr == it.replicas for it in partitions.values())
    again = a_cluster(3, {"num.partitions": "6", "default.replication.factor": "2"})
    again.create_topics([creatable_topic("t")])
    assert again.records_after(-1) == controller.records_after(-1)


def test_records_of_a_topic_come_in_kafka_s_order():
    controller = with_topic((1, 0), {"retention.ms": "5"})
    topic, config, place = controller.records_after(-1)[-3:]
    assert isinstance(topic, TopicRecord) and isinstance(place, PartitionRecord)
    assert config == ConfigRecord(
        resource_type=ConfigResourceType.TOPIC, resource_name="t", name="retention.ms", value="5"
    )
    assert (place.leader, place.leader_epoch, place.partition_epoch) == (1, 0, 0)


def test_settings_of_a_new_topic_that_come_twice():
    """They are written in Kafka's order, the last value of each; null is refused, also where another value follows."""
    controller, topic = a_cluster(1), creatable_topic("t", 1, 1)
    several = [
        ("flush.messages", "50"),
        ("compression.type", "lz4"),
        ("compression.type", "zstd"),
        ("retention.ms", "7"),
    ]
    topic.configs = [topic.CreatableTopicConfig(name=name, value=value) for name, value in several]
    before = len(controller.records_after(-1))
    controller.create_topics([topic])
    written = [
        (each.name, each.value) for each in controller.records_after(before - 1) if isinstance(each, ConfigRecord)
    ]
    assert written == [("compression.type", "zstd"), ("retention.ms", "7"), ("flush.messages", "50")]
    refused = creatable_topic("u", 1, 1)
    refused.configs = [refused.CreatableTopicConfig(name="flush.ms", value=value) for value in (None, "3")]
    (result,) = controller.create_topics([refused])
    assert result.error_message == "Null value not supported for topic configs: flush.ms"


@pytest.mark.parametrize(
    "fields, error, message",
    [
        ({"name": "a b"}, Errors.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: 'a b' contains one or more"),
        ({"name": ""}, Errors.INVALID_TOPIC_EXCEPTION, "the empty string is not allowed"),
        ({"name": ".."}, Errors.INVALID_TOPIC_EXCEPTION, "'..' is not allowed"),
        ({"name": "x" * 250}, Errors.INVALID_TOPIC_EXCEPTION, "longer than the max allowed length 249"),
        ({"name": "a.b"}, Errors.INVALID_TOPIC_EXCEPTION, "Topic 'a.b' collides with existing topic: a_b"),
        ({"name": "a_b"}, Errors.TOPIC_ALREADY_EXISTS, "Topic 'a_b' already exists."),
        ({"name": "__cluster_metadata"}, Errors.INVALID_REQUEST, "Creation of internal topic"),
        ({"configs": {"retention.ms": None}}, Errors.INVALID_CONFIG, "Null value not supported for topic configs"),
        ({"configs": {"retention": "1"}}, Errors.INVALID_CONFIG, "Unknown topic config name: retention"),
        (
            {"configs": {"remote.storage.enable": "true"}},
            Errors.INVALID_CONFIG,
            "Tiered Storage functionality is disabled",
        ),
        ({"configs": {"retention.ms": "x"}}, Errors.INVALID_CONFIG, "Not a number of type LONG"),
        ({"replication_factor": 0}, Errors.INVALID_REPLICATION_FACTOR, "must be larger than 0, or -1"),
        ({"replication_factor": 4}, Errors.INVALID_REPLICATION_FACTOR, "Unable to replicate the partition 4 time(s): "),
        ({"num_partitions": 0}, Errors.INVALID_PARTITIONS, "invalid non-positive value"),
        ({"assignments": [(0, [0])], "num_partitions": 1}, Errors.INVALID_REQUEST, "numPartitions was not set to -1"),
        ({"assignments": [(0, [0])], "replication_factor": 1}, Errors.INVALID_REQUEST, "replication factor was not"),
        ({"assignments": [(0, [0]), (0, [0])]}, Errors.INVALID_REPLICA_ASSIGNMENT, "multiple manual partition"),
        ({"assignments": [(0, [0]), (2, [0])]}, Errors.INVALID_REPLICA_ASSIGNMENT, "consecutive 0-based"),
        ({"assignments": [(0, [0]), (1, [0, 1])]}, Errors.INVALID_REPLICA_ASSIGNMENT, "not consistent with previous"),
        ({"assignments": [(0, [])]}, Errors.INVALID_REPLICA_ASSIGNMENT, "empty replica list"),
        ({"assignments": [(0, [7])]}, Errors.INVALID_REPLICA_ASSIGNMENT, "broker 7, but no such broker"),
        ({"assignments": [(0, [0, 0])]}, Errors.INVALID_REPLICA_ASSIGNMENT, "the broker 0 more than once"),
        ({"assignments": [(0, [2])]}, Errors.INVALID_REPLICA_ASSIGNMENT, "are fenced or in controlled shutdown"),
    ],
)
def test_what_cannot_be_made(fields, error, message):
    controller = a_cluster(3)
    controller.fence_broker(2)
    created(controller, "a_b")
    records = controller.records_after(-1)
    told = created(controller, **fields)
    assert told.error is error and message in told.message
    assert controller.records_after(-1) == records


def test_topics_that_collide_are_made_by_one_request_and_then_exist():
    controller = a_cluster(1)
    both = [creatable_topic(name, num_partitions=1, replication_factor=1) for name in ("a.b", "a_b")]
    assert [result.error_code for result in controller.create_topics(both)] == [0, 0]
    again = controller.create_topics(both)
    assert [result.error_code for result in again] == [Errors.TOPIC_ALREADY_EXISTS] * 2


def test_no_replica_at_all_cannot_be_placed():
    brokers = [UsableBroker(id, None, False) for id in range(3)]
    with pytest.raises(InvalidReplicationFactorException, match="factor 0: the replication factor must be positive"):
        StripedReplicaPlacer(JavaRandom(1)).place(1, 0, brokers)


def test_nothing_can_be_placed_when_nobody_is_alive():
    controller = a_cluster(1)
    controller.fence_broker(0)
    assert "All brokers are currently fenced" in created(controller).message


def test_a_name_that_occurs_twice_in_a_request_is_refused():
    controller = a_cluster(1)
    results = controller.create_topics([creatable_topic("t"), creatable_topic("u"), creatable_topic("t")])
    errors = {result.name: result.error_code for result in results}
    assert errors == {"u": Errors.NONE, "t": Errors.INVALID_REQUEST}


def test_too_many_partitions_are_refused_at_once():
    with pytest.raises(PolicyViolationException, match="Excessively large number of partitions"):
        created(a_cluster(1), num_partitions=10_001)


def test_a_new_topic_s_settings_are_told_with_their_sources():
    controller = a_cluster(1, {"log.retention.hours": "1"})
    cluster = ConfigResource(ConfigResourceType.BROKER, "")
    controller.incremental_alter_configs({cluster: {"min.insync.replicas": (AlterConfigOp.SET, "2")}})
    (result,) = controller.create_topics([creatable_topic("t", configs={"segment.ms": "7"})])
    told = {entry.name: (entry.value, entry.config_source) for entry in result.configs}
    assert told["segment.ms"] == ("7", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert told["min.insync.replicas"] == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    assert told["retention.ms"] == ("3600000", ConfigSource.STATIC_BROKER_CONFIG)
    assert told["preallocate"] == ("false", ConfigSource.DEFAULT_CONFIG)
    assert [entry.name for entry in result.configs] == sorted(told)


def test_topics_are_deleted_by_id():
    controller = with_topic()
    topic_id = controller.image.topics.get_topic("t").id
    results = controller.delete_topics([TOPIC, topic_id])
    assert {id: error.error for id, error in results.items()} == {
        TOPIC: Errors.UNKNOWN_TOPIC_ID,
        topic_id: Errors.NONE,
    }
    assert controller.image.topics.is_empty()


def test_a_topic_id_can_be_given():
    controller = a_cluster(1)
    assert created(controller, topic_id=TOPIC).error is Errors.NONE
    assert controller.image.topics.get_topic("t").id == TOPIC


# Settings


def altered_configs(controller, changes, name="t", type=ConfigResourceType.TOPIC):
    (error,) = controller.incremental_alter_configs({ConfigResource(type, name): changes}).values()
    return error


def test_settings_are_set_deleted_appended_and_subtracted():
    controller = with_topic()
    settings = lambda: dict(controller.image.configs.config_map_for_resource(ConfigResource.topic("t")))  # noqa: E731
    for operation, value, expected in [
        (AlterConfigOp.APPEND, "compact", "delete,compact"),
        (AlterConfigOp.APPEND, "compact", "delete,compact"),
        (AlterConfigOp.SUBTRACT, "delete", "compact"),
        (AlterConfigOp.SET, "delete", "delete"),
    ]:
        assert not altered_configs(controller, {"cleanup.policy": (operation, value)}).is_failure()
        assert settings() == {"cleanup.policy": expected}
    altered_configs(controller, {"cleanup.policy": (AlterConfigOp.DELETE, "")})
    assert settings() == {}
    records = controller.records_after(-1)
    altered_configs(controller, {"cleanup.policy": (AlterConfigOp.DELETE, "")})
    assert controller.records_after(-1) == records


@pytest.mark.parametrize(
    "changes, place, error, message",
    [
        ({"retention.ms": (AlterConfigOp.APPEND, "1")}, {}, Errors.INVALID_CONFIG, "Can't APPEND to key retention.ms"),
        ({"retention.ms": (AlterConfigOp.SET, "-2")}, {}, Errors.INVALID_CONFIG, "must be at least -1"),
        ({"nothing": (AlterConfigOp.SET, "1")}, {}, Errors.INVALID_CONFIG, "Unknown topic config name"),
        ({"a": (AlterConfigOp.SET, "x" * 32768)}, {}, Errors.INVALID_CONFIG, "exceeds the maximum value size"),
        ({}, {"name": "u"}, Errors.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'u' does not exist."),
        ({}, {"name": ""}, Errors.INVALID_REQUEST, "Default topic resources are not allowed."),
        ({}, {"name": "7", "type": ConfigResourceType.BROKER}, Errors.BROKER_ID_NOT_REGISTERED, "No node with id 7"),
        ({}, {"name": "x", "type": ConfigResourceType.BROKER}, Errors.INVALID_REQUEST, "Unable to parse broker name"),
        ({}, {"name": "-1", "type": ConfigResourceType.BROKER}, Errors.INVALID_REQUEST, "negative broker ID"),
        ({}, {"type": ConfigResourceType.BROKER_LOGGER}, Errors.INVALID_REQUEST, "Unknown resource type"),
    ],
)
def test_settings_that_are_refused(changes, place, error, message):
    told = altered_configs(with_topic(), changes, **place)
    assert told.error is error and message in told.message


def test_a_topic_s_setting_is_checked_beside_the_own_settings_of_the_controller_s_node():
    """Kafka's controller validates with the `KafkaConfig` of the broker in its process, with its dynamic settings."""
    controller = with_topic(node_id=1)
    shortest, longest = "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
    for node, settings in (
        ("", {longest: "5000"}),
        ("1", {longest: "7000"}),
        ("2", {longest: "1"}),
        ("", {shortest: "2000"}),
    ):
        changes = {name: (AlterConfigOp.SET, value) for name, value in settings.items()}
        assert altered_configs(controller, changes, node, ConfigResourceType.BROKER).error is Errors.NONE
    assert altered_configs(controller, {"min.compaction.lag.ms": (AlterConfigOp.SET, "6000")}).error is Errors.NONE
    told = altered_configs(controller, {"min.compaction.lag.ms": (AlterConfigOp.SET, "8000")})
    conflict = "conflict topic config setting min.compaction.lag.ms (8000) > max.compaction.lag.ms (7000)"
    assert (told.error, told.message) == (Errors.INVALID_CONFIG, conflict)
    told = created(controller, "u", configs={"max.compaction.lag.ms": "1000"})
    conflict = "conflict topic config setting min.compaction.lag.ms (2000) > max.compaction.lag.ms (1000)"
    assert (told.error, told.message) == (Errors.INVALID_CONFIG, conflict)


# Producers


def test_blocks_of_producer_ids_do_not_overlap():
    controller = a_cluster(2)
    epochs = [controller.image.cluster.broker_epoch(id) for id in (0, 1)]
    first = controller.allocate_producer_ids(0, epochs[0])
    second = controller.allocate_producer_ids(1, epochs[1])
    assert (first.first_producer_id, first.size) == (0, 1000)
    assert second.first_producer_id == 1000 and controller.image.next_producer_id == 2000
    with pytest.raises(StaleBrokerEpochException):
        controller.allocate_producer_ids(0, epochs[0] + 100)
