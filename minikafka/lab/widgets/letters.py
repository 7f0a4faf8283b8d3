"""How wide words are in Liberation Sans, and so in Arial and Helvetica; pictures size their boxes by it.

A reader may have none of the three. So each text of a picture also states its width (`textLength`), and any other font
is stretched or squeezed to it: no word leaves its box on any machine.
"""

from collections.abc import Iterator
from itertools import accumulate, takewhile

_ELLIPSIS = "…"
_REGULAR = {
    191: "'", 222: "ijl’", 260: "|", 278: " !,./:;I[\\]ft·\xa0", 333: "()-`r“”", 334: "{}", 355: '"', 389: "*", 469: "^",
    500: "Jcksvxyz", 549: "≤≥≠", 556: "#$0123456789?L_abdeghnopqu–", 584: "+<=>~−×", 604: "●", 611: "FTZ", 667: "&ABEKPSVXY",
    722: "CDHNRUw", 769: "▶◆", 778: "GOQ", 833: "Mm", 838: "✗✓", 889: "%", 944: "W", 990: "▲▼", 1000: "…→←", 1015: "@",
}  # fmt: skip
_BOLD = {
    238: "'", 278: " ,./I\\ijl·\xa0’", 280: "|", 333: "!()-:;[]`ft", 389: "*r{}", 474: '"', 500: "z“”", 549: "≤≥≠",
    556: "#$0123456789J_aceksvxy–", 584: "+<=>^~−×", 604: "●", 611: "?FLTZbdghnopqu", 667: "EPSVXY", 722: "&ABCDHKNRU",
    769: "▶◆", 778: "GOQw", 833: "M", 838: "✗✓", 889: "%m", 944: "W", 975: "@", 990: "▲▼", 1000: "…→←",
}  # fmt: skip
_MONO = 600
_UNKNOWN = 1000


def _by_letter(groups: dict[int, str]) -> dict[str, int]:
    return {letter: width for width, letters in groups.items() for letter in letters}


WIDTHS = {False: _by_letter(_REGULAR), True: _by_letter(_BOLD)}
"""Bold or not → letter → its width in thousandths of the font's size."""


def width_of(words: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """The width in px of `words` in letters of `size` px; a letter that is not in the table counts as wide as the
    size.
    """
    return sum(_thousandths(words, bold=bold, mono=mono)) * size / 1000


def cut_to(room: float, words: str, size: float, *, bold: bool = False, mono: bool = False) -> str:
    """`words`, or as many letters of their beginning as fit with an ellipsis into `room` px.

    What does not fit is not measured, so a text of any length takes the same time.
    """

    def fitting(words: str, last: str = "") -> str:
        widths = accumulate(
            _thousandths(words, bold=bold, mono=mono), initial=sum(_thousandths(last, bold=bold, mono=mono))
        )
        count = sum(1 for _ in takewhile(lambda thousandths: thousandths * size / 1000 <= room, widths))
        return words[: max(count - 1, 0)]

    return words if len(words) < 2 or fitting(words) == words else f"{fitting(words, _ELLIPSIS)}{_ELLIPSIS}"


def _thousandths(words: str, *, bold: bool, mono: bool) -> Iterator[int]:
    return (_MONO if mono else WIDTHS[bold].get(letter, _UNKNOWN) for letter in words)
