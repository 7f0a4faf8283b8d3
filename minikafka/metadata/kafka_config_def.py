"""The settings that a Kafka broker knows, with all that Kafka checks in each of them alone."""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial

from minikafka.common.config_def import NO_DEFAULT_VALUE, ConfigDef, ConfigKey, Validator, invalid_value, parse_type
from minikafka.common.errors import ConfigException, NumberFormatException
from minikafka.common.java.java_numbers import parse_int
from minikafka.common.kafka_settings import VALIDATORS, KafkaSetting, kafka_settings, validator_of
from minikafka.log.log_config import gzip_level

_VOTERS, _BOOTSTRAP_SERVERS = "controller.quorum.voters", "controller.quorum.bootstrap.servers"
_VOTER = "`{id}@{host}:{port}`."
_HOST_AND_PORT = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)", re.ASCII)


@cache
def kafka_config_def() -> ConfigDef:
    """All of them. The names of classes are kept as names: which classes there are, the broker alone knows.

    Kafka: `AbstractKafkaConfig.CONFIG_DEF`.
    """
    return ConfigDef(map(_key, kafka_settings("broker").values()))


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


_VALIDATORS: Mapping[str, Callable[..., Validator]] = {
    **VALIDATORS,
    "[1,...,9] or -1": partial(partial, gzip_level),
    "ControllerQuorumVotersValidator": partial(partial, _quorum_voters),
    "ControllerQuorumBootstrapServersValidator": partial(partial, _quorum_bootstrap_servers),
}


def _key(setting: KafkaSetting) -> ConfigKey:
    default = NO_DEFAULT_VALUE if setting.is_required else parse_type(setting.name, setting.default, setting.type)
    return ConfigKey(setting.name, setting.type, default, validator_of(setting, _VALIDATORS))
