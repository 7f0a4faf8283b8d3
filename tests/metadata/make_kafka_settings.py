"""Makes the table of the settings that Kafka's brokers know: `python -m tests.metadata.make_kafka_settings`."""

import json
import re
from typing import Any

from py4j.java_gateway import get_field
from py4j.protocol import Py4JJavaError

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.metadata.kafka_config_def import TABLE

_RANGE = re.compile(r"\[(?P<least>[^,]*?),?\.\.\.,?(?P<most>[^,]*?)\]")


def table(kafka: KafkaJvm) -> str:
    """A line of JSON for each setting, sorted by name: its type, default (none: it must be set) and validator.

    Kafka: `AbstractKafkaConfig.CONFIG_DEF`.
    """
    keys = kafka.constant("org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF").configKeys()
    return "".join(f"{json.dumps(_setting(kafka, name, keys.get(name)))}\n" for name in sorted(keys.keySet()))


def _setting(kafka: KafkaJvm, name: str, key: Any) -> dict[str, object]:
    setting: dict[str, object] = {"name": name, "type": get_field(key, "type").toString()}
    if key.hasDefault():
        setting["default"] = _plain(get_field(key, "defaultValue"))
    if (validator := get_field(key, "validator")) is not None:
        setting["validator"] = _validator(kafka, validator)
    return setting


def _plain(value: Any) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if value.getClass().getName() == "java.lang.Class":
        return value.getName()
    return [str(each) for each in value]


def _validator(kafka: KafkaJvm, validator: Any) -> list[object]:
    kind, said = validator.getClass().getSimpleName(), validator.toString()
    words = [word.strip() for word in re.sub(r"^.*?\[|\]$", "", said).split(",") if word.strip()]
    if kind == "Range":
        limits = _RANGE.fullmatch(said)
        assert limits is not None, said
        return [kind, *(json.loads(limits[each]) if limits[each] else None for each in ("least", "most"))]
    if kind == "ValidList":
        nothing = kafka.find_class("java.util.ArrayList")()
        return [kind, _accepts(validator, nothing), _accepts(validator, None), *sorted(words)]
    if kind in ("ValidString", "CaseInsensitiveValidString"):
        return [kind, *sorted(words)]
    return [said] if kind == "LambdaValidator" else [kind]


def _accepts(validator: Any, value: object) -> bool:
    try:
        validator.ensureValid("name", value)
    except Py4JJavaError:
        return False
    return True


if __name__ == "__main__":
    TABLE.write_text(table(KafkaJvm.start()))
