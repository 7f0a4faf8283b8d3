"""The language in which witnesses and lab speak to a reader: English, unless another has been chosen.

What a reader sees passes through `say`: it is English in the code, with `{names}` where values stand. A catalogue has
the same texts in another language; `minikafka.lab.language` has the catalogues and chooses one. A text that the
catalogue lacks is said in English. Code, names of classes, and the messages of Kafka's exceptions are the same in every
language.
"""

from collections.abc import Mapping
from typing import Any

ENGLISH = "en"

_language = ENGLISH
_catalogue: Mapping[str, str] = {}


def speak(language: str, catalogue: Mapping[str, str]) -> None:
    """From now on texts are said in `language` (a BCP 47 tag, such as "zh-CN"): English text → that text."""
    global _language, _catalogue
    _language, _catalogue = language, catalogue


def language() -> str:
    """The tag of the language that is spoken now."""
    return _language


def say(words: str, /, **values: Any) -> str:
    """`words` in the chosen language, with `values` in the places that are named in braces.

    Without values braces are braces: a hint may show code. Raises KeyError for a named place without a value.
    """
    said = _catalogue.get(words, words)
    return said.format(**values) if values else said
