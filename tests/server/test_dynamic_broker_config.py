"""What Kafka says of settings that no broker changes while it runs, beside Kafka's own `DynamicBrokerConfig`."""

import random

from minikafka.common.errors import ConfigException
from minikafka.common.kafka_settings import kafka_settings
from minikafka.server.dynamic_broker_config import _validate_configs


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
