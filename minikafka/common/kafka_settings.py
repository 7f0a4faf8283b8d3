"""All settings that Kafka 4.3.0 has for brokers, topics, groups and metrics of clients, with or without effect here."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.common.config_def import ConfigDef, ConfigKey, Range, Type, Validator, ValidList, ValidString, parse_type

FILE = Path(__file__).with_name("kafka_settings.json")
"""Kafka's definitions without their documentation; made by tests/tools/make_kafka_settings.py."""

_RANGE = re.compile(r"\[(?P<least>-?[0-9]+),\.\.\.(,(?P<most>-?[0-9]+))?\]")
_STRINGS = re.compile(r"\[([^\[\].]+)\]")


class KafkaSetting(NamedTuple):
    """A setting as Kafka defines it. Kafka: `ConfigDef.ConfigKey`.

    - `default`: as text; None for a setting without one, and for one whose default is null.
    - `valid`: what its validator says of itself, where that is a range or a list of strings, else "".
    - `update`: "cluster-wide" or "per-broker" for a broker's setting that can be changed while it runs, else "".
    """

    name: str
    type: Type
    default: str | None
    valid: str = ""
    internal: bool = False
    update: str = ""


@cache
def kafka_settings(owner: str) -> Mapping[str, KafkaSetting]:
    """The settings of a "broker", "topic", "group" or "client_metrics" subscription, by name, in Kafka's order.

    Those of "quota" are a broker's, too, and can be set only while it runs.
    """
    rows = _table()[owner]
    return {row["name"]: KafkaSetting(**{**row, "type": Type[row["type"]]}) for row in rows}


@cache
def kafka_definition(owner: str) -> ConfigDef:
    """The same settings, to parse values with. Validators other than ranges and lists of strings are left out."""
    return ConfigDef(map(config_key, kafka_settings(owner).values()))


def config_key(setting: KafkaSetting) -> ConfigKey:
    """The setting, to parse its value with. One without a default may be left out, even where Kafka requires it."""
    default = parse_type(setting.name, setting.default, setting.type)
    validator = None if default is None else _validator(setting)
    return ConfigKey(setting.name, setting.type, default, validator, setting.internal)


def _validator(setting: KafkaSetting) -> Validator | None:
    if (limits := _RANGE.fullmatch(setting.valid)) is not None:
        return Range(int(limits["least"]), None if limits["most"] is None else int(limits["most"]))
    if (listed := _STRINGS.fullmatch(setting.valid)) is not None:
        strings = listed[1].split(", ")
        return ValidList(*strings) if setting.type is Type.LIST else ValidString(*strings)
    return None


@cache
def _table() -> dict[str, list[dict[str, Any]]]:
    table: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return table
