"""A deck as one HTML file, which needs no server and nothing beside it."""

from html import escape
from pathlib import Path

from minikafka.lab.teaching.slides.deck import Deck, Slide
from minikafka.lab.widgets import drawing

_HERE = Path(__file__).parent


def html_of(deck: Deck) -> str:
    """The whole file."""
    slides = "".join(_slide(number, deck, slide) for number, slide in enumerate(deck.slides, 1))
    return _page(
        f"{deck.title} · slides",
        f"""<main>{slides}</main>
<footer><a href="index.html">All decks</a> <span class="lesson">{escape(deck.title)}</span>
<button type="button" id="notes" aria-pressed="false">Notes (n)</button>
<button type="button" id="back" aria-label="Slide before">←</button>
<span id="number" role="status">1 / {len(deck.slides)}</span>
<button type="button" id="on" aria-label="Next step">→</button></footer>
<script>{(_HERE / "slides.js").read_text(encoding="utf-8")}</script>""",
    )


def index_of(decks: list[Deck]) -> str:
    """The page that names all decks."""
    rows = "".join(
        f'<li><a href="{deck.name}.html">{deck.name.partition("-")[0]} {escape(deck.title)}</a></li>' for deck in decks
    )
    how = (
        "Ten slides a lesson. → and ← go on and back (or a swipe), <b>n</b> shows the speaker's notes, Home and End "
        "lead to the first and the last slide. Printed, each slide is a page."
    )
    return _page(
        "Slides", f'<main class="index"><h1>Inside Kafka\'s log: slides</h1><p>{how}</p><ol>{rows}</ol></main>'
    )


def _slide(number: int, deck: Deck, slide: Slide) -> str:
    kind = "ol" if slide.role == "rules" else "ul"
    lines = f"<{kind}>{''.join(f'<li>{line}</li>' for line in slide.lines)}</{kind}>" if slide.lines else ""
    label = escape(f"{slide.title}, shown", quote=True)
    figure = (
        f'<div class="figure" role="group" aria-label="{label}" tabindex="0">{slide.figure}</div>'
        if slide.figure
        else ""
    )
    answer = (
        f'<details class="answer"><summary>{"The run says" if slide.role == "prediction" else "One answer"}</summary>'
        f"{slide.answer}</details>"
        if slide.answer
        else ""
    )
    head = f'<p class="role">{escape(deck.title)} · {slide.role}</p><h1>{escape(slide.title)}</h1>'
    return (
        f'<section class="slide {slide.role}" id="{number}" aria-label="Slide {number} of {len(deck.slides)}">'
        f"{head}{figure}{lines}{answer}"
        f'<aside class="notes" aria-label="Notes of slide {number}" tabindex="0">{slide.notes}</aside></section>'
    )


def _page(title: str, body: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
{drawing.PAGE_STYLE}
<style>{(_HERE / "slides.css").read_text(encoding="utf-8")}</style>
</head>
<body>
{body}
</body>
</html>
"""
