"""A broker's settings: defaults, types and limits, against Kafka's own definition."""

import pytest

from minikafka.common.errors import ConfigException, IllegalArgumentException
from minikafka.server.broker_config import CONFIG, BrokerConfig


@pytest.mark.slow
def test_types_and_defaults_are_kafkas(kafka):
    from py4j.java_gateway import get_field

    definition = kafka.constant("org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF")
    for name, key in CONFIG.config_keys.items():
        java_key = definition.configKeys().get(name)
        assert get_field(java_key, "type").toString() == key.type.name, name
        if java_key.hasDefault():
            default = get_field(java_key, "defaultValue")
            assert (list(default) if key.type.name == "LIST" and default is not None else default) == key.default, name
        java_validator = get_field(java_key, "validator")
        for value in (-(2**31), -1, 0, 1, 1023, 2**31 - 1) if key.type.name in ("INT", "LONG") else ():
            assert refused(key.validator, name, value) == refused(
                None if java_validator is None else java_validator.ensureValid, name, value
            ), (name, value)


def refused(validator, name, value):
    try:
        if validator is not None:
            validator(name, value)
    except Exception:  # ConfigException, ours or Java's
        return True
    return False


def test_a_broker_must_have_a_number():
    with pytest.raises(ConfigException, match=r"node\.id"):
        BrokerConfig({})


def test_settings_are_read_as_text_and_as_values():
    config = BrokerConfig({"node.id": "3", "replica.lag.time.max.ms": 1000, "broker.rack": "r"})
    assert (config.broker_id, config.replica_lag_time_max_ms, config.rack) == (3, 1000, "r")
    assert BrokerConfig({"node.id": 3}).inter_broker_listener_name == "PLAINTEXT"


def test_a_brokers_settings_are_the_defaults_of_its_logs():
    config = BrokerConfig({"node.id": 0, "log.roll.hours": 2, "min.insync.replicas": 2, "message.max.bytes": 7})
    log_config = config.log_config()
    assert (log_config.segment_ms, log_config.min_in_sync_replicas, log_config.max_message_size) == (7_200_000, 2, 7)
    assert config.cleaner_config().max_message_size == 7


@pytest.mark.parametrize("smaller", ["replica.socket.timeout.ms", "replica.lag.time.max.ms"])
def test_a_followers_fetch_may_not_wait_longer_than_others_wait_for_it(smaller):
    with pytest.raises(IllegalArgumentException, match=smaller.replace(".", r"\.")):
        BrokerConfig({"node.id": 0, smaller: 499})
    BrokerConfig({"node.id": 0, smaller: 500})


def test_the_cleaner_needs_a_mebibyte_for_each_thread():
    with pytest.raises(IllegalArgumentException, match="must be at least 1MB per cleaner thread"):
        BrokerConfig({"node.id": 0, "log.cleaner.dedupe.buffer.size": 1048576}).cleaner_config()
    BrokerConfig({"node.id": 0, "log.cleaner.dedupe.buffer.size": 1048577}).cleaner_config()
