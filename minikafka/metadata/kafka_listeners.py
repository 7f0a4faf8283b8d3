"""The listeners in a broker's settings, with their security protocols, as Kafka reads them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import cast

from minikafka.common.endpoint import SECURITY_PROTOCOLS, Endpoint, normalised_listener_name
from minikafka.common.errors import (
    ConfigException,
    IllegalArgumentException,
    KafkaException,
)

ANY_HOST = "0.0.0.0"
_MAP = "listener.security.protocol.map"
_NAME, _PROTOCOL = "inter.broker.listener.name", "security.inter.broker.protocol"


class KafkaListeners:
    """What the settings `values`, parsed, of which `given` stand in the file, say of listeners.

    Kafka: `AbstractKafkaConfig`, its methods that concern listeners.
    """

    def __init__(self, values: Mapping[str, object], given: Iterable[str]):
        """Raises ConfigException, KafkaException for what is no listener, IllegalArgumentException."""
        self._values = values
        self._given = set(given)
        self.controller_names = cast(list[str], values["controller.listener.names"] or [])
        self.protocols = self._effective_protocols()
        """By the names of listeners. Kafka: `AbstractKafkaConfig.effectiveListenerSecurityProtocolMap`."""
        self.all = self._endpoints("listeners", distinct_ports=True)
        """Kafka: `KafkaConfig.listeners`."""
        advertised = values["advertised.listeners"]
        self.advertised = self.all if advertised is None else self._endpoints("advertised.listeners")
        self.of_controllers = [each for each in self.all if each.listener_name in self.controller_names]
        """Kafka: `KafkaConfig.controllerListeners`."""
        self.advertised_of_brokers = [
            each for each in self.advertised if each.listener_name not in self.controller_names
        ]
        """Kafka: `KafkaConfig.effectiveAdvertisedBrokerListeners`."""

    def advertised_of_controllers(self, voters: Mapping[int, str]) -> list[Endpoint]:
        """The listener of each of the controllers' names that has one; `voters`: the hosts in the quorum, by ids.

        Raises ConfigException where the host of a voter is needed, and one of them is 0.0.0.0.
        Kafka: `KafkaConfig.effectiveAdvertisedControllerListeners`.
        """
        advertised = self.advertised if self._values["advertised.listeners"] is not None else []
        told = {each.listener_name: each for each in advertised if each.listener_name in self.controller_names}
        own = {each.listener_name: each for each in self.of_controllers}
        found = []
        for number, name in enumerate(map(normalised_listener_name, self.controller_names)):
            if name in told:
                found.append(told[name])
            elif name in own:
                if number == 0 and own[name].host in ("", ANY_HOST) and ANY_HOST in voters.values():
                    raise ConfigException(f"Host string ({ANY_HOST}) is not routeable")
                found.append(replace(own[name], host=own[name].host.replace(ANY_HOST, "")))
        return found

    def inter_broker(self) -> tuple[str, str]:
        """The name of the listener for other brokers, and its protocol. Raises ConfigException.

        Kafka: `AbstractKafkaConfig.interBrokerListenerNameAndSecurityProtocol`.
        """
        name = self._values[_NAME]
        if name is None:
            protocol = str(self._values[_PROTOCOL])
            return protocol, protocol
        if _PROTOCOL in self._given:
            raise ConfigException(f"Only one of {_NAME} and {_PROTOCOL} should be set.")
        normalised = normalised_listener_name(str(name))
        if normalised not in self.protocols:
            raise ConfigException(f"Listener with name {normalised} defined in {_NAME} not found in {_MAP}.")
        return normalised, self.protocols[normalised]

    def _effective_protocols(self) -> dict[str, str]:
        protocols = {}
        for name, protocol in csv_map(_MAP, str(self._values[_MAP])).items():
            if protocol not in SECURITY_PROTOCOLS:
                raise ConfigException(f"Invalid security protocol `{protocol}` defined in {_MAP}")
            if (normalised := normalised_listener_name(name)) in protocols:
                raise IllegalArgumentException(f"Duplicate key {normalised} in {_MAP}")
            protocols[normalised] = protocol
        if _MAP in self._given:
            return protocols
        secured = set(SECURITY_PROTOCOLS) - {"PLAINTEXT"}
        if secured & {*self.controller_names, *map(_name_of, cast(list[str], self._values["listeners"]))}:
            return protocols
        return protocols | dict.fromkeys((name for name in self.controller_names if name != "PLAINTEXT"), "PLAINTEXT")

    def _endpoints(self, setting: str, *, distinct_ports: bool = False) -> list[Endpoint]:
        """Kafka: `AbstractKafkaConfig.listenerListToEndPoints`."""
        texts = cast(list[str], self._values[setting])
        found = [Endpoint.parse(text, self.protocols) for text in texts]
        if len({each.listener_name for each in found}) < len(found):
            raise IllegalArgumentException(f"Each listener must have a different name, {setting}: {','.join(texts)}")
        by_port: dict[int, list[Endpoint]] = defaultdict(list)
        for each in found:
            by_port[each.port].append(each)
        for port, sharing in by_port.items():
            if distinct_ports and port != 0 and len(sharing) > 1 and not _are_of_both_kinds(sharing):
                raise IllegalArgumentException(
                    f"Each listener must have a different port unless exactly one listener has an IPv4 address and the"
                    f" other IPv6 address, {setting}: {','.join(texts)}, port: {port}"
                )
        return found


def csv_map(setting: str, text: str) -> dict[str, str]:
    """`key:value` pairs, between commas; the last colon of a pair counts. Raises IllegalArgumentException.

    Kafka: `AbstractKafkaConfig.getMap`.
    """
    pairs = re.split(r"\s*,\s*", text) if text else []
    while pairs and not pairs[-1]:  # Java's `split` drops what is empty at the end
        pairs.pop()
    found = {}
    for pair in pairs:
        key, colon, value = pair.rpartition(":")
        if not colon:
            cause = f"begin 0, end -1, length {len(pair)}"  # of the index that Java does not find
            raise IllegalArgumentException(f"Error parsing configuration property '{setting}': {cause}")
        found[key.strip()] = value.strip()
    return found


def _name_of(listener: str) -> str:
    name, colon, _ = listener.partition(":")
    if not colon:
        raise KafkaException(f"Unable to parse a listener name from {listener}")
    return name.upper()


def _are_of_both_kinds(endpoints: list[Endpoint]) -> bool:
    """Whether these are two, one with an IPv4 address and one with an IPv6 address: they may share a port."""
    return {type(_address(each.host)) for each in endpoints} == {IPv4Address, IPv6Address} and len(endpoints) == 2


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
