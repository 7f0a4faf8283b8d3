"""A plan and the notebook of a lesson become ten slides: pictures, rules and predictions are the lesson's own."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from minikafka.lab.course.lesson_notebooks import notebooks_of
from minikafka.lab.exercises.prediction import known_beliefs
from minikafka.lab.teaching.lesson_parts import questions_of, rules_of, takeaway_of, title_of
from minikafka.lab.teaching.slides.plan import PlanError, Planned
from minikafka.lab.widgets import drawing

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
_FOLDED = re.compile(r"<details(?: open)?><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
_STEPS = re.compile(r'<div style="font-size:12px[^"]*">(?:<div class="mk-line.*?</div>)*</div>', re.DOTALL)
_ROW, _MOST_ROWS, _MOST_CODE = 90, 11, 9
_CODE = re.compile(r"(<pre\b[^>]*>)(.*?)</pre>", re.DOTALL)
_KAFKA = "https://github.com/apache/kafka/"
_REMARK = re.compile(r" \([A-Z][^()]*\)")


@dataclass(frozen=True)
class Slide:
    """One slide as HTML. `figure` may be empty, `answer` is hidden until it is asked for, `notes` are for speaking."""

    role: str
    title: str
    lines: Sequence[str]
    figure: str
    answer: str
    notes: str

    @property
    def words(self) -> int:
        """The words that stand beside the figure."""
        return len(plain(" ".join(self.lines)).split())


@dataclass(frozen=True)
class Deck:
    """The slides of a lesson; `name` is that of its notebook, and of the file without its ending."""

    name: str
    title: str
    slides: Sequence[Slide]


def deck_of(notebook: Path, plan: Sequence[Planned], answers: Mapping[str, str]) -> Deck:
    """The deck of the lesson in `notebook`. `answers`: by a prediction's id, what its run gives.

    Raises PlanError where the plan quotes what the lesson does not have.
    """
    maker = _Maker(notebook, answers)
    return Deck(notebook.stem, title_of(notebook), [maker.slide(planned) for planned in plan])


def plain(html: str) -> str:
    """The words of `html`."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


class _Maker:
    """Makes the slides of one lesson."""

    def __init__(self, notebook: Path, answers: Mapping[str, str]):
        self._notebook = notebook
        self._answers = answers
        of_lesson = (json.loads(each.read_text(encoding="utf-8")) for each in notebooks_of(notebook))
        self._cells = [cell for each in of_lesson for cell in each["cells"]]

    def slide(self, planned: Planned) -> Slide:
        lines = [_MARKDOWN.renderInline(line) for line in planned.lines]
        figure, answer, notes = "", "", ""
        if planned.shows:
            place, figure = self._shown(planned)
            notes = self._prose_around(place)
        if planned.role == "rules" and not lines:
            lines = [_MARKDOWN.renderInline(_REMARK.sub("", rule)) for rule in rules_of(self._notebook).values()]
        if planned.role == "prediction":
            figure, answer, more = self._prediction(planned.asks, lines)
            lines, notes = [], notes + more
        if planned.role == "check" and (takeaway := takeaway_of(self._notebook)):
            figure = f"<p class='asked'>{_MARKDOWN.renderInline(takeaway.question)}</p>"
            answer, lines = _list(lines), []
            notes = f"<p>{takeaway.answer}</p>"
        if planned.role in ("rules", "check"):
            notes += self._prose_of({"rules": "## 3.", "check": "## 7."}[planned.role])
        return Slide(planned.role, planned.title, lines, figure, answer, _without_links(notes))

    def _prediction(self, name: str, lines: Sequence[str]) -> tuple[str, str, str]:
        """The question, its answer with the plan's lines below it, and as notes what wrong answers believe."""
        asked = questions_of(self._notebook).get(name)
        if asked is None or name not in self._answers:
            raise PlanError(f"{self._notebook.stem}: no prediction, or none with an answer, has the id {name!r}")
        question, cell = asked
        place = next(i for i, each in enumerate(self._cells) if _source(each) == cell.text)
        beliefs = [f"Who says {wrong}: {words}" for wrong, words in known_beliefs().get(name, {}).items()]
        figure = f"<p class='asked'>{escape(question)}</p>"
        answer = f"<p class='given'>{escape(self._answers[name])}</p>{_list(lines)}"
        return figure, answer, self._prose_around(place) + _list([escape(belief) for belief in beliefs])

    def _shown(self, planned: Planned) -> tuple[int, str]:
        """The first code cell that has the quote in its source or outputs and something to show; and what it shows."""
        for place, cell in enumerate(self._cells):
            if cell["cell_type"] == "code" and (planned.shows in _source(cell) or planned.shows in _outputs(cell)):
                figure = _code(cell) if planned.role == "exercise" else _figure(cell, planned.frame)
                if figure:
                    return place, figure
        raise PlanError(f"{self._notebook.stem}: nothing to show for {planned.shows!r}, {planned.frame!r}")

    def _prose_around(self, place: int) -> str:
        """The prose above a cell, code in between passed over, and the prose right below it."""
        above = next((c for c in reversed(self._cells[:place]) if c["cell_type"] == "markdown"), None)
        below = next((c for c in self._cells[place + 1 :] if c["cell_type"] == "markdown"), None)
        return "".join(_prose(cell) for cell in (above, below) if cell)

    def _prose_of(self, heading: str) -> str:
        return "".join(
            _prose({"source": heading + _source(cell).split(heading, 1)[1]})
            for cell in self._cells
            if cell["cell_type"] == "markdown" and re.search(rf"^{re.escape(heading)}", _source(cell), re.MULTILINE)
        )


def _figure(cell: dict[str, Any], frame: str) -> str:
    """The stored output of a cell; of a player the frame whose caption has `frame` in it, or the one it shows."""
    pictures = [_picture(html, frame) for html in _told(cell, "text/html")]
    if frame or any(pictures):
        return "".join(pictures)
    return "".join(f"<pre>{escape(_beginning(words.rstrip()))}</pre>" for words in _told(cell, "text/plain"))


def _beginning(words: str) -> str:
    """As much of an output as a slide has room for, where a long line takes several rows; dots stand for the rest."""
    lines, rows = words.splitlines(), 0
    for number, line in enumerate(lines):
        rows += 1 + len(line) // _ROW
        if rows > _MOST_ROWS:
            return "\n".join([*lines[:number], "…"])
    return words


def _picture(html: str, frame: str) -> str:
    """One output of HTML without its style and what is folded away; drawings become images with their own colours."""
    html = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    frames = [(unescape(caption), body) for caption, body in _FOLDED.findall(html) if ", frame " in caption]
    if frames:
        caption, body = next(((c, b) for c, b in frames if frame in c), ("", "")) if frame else frames[-1]
        if not body:
            return ""
        walked = "<pre" in body
        html = _CODE.sub(_around_the_step, _STEPS.sub("", re.sub(r"<img\b[^>]*>", "", body))) if walked else body
        html = f'<div class="{"walked" if walked else "player"}">{html}</div>'
    elif frame:
        return ""
    else:
        html = _FOLDED.sub("", html)
    return f'<div class="mk">{drawing.static_page(html)}</div>'


def _around_the_step(code: re.Match) -> str:
    """A stepper's source, cut to the lines that a slide has room for."""
    lines = code[2].split("<br>")
    now = next((number for number, line in enumerate(lines) if "mk-now" in line), 0)
    first = max(min(now - 3, len(lines) - _MOST_CODE), 0)
    return f"{code[1]}{'<br>'.join(lines[first : first + _MOST_CODE])}</pre>"


def _code(cell: dict[str, Any]) -> str:
    code = highlight(_source(cell), PythonLexer(), HtmlFormatter(nowrap=True, classprefix="py-"))
    return f'<pre class="code"><code>{code.rstrip()}</code></pre>'


def _prose(cell: dict[str, Any]) -> str:
    """Text as notes: without headings."""
    lines = [line for line in _source(cell).splitlines() if not line.startswith("#")]
    return _MARKDOWN.render("\n".join(lines))


def _without_links(html: str) -> str:
    """Notes lead nowhere but to Kafka's source: a deck is one file, which may be carried elsewhere."""
    return re.sub(
        r'<a\b[^>]*href="([^"]*)"[^>]*>(.*?)</a>',
        lambda link: link[0] if link[1].startswith(_KAFKA) else link[2],
        html,
        flags=re.DOTALL,
    )


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>" if lines else ""


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _outputs(cell: dict[str, Any]) -> str:
    return unescape("".join([*_told(cell, "text/html"), *_told(cell, "text/plain")]))


def _told(cell: dict[str, Any], kind: str) -> list[str]:
    """What the outputs of a cell hold of a kind; what was printed is plain text."""
    printed = [
        {"text/plain": output["text"]} if "text" in output else output.get("data", {}) for output in cell["outputs"]
    ]
    return ["".join(data[kind]) for data in printed if kind in data]
