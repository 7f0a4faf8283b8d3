"""The cards of all lessons on a few pages, to be read, or printed on A4: what to remember, a picture, a table.

Each card is a cell of its lesson, near the end; here they only stand together.
"""

import re
from pathlib import Path
from xml.etree import ElementTree

from markdown_it import MarkdownIt

from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.teaching.lesson_parts import card_of, title_of

_HEAD = (
    "What to remember of each lesson, with the table that one wants on the wall. The lessons show why, and by a run."
)
_MM_A_UNIT = 0.2135
"""A picture's letters have 10 of its units: 6 pt on paper."""
_STYLE = """
@page { size: A4; margin: 9mm 11mm; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 188mm; font: 8pt/1.3 system-ui, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 14pt; margin: 0 0 1mm; }
h2 { font-size: 11pt; margin: 0 0 1mm; border-bottom: .3mm solid #555; }
p { margin: 1mm 0; }
section { margin: 0 0 6mm; break-inside: avoid; }
ul { margin: 0; padding: 0 0 0 4mm; }
img { display: block; margin: 0 auto; }
table { width: 100%; border-collapse: collapse; }
th, td { border: .2mm solid #999; padding: .4mm 1.2mm; text-align: left; vertical-align: top; }
code { font: 7.2pt ui-monospace, "DejaVu Sans Mono", monospace; }
@media print {
  img { width: var(--picture); }
  .tall, .beside { display: grid; column-gap: 4mm; align-items: start; }
  .tall { grid-template: auto auto 1fr / minmax(0, 1fr) var(--picture); }
  .beside { grid-template: auto auto auto / minmax(0, 1fr) var(--picture); }
  .tall h2, .beside h2, .beside table { grid-column: 1 / 3; }
  .tall p { grid-area: 2 / 2 / 4; }
  .beside p { grid-area: 2 / 2; }
  .tall table, .beside table { margin-top: 1.5mm; }
}
@media screen { :root { color-scheme: light dark; } }
@media screen { body { padding: 6mm; font-size: 11pt; max-width: 64em; } code { font-size: 10pt; } }
@media screen { section { overflow-x: auto; } ul { padding-left: 6mm; } }
"""


def _card(lesson: Path) -> str:
    """The lesson's card, below the lesson's number and title."""
    return f"## {lesson.stem.partition('-')[0]} {title_of(lesson)}\n\n{card_of(lesson)}\n"


def _picture_on_paper(lesson: Path) -> tuple[str, float]:
    """Where the card's picture is printed, and how wide, in mm.

    `tall`: beside list and table; `beside`: beside the list, above the table; `wide`: between list and table. It is so
    wide that its letters can be read, and a wide one that would be low is made 46 mm high if the page has room.
    """
    [picture] = re.findall(r"!\[.+\]\((.+)\)", card_of(lesson))
    svg = ElementTree.parse(lesson.parent / picture).getroot()
    _, _, units, high = map(float, svg.attrib["viewBox"].split())
    ratio, least = high / units, units * _MM_A_UNIT
    if ratio > 0.85 and least < 96:
        return "tall", min(least, 84)
    if least * ratio > 55 and least < 126:
        return "beside", least
    return "wide", min(max(least, 46 / ratio), 187.5)


def page_of_cards() -> str:
    """All cards in Markdown."""
    head = f"# Cards\n\n{_HEAD} To print them on a few pages of A4, open [cards.html](cards.html).\n"
    return "\n".join([head, *map(_card, lessons())])


def printed_cards() -> str:
    """All cards as a page of HTML. A card is never broken over two sheets."""
    markdown = MarkdownIt("commonmark").enable("table")
    pictures = {lesson: _picture_on_paper(lesson) for lesson in lessons()}
    cards = "\n".join(
        f'<section class="{place}" style="--picture: {width:.1f}mm">\n{markdown.render(_card(lesson))}</section>'
        for lesson, (place, width) in pictures.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Cards</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>Cards</h1>\n<p>{_HEAD}</p>\n{cards}\n</body></html>\n"
    )
