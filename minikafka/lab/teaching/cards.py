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
_STYLE = """
@page { size: A4; margin: 9mm 11mm; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 188mm; font: 8pt/1.3 system-ui, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 14pt; margin: 0 0 1mm; }
h2 { font-size: 11pt; margin: 0 0 1mm; border-bottom: .3mm solid #555; }
p { margin: 1mm 0; }
section { margin: 0 0 6mm; break-inside: avoid; }
ul { margin: 0; padding: 0 0 0 4mm; }
img { display: block; margin: 0 auto; max-width: 100%; max-height: 46mm; }
table { width: 100%; border-collapse: collapse; }
th, td { border: .2mm solid #999; padding: .4mm 1.2mm; text-align: left; vertical-align: top; }
code { font: 7.2pt ui-monospace, "DejaVu Sans Mono", monospace; }
@media print {
  .tall { display: grid; grid-template: auto auto 1fr / 1fr 80mm; column-gap: 4mm; align-items: start; }
  .tall h2 { grid-column: 1 / 3; }
  .tall p { grid-area: 2 / 2 / 4; }
  .tall img { max-height: 120mm; }
}
@media screen { :root { color-scheme: light dark; } }
@media screen { body { padding: 6mm; font-size: 11pt; max-width: 64em; } code { font-size: 10pt; } }
@media screen { img { max-height: none; max-width: none; } section { overflow-x: auto; } ul { padding-left: 6mm; } }
"""


def _card(lesson: Path) -> str:
    """The lesson's card, below the lesson's number and title."""
    return f"## {lesson.stem.partition('-')[0]} {title_of(lesson)}\n\n{card_of(lesson)}\n"


def _has_tall_picture(lesson: Path) -> bool:
    """Whether the card's picture is about as high as wide, or higher: on paper it stands beside the text."""
    [picture] = re.findall(r"!\[.+\]\((.+)\)", card_of(lesson))
    svg = ElementTree.parse(lesson.parent / picture).getroot()
    return float(svg.attrib["height"]) > 0.85 * float(svg.attrib["width"])


def page_of_cards() -> str:
    """All cards in Markdown."""
    head = f"# Cards\n\n{_HEAD} To print them on a few pages of A4, open [cards.html](cards.html).\n"
    return "\n".join([head, *map(_card, lessons())])


def printed_cards() -> str:
    """All cards as a page of HTML. A card is never broken over two sheets."""
    markdown = MarkdownIt("commonmark").enable("table")
    shapes = {lesson: "tall" if _has_tall_picture(lesson) else "wide" for lesson in lessons()}
    cards = "\n".join(
        f'<section class="{shape}">\n{markdown.render(_card(lesson))}</section>' for lesson, shape in shapes.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Cards</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>Cards</h1>\n<p>{_HEAD}</p>\n{cards}\n</body></html>\n"
    )
