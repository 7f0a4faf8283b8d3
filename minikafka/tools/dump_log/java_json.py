"""JSON as Kafka's tools print it, which leave that to Jackson."""

import json
import math
import re
from decimal import Decimal

_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


def java_json(value: object) -> str:
    """`value` without blanks, letters of all scripts as they are, control characters in capital digits.

    Kafka: `JsonNode.toString`.
    """
    match value:
        case dict():
            return "{" + ",".join(f"{_text(name)}:{java_json(inner)}" for name, inner in value.items()) + "}"
        case list():
            return "[" + ",".join(map(java_json, value)) + "]"
        case str():
            return _text(value)
        case float():
            return java_double(value) if math.isfinite(value) else f'"{java_double(value)}"'
        case _:
            return json.dumps(value)


def java_double(number: float) -> str:
    """The shortest digits that mean this number, as Java (19 and later) writes them. Java: `Double.toString`.

    An older Java has a digit more for some numbers.
    """
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        text = format(Decimal(repr(number)), "f")
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    if len(digits) == 1:  # of two digits, the closest ones
        sign, digits, exponent = Decimal(format(number, ".1e")).as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest)}E{exponent + len(rest)}"


def _text(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return _ESCAPE.sub(lambda escape: escape[0][:2] + escape[0][2:].upper(), written)
