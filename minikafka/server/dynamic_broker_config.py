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
from minikafka.metadata.kafka_config import require_cordoned_among_log_dirs
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.broker_reconfiguration import KAFKAS_PACKAGE, Reconfiguration, validate_reconfiguration

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
            validate_reconfiguration(Reconfiguration(self._originals, originals))
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
        if setting is not None and setting.type is Type.CLASS and not value.strip().startswith(KAFKAS_PACKAGE):
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
