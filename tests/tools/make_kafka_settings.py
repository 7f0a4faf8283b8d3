"""Makes the table of the settings that Kafka's brokers and topics have: `python -m tests.tools.make_kafka_settings`."""

import json
import re
from typing import Any

from py4j.java_gateway import get_field
from py4j.protocol import Py4JJavaError

from minikafka.common.kafka_settings import FILE
from minikafka.jvm.kafka_jvm import KafkaJvm

_SERVER = "org.apache.kafka.server"
_RANGE = re.compile(r"\[(?P<least>[^,]*?),?\.\.\.,?(?P<most>[^,]*?)\]")


def settings(kafka: KafkaJvm) -> dict[str, list[dict[str, object]]]:
    """By what they are settings of: each with name, type, default, valid values, and how it is changed.

    Kafka: `AbstractKafkaConfig.CONFIG_DEF`, `QuotaConfig.brokerQuotaConfigs`, `LogConfig`,
    `GroupConfig`, `ClientMetricsConfigs`.
    """
    update_modes = dict(kafka.find_class(f"{_SERVER}.config.DynamicBrokerConfig").dynamicConfigUpdateModes())
    definitions = {
        "broker": kafka.constant(f"{_SERVER}.config.AbstractKafkaConfig", "CONFIG_DEF"),
        "quota": kafka.find_class(f"{_SERVER}.config.QuotaConfig").brokerQuotaConfigs(),
        "topic": kafka.find_class("org.apache.kafka.storage.internals.log.LogConfig").configDefCopy(),
        "group": kafka.constant("org.apache.kafka.coordinator.group.GroupConfig", "CONFIG_DEF"),
        "client_metrics": kafka.find_class(f"{_SERVER}.metrics.ClientMetricsConfigs").configDef(),
    }
    return {
        owner: [_setting(kafka, key, update_modes if owner in ("broker", "quota") else {}) for key in _keys(definition)]
        for owner, definition in definitions.items()
    }


def as_text(made: dict[str, list[dict[str, object]]]) -> str:
    """The table, a setting on each line."""
    owners = [
        f'"{owner}": [\n' + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
        for owner, rows in made.items()
    ]
    return "{\n" + ",\n".join(owners) + "\n}\n"


def _keys(definition) -> list:
    return list(definition.configKeys().values())


def _setting(kafka: KafkaJvm, key: Any, update_modes: dict[str, str]) -> dict[str, object]:
    name, kind = get_field(key, "name"), get_field(key, "type")
    row: dict[str, object] = {"name": name, "type": kind.toString()}
    if key.hasDefault():
        config_def = kafka.find_class("org.apache.kafka.common.config.ConfigDef")
        row["default"] = config_def.convertToString(get_field(key, "defaultValue"), kind)
    if (validator := get_field(key, "validator")) is not None:
        row["validator"] = _validator(kafka, validator)
    if get_field(key, "internalConfig"):
        row["internal"] = True
    if name in update_modes:
        row["update"] = update_modes[name]
    return row


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
        return [kind, *words]
    return [said] if kind == "LambdaValidator" else [kind]


def _accepts(validator: Any, value: object) -> bool:
    try:
        validator.ensureValid("name", value)
    except Py4JJavaError:
        return False
    return True


if __name__ == "__main__":
    FILE.write_text(as_text(settings(KafkaJvm.start())), encoding="utf-8")
