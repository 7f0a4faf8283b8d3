"""What the parts of a broker refuse when its settings change while it runs."""

from collections.abc import Iterable, Mapping
from typing import cast

from minikafka.common.config_def import invalid_value
from minikafka.common.errors import ConfigException
from minikafka.common.kafka_settings import kafka_definition
from minikafka.log.manager.broker_settings import TOPIC_CONFIG_SYNONYMS, log_settings

KAFKAS_PACKAGE = "org.apache.kafka."
"""Where the classes are that a broker has; others are not there."""

_THREADS = ("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads")
_CONNECTIONS = ("max.connections", "max.connection.creation.rate")
_LOG_CONFIGS = frozenset({*TOPIC_CONFIG_SYNONYMS.values(), "cordoned.log.dirs"})
_REMOTE_BYTES = (
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.fetch.max.bytes.per.second",
)
_FOLLOWER_THREADS = "remote.log.manager.follower.thread.pool.size"
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


class Reconfiguration:
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

    def of_listener(self, listener: str) -> "Reconfiguration":
        """The settings as one listener has them. Kafka: `AbstractConfig.valuesWithPrefixOverride`."""
        prefix = f"listener.name.{listener.lower()}."

        def override(settings: Mapping[str, str]) -> dict[str, str]:
            own = {name[len(prefix) :]: value for name, value in settings.items() if name.startswith(prefix)}
            return {**settings, **own}

        return Reconfiguration(override(self._current), override(self._new))

    def check_threads(self, name: str) -> None:
        """Refuse less than half as many threads as before, and more than twice as many.

        Kafka: `DynamicThreadPool.validateReconfiguration`, `DataPlaneAcceptor.validateReconfiguration`.
        """
        old, value = self.integers(name)
        if name == _FOLLOWER_THREADS and name not in self._current:
            old, _ = self.integers("remote.log.manager.thread.pool.size")
        message = f"Dynamic thread count update validation failed for {name}={value}, value should"
        if value != old and value < old // 2:
            raise ConfigException(f"{message} be at least half the current value {old}")
        if value > old * 2:
            raise ConfigException(f"{message} not be greater than double the current value {old}")


def validate_reconfiguration(change: Reconfiguration) -> None:
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


def _validate_listener(change: Reconfiguration) -> None:
    """Kafka: `DataPlaneAcceptor.validateReconfiguration`, `ListenerConnectionQuota.validateReconfiguration`."""
    change.check_threads("num.network.threads")
    if change.has(_CONNECTIONS):
        for name in _CONNECTIONS:
            if cast(int, change.new_values[name]) <= 0:
                raise ConfigException(f"Invalid {name} {change.new_values[name]}")


def _validate_reporters(change: Reconfiguration) -> None:
    """Refuse classes that are not Kafka's own, since no others are there.

    Kafka: `DynamicMetricsReporters.validateReconfiguration`, `kafka.server.DynamicBrokerConfig.processReconfigurable`.
    """
    reporters = cast(list[str], change.new_values["metric.reporters"])
    if not all(name.startswith(KAFKAS_PACKAGE) for name in reporters):
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


def _validate_remote_log(change: Reconfiguration) -> None:
    """Kafka: `DynamicRemoteLogConfig.validateReconfiguration`."""
    for name in _REMOTE_BYTES:
        old, value = change.integers(name)
        if value != old and value <= 0:
            message = f"Dynamic remote log manager config update validation failed for {name}={value}"
            raise ConfigException(f"{message}, value should be at least 1")
    for name in _REMOTE_THREADS:
        change.check_threads(name)


def _validate_cleaner(change: Reconfiguration) -> None:
    """Kafka: `LogCleaner.validateReconfiguration`."""
    old, threads = change.integers("log.cleaner.threads")
    if threads < 1:
        raise ConfigException("Log cleaner threads should be at least 1")
    if threads < old // 2:
        raise ConfigException(f"Log cleaner threads cannot be reduced to less than half the current value {old}")
    if threads > old * 2:
        raise ConfigException(f"Log cleaner threads cannot be increased to more than double the current value {old}")
