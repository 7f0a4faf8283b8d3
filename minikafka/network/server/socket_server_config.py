"""The settings of a broker's sockets."""

from collections.abc import Iterable, Mapping

from minikafka.common.abstract_config import AbstractConfig
from minikafka.common.config_def import ConfigDef, ConfigKey, Range, Type
from minikafka.common.endpoint import SECURITY_PROTOCOLS, Endpoint
from minikafka.common.errors import ConfigException, IllegalArgumentException, NumberFormatException
from minikafka.common.java.java_numbers import INT_MAX, parse_int

_FAILED_AUTHENTICATION_DELAY_MS = 100  # Kafka's default of a setting that is left out here
_OF_A_LISTENER = "listener.name.{}.max.connections"

CONFIG = ConfigDef(
    [
        ConfigKey("listeners", Type.LIST, ["PLAINTEXT://localhost:9092"]),
        ConfigKey("listener.security.protocol.map", Type.LIST, []),
        ConfigKey("inter.broker.listener.name", Type.STRING, None),
        ConfigKey("socket.send.buffer.bytes", Type.INT, 100 * 1024),
        ConfigKey("socket.receive.buffer.bytes", Type.INT, 100 * 1024),
        ConfigKey("socket.request.max.bytes", Type.INT, 100 * 1024 * 1024, Range(1)),
        ConfigKey("socket.listen.backlog.size", Type.INT, 50, Range(1)),
        ConfigKey("max.connections.per.ip", Type.INT, INT_MAX, Range(0)),
        ConfigKey("max.connections.per.ip.overrides", Type.STRING, ""),
        ConfigKey("max.connections", Type.INT, INT_MAX, Range(0)),
        ConfigKey("connections.max.idle.ms", Type.LONG, 10 * 60 * 1000),
        ConfigKey("queued.max.request.bytes", Type.LONG, -1),
    ]
)
"""Kafka: `SocketServerConfigs.CONFIG_DEF`, but for the default of `listeners`: there it is all addresses, here this
machine's own. Threads, queues, rates of connections and authentication are left out.
"""


class SocketServerConfig(AbstractConfig):
    """The settings of a broker's sockets, by Kafka's names. Sizes are in bytes, times in ms."""

    def __init__(self, props: Mapping[str, object]):
        """Parse `props`, text or values by name; names of other settings are ignored.

        Raises ConfigException, KafkaException for listeners that cannot be parsed, and IllegalArgumentException for
        settings that contradict each other.
        """
        super().__init__(CONFIG, props)
        self.endpoints = _endpoints(self.get_list("listeners"), self.get_list("listener.security.protocol.map"))
        """Kafka: `AbstractKafkaConfig.listeners`."""
        given = self.values["inter.broker.listener.name"]
        self.inter_broker_listener_name = str(given).upper() if given is not None else "PLAINTEXT"
        self.max_connections_per_ip_overrides = _overrides(self.get_string("max.connections.per.ip.overrides"))
        """By IP address or host name. Kafka: `KafkaConfig.maxConnectionsPerIpOverrides`."""
        self.max_connections_of_listener = {
            endpoint.listener_name: _number(props, _OF_A_LISTENER.format(endpoint.listener_name.lower()))
            for endpoint in self.endpoints
        }
        """Kafka: `ListenerConnectionQuota.maxConnections`."""
        self._check()

    def _check(self) -> None:
        """Kafka: `KafkaConfig.validateValues`, what concerns sockets."""
        names = [endpoint.listener_name for endpoint in self.endpoints]
        if not names or len(set(names)) < len(names):
            raise IllegalArgumentException(
                f"Each listener must have a different name, listeners: {','.join(self.get_list('listeners'))}"
            )
        queued = self.get_int("queued.max.request.bytes")
        if 0 < queued < self.get_int("socket.request.max.bytes"):
            raise IllegalArgumentException(
                "requirement failed: queued.max.request.bytes must be larger or equal to socket.request.max.bytes"
            )
        if self.get_int("max.connections.per.ip") == 0 and not self.max_connections_per_ip_overrides:
            raise IllegalArgumentException(
                "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides"
                " property is set."
            )
        max_idle = self.get_int("connections.max.idle.ms")
        if 0 <= max_idle <= _FAILED_AUTHENTICATION_DELAY_MS:
            raise IllegalArgumentException(
                f"requirement failed: connection.failed.authentication.delay.ms={_FAILED_AUTHENTICATION_DELAY_MS} "
                f"should always be less than connections.max.idle.ms={max_idle} to prevent failed authentication "
                "responses from timing out"
            )


def _endpoints(listeners: Iterable[str], security_protocol_map: Iterable[str]) -> list[Endpoint]:
    """The listeners, in their order. Raises what `Endpoint.parse` raises; IllegalArgumentException for SSL or SASL."""
    protocols = {name: name for name in SECURITY_PROTOCOLS}
    for name, _, protocol in (entry.partition(":") for entry in security_protocol_map):
        protocols[name.strip().upper()] = protocol.strip()
    endpoints = [Endpoint.parse(text, protocols) for text in listeners]
    for name in (endpoint.listener_name for endpoint in endpoints):
        if protocols[name] != "PLAINTEXT":
            raise IllegalArgumentException(
                f"Listener {name} would have the security protocol {protocols[name]}: minikafka serves PLAINTEXT"
            )
    return endpoints


def _overrides(text: str) -> dict[str, int]:
    """The numbers of `host:number,host:number`. Raises ConfigException."""
    found = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        host, _, number = entry.rpartition(":")
        try:
            found[host.strip()] = parse_int(number.strip())
        except NumberFormatException:
            host = ""
        if not host:
            raise ConfigException(f"Invalid value {text} for configuration max.connections.per.ip.overrides")
    return found


def _number(props: Mapping[str, object], name: str) -> int:
    definition = ConfigDef([ConfigKey(name, Type.INT, INT_MAX, Range(0))])
    number = definition.parse(props)[name]
    assert isinstance(number, int)
    return number
