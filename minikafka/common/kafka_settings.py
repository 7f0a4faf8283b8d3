"""All settings that Kafka has for brokers, topics, groups and metrics of clients, with or without effect here."""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.common.config_def import (
    NO_DEFAULT_VALUE,
    CaseInsensitiveValidString,
    ConfigDef,
    ConfigKey,
    Range,
    Type,
    Validator,
    ValidList,
    ValidString,
    non_empty_string,
    non_null,
    parse_type,
)

FILE = Path(__file__).with_name("kafka_settings.json")
"""Kafka's definitions without their documentation; made by tests/tools/make_kafka_settings.py."""


class KafkaSetting(NamedTuple):
    """A setting as Kafka defines it. Kafka: `ConfigDef.ConfigKey`.

    - `default`: as text; None for a setting without one, and for one whose default is null.
    - `is_required`: a value must be given.
    - `validator`: the name of Kafka's class for it and its limits, or nothing.
    - `update`: "cluster-wide" or "per-broker" for a broker's setting that can be changed while it runs, else "".
    """

    name: str
    type: Type
    default: str | None
    is_required: bool
    validator: tuple[Any, ...] = ()
    internal: bool = False
    update: str = ""


@cache
def kafka_settings(owner: str) -> Mapping[str, KafkaSetting]:
    """The settings of a "broker", "topic", "group" or "client_metrics" subscription, by name, in Kafka's order.

    Those of "quota" are a broker's, too, and can be set only while it runs.
    """
    return {row["name"]: _setting(**row) for row in _table()[owner]}


def _setting(name: str, type: str, validator: list[Any] | None = None, **fields: Any) -> KafkaSetting:
    default = fields.pop("default", NO_DEFAULT_VALUE)
    is_required = default is NO_DEFAULT_VALUE
    return KafkaSetting(
        name, Type[type], None if is_required else default, is_required, tuple(validator or ()), **fields
    )


@cache
def kafka_definition(owner: str) -> ConfigDef:
    """The same settings, to parse values with; none of them need be given."""
    return ConfigDef(map(config_key, kafka_settings(owner).values()))


def config_key(setting: KafkaSetting) -> ConfigKey:
    """The setting, to parse its value with. One without a default may be left out, even where Kafka requires it."""
    default = parse_type(setting.name, setting.default, setting.type)
    validator = None if default is None else validator_of(setting, VALIDATORS)
    return ConfigKey(setting.name, setting.type, default, validator, setting.internal)


def validator_of(setting: KafkaSetting, validators: Mapping[str, Callable[..., Validator]]) -> Validator | None:
    """What refuses values of the setting; None where nothing does, or none of the `validators` has the name of it."""
    if not setting.validator or setting.validator[0] not in validators:
        return None
    kind, *limits = setting.validator
    return validators[kind](*limits)


def _valid_list(empty_allowed: bool, null_allowed: bool, *valid_strings: str) -> ValidList:
    return ValidList(*valid_strings, empty_allowed=empty_allowed, null_allowed=null_allowed)


VALIDATORS: Mapping[str, Callable[..., Validator]] = {
    "Range": Range,
    "ValidString": ValidString,
    "CaseInsensitiveValidString": CaseInsensitiveValidString,
    "ValidList": _valid_list,
    "NonEmptyString": partial(partial, non_empty_string),
    "NonNullValidator": partial(partial, non_null),
}
"""What makes a validator, by the name in the table and with what else stands there."""


@cache
def _table() -> dict[str, list[dict[str, Any]]]:
    table: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return table
