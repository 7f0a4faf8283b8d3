"""Who may ask what about a cluster, its topics and settings, and who may change them."""

import pytest

from minikafka.broker.authorizer import CLUSTER_NAME, AclOperation, ResourceType
from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class
from tests.broker.rules import Rules
from tests.broker.three_brokers import ThreeBrokers

ANYBODY = "User:any"
TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER
TOPIC_FAILED, CLUSTER_FAILED = Errors.TOPIC_AUTHORIZATION_FAILED, Errors.CLUSTER_AUTHORIZATION_FAILED


@pytest.fixture
def guarded(tmp_path):
    guarded = ThreeBrokers(tmp_path, authorizer=Rules())
    guarded.create("t", [0, 1, 2])
    guarded.create("u", [0, 1, 2])
    yield guarded
    guarded.close()


def allow(guarded, operation, name):
    kind = ResourceType.CLUSTER if name == CLUSTER_NAME else ResourceType.TOPIC
    guarded.authorizer.allowed |= {(operation, kind, name)}


def ask(guarded, api, version, principal=ANYBODY, **fields):
    return guarded.ask(0, api, version, request_class(api)(**fields), principal=principal)


def test_settings_are_told_of_what_may_be_described(guarded):
    make = request_class(ApiKeys.DESCRIBE_CONFIGS).DescribeConfigsResource
    resources = [
        make(resource_type=kind, resource_name=name)
        for kind, name in ((BROKER, "0"), (TOPIC, "u"), (TOPIC, "t"), (ConfigResourceType.GROUP, "g"))
    ]
    allow(guarded, AclOperation.DESCRIBE_CONFIGS, "t")
    results = ask(guarded, ApiKeys.DESCRIBE_CONFIGS, 4, resources=resources).results
    told = [(each.resource_name, each.error_code, bool(each.configs)) for each in results]
    group_failed = Errors.GROUP_AUTHORIZATION_FAILED
    assert told == [
        ("t", 0, True),  # those that may be described come first
        ("0", CLUSTER_FAILED, False),
        ("u", TOPIC_FAILED, False),
        ("g", group_failed, False),
    ]


@pytest.mark.parametrize("api", [ApiKeys.INCREMENTAL_ALTER_CONFIGS, ApiKeys.ALTER_CONFIGS], ids=lambda api: api.name)
def test_settings_are_changed_by_who_may(guarded, api):
    make = request_class(api).AlterConfigsResource
    operation = {"config_operation": AlterConfigOp.SET} if api is ApiKeys.INCREMENTAL_ALTER_CONFIGS else {}
    resources = [
        make(
            resource_type=kind,
            resource_name=name,
            configs=[make.AlterableConfig(name=setting, value="99999999", **operation)],
        )
        for kind, name, setting in (
            (TOPIC, "u", "flush.ms"),
            (TOPIC, "t", "flush.ms"),
            (BROKER, "0", "log.retention.ms"),
        )
    ]
    allow(guarded, AclOperation.ALTER_CONFIGS, "t")
    responses = ask(guarded, api, 1, resources=resources).responses
    assert [(each.resource_name, each.error_code) for each in responses] == [
        ("u", TOPIC_FAILED),
        ("t", 0),
        ("0", CLUSTER_FAILED),
    ]
    changed = guarded.controller.image.configs.resource_data
    assert [(resource.name, set(settings)) for resource, settings in changed.items() if resource.name] == [
        ("t", {"flush.ms"})
    ]


@pytest.mark.parametrize(
    ("kind", "name", "setting", "error"),
    [
        (ConfigResourceType.GROUP, "g", "consumer.session.timeout.ms", Errors.GROUP_AUTHORIZATION_FAILED),
        (ConfigResourceType.CLIENT_METRICS, "m", "interval.ms", CLUSTER_FAILED),
        (ConfigResourceType.BROKER_LOGGER, "0", "minikafka.broker", CLUSTER_FAILED),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_settings_of_groups_metrics_and_loggers_need_rights_too(guarded, kind, name, setting, error):
    make = request_class(ApiKeys.INCREMENTAL_ALTER_CONFIGS).AlterConfigsResource
    configs = [make.AlterableConfig(name=setting, value="60000", config_operation=AlterConfigOp.SET)]
    resources = [make(resource_type=kind, resource_name=name, configs=configs)]
    (told,) = ask(guarded, ApiKeys.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources).responses
    assert told.error_code == error


def test_partitions_are_added_by_who_may_alter_the_topic(guarded):
    make = request_class(ApiKeys.CREATE_PARTITIONS).CreatePartitionsTopic
    allow(guarded, AclOperation.ALTER, "t")
    topics = [make(name=name, count=2, assignments=None) for name in ("t", "u", "none")]
    results = ask(guarded, ApiKeys.CREATE_PARTITIONS, 3, topics=topics, timeout_ms=9).results
    assert {each.name: each.error_code for each in results} == {"t": 0, "u": TOPIC_FAILED, "none": TOPIC_FAILED}


def test_the_cluster_is_told_to_everybody_its_directories_are_not(guarded):
    answer = ask(guarded, ApiKeys.DESCRIBE_CLUSTER, 2, include_cluster_authorized_operations=True)
    assert (len(answer.brokers), answer.cluster_authorized_operations) == (3, 0)
    assert ask(guarded, ApiKeys.DESCRIBE_LOG_DIRS, 4).error_code == CLUSTER_FAILED
    assert ask(guarded, ApiKeys.LIST_CONFIG_RESOURCES, 1).error_code == CLUSTER_FAILED
    allow(guarded, AclOperation.DESCRIBE, CLUSTER_NAME)
    allow(guarded, AclOperation.DESCRIBE_CONFIGS, CLUSTER_NAME)
    answer = ask(guarded, ApiKeys.DESCRIBE_CLUSTER, 2, include_cluster_authorized_operations=True)
    allowed = 1 << AclOperation.DESCRIBE | 1 << AclOperation.DESCRIBE_CONFIGS
    assert answer.cluster_authorized_operations == allowed
    assert len(ask(guarded, ApiKeys.DESCRIBE_LOG_DIRS, 4, topics=None).results[0].topics) == 2
    assert len(ask(guarded, ApiKeys.LIST_CONFIG_RESOURCES, 1).config_resources) == 8


def test_partitions_and_producers_are_told_of_what_may_be_described_and_read(guarded):
    make = request_class(ApiKeys.DESCRIBE_TOPIC_PARTITIONS).TopicRequest
    allow(guarded, AclOperation.DESCRIBE, "t")
    topics = [make(name=name) for name in ("u", "t")]
    answer = ask(guarded, ApiKeys.DESCRIBE_TOPIC_PARTITIONS, 0, topics=topics)
    assert [(each.name, each.error_code, len(each.partitions)) for each in answer.topics] == [
        ("t", 0, 1),
        ("u", TOPIC_FAILED, 0),
    ]
    answer = ask(guarded, ApiKeys.DESCRIBE_TOPIC_PARTITIONS, 0)
    assert [each.name for each in answer.topics] == ["t"]  # that there are others is not told
    make = request_class(ApiKeys.DESCRIBE_PRODUCERS).TopicRequest
    topics = [make(name=name, partition_indexes=[0]) for name in ("u", "t")]
    allow(guarded, AclOperation.READ, "t")
    answer = ask(guarded, ApiKeys.DESCRIBE_PRODUCERS, 0, topics=topics)
    assert [(each.name, each.partitions[0].error_code) for each in answer.topics] == [("u", TOPIC_FAILED), ("t", 0)]
