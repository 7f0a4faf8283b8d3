"""The settings of a broker with what was changed while it ran: which of several values counts, and what may change."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import cast

from minikafka.common.config_def import ConfigDef, Type, convert_to_string, invalid_value
from minikafka.common.errors import ConfigException, IllegalArgumentException
from minikafka.common.java.java_concurrent_hash_map import in_order_of_concurrent_hash_map
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.common.kafka_settings import KafkaSetting, config_key, kafka_definition, kafka_settings
from minikafka.log.manager.broker_settings import TOPIC_CONFIG_SYNONYMS, log_settings
from minikafka.metadata.kafka_config import require_cordoned_among_log_dirs
from minikafka.server.broker_config import BrokerConfig

logger = logging.getLogger(__name__)

_SYNONYMS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FLUSH_SYNONYMS = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
_OF_A_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_OF_A_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
_OF_ALL_LISTENERS = frozenset({"max.connections", "max.connection.creation.rate", "num.network.threads"})
_THREADS = ("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads")
_CONNECTIONS = ("max.connections", "max.connection.creation.rate")
_CORDONED = "cordoned.log.dirs"
_LOG_CONFIGS = frozenset({*TOPIC_CONFIG_SYNONYMS.values(), _CORDONED})
_REMOTE_BYTES = (
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.fetch.max.bytes.per.second",
)
_FOLLOWER_THREADS, _REMOTE_LOG_THREADS = (
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.manager.thread.pool.size",
)
_REMOTE_THREADS = (
    "remote.log.reader.threads",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    _FOLLOWER_THREADS,
)
_REMOTE_CONFIGS = frozenset(
    {
        *_REMOTE_BYTES,
        *_REMOTE_THREADS,
        "remote.fetch.max.wait.ms",
        "remote.list.offsets.request.timeout.ms",
    }
)
_CLEANER_CONFIGS = frozenset(
    {
        "log.cleaner.threads",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "message.max.bytes",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.backoff.ms",
    }
)
_KAFKAS_PACKAGE = "org.apache.kafka."
_JAVA_CLASS = "org.apache.kafka.common.config.ConfigException"


class DynamicBrokerConfig:
    """A broker's settings, in the order in which they count.

    1. those of this broker alone, changed while it ran; 2. those of all brokers, changed likewise; 3. those that it was
    started with; 4. Kafka's defaults. A setting with synonyms (`log.roll.ms`, `log.roll.hours`) that was changed hides
    all of these from below.

    Simpler than Kafka: every setting that Kafka lets change is kept, told and checked by its type and limits, but only
    those of logs take effect; no password is encoded.

    Kafka: `kafka.server.DynamicBrokerConfig`, `org.apache.kafka.server.config.DynamicBrokerConfig`.
    """

    def __init__(self, config: BrokerConfig, on_update: Callable[[BrokerConfig], object] = lambda config: None):
        """`config`: what the broker was started with; `on_update` is told of the settings after each change."""
        self.static_broker_configs = _texts(_populate_synonyms(config.originals))
        """What the broker was started with. Kafka: `DynamicBrokerConfig.staticBrokerConfigs`."""
        self.current_dynamic_broker_configs: Mapping[str, str] = {}
        """Changed for this broker. Kafka: `DynamicBrokerConfig.currentDynamicBrokerConfigs`."""
        self.current_dynamic_default_configs: Mapping[str, str] = {}
        """Changed for all brokers. Kafka: `DynamicBrokerConfig.currentDynamicDefaultConfigs`."""
        self.broker_id = config.broker_id
        self._originals: Mapping[str, str] = self.static_broker_configs
        self._on_update = on_update

    @property
    def originals(self) -> Mapping[str, str]:
        """All that is set, by name: of several values the one that counts. Kafka: `KafkaConfig.originals`."""
        return self._originals

    @property
    def values(self) -> dict[str, object]:
        """The value of every setting that Kafka has. Raises ConfigException. Kafka: `KafkaConfig.values`."""
        return kafka_definition("broker").parse(self._originals)

    @property
    def config(self) -> BrokerConfig:
        """The settings that a broker reads here. Kafka: `DynamicBrokerConfig.currentKafkaConfig`."""
        return BrokerConfig(self._originals)

    def update_broker_config(self, persistent_props: Mapping[str, str]) -> None:
        """Take what is set for this broker now. Kafka: `DynamicBrokerConfig.updateBrokerConfig`."""
        self.current_dynamic_broker_configs = from_persistent_props(persistent_props, per_broker_config=True)
        self._update_current_config()

    def update_default_config(self, persistent_props: Mapping[str, str]) -> None:
        """Take what is set for all brokers now. Kafka: `DynamicBrokerConfig.updateDefaultConfig`."""
        self.current_dynamic_default_configs = from_persistent_props(persistent_props, per_broker_config=False)
        self._update_current_config()

    def validate(self, props: Mapping[str, str], *, per_broker_config: bool) -> None:
        """Refuse `props` as all that is set for this broker, or for all brokers.

        Raises ConfigException and IllegalArgumentException. Kafka: `DynamicBrokerConfig.validate`.
        """
        _validate_configs(props, per_broker_config)
        originals = dict(self.static_broker_configs)
        if per_broker_config:
            _override_props(originals, self.current_dynamic_default_configs)
            _override_props(originals, props)
        else:
            _override_props(originals, props)
            _override_props(originals, self.current_dynamic_broker_configs)
        self._process_reconfiguration(originals)

    def _update_current_config(self) -> None:
        """Kafka: `DynamicBrokerConfig.updateCurrentConfig`. What cannot be applied is logged, and nothing changes."""
        originals = dict(self.static_broker_configs)
        _override_props(originals, self.current_dynamic_default_configs)
        _override_props(originals, self.current_dynamic_broker_configs)
        _clamp(originals)
        try:
            config = self._process_reconfiguration(originals)
        except (ConfigException, IllegalArgumentException):
            logger.exception("Dynamic configs of broker %d could not be applied", self.broker_id)
            return
        if originals != self._originals:
            self._originals = originals
            self._on_update(config)

    def _process_reconfiguration(self, originals: Mapping[str, str]) -> BrokerConfig:
        """The new settings, if everybody concerned can live with them.

        Kafka: `DynamicBrokerConfig.processReconfiguration`.
        """
        values = kafka_definition("broker").parse(originals)
        if values["log.cleaner.threads"] == 0:
            raise IllegalArgumentException("/ by zero")  # in these words, since Kafka divides by it
        config = BrokerConfig(originals)
        config.log_config()
        config.cleaner_config()
        require_cordoned_among_log_dirs(values)
        try:
            _validate_reconfiguration(_Change(self._originals, originals))
        except ConfigException as error:
            cause = f"{_JAVA_CLASS}: {error}"
            raise ConfigException(f"Invalid value {cause} for configuration Invalid dynamic configuration") from error
        return config


def broker_config_synonyms(name: str, *, match_listener_override: bool) -> tuple[str, ...]:
    """The settings that mean the same as `name`, which is among them; the first one that is set counts.

    With `match_listener_override` a setting of one listener is followed by that of all.
    Kafka: `DynamicBrokerConfig.brokerConfigSynonyms`.
    """
    for synonyms in _SYNONYMS:
        if name in synonyms:
            return synonyms
    if name == _FLUSH_SYNONYMS[0]:
        return _FLUSH_SYNONYMS
    if match_listener_override and (base := _base_name(name)) != name:
        return name, next((config for config in _OF_A_MECHANISM if base.endswith(config)), base)
    return (name,)


def known_broker_setting(name: str) -> KafkaSetting | None:
    """What Kafka says of a broker's setting, that of all listeners for one of a single listener; None for no setting.

    Kafka: `KafkaConfig.configType`.
    """
    for synonym in (name, *broker_config_synonyms(name, match_listener_override=True)):
        for owner in ("broker", "quota"):
            if (setting := kafka_settings(owner).get(synonym)) is not None:
                return setting
    return None


def from_persistent_props(props: Mapping[str, str], *, per_broker_config: bool) -> dict[str, str]:
    """Those of `props`, as the metadata log has them, that can be applied; the others are logged.

    Kafka: `DynamicBrokerConfig.fromPersistentProps`.
    """
    invalid = {name for name, value in props.items() if not _is_valid(name, value)}
    invalid.update(_non_dynamic_configs(props), _security_configs_without_listener_prefix(props))
    if not per_broker_config:
        invalid.update(_per_broker_configs(props))
    if invalid:
        logger.error("Dynamic configs of brokers that cannot be applied will be ignored: %s", sorted(invalid))
    return {name: value for name, value in props.items() if name not in invalid}


def _populate_synonyms(originals: Mapping[str, object]) -> dict[str, object]:
    """Kafka: `AbstractKafkaConfig.populateSynonyms`."""
    return {**originals, "broker.id": originals["node.id"]}


def _texts(props: Mapping[str, object]) -> dict[str, str]:
    return {name: cast(str, convert_to_string(value)) for name, value in props.items() if value is not None}


def _override_props(props: dict[str, str], override: Mapping[str, str]) -> None:
    """Put `override` on top; synonyms of what it sets are gone. Kafka: `DynamicBrokerConfig.overrideProps`."""
    for name, value in override.items():
        for synonym in broker_config_synonyms(name, match_listener_override=False):
            props.pop(synonym, None)
        props[name] = value


def _base_name(name: str) -> str:
    """The setting of all listeners, for one of a single listener."""
    of_a_listener = _OF_A_LISTENER.fullmatch(name)
    return name if of_a_listener is None else of_a_listener[1]


# What may be changed


def _validate_configs(props: Mapping[str, str], per_broker_config: bool) -> None:
    """Kafka: `DynamicBrokerConfig.validateConfigs`."""
    names = in_javas_order(in_order_of_concurrent_hash_map(props))  # Java's `Properties` are in a map of this kind
    _check_none(_non_dynamic_configs(names), "Cannot update these configs dynamically", left_of=len(names))
    _check_none(
        _security_configs_without_listener_prefix(props),
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )
    _validate_config_types(props)
    if not per_broker_config:
        _check_none(
            _per_broker_configs(names),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def _check_none(names: Iterable[str], message: str, *, left_of: int = 0) -> None:
    if in_order := in_javas_order(names, left_of=left_of):
        raise ConfigException(f"{message}: [{', '.join(in_order)}]")


def _validate_config_types(props: Mapping[str, str]) -> None:
    """Refuse values of another type, and classes that are not Kafka's own, since no others are there.

    Kafka: `DynamicBrokerConfig.validateConfigTypes`, `ConfigDef.parseType`.
    """
    of_all_listeners = {_base_name(name): value for name, value in props.items()}
    _dynamic_definition().parse(of_all_listeners)
    for name, value in of_all_listeners.items():
        setting = kafka_settings("broker").get(name)
        if setting is not None and setting.type is Type.CLASS and not value.strip().startswith(_KAFKAS_PACKAGE):
            raise invalid_value(name, value.strip(), f"Class {value.strip()} could not be found.")


def _is_valid(name: str, value: str) -> bool:
    try:
        _validate_config_types({name: value})
    except ConfigException:
        return False
    return True


@cache
def _dynamic_definition() -> ConfigDef:
    """The settings that can be changed. Kafka: `DynamicConfig.Broker.BROKER_CONFIGS`."""
    dynamic = [setting for setting in kafka_settings("broker").values() if setting.update]
    return ConfigDef(map(config_key, [*kafka_settings("quota").values(), *dynamic]))


def _non_dynamic_configs(props: Iterable[str]) -> list[str]:
    known = kafka_settings("broker")
    return [name for name in props if name in known and not known[name].update]


def _security_configs_without_listener_prefix(props: Iterable[str]) -> list[str]:
    """Kafka: `DynamicBrokerConfig.securityConfigsWithoutListenerPrefix`, `SslConfigs.RECONFIGURABLE_CONFIGS`."""
    stores = ("ssl.keystore.", "ssl.truststore.")
    return [name for name in props if name == "ssl.key.password" or name.startswith(stores)]


def _per_broker_configs(props: Iterable[str]) -> list[str]:
    """Kafka: `DynamicBrokerConfig.perBrokerConfigs`."""
    known = kafka_settings("broker")
    return [
        name
        for name in props
        if (name in known and known[name].update == "per-broker")
        or (_base_name(name) != name and _base_name(name) not in _OF_ALL_LISTENERS)
    ]


def _clamp(originals: dict[str, str]) -> None:
    """Bring times of groups between their limits. Kafka: `GroupCoordinatorConfig.clampDynamicConfigs`."""
    values = kafka_definition("broker").parse(originals)
    for group in ("consumer", "share", "streams"):
        name = f"group.{group}.assignment.interval.ms"
        if name in originals:
            least, most = (
                cast(int, values[f"group.{group}.{which}.assignment.interval.ms"]) for which in ("min", "max")
            )
            originals[name] = str(min(max(cast(int, values[name]), least), most))


# What the parts of a broker refuse


class _Change:
    """The settings before and after a change."""

    def __init__(self, current: Mapping[str, str], new: Mapping[str, str]):
        self._current, self._new = current, new
        self._old_values = kafka_definition("broker").parse(current)
        self.new_values = kafka_definition("broker").parse(new)
        self.updated = sorted(name for name in new if current.get(name) != new[name])
        self._changed = {*self.updated, *(current.keys() - new.keys())}

    def has(self, names: Iterable[str]) -> bool:
        """Whether one of these is set, set otherwise, or no longer set.

        Kafka: `kafka.server.DynamicBrokerConfig.needsReconfiguration`.
        """
        return not self._changed.isdisjoint(names)

    def integers(self, name: str) -> tuple[int, int]:
        """The value before, and after."""
        return cast(int, self._old_values[name]), cast(int, self.new_values[name])

    def of_listener(self, listener: str) -> "_Change":
        """The settings as one listener has them. Kafka: `AbstractConfig.valuesWithPrefixOverride`."""
        prefix = f"listener.name.{listener.lower()}."

        def override(settings: Mapping[str, str]) -> dict[str, str]:
            own = {name[len(prefix) :]: value for name, value in settings.items() if name.startswith(prefix)}
            return {**settings, **own}

        return _Change(override(self._current), override(self._new))

    def check_threads(self, name: str) -> None:
        """Refuse less than half as many threads as before, and more than twice as many.

        Kafka: `DynamicThreadPool.validateReconfiguration`, `DataPlaneAcceptor.validateReconfiguration`.
        """
        old, value = self.integers(name)
        if name == _FOLLOWER_THREADS and name not in self._current:
            old, _ = self.integers(_REMOTE_LOG_THREADS)
        message = f"Dynamic thread count update validation failed for {name}={value}, value should"
        if value != old and value < old // 2:
            raise ConfigException(f"{message} be at least half the current value {old}")
        if value > old * 2:
            raise ConfigException(f"{message} not be greater than double the current value {old}")


def _validate_reconfiguration(change: _Change) -> None:
    """Refuse what the parts of a broker refuse. Raises ConfigException.

    Kafka: `kafka.server.DynamicBrokerConfig.processReconfiguration`.
    """
    for listener in cast(list[str], change.new_values["listeners"]):
        _validate_listener(change.of_listener(listener.partition(":")[0]))
    if change.has(["metric.reporters"]):
        _validate_reporters(change)
    if change.has(_THREADS):
        for name in _THREADS:
            change.check_threads(name)
    if change.has(_LOG_CONFIGS):
        _validate_local_retention(change.new_values)
    if change.has(_REMOTE_CONFIGS):
        _validate_remote_log(change)
    if change.has(_CLEANER_CONFIGS):
        _validate_cleaner(change)


def _validate_listener(change: _Change) -> None:
    """Kafka: `DataPlaneAcceptor.validateReconfiguration`, `ListenerConnectionQuota.validateReconfiguration`."""
    change.check_threads("num.network.threads")
    if change.has(_CONNECTIONS):
        for name in _CONNECTIONS:
            if cast(int, change.new_values[name]) <= 0:
                raise ConfigException(f"Invalid {name} {change.new_values[name]}")


def _validate_reporters(change: _Change) -> None:
    """Refuse classes that are not Kafka's own, since no others are there.

    Kafka: `DynamicMetricsReporters.validateReconfiguration`, `kafka.server.DynamicBrokerConfig.processReconfigurable`.
    """
    reporters = cast(list[str], change.new_values["metric.reporters"])
    if not all(name.startswith(_KAFKAS_PACKAGE) for name in reporters):
        raise ConfigException(
            f"Validation of dynamic config update of Set({', '.join(change.updated)}) failed with class "
            "class kafka.server.DynamicMetricsReporters"
        )


def _validate_local_retention(values: Mapping[str, object]) -> None:
    """What is kept locally of a tiered log is no more than what is kept at all; -2: as much.

    Kafka: `DynamicLogConfig.validateReconfiguration`.
    """
    for unit in ("ms", "bytes"):
        name, local = f"log.local.retention.{unit}", cast(int, values[f"log.local.retention.{unit}"])
        whole = cast(int, log_settings(values)[f"retention.{unit}"])
        if whole > -1 and local == -1:
            raise invalid_value(name, local, f"Value must not be -1 as log.retention.{unit} value is set as {whole}.")
        if whole > -1 and local > whole:
            raise invalid_value(
                name, local, f"Value must not be more than log.retention.{unit} property value: {whole}"
            )


def _validate_remote_log(change: _Change) -> None:
    """Kafka: `DynamicRemoteLogConfig.validateReconfiguration`."""
    for name in _REMOTE_BYTES:
        old, value = change.integers(name)
        if value != old and value <= 0:
            message = f"Dynamic remote log manager config update validation failed for {name}={value}"
            raise ConfigException(f"{message}, value should be at least 1")
    for name in _REMOTE_THREADS:
        change.check_threads(name)


def _validate_cleaner(change: _Change) -> None:
    """Kafka: `LogCleaner.validateReconfiguration`."""
    old, threads = change.integers("log.cleaner.threads")
    if threads < 1:
        raise ConfigException("Log cleaner threads should be at least 1")
    if threads < old // 2:
        raise ConfigException(f"Log cleaner threads cannot be reduced to less than half the current value {old}")
    if threads > old * 2:
        raise ConfigException(f"Log cleaner threads cannot be increased to more than double the current value {old}")
