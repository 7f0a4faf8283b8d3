"""Which settings of a broker are refused: those with which Kafka does not start."""

import json
import random

import pytest

from minikafka.common.errors import ConfigException, IllegalArgumentException, KafkaException
from minikafka.common.kafka_settings import FILE
from minikafka.metadata.kafka_config import require_valid

SETTINGS = {setting["name"]: setting for setting in json.loads(FILE.read_text())["broker"]}
SETTINGS = dict(sorted(SETTINGS.items()))
GROUPS = sorted({name.partition(".")[0] for name in SETTINGS})
COMBINED = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
}
BROKER = {**COMBINED, "process.roles": "broker", "listeners": "PLAINTEXT://:9092", "node.id": "2"}
CONTROLLER = {**COMBINED, "process.roles": "controller", "listeners": "CONTROLLER://:9093"}
ANY = (
    *("", " ", "x", "true", "TRUE", " false ", "yes", "None", "a,b", "a,a", ",", "a,", "a, b", "*"),
    *("-1", "0", "1", "-2", "+5", " 7 ", "2.5", "1e3", "0x10", "5L", "NaN", "-0.5", "1f", "1_000", "٣"),
    *(str(sign * 2**bits + more) for bits in (15, 31, 63) for sign in (1, -1) for more in (-1, 0)),
)
CLASSES = {"group.consumer.assignors", "group.share.assignors", "principal.builder.class"}
"""Settings with names of classes that Kafka loads when it reads them, beside those of type CLASS."""


def drawn_values(setting):
    """Values of every kind, and those at the limits of the setting."""
    kind, *limits = setting.get("validator", [""])
    values = [*ANY]
    if kind == "Range":
        values += [str(limit + step) for limit in limits if limit is not None for step in (-1, 0, 1)]
    if kind in ("ValidString", "CaseInsensitiveValidString", "ValidList"):
        words = [word for word in limits if isinstance(word, str)]
        values += [form for word in words for form in (word, word.upper(), word.lower(), f" {word} ", f"{word},x")]
        values += [",".join(words), ",".join(reversed(words))]
    if setting["type"] == "CLASS" or setting["name"] in CLASSES:
        values = ["", " "]
    return list(dict.fromkeys(values))


def is_refused(settings):
    try:
        require_valid(settings)
    except (KafkaException, IllegalArgumentException):
        return True
    return False


def refused_by_kafka(kafka, settings):
    from py4j.protocol import Py4JJavaError

    try:
        kafka.find_class("kafka.server.KafkaConfig")(kafka.properties(settings), False)
    except Py4JJavaError:
        return True
    return False


@pytest.mark.parametrize("group", GROUPS)
def test_a_value_is_refused_where_kafka_refuses_it(kafka_says, group):
    drawn = {name: drawn_values(setting) for name, setting in SETTINGS.items() if name.partition(".")[0] == group}

    def taken(is_refused):
        return {
            name: [value for value in values if not is_refused({**COMBINED, name: value})]
            for name, values in drawn.items()
        }

    assert taken(is_refused) == kafka_says(
        lambda kafka: taken(lambda settings: refused_by_kafka(kafka, settings)), drawn
    )


LISTENERS = (
    *("PLAINTEXT://:9092", "PLAINTEXT://0.0.0.0:9092", "plaintext://h:9092", "SSL://:9094", "CONTROLLER://:9093"),
    *(
        "PLAINTEXT://127.0.0.1:9092",
        "OTHER://[::1]:9092",
        "OTHER://:9095",
        "SASL_SSL://a_b:0",
        "CONTROLLER://[::1]:9092",
    ),
    *(
        "://:9092",
        " ://:9092",
        "PLAINTEXT://:x",
        "PLAINTEXT",
        "PLAINTEXT://:99999999999",
        "x:1",
        "CONTROLLER://1.2.3.4:9092",
    ),
)
NAMES = ("PLAINTEXT", "plaintext", "CONTROLLER", "controller", "OTHER", "SSL", "SASL_SSL", "NONE")
TOGETHER = {
    "process.roles": ("broker", "controller", "broker,controller", "controller,broker"),
    "node.id": ("1", "2"),
    "broker.id": ("1", "2", "-1"),
    "listeners": LISTENERS,
    "advertised.listeners": LISTENERS,
    "early.start.listeners": (*NAMES, ""),
    "controller.listener.names": NAMES,
    "inter.broker.listener.name": NAMES,
    "security.inter.broker.protocol": ("PLAINTEXT", "SSL", "SASL_SSL", "SASL_PLAINTEXT"),
    "sasl.mechanism.inter.broker.protocol": ("GSSAPI", "PLAIN"),
    "sasl.enabled.mechanisms": ("PLAIN", "GSSAPI", "PLAIN,GSSAPI", ""),
    "listener.security.protocol.map": (
        *("PLAINTEXT:PLAINTEXT", "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL", "OTHER:PLAINTEXT,CONTROLLER:PLAINTEXT"),
        *("PLAINTEXT:PLAINTEXT,plaintext:SSL", "a", "A:B", "", "PLAINTEXT:PLAINTEXT,", "CONTROLLER: SSL , A:SSL"),
    ),
    "controller.quorum.voters": ("", "1@h:1", "2@h:1", "1@h:1,2@h:2", "1@h", "x@h:1", "1@h:1@", "1@0.0.0.0:1", "@h:1"),
    "controller.quorum.bootstrap.servers": ("", "h:1", "h", "h:x", "h:1,", "ssl://[::1]:2"),
    "controller.quorum.auto.join.enable": ("true", "false"),
    "cordoned.log.dirs": ("*", "*,/a", "/a", "/b", ""),
    "log.dirs": ("/a", "/a,/b", ""),
    "log.dir": ("/a", "/tmp/kafka-logs", ""),
    "max.connections.per.ip": ("0", "1"),
    "max.connections.per.ip.overrides": ("", "h:1", "h", "h:x", "h_h:2", "::1:3", "h!:1", "h:1,", ",h:1", "h:-1"),
    "queued.max.request.bytes": ("-1", "0", "1", "104857599", "104857600"),
    "socket.request.max.bytes": ("1", "2", "104857600"),
    "connections.max.idle.ms": ("-1", "0", "100", "101", "99"),
    "connection.failed.authentication.delay.ms": ("0", "99", "100", "101"),
    "replica.fetch.wait.max.ms": ("499", "500", "30001", "-1"),
    "replica.socket.timeout.ms": ("499", "500", "30001", "-1"),
    "replica.lag.time.max.ms": ("499", "500", "30001", "-1"),
    "log.cleaner.threads": ("0", "1", "2", "128"),
    "log.cleaner.dedupe.buffer.size": ("1048576", "1048577", "2097153", "2097154", "-1"),
    "log.roll.ms": ("0", "1", "-1"),
    "log.roll.jitter.ms": ("0", "-1"),
    "log.retention.ms": ("0", "1", "-1", "-2"),
    "log.retention.minutes": ("0", "1", "-1"),
    "log.retention.hours": ("0", "1", "-1", "2147483647"),
    "group.coordinator.rebalance.protocols": ("classic", "consumer", "consumer,classic"),
    "offsets.topic.compression.codec": ("-1", "0", "4", "5"),
}
GROUPS_OF_CONSUMERS = sorted(
    name for name, setting in SETTINGS.items() if name.startswith("group.") and setting["type"] in ("INT", "SHORT")
)


def drawn_settings(seed):
    draw = random.Random(seed)
    names = draw.choice([list(TOGETHER), list(TOGETHER)[:16], GROUPS_OF_CONSUMERS])
    settings = dict(draw.choice([COMBINED, BROKER, CONTROLLER]))
    for name in draw.sample(names, draw.randint(1, 3)):
        if name in ("listeners", "advertised.listeners"):
            settings[name] = ",".join(draw.sample(LISTENERS[: draw.choice([5, 10, 17])], draw.randint(1, 3)))
        elif name in TOGETHER:
            settings[name] = draw.choice(TOGETHER[name])
        else:
            other = draw.choice(GROUPS_OF_CONSUMERS)
            settings[name] = str(int(SETTINGS[other]["default"]) + draw.randint(-1, 1))
    return settings


@pytest.mark.parametrize("part", range(10))
def test_settings_are_refused_together_where_kafka_refuses_them(kafka_says, part):
    drawn = [drawn_settings(f"{part} {number}") for number in range(300)]
    theirs = kafka_says(lambda kafka: [int(refused_by_kafka(kafka, settings)) for settings in drawn], drawn)
    different = [settings for settings, refused in zip(drawn, theirs, strict=True) if is_refused(settings) != refused]
    assert not different


def test_some_settings_of_a_broker_may_lack_its_role():
    require_valid({})
    require_valid({"log.retention.hours": "1"})
    require_valid({"node.id": "1", "process.roles": "broker"})
    with pytest.raises(ConfigException, match=r"controller\.quorum\.voters must contain a parseable set"):
        require_valid({"node.id": "1", "process.roles": "broker", "controller.listener.names": "CONTROLLER"})


def test_what_is_refused_is_told_with_its_name():
    with pytest.raises(ConfigException, match=r"Invalid value -1 for configuration num\.io\.threads: Value must be at"):
        require_valid({"num.io.threads": "-1"})
