"""Where a broker listens."""

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Self

from minikafka.common.errors import ConfigException, IllegalArgumentException, KafkaException
from minikafka.common.java.java_numbers import parse_int

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Kafka: `SecurityProtocol`."""
_URI = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listener: its name, the host whose address it takes ("" for all addresses), and its port (0 for any).

    Simpler than Kafka: the security protocol is PLAINTEXT. Kafka: `org.apache.kafka.common.Endpoint`.
    """

    listener_name: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str, known_names: Container[str]) -> Self:
        """The listener of `NAME://host:port`, as it stands in a setting; `known_names` have a security protocol.

        Raises KafkaException for what is no listener, ConfigException for one without a name,
        IllegalArgumentException for a name that is not known, NumberFormatException for a port that is no int.
        Kafka: `SocketServerConfigs.listenerListToEndPoints`.
        """
        parts = _URI.fullmatch(text)
        if parts is None:
            raise KafkaException(f"Unable to parse {text} to a broker endpoint")
        name, port = normalised_listener_name(parts[1]), parse_int(parts[3])
        if name not in known_names:
            raise IllegalArgumentException(f"No security protocol defined for listener {name}")
        return cls(name, parts[2], port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener_name}://{host}:{self.port}"


def normalised_listener_name(name: str) -> str:
    """A listener's name in capitals. Raises ConfigException for an empty one. Kafka: `ListenerName.normalised`."""
    if not name.strip():
        raise ConfigException("The provided listener name is null or empty string")
    return name.upper()
