"""Numbers as Java has them: 32 or 64 bits wide, and in text (names of files, checkpoints, configuration).

Python's `int` takes more text (blanks around, underscores) and has no limits.
"""

import math
import re

from minikafka.common.errors import IllegalArgumentException, NumberFormatException

SHORT_MIN, SHORT_MAX = -(2**15), 2**15 - 1
"""The smallest and the largest 16-bit number. Java: `Short.MIN_VALUE`, `Short.MAX_VALUE`."""

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
"""The smallest and the largest 32-bit number. Java: `Integer.MIN_VALUE`, `Integer.MAX_VALUE`."""

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
"""The smallest and the largest 64-bit number. Java: `Long.MIN_VALUE`, `Long.MAX_VALUE`."""

_INTEGER = re.compile(r"(?=[+-]?\d)([+-]?)0*(\d*)")
_LARGEST_CHAR = "\uffff"  # Java reads numbers char by char, and a digit beyond is two of them
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_HEXADECIMAL_DOUBLE = re.compile(r"([+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_BLANKS = "".join(map(chr, range(33)))


def parse_short(text: str) -> int:
    """A 16-bit number; raises NumberFormatException. Java: `Short.parseShort`."""
    return _parse(text, SHORT_MIN, SHORT_MAX)


def parse_int(text: str) -> int:
    """A 32-bit number; raises NumberFormatException. Java: `Integer.parseInt`."""
    return _parse(text, INT_MIN, INT_MAX)


def parse_long(text: str) -> int:
    """A 64-bit number; raises NumberFormatException. Java: `Long.parseLong`."""
    return _parse(text, LONG_MIN, LONG_MAX)


def parse_double(text: str) -> float:
    """A double, decimal or hexadecimal (`0x1p-1`), blanks around it allowed; raises NumberFormatException.

    Java: `Double.parseDouble`.
    """
    stripped = text.strip(_BLANKS)
    if hexadecimal := _HEXADECIMAL_DOUBLE.fullmatch(stripped):
        try:
            return float.fromhex(hexadecimal[1])
        except OverflowError:
            return math.copysign(math.inf, -1 if stripped.startswith("-") else 1)
    if not _DOUBLE.fullmatch(stripped):
        raise NumberFormatException(f'For input string: "{text}"' if stripped else "empty String")
    return float(stripped) if stripped.endswith(("NaN", "Infinity")) else float(stripped.rstrip("fFdD"))


def to_int(number: int) -> int:
    """The low 32 bits, signed: what an `int` holds after a sum or a difference that overflows."""
    return ((number + 2**31) & 0xFFFF_FFFF) - 2**31


def to_long(number: int) -> int:
    """The low 64 bits, signed: what a `long` holds after a sum or a difference that overflows."""
    if LONG_MIN <= number <= LONG_MAX:
        return number
    return ((number + 2**63) & 0xFFFF_FFFF_FFFF_FFFF) - 2**63


def require_number(what: str, number: object, least: int, most: int) -> None:
    """Raises IllegalArgumentException, which names `what`, unless `number` is an int from `least` to `most`."""
    if type(number) is not int or not least <= number <= most:
        raise IllegalArgumentException(f"{what} {number!r} is no number from {least} to {most}")


def _parse(text: str, smallest: int, largest: int) -> int:
    if (matched := _INTEGER.fullmatch(text)) and max(text) <= _LARGEST_CHAR:
        # 4300 digits are where Python's own limit begins; a number with so many is out of range anyway.
        sign, digits = matched.groups()
        if len(digits) < 4000 and smallest <= (number := int(sign + (digits or "0"))) <= largest:
            return number
    raise NumberFormatException(f'For input string: "{text}"')
