"""Each drawn diagram, measured in its SVG: no arrow strikes a text, no text lies on another one, none is too small to
read, and no step is left out.
"""

import inspect
import re
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from minikafka.lab.course.places import DIAGRAMS
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.letters import width_of
from minikafka.log.log import Log

LEAST_SIZE = 11
"""The px of the smallest letters that a diagram may have. No page of the site shows one narrower than its SVG says (see
tests/slow/browser/test_site.py).
"""
CLEARANCE = 1
"""The points that an arrow keeps from the letters of a text."""
SVG = "{http://www.w3.org/2000/svg}"
SOURCES = sorted(DIAGRAMS.rglob("*.dot"))
of_each_diagram = pytest.mark.parametrize(
    "source", SOURCES, ids=lambda path: path.relative_to(DIAGRAMS).with_suffix("").as_posix()
)


@dataclass
class Text:
    """A line of words and the box of its letters, in the points of the drawing."""

    words: str
    size: float
    bold: bool
    left: float
    right: float
    top: float
    bottom: float


def drawing_of(source):
    return ElementTree.parse(source.with_suffix(".svg")).getroot()


def texts_of(svg):
    """All texts of the drawing. A text states its width; spaces at its ends, which keep it off its arrow, are none of
    its letters.
    """
    texts = []
    for element in svg.iter(f"{SVG}text"):
        size, bold = float(element.get("font-size")), element.get("font-weight") == "bold"
        width, x, y = (float(element.get(name)) for name in ("textLength", "x", "y"))
        left = x - {"start": 0, "middle": width / 2, "end": width}[element.get("text-anchor")]
        words = element.text.strip()
        before, after = (
            width_of(each, size, bold=bold) for each in re.split(re.escape(words), element.text, maxsplit=1)
        )
        if words:
            place = (left + before, left + width - after, y - 0.75 * size, y + 0.22 * size)
            texts.append(Text(words, size, bold, *place))
    return texts


def lines_of(svg):
    """The arrows of the drawing, each as an array of points (x, y) that are less than a point apart."""
    for group in svg.iter(f"{SVG}g"):
        if group.get("class") == "edge":
            for path in group.iter(f"{SVG}path"):
                yield curve(numbers(path.get("d")))
            for head in group.iter(f"{SVG}polygon"):
                yield straight(numbers(head.get("points")))


def numbers(words):
    """The points of a path or polygon: an array of shape (n, 2)."""
    return np.array([float(n) for n in re.findall(r"-?[\d.]+", words)]).reshape(-1, 2)


def curve(points):
    """The points on a path of cubic Bézier curves, each of which begins where the one before ends."""
    t = np.linspace(0, 1, 400)[:, None]
    pieces = [points[i : i + 4] for i in range(0, len(points) - 1, 3)]
    return np.concatenate(
        [(1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d for a, b, c, d in pieces]
    )


def straight(points):
    t = np.linspace(0, 1, 20)[:, None]
    return np.concatenate([(1 - t) * a + t * b for a, b in zip(points, points[1:], strict=False)])


def strikes(line, text):
    """Whether the line comes nearer to the letters than `CLEARANCE`."""
    x, y = line.T
    across = (text.left - CLEARANCE < x) & (x < text.right + CLEARANCE)
    return bool(np.any(across & (text.top - CLEARANCE < y) & (y < text.bottom + CLEARANCE)))


def lies_on(one, other):
    """Whether two texts share more than the hairline that belongs to neither's letters."""
    across = min(one.right, other.right) - max(one.left, other.left)
    down = min(one.bottom, other.bottom) - max(one.top, other.top)
    return across > 0.5 and down > 0.5


def steps_of(texts):
    """The numbers of steps that the texts name: "3. names" or, in bold letters, "5 leader" and "11–14"."""
    steps = set()
    for text in texts:
        found = re.match(r"(\d+)(?:–(\d+))?(?:\.? |\.?$)" if text.bold else r"(\d+)()\.(?: |$)", text.words)
        if found:
            steps.update(range(int(found[1]), int(found[2] or found[1]) + 1))
    return steps


@of_each_diagram
def test_no_arrow_strikes_a_text(source):
    svg = drawing_of(source)
    lines, texts = list(lines_of(svg)), texts_of(svg)
    assert lines and texts
    assert [text.words for text in texts if any(strikes(line, text) for line in lines)] == []


@of_each_diagram
def test_no_text_lies_on_another_one(source):
    pairs = combinations(texts_of(drawing_of(source)), 2)
    assert [(one.words, other.words) for one, other in pairs if lies_on(one, other)] == []


@of_each_diagram
def test_each_text_is_large_enough_at_the_width_of_a_page(source):
    svg = drawing_of(source)
    px = float(svg.get("width")) / float(svg.get("viewBox").split()[2])
    assert {text.words: text.size * px for text in texts_of(svg) if text.size * px < LEAST_SIZE} == {}


def test_the_picture_of_a_run_has_no_smaller_letters_either():
    svg = (DIAGRAMS / "lesson.svg").read_text(encoding="utf-8")
    assert float(ElementTree.fromstring(svg).get("width")) == drawing.WIDTH
    assert min(float(size) for size in re.findall(r"font(?:-size)?:([\d.]+)px", svg)) >= LEAST_SIZE


@of_each_diagram
def test_the_steps_have_no_gap(source):
    steps = steps_of(texts_of(drawing_of(source)))
    assert steps == set(range(1, max(steps, default=0) + 1))


def test_the_steps_of_an_append_are_those_of_the_code():
    in_code = {int(number) for number in re.findall(r"# (\d+)\. ", inspect.getsource(Log._append))}
    assert len(in_code) == 15 and steps_of(texts_of(drawing_of(DIAGRAMS / "append.dot"))) == in_code
