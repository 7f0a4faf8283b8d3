"""Which settings of a broker there are, and which of them have an effect here."""

from collections.abc import Mapping

from minikafka.common.config_def import parse_type
from minikafka.common.errors import ConfigException
from minikafka.common.kafka_settings import kafka_settings
from minikafka.log.cleaner.cleaner_config import CONFIG as CLEANER_CONFIG
from minikafka.log.manager.broker_settings import LOG_SETTINGS
from minikafka.network.server.socket_server_config import CONFIG as SOCKET_SERVER_CONFIG
from minikafka.server.broker_config import CONFIG as BROKER_CONFIG

SERVED = frozenset({*BROKER_CONFIG.names, *SOCKET_SERVER_CONFIG.names, *CLEANER_CONFIG.names, *LOG_SETTINGS})
"""Those that have an effect here."""

_PREFIX = "listener.name."


def settings_without_effect(settings: Mapping[str, str]) -> list[str]:
    """The names of those of `settings` that Kafka knows and that are not served here, sorted.

    Raises ConfigException for one that Kafka does not know, which Kafka ignores with a warning in its log, and for a
    value that is not of the setting's type.
    """
    known, found = kafka_settings("broker"), []
    for name in sorted(settings):
        if name in known:
            parse_type(name, settings[name], known[name].type)
        elif not name.startswith(_PREFIX):
            raise ConfigException(f"Unknown configuration {name}: Kafka 4.3.0 has no setting of that name")
        if name not in SERVED and not (name.startswith(_PREFIX) and name.endswith(".max.connections")):
            found.append(name)
    return found
