"""Whether all words of a picture can be read: a reader loses those that leave it, or lie over others."""

import re
import xml.dom.minidom
from itertools import combinations
from typing import NamedTuple

_LETTERS = 7  # px: how far even small letters reach above their baseline
_TOUCH = 0.5  # px
_BEFORE_X = {"start": 0, "middle": 0.5, "end": 1}


class _Words(NamedTuple):
    text: str
    left: float
    right: float
    baseline: float

    def are_over(self, other: "_Words") -> bool:
        beside = self.right - _TOUCH <= other.left or other.right - _TOUCH <= self.left
        return not beside and abs(self.baseline - other.baseline) < _LETTERS - _TOUCH


def unreadable(html: str) -> list[str]:
    """What cannot be read of the pictures in `html`; a number is the baseline's distance from the top, in px."""
    return [told for svg in re.findall(r"<svg\b.*?</svg>", html, re.DOTALL) for told in _unreadable(svg)]


def _unreadable(svg: str) -> list[str]:
    picture = xml.dom.minidom.parseString(svg).documentElement
    width, height = (float(picture.getAttribute(name)) for name in ("width", "height"))
    found = [_words_of(element) for element in picture.getElementsByTagName("text")]
    outside = [
        f"{words.text} at {words.baseline} is outside"
        for words in found
        if not (words.left >= -_TOUCH and words.right <= width + _TOUCH and _LETTERS <= words.baseline <= height)
    ]
    return outside + [
        f"{one.text} is over {other.text} at {other.baseline}"
        for one, other in combinations(found, 2)
        if one.are_over(other)
    ]


def _words_of(element: xml.dom.minidom.Element) -> _Words:
    x, y, width = (float(element.getAttribute(name)) for name in ("x", "y", "textLength"))
    left = x - _BEFORE_X[element.getAttribute("text-anchor")] * width
    return _Words(element.firstChild.data, left, left + width, y)
