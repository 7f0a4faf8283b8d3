"""The settings that a Kafka broker knows: their types, defaults and limits, from a table that Kafka's own gives."""

import json
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

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
    invalid_value,
    non_empty_string,
    non_null,
)
from minikafka.common.errors import ConfigException, NumberFormatException
from minikafka.common.java_numbers import parse_int
from minikafka.log.log_config import gzip_level

TABLE = Path(__file__).with_name("kafka_settings.json")
"""The settings of Kafka 4.3.0, one on each line; made by tests/metadata/make_kafka_settings.py."""

_VOTERS, _BOOTSTRAP_SERVERS = "controller.quorum.voters", "controller.quorum.bootstrap.servers"
_VOTER = "`{id}@{host}:{port}`."
_HOST_AND_PORT = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)", re.ASCII)


@cache
def kafka_config_def() -> ConfigDef:
    """All of them. The names of classes are kept as names: which classes there are, the broker alone knows.

    Kafka: `AbstractKafkaConfig.CONFIG_DEF`.
    """
    return ConfigDef(map(_key, TABLE.read_text(encoding="utf-8").splitlines()))


def voter_hosts(voters: list[str]) -> dict[int, str]:
    """The hosts in `id@host:port` entries, by ids. Raises ConfigException.

    Kafka: `QuorumConfig.parseVoterConnections`.
    """
    hosts = {}
    for voter in voters:
        parts = voter.rstrip("@").split("@")
        if len(parts) != 2:
            raise ConfigException(
                f"Invalid configuration value for {_VOTERS}. Each entry should be in the form {_VOTER}"
            )
        try:
            number = parse_int(parts[0])
        except NumberFormatException:
            raise ConfigException(f"Failed to parse voter ID as an integer from {parts[0]}") from None
        hosts[number] = _host_of(voter, parts[1], _VOTERS, _VOTER)
    return hosts


def _host_of(entry: str, address: str, name: str, form: str) -> str:
    parts = _HOST_AND_PORT.fullmatch(address)
    if parts is None:
        raise ConfigException(
            f"Failed to parse host name from {'entry ' * (name == _VOTERS)}{entry} for the configuration {name}. "
            f"Each entry should be in the form {form}"
        )
    parse_int(parts[2])
    return parts[1]


def _quorum_voters(name: str, value: object) -> None:
    """Kafka: `QuorumConfig.ControllerQuorumVotersValidator`."""
    if not isinstance(value, list):  # a list is parsed before, so this is None
        raise invalid_value(name, value, "entry must be non null")
    voter_hosts(value)


def _quorum_bootstrap_servers(name: str, value: object) -> None:
    """Kafka: `QuorumConfig.ControllerQuorumBootstrapServersValidator`."""
    if not isinstance(value, list):  # a list is parsed before, so this is None
        raise invalid_value(name, value, "entry must be non null")
    for server in value:
        _host_of(server, server, _BOOTSTRAP_SERVERS, '"{host}:{port}"')


def _valid_list(empty_allowed: bool, null_allowed: bool, *valid_strings: str) -> ValidList:
    return ValidList(*valid_strings, empty_allowed=empty_allowed, null_allowed=null_allowed)


_VALIDATORS: dict[str, Callable[..., Validator]] = {
    "Range": Range,
    "ValidString": ValidString,
    "CaseInsensitiveValidString": CaseInsensitiveValidString,
    "ValidList": _valid_list,
    "NonEmptyString": partial(partial, non_empty_string),
    "NonNullValidator": partial(partial, non_null),
    "[1,...,9] or -1": partial(partial, gzip_level),
    "ControllerQuorumVotersValidator": partial(partial, _quorum_voters),
    "ControllerQuorumBootstrapServersValidator": partial(partial, _quorum_bootstrap_servers),
}
"""What makes a validator, by the name in the table and with what else stands there."""


def _key(line: str) -> ConfigKey:
    setting = json.loads(line)
    kind, *limits = setting.get("validator", [None])
    return ConfigKey(
        setting["name"],
        Type(setting["type"]),
        setting.get("default", NO_DEFAULT_VALUE),
        _VALIDATORS[kind](*limits) if kind else None,
    )
