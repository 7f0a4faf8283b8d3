"""Settings by name: their types, defaults and limits, parsed from text as Kafka parses them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import NamedTuple

from minikafka.common.errors import ConfigException, NumberFormatException
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.common.java.java_numbers import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    SHORT_MAX,
    SHORT_MIN,
    parse_double,
    parse_int,
    parse_long,
    parse_short,
)

_COMMA_WITH_WHITESPACE = re.compile(r"\s*,\s*", re.ASCII)
_BLANKS = "".join(map(chr, range(33)))

Validator = Callable[[str, object], None]

NO_DEFAULT_VALUE = object()
"""The default of a setting that must be set. Kafka: `ConfigDef.NO_DEFAULT_VALUE`."""


class Type(Enum):
    """What a setting's value is. The value of a CLASS is its name: no class is loaded. Kafka: `ConfigDef.Type`."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class ConfigKey(NamedTuple):
    """A setting; one that is `internal` is left out of the documentation. Kafka: `ConfigDef.ConfigKey`."""

    name: str
    type: Type
    default: object
    validator: Validator | None = None
    internal: bool = False


class ConfigDef:
    """The settings of something that can be configured, in the order in which they are checked. Kafka: `ConfigDef`."""

    def __init__(self, keys: Iterable[ConfigKey]):
        self.config_keys = {key.name: key for key in keys}
        self._defaults: dict[str, object] = {}

    @property
    def names(self) -> list[str]:
        """The names of all settings. Kafka: `ConfigDef.names`."""
        return list(self.config_keys)

    def parse(self, props: Mapping[str, object]) -> dict[str, object]:
        """The value of every setting: from `props` (text, or the value itself), else its default.

        Names that are not defined are ignored. Raises ConfigException for the first value that cannot be parsed or is
        not valid. Kafka: `ConfigDef.parse`.
        """
        return {
            name: self._checked(key, parse_type(name, props[name], key.type)) if name in props else self._default(key)
            for name, key in self.config_keys.items()
        }

    def _default(self, key: ConfigKey) -> object:
        if key.name not in self._defaults:
            if key.default is NO_DEFAULT_VALUE:
                raise ConfigException(f'Missing required configuration "{key.name}" which has no default value.')
            self._defaults[key.name] = self._checked(key, key.default)
        value = self._defaults[key.name]
        return list(value) if isinstance(value, list) else value

    @staticmethod
    def _checked(key: ConfigKey, value: object) -> object:
        if isinstance(key.validator, ValidList) and isinstance(value, list):
            value = list(dict.fromkeys(value))
        if key.validator is not None:
            key.validator(key.name, value)
        return value


def parse_type(name: str, value: object, config_type: Type) -> object:
    """`value` as `config_type`: text is parsed, a value of the right Python type is kept, None stays None.

    Raises ConfigException. Kafka: `ConfigDef.parseType`.
    """
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return _parse_text(name, value, config_type)
        return _check_value(name, value, config_type)
    except NumberFormatException:
        raise invalid_value(name, value, f"Not a number of type {config_type.name}") from None


def convert_to_string(value: object) -> str | None:
    """A parsed value as text that is parsed to it again; None for no value. Kafka: `ConfigDef.convertToString`."""
    if value is None:
        return None
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else _to_string(value)


def split_list(text: str) -> list[str]:
    """What stands between commas, without empty texts at the end. Java: `text.split(",")`."""
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if parts == [""] and text else parts


def _parse_text(name: str, text: str, config_type: Type) -> object:
    trimmed = text.strip(_BLANKS)
    match config_type:
        case Type.BOOLEAN:
            if trimmed.lower() not in ("true", "false"):
                raise invalid_value(name, text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        case Type.INT:
            return parse_int(trimmed)
        case Type.SHORT:
            return parse_short(trimmed)
        case Type.LONG:
            return parse_long(trimmed)
        case Type.DOUBLE:
            return parse_double(trimmed)
        case Type.LIST:
            return _COMMA_WITH_WHITESPACE.split(trimmed) if trimmed else []
        case Type.CLASS if not trimmed:
            raise invalid_value(name, text, f"Class {text} could not be found.")
        case _:
            return trimmed


def _check_value(name: str, value: object, config_type: Type) -> object:
    kind = type(value).__name__
    is_boolean = isinstance(value, bool)  # which is an int in Python, and none in Java
    match config_type:
        case Type.BOOLEAN:
            if is_boolean:
                return value
            raise invalid_value(name, value, "Expected value to be either true or false")
        case Type.INT:
            if isinstance(value, int) and not is_boolean and INT_MIN <= value <= INT_MAX:
                return value
            raise invalid_value(name, value, f"Expected value to be a 32-bit integer, but it was a {kind}")
        case Type.SHORT:
            if isinstance(value, int) and not is_boolean and SHORT_MIN <= value <= SHORT_MAX:
                return value
            raise invalid_value(name, value, f"Expected value to be a 16-bit integer (short), but it was a {kind}")
        case Type.LONG:
            if isinstance(value, int) and not is_boolean and LONG_MIN <= value <= LONG_MAX:
                return value
            raise invalid_value(name, value, f"Expected value to be a 64-bit integer (long), but it was a {kind}")
        case Type.DOUBLE:
            if isinstance(value, int | float) and not is_boolean:
                return float(value)
            raise invalid_value(name, value, f"Expected value to be a double, but it was a {kind}")
        case Type.LIST:
            if isinstance(value, list | tuple):
                return list(value)
            raise invalid_value(name, value, "Expected a comma separated list.")
        case _:
            raise invalid_value(name, value, f"Expected value to be a string, but it was a {kind}")


class Range:
    """Accepts numbers from `smallest` to `largest`, both inclusive, None for no limit. Kafka: `ConfigDef.Range`."""

    def __init__(self, smallest: float | None, largest: float | None = None):
        self._smallest = smallest
        self._largest = largest

    def __call__(self, name: str, value: object) -> None:
        if not isinstance(value, int | float):  # a number is parsed before, so this is None
            raise invalid_value(name, value, "Value must be non-null")
        if self._smallest is not None and value < self._smallest:
            raise invalid_value(name, value, f"Value must be at least {self._smallest}")
        if self._largest is not None and value > self._largest:
            raise invalid_value(name, value, f"Value must be no more than {self._largest}")


class ValidString:
    """Accepts one of some strings. Kafka: `ConfigDef.ValidString`."""

    def __init__(self, *valid_strings: str):
        self._valid_strings = valid_strings

    def __call__(self, name: str, value: object) -> None:
        if value not in self._valid_strings:
            raise invalid_value(name, value, f"String must be one of: {', '.join(self._valid_strings)}")


class CaseInsensitiveValidString:
    """Accepts one of some strings, in small letters and in large ones.

    Kafka: `ConfigDef.CaseInsensitiveValidString`.
    """

    def __init__(self, *valid_strings: str):
        self._valid_strings = {text.upper() for text in valid_strings}

    def __call__(self, name: str, value: object) -> None:
        if str(value).upper() not in self._valid_strings:
            valid_strings = ", ".join(in_javas_order(self._valid_strings))  # they are in a `HashSet`
            raise invalid_value(name, value, f"String must be one of (case insensitive): {valid_strings}")


class ValidList:
    """Accepts a list of some strings, or, without any, of all strings but the empty one; a repeated string counts once.

    Kafka: `ConfigDef.ValidList`.
    """

    def __init__(self, *valid_strings: str, empty_allowed: bool = True, null_allowed: bool = False):
        self._valid_strings: Sequence[str] = valid_strings
        self._empty_allowed = empty_allowed
        self._null_allowed = null_allowed

    def __call__(self, name: str, value: object) -> None:
        if not isinstance(value, list):  # a list is parsed before, so this is None
            if self._null_allowed:
                return
            raise ConfigException(f"Configuration '{name}' values must not be null.")
        if not value and not self._empty_allowed:
            valid_strings = f"[{', '.join(self._valid_strings)}]" if self._valid_strings else "any non-empty value"
            raise ConfigException(f"Configuration '{name}' must not be empty. Valid values include: {valid_strings}")
        for element in value:
            if element == "":
                raise ConfigException(f"Configuration '{name}' values must not be empty.")
            if self._valid_strings:
                ValidString(*self._valid_strings)(name, element)


def non_empty_string(name: str, value: object) -> None:
    """Accepts all strings but the empty one. Kafka: `ConfigDef.NonEmptyString`."""
    if value == "":
        raise invalid_value(name, value, "String must be non-empty")


def non_null(name: str, value: object) -> None:
    """Accepts all but None. Kafka: `ConfigDef.NonNullValidator`."""
    if value is None:
        raise invalid_value(name, value, "entry must be non null")


def invalid_value(name: str, value: object, message: str) -> ConfigException:
    """The exception for a refused value, worded as Kafka's. Kafka: `ConfigException(String, Object, String)`."""
    return ConfigException(f"Invalid value {_to_string(value)} for configuration {name}: {message}")


def _to_string(value: object) -> str:
    """`value` as Java prints it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_to_string, value))}]"
    if isinstance(value, float):
        return _double_to_string(value)
    return str(value)


def _double_to_string(value: float) -> str:
    """A double in Java's form: `1.5`, `1.0E7`, `Infinity`. Java: `Double.toString`."""
    if value != value or value in (float("inf"), float("-inf")):
        return repr(value).replace("inf", "Infinity").replace("nan", "NaN")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    number = Decimal(repr(value))
    text = "".join(map(str, number.as_tuple().digits))
    mantissa = f"{text[0]}.{text[1:].rstrip('0') or '0'}"
    return f"{'-' if number.is_signed() else ''}{mantissa}E{number.adjusted()}"
