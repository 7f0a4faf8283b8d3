"""Plain values as bytes, and back: what may cross the border between this process and a sandbox.

A plain value is None, or exactly of one of the types bool, int, float, str, bytes, Decimal, date, datetime, or a list,
tuple, set, frozenset or dict of plain values. Nothing of a subclass is one: an `int` of a class of its own can say of
itself whatever it likes. What `decoded` gives is made anew from the text and is always exactly of these types.

The bytes are JSON. This module needs the standard library alone, for it is copied to where minikafka is not.
"""

import base64
import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any


class NotPlainError(ValueError):
    """A value that is not plain, or bytes that are not those of one."""


class TooManyValuesError(NotPlainError):
    """Bytes of more values than are wanted."""


def encoded(value: Any) -> bytes:
    """The bytes of a plain value. Raises NotPlainError, which names the type that is not plain."""
    try:
        return json.dumps(_packed(value)).encode()
    except NotPlainError:
        raise
    except (ValueError, RecursionError) as error:
        raise NotPlainError(f"a value cannot be told: {error}") from None


def decoded(data: bytes, most_values: int | None = None) -> Any:
    """The plain value that these bytes are of. Raises NotPlainError.

    With `most_values` it needs seconds and some dozen MB at most beside the texts, whoever has made the bytes: there
    may be so many values (commas in texts count, too), and of them 2,000 as elements of sets and keys of dicts that
    are no texts: whoever chooses numbers so that their hashes are equal lets each be compared with all others. The
    hashes of texts differ from process to process, and nobody can choose them.
    """
    hashed = 0

    def unpacked(told: dict[str, Any]) -> Any:
        nonlocal hashed
        ((tag, value),) = told.items()
        if tag in _OF_LISTS and not isinstance(value, list):
            raise NotPlainError("these bytes are of no plain value")
        if tag in _OF_HASHED:
            hashed += sum(not _is_text(each[0] if tag == "dict" else each) for each in value)
            if most_values is not None and hashed > _MOST_HASHED:
                raise TooManyValuesError(f"more than {_MOST_HASHED:,} elements of sets and keys of dicts but texts")
        return _UNPACK[tag](value)

    try:
        if most_values is not None and sum(map(data.count, (b",", b"[", b"{"))) > most_values:
            raise TooManyValuesError(f"more than {most_values:,} values")
        return json.loads(data, object_hook=unpacked)
    except NotPlainError:
        raise
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError, RecursionError) as error:
        raise NotPlainError(f"these bytes are of no plain value: {type(error).__name__}") from None


def _packed(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_packed(each) for each in value]
    if kind in _TAGS:
        tag = _TAGS[kind]
        return {tag: _PACK[tag](value)}
    base = next((each for each in (*_TAGS, bool, int, float, str, list) if issubclass(kind, each)), None)
    more = f", a class made from {base.__name__}" if base else ""
    raise NotPlainError(f"a value of the type {kind.__name__}{more} is no plain value")


def _is_text(value: Any) -> bool:
    return type(value) in (str, bytes)


def _each_packed(value: Any) -> list[Any]:
    return [_packed(each) for each in value]


_MOST_HASHED = 2_000
_OF_HASHED = ("dict", "set", "frozenset")
_OF_LISTS = ("tuple", *_OF_HASHED)
_TAGS: dict[type, str] = {
    bytes: "bytes",
    tuple: "tuple",
    dict: "dict",
    set: "set",
    frozenset: "frozenset",
    Decimal: "decimal",
    datetime: "datetime",
    date: "date",
}
_PACK: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda value: base64.b64encode(value).decode(),
    "tuple": _each_packed,
    "dict": lambda value: _each_packed(value.items()),
    "set": _each_packed,
    "frozenset": _each_packed,
    "decimal": str,
    "datetime": datetime.isoformat,
    "date": date.isoformat,
}
_UNPACK: dict[str, Callable[[Any], Any]] = {
    "bytes": base64.b64decode,
    "tuple": tuple,
    "dict": dict,
    "set": set,
    "frozenset": frozenset,
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
}
