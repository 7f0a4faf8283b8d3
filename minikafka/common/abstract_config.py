"""Settings that are parsed once and read by name and type."""

from collections.abc import Mapping

from minikafka.common.config_def import ConfigDef


class AbstractConfig:
    """The values of all settings that a `ConfigDef` defines, defaults included.

    Simpler than Kafka: `get_int` also reads settings of type LONG, because Python has one type for both.

    Kafka: `AbstractConfig`.
    """

    def __init__(self, definition: ConfigDef, props: Mapping[str, object]):
        """Parse `props`, text or values by name. Raises ConfigException."""
        self._values = definition.parse(props)

    @property
    def values(self) -> dict[str, object]:
        """All settings by Kafka's names, in a dictionary of the caller's own. Kafka: `AbstractConfig.values`."""
        return dict(self._values)

    def get_int(self, name: str) -> int:
        """A setting of type INT or LONG. Kafka: `AbstractConfig.getInt`, `AbstractConfig.getLong`."""
        value = self._values[name]
        if not isinstance(value, int):
            raise self._wrong_type(name)
        return value

    def get_double(self, name: str) -> float:
        """A setting of type DOUBLE. Kafka: `AbstractConfig.getDouble`."""
        value = self._values[name]
        if not isinstance(value, float):
            raise self._wrong_type(name)
        return value

    def get_boolean(self, name: str) -> bool:
        """A setting of type BOOLEAN. Kafka: `AbstractConfig.getBoolean`."""
        value = self._values[name]
        if not isinstance(value, bool):
            raise self._wrong_type(name)
        return value

    def get_string(self, name: str) -> str:
        """A setting of type STRING. Kafka: `AbstractConfig.getString`."""
        value = self._values[name]
        if not isinstance(value, str):
            raise self._wrong_type(name)
        return value

    def get_list(self, name: str) -> list[str]:
        """A setting of type LIST. Kafka: `AbstractConfig.getList`."""
        value = self._values[name]
        if not isinstance(value, list):
            raise self._wrong_type(name)
        return value

    def _wrong_type(self, name: str) -> TypeError:
        return TypeError(f"setting {name} is of another type: its value is {self._values[name]!r}")
