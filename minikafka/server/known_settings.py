"""Which settings of a broker there are, and which of them have an effect here."""

from collections.abc import Iterable, Mapping

from minikafka.common.config_def import invalid_value
from minikafka.common.errors import ConfigException
from minikafka.log.cleaner.cleaner_config import CONFIG as CLEANER_CONFIG
from minikafka.log.manager.broker_settings import LOG_SETTINGS
from minikafka.metadata.kafka_config_def import kafka_config_def
from minikafka.network.server.socket_server_config import CONFIG as SOCKET_SERVER_CONFIG
from minikafka.server.broker_config import CONFIG as BROKER_CONFIG

SERVED = frozenset({*BROKER_CONFIG.names, *SOCKET_SERVER_CONFIG.names, *CLEANER_CONFIG.names, *LOG_SETTINGS})
"""Those that have an effect here."""

_PREFIX = "listener.name."


def settings_without_effect(names: Iterable[str]) -> list[str]:
    """Those of `names` that are not served here, sorted."""
    return [
        name
        for name in sorted(names)
        if name not in SERVED and not (name.startswith(_PREFIX) and name.endswith(".max.connections"))
    ]


def require_known(settings: Mapping[str, object]) -> None:
    """Raises ConfigException for a setting that Kafka does not know (Kafka ignores it, with a warning in its log).

    Raises it, too, for None where a setting must have a value.
    """
    known = kafka_config_def().config_keys
    for name in sorted(settings, key=str):
        if name not in known and not str(name).startswith(_PREFIX):
            raise ConfigException(f"Unknown configuration {name}: Kafka has no setting of that name")
        if settings[name] is None and name in known and known[name].default is not None:
            raise invalid_value(name, None, "Value must be non-null")
