"""Which settings of a broker Kafka refuses: each by itself, and those that contradict each other."""

import functools
import re
from collections.abc import Mapping
from typing import Any

from minikafka.common.config_def import NO_DEFAULT_VALUE, ConfigDef
from minikafka.common.errors import ConfigException, IllegalArgumentException
from minikafka.common.java.java_numbers import parse_int
from minikafka.log.manager.broker_settings import log_settings
from minikafka.metadata.kafka_config_def import kafka_config_def, voter_hosts
from minikafka.metadata.kafka_listeners import ANY_HOST, KafkaListeners, csv_map

_HOST = re.compile(r"[0-9a-zA-Z\-%._:]*", re.ASCII)
_BROKER, _CONTROLLER = "broker", "controller"
_ROLES, _NAMES = "process.roles", "controller.listener.names"
_VOTERS, _BOOTSTRAP_SERVERS = "controller.quorum.voters", "controller.quorum.bootstrap.servers"
_OVERRIDES = "max.connections.per.ip.overrides"
_CORDONED = "cordoned.log.dirs"
_CODECS = range(5)  # ids of codecs, none to zstd
_MIB = 1024 * 1024


def require_valid(settings: Mapping[str, object]) -> None:
    """Refuse settings of a broker with which Kafka would not start; names that Kafka does not know are ignored.

    A setting that is missing has Kafka's default. Settings without one (`node.id`, `process.roles`,
    `controller.listener.names`) may be missing here: these are then some settings of a broker, and whether they suit
    its role is not asked.

    Not seen: classes that are not there, and what depends on the machine.

    Raises ConfigException, KafkaException and IllegalArgumentException. Kafka: `KafkaConfig`.
    """
    given = _with_both_ids(settings)
    values = _parsed(given)
    _check_ids(values)
    _check_groups(values)
    _check_logs(values, given)
    _check_replication(values)
    _check_sockets(values)
    _check_listeners(values, given)


def _with_both_ids(settings: Mapping[str, object]) -> dict[str, object]:
    """Kafka: `AbstractKafkaConfig.populateSynonyms`."""
    ids = [settings[name] for name in ("node.id", "broker.id") if name in settings]
    return {**({"node.id": ids[0], "broker.id": ids[-1]} if ids else {}), **settings}


def _parsed(given: Mapping[str, object]) -> dict[str, Any]:
    """All settings; a missing one without a default is None."""
    keys = kafka_config_def().config_keys.values()
    missing = tuple(key.name for key in keys if key.default is NO_DEFAULT_VALUE and key.name not in given)
    return {**_without(missing).parse(given), **dict.fromkeys(missing)}


@functools.cache
def _without(missing: tuple[str, ...]) -> ConfigDef:
    return ConfigDef(key for key in kafka_config_def().config_keys.values() if key.name not in missing)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise IllegalArgumentException(f"requirement failed: {why}")


def _roles(values: Mapping[str, Any]) -> set[str]:
    """The roles; none where something is missing that has no default."""
    is_whole = None not in (values["node.id"], values[_ROLES], values[_NAMES])
    return set(values[_ROLES]) if is_whole else set()


def _check_ids(values: Mapping[str, Any]) -> None:
    if values["node.id"] is not None and values["node.id"] != values["broker.id"]:
        raise ConfigException("You must set `node.id` to the same value as `broker.id`.")


def _check_groups(values: Mapping[str, Any]) -> None:
    """What Kafka checks in the settings of the coordinators of groups and share groups."""

    def check(holds: bool, why: str) -> None:
        """Kafka: `Utils.require`, whose words are the reason alone."""
        if not holds:
            raise IllegalArgumentException(why)

    def not_below(larger: str, smaller: str) -> None:
        check(values[larger] >= values[smaller], f"{larger} must be greater than or equal to {smaller}")

    def not_above(smaller: str, larger: str) -> None:
        check(values[smaller] <= values[larger], f"{smaller} must be less than or equal to {larger}")

    for group in ("group.consumer", "group.share", "group.streams"):
        for what in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"):
            not_below(f"{group}.max.{what}", f"{group}.min.{what}")
            not_below(f"{group}.{what}", f"{group}.min.{what}")
            not_above(f"{group}.{what}", f"{group}.max.{what}")
        heartbeat, session = f"{group}.heartbeat.interval.ms", f"{group}.session.timeout.ms"
        check(values[heartbeat] < values[session], f"{heartbeat} must be less than {session}")
    for what in ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms"):
        not_below(f"group.share.max.{what}", f"group.share.{what}")
        not_below(f"group.share.{what}", f"group.share.min.{what}")
    not_above("group.streams.num.standby.replicas", "group.streams.max.standby.replicas")
    not_below("group.share.max.share.sessions", "group.share.max.size")
    assignors = values["group.share.assignors"]
    check(len(assignors) == 1, f"group.share.assignors must contain exactly one assignor, but found {len(assignors)}")
    for setting in ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"):
        if values[setting] not in _CODECS:
            raise IllegalArgumentException(f"{setting}: Unknown compression type id: {values[setting]}")
    if "classic" not in values["group.coordinator.rebalance.protocols"]:
        raise ConfigException("Disabling the 'CLASSIC' protocol is not supported.")


def _check_logs(values: Mapping[str, Any], given: Mapping[str, object]) -> None:
    log_settings(given)
    threads, buffer = values["log.cleaner.threads"], values["log.cleaner.dedupe.buffer.size"]
    _require(threads > 0, "log.cleaner.threads must be at least 1, because Kafka divides by it")
    _require(buffer // threads > _MIB, "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
    if _BROKER in _roles(values):
        require_cordoned_among_log_dirs(values)


def require_cordoned_among_log_dirs(values: Mapping[str, Any]) -> None:
    """Refuse `cordoned.log.dirs` that are no log directories. `values`: all settings of a broker.

    Raises IllegalArgumentException. Kafka: `KafkaConfig.validateCordonedLogDirs`.
    """
    cordoned = values[_CORDONED] or []
    if "*" in cordoned:
        _require(len(cordoned) == 1, f"When {_CORDONED} is set to *, it must not contain other values")
        return
    log_dirs = values["log.dir"] if values["log.dirs"] is None else values["log.dirs"]
    missing = ", ".join(each for each in cordoned if each not in log_dirs)
    _require(
        not missing, f"All entries in {_CORDONED} must be present in log.dirs or log.dir. Missing entries : {missing}"
    )


def _check_replication(values: Mapping[str, Any]) -> None:
    wait = values["replica.fetch.wait.max.ms"]
    _require(
        wait <= values["replica.socket.timeout.ms"],
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket"
        " timeouts",
    )
    _require(
        wait <= values["replica.lag.time.max.ms"],
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent"
        " changes in ISR",
    )


def _check_sockets(values: Mapping[str, Any]) -> None:
    queued = values["queued.max.request.bytes"]
    _require(
        queued <= 0 or queued >= values["socket.request.max.bytes"],
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    overrides = csv_map(_OVERRIDES, values[_OVERRIDES])
    for host, number in overrides.items():
        parse_int(number)
        if not _HOST.fullmatch(host):
            raise IllegalArgumentException(f"{_OVERRIDES} contains invalid addresses : {host}")
    _require(
        values["max.connections.per.ip"] != 0 or bool(overrides),
        f"max.connections.per.ip can be set to zero only if {_OVERRIDES} property is set.",
    )
    delay, max_idle = values["connection.failed.authentication.delay.ms"], values["connections.max.idle.ms"]
    _require(
        max_idle < 0 or delay < max_idle,
        f"connection.failed.authentication.delay.ms={delay} should always be less than connections.max.idle.ms="
        f"{max_idle} to prevent failed authentication responses from timing out",
    )


def _check_listeners(values: Mapping[str, Any], given: Mapping[str, object]) -> None:
    listeners = KafkaListeners(values, given)
    names = {each.listener_name for each in listeners.all}
    early = {name.strip() for name in values["early.start.listeners"] or []}
    if unknown := early - names:
        raise ConfigException(
            f"early.start.listeners contains listener {sorted(unknown)[0]}, but this is not contained in listeners or"
            f" {_NAMES}"
        )
    roles, voters = _roles(values), voter_hosts(values[_VOTERS])
    of_controllers = listeners.advertised_of_controllers(voters)
    if roles and not voters and not values[_BOOTSTRAP_SERVERS]:
        raise ConfigException(
            f"If using {_ROLES}, either {_BOOTSTRAP_SERVERS} must contain the set of bootstrap controllers or {_VOTERS}"
            " must contain a parseable set of controllers."
        )
    if _CONTROLLER in roles:
        _check_controller(roles, voters, values, listeners)
    elif roles:
        _check_broker_alone(voters, values, listeners)
    inter_broker, protocol = listeners.inter_broker()
    if _BROKER in roles:
        advertised = {each.listener_name for each in listeners.advertised_of_brokers}
        _require(bool(advertised), "There must be at least one broker advertised listener.")
        _require(
            inter_broker in advertised,
            "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options"
            f" based on currently configured listeners are {','.join(sorted(advertised))}",
        )
        _require(
            advertised <= names,
            "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners."
            f" Found {','.join(sorted(advertised))}.",
        )
    _require(
        all(each.host != ANY_HOST for each in (*listeners.advertised_of_brokers, *of_controllers)),
        f"advertised.listeners cannot use the nonroutable meta-address {ANY_HOST}. Use a routable IP address.",
    )
    _require(
        not protocol.startswith("SASL")
        or values["sasl.mechanism.inter.broker.protocol"] in values["sasl.enabled.mechanisms"],
        "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used for"
        " inter-broker communication",
    )


def _check_controller(
    roles: set[str], voters: Mapping[int, str], values: Mapping[str, Any], listeners: KafkaListeners
) -> None:
    names, node_id = {each.listener_name for each in listeners.all}, values["node.id"]
    of_controllers = listeners.advertised_of_controllers(voters)
    _require(
        not voters or node_id in voters,
        f"If {_ROLES} contains the 'controller' role, the node id {node_id} must be included in the set of voters"
        f" {_VOTERS}",
    )
    _require(
        bool(of_controllers),
        f"{_NAMES} must contain at least one value appearing in the 'listeners' configuration when running the KRaft"
        " controller role",
    )
    _require(
        set(listeners.controller_names) <= names,
        f"{_NAMES} must only contain values appearing in the 'listeners' configuration when running the KRaft"
        " controller role",
    )
    if _BROKER in roles:
        return
    _require(
        len(of_controllers) == len(listeners.all),
        f"The listeners config must only contain KRaft controller listeners from {_NAMES} when {_ROLES}=controller",
    )
    _require(
        values["inter.broker.listener.name"] is None or listeners.inter_broker()[0] not in listeners.controller_names,
        f"{_NAMES} must not contain an explicitly set inter.broker.listener.name configuration value when {_ROLES}="
        "controller",
    )


def _check_broker_alone(voters: Mapping[int, str], values: Mapping[str, Any], listeners: KafkaListeners) -> None:
    _require(
        values["node.id"] not in voters,
        f"If {_ROLES} contains just the 'broker' role, the node id {values['node.id']} must not be included in the set"
        f" of voters {_VOTERS}",
    )
    _require(
        not listeners.of_controllers,
        f"{_NAMES} must not contain a value appearing in the 'listeners' configuration when running KRaft with just the"
        " broker role",
    )
    if unmapped := {name.upper() for name in listeners.controller_names} - listeners.protocols.keys():
        raise ConfigException(
            f"Controller listener with name {sorted(unmapped)[0]} defined in {_NAMES} not found in"
            " listener.security.protocol.map"
        )
    _require(
        not values["controller.quorum.auto.join.enable"],
        f"controller.quorum.auto.join.enable is only supported when {_ROLES} contains the 'controller' role.",
    )
