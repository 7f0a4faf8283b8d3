"""Regular expressions of Java, as Spark's Kafka connector takes them, for names of topics in Python."""

import re

from minikafka.common.errors import IllegalArgumentException

_ESCAPED = r"\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[^A-Za-z0-9]"
_IN_A_CLASS = rf"{_ESCAPED}|\\[dDwWsStnrf]|(?P<mark>[&~|-])(?!(?P=mark))|[^\\\[\]&~|-]"  # no class within, no && and --
_TOKEN = re.compile(
    rf"""
      (?P<quoted> \\Q (?P<words>.*?) (?:\\E|\Z) )
    | (?P<named>  \(\?< (?P<name>[A-Za-z][A-Za-z0-9]*) > )
    | (?P<end>    \\[zZ] )
    | (?P<same>
        \[ \^? (?:{_IN_A_CLASS})+ \]
      | {_ESCAPED} | \\[dDwWsSbBAtnrf] | \\[1-9](?![0-9])
      | \( (?: \?(?: [:=!>] | <[=!] | [ims]+(?:-[ims]+)?[:)] | -[ims]+: ) | (?!\?) )  # a group begins
      | (?: [*+?] | \{{[0-9]{{1,9}}(?:,[0-9]{{0,9}})?\}} ) [+?]?  # how often
      | [^\\\[({{*+?]
      )
    """,
    re.VERBOSE | re.DOTALL,
)


def java_pattern(text: str) -> re.Pattern[str]:
    """What finds in a topic's name (ASCII, in one line) the same as Java's pattern `text`.

    Raises IllegalArgumentException for what is no pattern in Java, and for what Python has not, or reads otherwise:
    classes in classes (`[a-z&&[^b]]`), `\\p{Alpha}`, flags in mid-pattern, the flag x.
    """
    python, place = [], 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise _refused(text, f"{text[place : place + 10]} at position {place} is not the same in Java and Python")
        if token["quoted"]:
            python.append(re.escape(token["words"]))
        elif token["named"]:
            python.append(f"(?P<{token['name']}>")
        else:
            python.append(r"\Z" if token["end"] else token["same"])
        place = token.end()
    try:
        return re.compile("".join(python), re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise _refused(text, str(error)) from None


def _refused(text: str, why: str) -> IllegalArgumentException:
    return IllegalArgumentException(f"subscribePattern={text} is no regular expression that can be used here: {why}")
