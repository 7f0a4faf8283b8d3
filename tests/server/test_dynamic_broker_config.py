"""What Kafka says of settings that no broker changes while it runs, beside Kafka's own `DynamicBrokerConfig`."""

import random

import pytest

from minikafka.common.errors import ConfigException, IllegalArgumentException
from minikafka.common.kafka_settings import kafka_settings
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig, _validate_configs

PER_BROKER = "listener.name.plaintext."
THREADS = "Dynamic thread count update validation failed for"
REFUSED = [
    # set before, set now: the words of the error; `tests/slow/kafka_broker` asks a real broker for the same
    ({}, {"log.local.retention.ms": "-1"}, "Value must not be -1 as log.retention.ms value is set as 604800000."),
    (
        {"log.retention.ms": "999"},
        {"log.retention.ms": "999", "log.local.retention.ms": "1000"},
        "Invalid value 1000 for configuration log.local.retention.ms: Value must not be more than log.retention.ms "
        "property value: 999",
    ),
    (
        {"log.local.retention.bytes": "5"},
        {"log.local.retention.bytes": "5", "log.retention.bytes": "4"},
        "Invalid value 5 for configuration log.local.retention.bytes: Value must not be more than log.retention.bytes "
        "property value: 4",
    ),
    ({}, {"cordoned.log.dirs": "/a,/b"}, "must be present in log.dirs or log.dir. Missing entries : /b"),
    ({}, {"cordoned.log.dirs": "*,/a"}, "When cordoned.log.dirs is set to *, it must not contain other values"),
    ({}, {"max.connections": "0"}, "Invalid max.connections 0"),
    ({}, {f"{PER_BROKER}max.connection.creation.rate": "0"}, "Invalid max.connection.creation.rate 0"),
    ({}, {f"{PER_BROKER}num.network.threads": "9"}, f"{THREADS} num.network.threads=9, value should not be greater"),
    ({}, {"num.network.threads": "9"}, f"{THREADS} num.network.threads=9, value should not be greater than double"),
    ({}, {"num.io.threads": "3"}, f"{THREADS} num.io.threads=3, value should be at least half the current value 8"),
    ({}, {"remote.log.reader.threads": "4"}, f"{THREADS} remote.log.reader.threads=4, value should be at least half"),
    (
        {},
        {"remote.log.manager.follower.thread.pool.size": "7"},
        "value should not be greater than double the current value 3",  # of remote.log.manager.thread.pool.size
    ),
    ({}, {"principal.builder.class": "my.Builder"}, "Class my.Builder could not be found."),
    ({}, {"max.connections.per.ip.overrides": "ab"}, "'max.connections.per.ip.overrides': begin 0, end -1, length 2"),
    ({}, {"compression.type": "x"}, "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
]
TAKEN = [
    ({}, {"log.local.retention.ms": "-2"}),
    ({"log.retention.ms": "-1"}, {"log.retention.ms": "-1", "log.local.retention.ms": "-1"}),
    ({}, {"cordoned.log.dirs": "*"}),
    ({}, {"listener.name.other.num.network.threads": "9"}),
    ({}, {"principal.builder.class": "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"}),
    ({}, {"num.network.threads": "6", "remote.log.reader.threads": "20"}),
]


@pytest.fixture
def settings():
    static = {"node.id": "1", "log.dirs": "/a,/c", "remote.log.manager.thread.pool.size": "3"}
    return DynamicBrokerConfig(BrokerConfig(static))


@pytest.mark.parametrize("before, now, words", REFUSED)
def test_what_a_part_of_a_broker_cannot_live_with_is_refused(settings, before, now, words):
    settings.update_broker_config(before)
    with pytest.raises((ConfigException, IllegalArgumentException)) as refused:
        settings.validate(now, per_broker_config=True)
    assert words in str(refused.value)
    settings.update_broker_config(now)
    assert set(settings.originals) - set(before) == set(settings.static_broker_configs)


@pytest.mark.parametrize("before, now", TAKEN)
def test_what_they_can_live_with_is_taken(settings, before, now):
    settings.update_broker_config(before)
    settings.validate(now, per_broker_config=True)
    settings.update_broker_config(now)
    assert now.items() <= settings.originals.items()


@pytest.mark.parametrize("group", ["consumer", "share", "streams"])
def test_a_time_beyond_its_limits_is_brought_between_them(settings, group):
    name = f"group.{group}.assignment.interval.ms"
    settings.update_broker_config({name: "99999999"})
    assert settings.originals[name] == "15000"


def test_the_refused_settings_are_named_in_kafkas_order(kafka):
    dynamic_broker_config = kafka.find_class("org.apache.kafka.server.config.DynamicBrokerConfig")
    known = kafka_settings("broker")
    can_change = [name for name in known if known[name].update]
    cannot = [name for name in known if not known[name].update]
    draw = random.Random(5)
    for _ in range(300):
        names = draw.sample(cannot, draw.randint(1, 9)) + draw.sample(can_change, draw.choice([0, 3, 12, 30]))
        draw.shuffle(names)
        theirs = kafka.find_class("java.util.Properties")()
        for name in names:
            theirs.put(name, "1")
        refused = ", ".join(dynamic_broker_config.nonDynamicConfigs(theirs))
        try:
            _validate_configs(dict.fromkeys(names, "1"), True)
        except ConfigException as error:
            assert str(error) == f"Cannot update these configs dynamically: [{refused}]", names
        else:
            raise AssertionError(names)
