"""Where a broker listens, as its settings say it."""

import re
from collections.abc import Iterable

from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.common.java_numbers import parse_int

PLAINTEXT = "PLAINTEXT"
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_URI = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


def listener_list_to_end_points(listeners: Iterable[str], security_protocol_map: Iterable[str] = ()) -> list[Endpoint]:
    """The listeners of the settings `listeners` and `listener.security.protocol.map`, in their order.

    Raises KafkaException for what is no listener, IllegalArgumentException for a listener without a protocol, and
    for one that would have another than PLAINTEXT, which is not served here.
    Kafka: `SocketServerConfigs.listenerListToEndPoints`.
    """
    protocols = {name: name for name in _PROTOCOLS}
    protocols |= {name.strip().upper(): value.strip() for name, _, value in _pairs(security_protocol_map)}
    found = []
    for text in listeners:
        parts = _URI.fullmatch(text)
        if parts is None:
            raise KafkaException(f"Unable to parse {text} to a broker endpoint")
        name = parts[1].upper()
        if name not in protocols:
            raise IllegalArgumentException(f"No security protocol defined for listener {name}")
        if protocols[name] != PLAINTEXT:
            raise IllegalArgumentException(
                f"Listener {name} would have the security protocol {protocols[name]}: minikafka serves PLAINTEXT"
            )
        found.append(Endpoint(name, parts[2], parse_int(parts[3])))
    return found


def _pairs(entries: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    return (entry.partition(":") for entry in entries)
