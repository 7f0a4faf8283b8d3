"""What is told of the settings of each kind of resource, and which changes a broker refuses by itself.

`tests/slow/kafka_broker` asks a real broker for the same; here Kafka itself is asked what is described.
"""

import logging

import pytest

from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class
from tests.broker.both_sides import BothSides
from tests.broker.three_brokers import ThreeBrokers

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = (kind for kind in ConfigResourceType if kind)
INVALID = Errors.INVALID_REQUEST
DESCRIBED = [
    # kind, name, wanted settings: error, its words, values by name
    (GROUP, "g", ["consumer.session.timeout.ms"], 0, None, {"consumer.session.timeout.ms": "45000"}),
    (CLIENT_METRICS, "m", ["interval.ms", "match"], 0, None, {"interval.ms": "300000", "match": ""}),
    (BROKER, "0", ["num.io.threads"], 0, None, {"num.io.threads": "8"}),
    (GROUP, "", None, INVALID, "Group name must not be empty", {}),
    (CLIENT_METRICS, "", None, INVALID, "Client metrics subscription name must not be empty", {}),
    (BROKER_LOGGER, "", None, INVALID, "Broker id must not be empty", {}),
    (BROKER_LOGGER, "1", None, INVALID, "Unexpected broker id, expected 0 but received 1", {}),
    (BROKER_LOGGER, "one", None, INVALID, "Broker id must be an integer, but it is: one", {}),
    (BROKER, "1", None, INVALID, "Unexpected broker id, expected 0 or empty string, but received 1", {}),
    (BROKER, "0x1", None, INVALID, "Broker id must be an integer, but it is: 0x1", {}),
    (TOPIC, "missing", None, Errors.UNKNOWN_TOPIC_OR_PARTITION, None, {}),
]
SET, DELETE, APPEND, SUBTRACT = AlterConfigOp
LOGGER = "minikafka.broker.config_helper"
REFUSED = [
    # kind, name, (setting, operation, value): the words of the error
    (BROKER, "1", [("num.io.threads", SET, "3")], "Unexpected broker id, expected 0, but received 1"),
    (BROKER, "one", [("num.io.threads", SET, "3")], "Node id must be an integer, but it is: one"),
    (BROKER, "0", [("num.io.threads", SET, None)], "Null value not supported for : num.io.threads"),
    (BROKER, "0", [("num.io.threads", SET, "3")] * 2, "Error due to duplicate config keys"),
    (BROKER, "0", [("num.io.threads", 9, "3")], "Unknown operations type 9"),
    (BROKER, "0", [("no.such.setting", APPEND, "3")], "Unknown config name: no.such.setting"),
    (
        BROKER,
        "0",
        [("num.io.threads", APPEND, "3")],
        "Config value append is not allowed for config key: num.io.threads",
    ),
    (ConfigResourceType.UNKNOWN, "x", [], "Unknown resource type 0"),
    (BROKER_LOGGER, "1", [(LOGGER, SET, "INFO")], "Unexpected node id. Expected 0, but received 1"),
    (BROKER_LOGGER, "one", [(LOGGER, SET, "INFO")], "Node id must be an integer, but it is: one"),
    (BROKER_LOGGER, "0", [("no.logger", SET, "INFO")], "Logger no.logger does not exist!"),
    (BROKER_LOGGER, "0", [(LOGGER, SET, "LOUD")], f"Cannot set the log level of {LOGGER} to LOUD as it is not a"),
    (BROKER_LOGGER, "0", [(LOGGER, APPEND, "INFO")], "APPEND operation is not allowed for the BROKER_LOGGER resource"),
    (BROKER_LOGGER, "0", [(LOGGER, 9, "INFO")], "Unknown operation type 9 is not allowed for the BROKER_LOGGER"),
]


@pytest.fixture
def brokers(tmp_path):
    brokers = ThreeBrokers(tmp_path)
    brokers.create("t", [0, 1, 2])
    yield brokers
    brokers.close()


def describe(kind, name, wanted):
    request = request_class(ApiKeys.DESCRIBE_CONFIGS)
    resource = request.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=wanted)
    return request(resources=[resource], include_synonyms=True)


def change(brokers, kind, name, changes, validate_only=False, api=ApiKeys.INCREMENTAL_ALTER_CONFIGS):
    """The error's number and words."""
    make, legacy = request_class(api).AlterConfigsResource, api is ApiKeys.ALTER_CONFIGS
    configs = [
        make.AlterableConfig(name=setting, value=value, **({} if legacy else {"config_operation": operation}))
        for setting, operation, value in changes
    ]
    body = request_class(api)(resources=[make(resource_type=kind, resource_name=name, configs=configs)])
    body.validate_only = validate_only
    (told,) = brokers.ask(0, api, 1 if not legacy else 2, body).responses
    brokers.publish()
    return told.error_code, told.error_message


def values_of(result):
    return {each.name: each.value for each in result.configs}


@pytest.mark.parametrize(("kind", "name", "wanted", "error", "words", "values"), DESCRIBED)
def test_what_is_told(brokers, kind, name, wanted, error, words, values):
    (told,) = brokers.ask(0, ApiKeys.DESCRIBE_CONFIGS, 4, describe(kind, name, wanted)).results
    assert (told.error_code, values_of(told)) == (error, values)
    if words:
        assert told.error_message == words


@pytest.mark.kafka
@pytest.mark.slow
def test_kafka_tells_the_same(kafka, tmp_path):
    both = BothSides(kafka, tmp_path, {"log.cleaner.enable": False})
    for kind, name, wanted, *told in DESCRIBED:
        (result,) = both.ask(0, ApiKeys.DESCRIBE_CONFIGS, 4, describe(kind, name, wanted)).results
        assert (result.error_code, values_of(result)) == (told[0], told[2])
    both.close()


@pytest.mark.parametrize(("kind", "name", "changes", "words"), REFUSED)
def test_what_a_broker_refuses_to_change(brokers, kind, name, changes, words):
    error, told = change(brokers, kind, name, changes)
    assert error in (INVALID, Errors.INVALID_CONFIG) and told.startswith(words)


@pytest.mark.parametrize(
    ("kind", "name", "value", "words"),
    [
        (BROKER, "1", "3", "Unexpected broker id, expected 0, but received 1"),
        (BROKER, "0", None, "Null value not supported for : num.io.threads"),
        (BROKER_LOGGER, "0", "3", f"Unknown resource type {BROKER_LOGGER}"),
    ],
)
def test_what_a_broker_refuses_to_replace(brokers, kind, name, value, words):
    changes = [("num.io.threads", SET, value)]
    assert change(brokers, kind, name, changes, api=ApiKeys.ALTER_CONFIGS) == (INVALID, words)


def test_a_loggers_level_is_changed_told_and_taken_back(brokers):
    level = logging.getLogger(LOGGER).level
    assert change(brokers, BROKER_LOGGER, "0", [(LOGGER, SET, "ERROR")], validate_only=True) == (0, None)
    assert logging.getLogger(LOGGER).level == level
    try:
        assert change(brokers, BROKER_LOGGER, "0", [(LOGGER, SET, "ERROR")]) == (0, None)
        (told,) = brokers.ask(0, ApiKeys.DESCRIBE_CONFIGS, 4, describe(BROKER_LOGGER, "0", [LOGGER])).results
        assert values_of(told) == {LOGGER: "ERROR"}
        assert change(brokers, BROKER_LOGGER, "0", [(LOGGER, DELETE, None)]) == (0, None)
        assert logging.getLogger(LOGGER).level == logging.NOTSET
    finally:
        logging.getLogger(LOGGER).setLevel(level)


def test_a_setting_that_is_a_list_grows_and_shrinks(brokers):
    def policies():
        (told,) = brokers.ask(0, ApiKeys.DESCRIBE_CONFIGS, 4, describe(BROKER, "0", ["log.cleanup.policy"])).results
        return values_of(told)["log.cleanup.policy"]

    assert change(brokers, BROKER, "0", [("log.cleanup.policy", APPEND, "compact,delete")]) == (0, None)
    assert policies() == "delete,compact"
    assert change(brokers, BROKER, "0", [("log.cleanup.policy", SUBTRACT, "delete,no")]) == (0, None)
    assert policies() == "compact"
    assert change(brokers, BROKER, "0", [("log.cleanup.policy", DELETE, None)]) == (0, None)
    assert policies() == "delete"


REFUSED_BY_THE_CONTROLLER = [
    # kind, name, settings: the error and its words; Kafka tells each in tests/slow/kafka_broker/test_admin_requests.py
    (GROUP, "", {}, INVALID, "Default group resources are not allowed."),
    (GROUP, "g", {"session.timeout.ms": "1"}, Errors.INVALID_CONFIG, "Unknown group config name: session.timeout.ms"),
    (
        GROUP,
        "g",
        {"consumer.session.timeout.ms": "44999"},
        Errors.INVALID_CONFIG,
        "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
    ),
    (
        GROUP,
        "g",
        {"streams.num.standby.replicas": "3"},
        Errors.INVALID_CONFIG,
        "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
    ),
    (
        GROUP,
        "g",
        {"share.auto.offset.reset": "by_duration:-PT0.5S"},
        Errors.INVALID_CONFIG,
        "Invalid value by_duration",
    ),
    (GROUP, "g", {"share.auto.offset.reset": "by_duration:PT"}, Errors.INVALID_CONFIG, "Invalid value by_duration:PT"),
    (CLIENT_METRICS, "", {}, INVALID, "Subscription name can't be empty"),
    (CLIENT_METRICS, "m", {"interval": "1"}, INVALID, "Unknown client metrics configuration: interval"),
    (CLIENT_METRICS, "m", {"interval.ms": "99"}, INVALID, "Invalid value 99 for interval.ms, interval must be between"),
    (CLIENT_METRICS, "m", {"match": "a=b"}, Errors.INVALID_CONFIG, "Illegal client matching pattern: a=b"),
    (
        CLIENT_METRICS,
        "m",
        {"match": "client_id=("},
        Errors.INVALID_CONFIG,
        "Illegal client matching pattern: client_id",
    ),
]


@pytest.mark.parametrize(("kind", "name", "settings", "wanted", "words"), REFUSED_BY_THE_CONTROLLER)
def test_what_groups_and_metrics_of_clients_may_not_have(brokers, kind, name, settings, wanted, words):
    for api in (ApiKeys.INCREMENTAL_ALTER_CONFIGS, ApiKeys.ALTER_CONFIGS):
        error, told = change(brokers, kind, name, [(key, SET, value) for key, value in settings.items()], api=api)
        assert error == wanted and told.startswith(words)


def test_settings_of_groups_and_metrics_of_clients_are_told_and_listed_and_taken_back(brokers):
    def own(kind, name):
        (told,) = brokers.ask(0, ApiKeys.DESCRIBE_CONFIGS, 4, describe(kind, name, None)).results
        return {each.name: each.value for each in told.configs if len(each.synonyms) > (kind is GROUP)}

    def listed():
        asks = request_class(ApiKeys.LIST_CONFIG_RESOURCES)(resource_types=[GROUP, CLIENT_METRICS])
        told = brokers.ask(0, ApiKeys.LIST_CONFIG_RESOURCES, 1, asks).config_resources
        return {(each.resource_type, each.resource_name) for each in told}

    of_group, of_metrics = (
        {"share.auto.offset.reset": "by_duration:P1DT1.5S"},
        {"match": "client_id=a.*", "metrics": "*"},
    )
    for kind, name, settings in ((GROUP, "g", of_group), (CLIENT_METRICS, "m", of_metrics)):
        changes = [(key, SET, value) for key, value in settings.items()]
        assert change(brokers, kind, name, changes, validate_only=True) == (0, None)
        assert own(kind, name) == {} and (kind, name) not in listed()
        assert change(brokers, kind, name, changes) == (0, None)
        assert own(kind, name) == settings and (kind, name) in listed()
        assert change(brokers, kind, name, [], api=ApiKeys.ALTER_CONFIGS) == (0, None)
        assert own(kind, name) == {} and (kind, name) not in listed()
