"""Every picture in a real browser, in fonts that it was not drawn with: each text stays where it belongs."""

import base64
import re

import nbformat
import pytest

from minikafka.lab.course.lesson_notebooks import notebooks, translations
from minikafka.lab.course.places import DIAGRAMS
from minikafka.lab.lesson_folders import REBUILD
from minikafka.lab.teaching.invariants import printed_sheet
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.letters import WIDTHS

FONTS = ["Liberation Sans", "DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono"]
"""What the pictures are set out by; a wide sans-serif, a serif and a monospace, which come with every Chromium of
Debian.
"""
pytestmark = pytest.mark.browser


def pictures(notebook):
    """The pictures that the notebook shows where no kernel runs, widgets and diagrams alike."""
    for cell in nbformat.read(notebook, as_version=4).cells:
        for output in cell.get("outputs", []):
            html = "".join(output.get("data", {}).get("text/html", ""))
            yield from re.findall(r"<svg\b.*?</svg>", html, flags=re.DOTALL)
            for data in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", html):
                yield drawing.drawing_of("\n" + base64.b64decode(data).decode().replace("<style>", "\n<style>", 1))


@pytest.fixture(scope="module")
def page(chromium):
    page = chromium.new_page()
    yield page
    page.close()


def misplaced(page, drawings):
    """What is wrong with the texts of these drawings, in each font: a list of lines."""
    page.set_content(f"<body>{drawing.PAGE_STYLE}<style id='font'></style>{''.join(drawings)}</body>")
    return {font: page.evaluate(_MISPLACED, font) for font in FONTS}


def test_the_texts_of_each_diagram_stay_in_their_boxes(page):
    drawings = [drawing.drawing_of(file.read_text()) for file in sorted(DIAGRAMS.rglob("*.svg"))]
    assert drawings and misplaced(page, drawings) == dict.fromkeys(FONTS, [])


@pytest.mark.in_parts(4)
@pytest.mark.parametrize("notebook", [*notebooks(), *translations()], ids=lambda path: path.parent.name + path.stem)
def test_the_texts_of_each_picture_in_a_lesson_stay_in_their_boxes(page, notebook):
    drawings = list(pictures(notebook))
    assert len(drawings) >= 2 or notebook.stem.endswith(REBUILD)
    assert misplaced(page, drawings) == dict.fromkeys(FONTS, [])


@pytest.mark.parametrize("font", FONTS[:2])
def test_the_sheet_of_invariants_fills_both_sides_of_a4(page, font):
    page.set_content(printed_sheet().replace("</style>", f"body {{ font-family: '{font}' }}</style>", 1))
    assert len(re.findall(rb"/Type */Page\b", page.pdf(prefer_css_page_size=True))) == 2


def test_a_text_that_leaves_its_box_is_told(page):
    loose = drawing.rect(70, 10, 60, 20, "a") + drawing.text(100, 25, "too wide for this", anchor="middle")
    found = misplaced(page, [drawing.svg(200, 40, loose, "loose")])
    assert found == dict.fromkeys(FONTS, ["loose: 'too wide for this' leaves its box"])


def test_the_widths_of_letters_are_those_of_the_font(page):
    letters = sorted(WIDTHS[False])
    measured = page.evaluate(_MEASURED, letters)
    if measured is None:
        pytest.skip("no Liberation Sans on this machine")
    assert measured == [[WIDTHS[bold][letter] for letter in letters] for bold in (False, True)]


_MEASURED = """letters => {
    const pen = document.createElement('canvas').getContext('2d');
    const wide = (font, words) => { pen.font = font; return Math.round(pen.measureText(words).width); };
    const is_there = wide("1000px 'Liberation Sans',monospace", 'iiii') !== wide('1000px monospace', 'iiii');
    return is_there ? ['', 'bold '].map(bold => letters.map(letter => wide(bold + "1000px 'Liberation Sans'", letter))) : null;
}"""
_MISPLACED = """font => {
    document.getElementById('font').textContent = `text { font-family: '${font}', monospace !important }`;
    const found = [];
    const box = e => e.getBoundingClientRect();
    for (const svg of document.querySelectorAll('svg')) {
        const title = svg.querySelector('title').textContent.slice(0, 60);
        const say = (text, words) => found.push(`${title}: '${text.textContent}' ${words}`);
        const texts = [...svg.querySelectorAll('text')];
        const shapes = [...svg.querySelectorAll('rect:not([width="100%"])')];
        texts.forEach((text, i) => {
            const t = box(text), whole = box(svg), middle = (t.left + t.right) / 2, height = (t.top + t.bottom) / 2;
            if (t.left < whole.left - 1 || t.right > whole.right + 1) say(text, 'leaves the picture');
            const node = text.closest('.node, .cluster')?.querySelector('path, polygon');
            const around = node ? [node] : shapes.filter(shape => { const s = box(shape);
                return s.left + 2 < middle && middle < s.right - 2 && s.top < height && height < s.bottom; });
            const least = around.map(box).sort((a, b) => a.width - b.width)[0];
            if (least && (t.left < least.left - 1 || t.right > least.right + 1)) say(text, 'leaves its box');
            for (const other of texts.slice(i + 1)) {
                const o = box(other);
                const across = Math.min(t.right, o.right) - Math.max(t.left, o.left);
                const down = Math.min(t.bottom, o.bottom) - Math.max(t.top, o.top);
                if (across > 1 && down > Math.min(t.height, o.height) / 2) say(text, `lies on '${other.textContent}'`);
            }
        });
    }
    return found;
}"""
