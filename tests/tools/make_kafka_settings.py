"""Makes the table of the settings that Kafka's brokers and topics have: `python -m tests.tools.make_kafka_settings`."""

import json
import re

from py4j.java_gateway import get_field

from minikafka.common.kafka_settings import FILE
from minikafka.jvm.kafka_jvm import KafkaJvm

_SERVER = "org.apache.kafka.server"
_LISTED = re.compile(r"\[[^\[\]]+\]( or -1)?")  # what a validator says that accepts a range, or some strings


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


def _setting(kafka: KafkaJvm, key, update_modes: dict[str, str]) -> dict[str, object]:
    name, kind = get_field(key, "name"), get_field(key, "type")
    config_def = kafka.find_class("org.apache.kafka.common.config.ConfigDef")
    default = config_def.convertToString(get_field(key, "defaultValue"), kind) if key.hasDefault() else None
    validator = get_field(key, "validator")
    valid = "" if validator is None else str(validator.toString())
    row = {
        "name": name,
        "type": kind.toString(),
        "default": default,
        "valid": valid if _LISTED.fullmatch(valid) else "",
        "internal": bool(get_field(key, "internalConfig")),
        "update": update_modes.get(name, ""),
    }
    return {field: value for field, value in row.items() if value or field in ("name", "type", "default")}


if __name__ == "__main__":
    FILE.write_text(as_text(settings(KafkaJvm.start())), encoding="utf-8")
