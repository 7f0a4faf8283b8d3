"""Each stored output looks as it should, whatever stands above and below it: it brings the style that it needs."""

import json

import nbformat
import pytest

from minikafka.lab.course.lesson_notebooks import lessons, translations
from minikafka.lab.course.notes import erratum
from minikafka.lab.widgets import drawing

pytestmark = pytest.mark.browser
LOOKS = """() => JSON.stringify([...document.querySelectorAll("section")].sort((a, b) => a.id - b.id).map(section =>
    [...section.querySelectorAll("*:not(style)")].map(element => {
        const looks = getComputedStyle(element);
        const names = ["color", "backgroundColor", "fontFamily", "fontSize", "fontWeight", "fontStyle", "fill", "stroke",
            "padding", "margin", "border", "display", "whiteSpace", "overflowX", "maxWidth", "textAlign"];
        return element.tagName + "." + element.getAttribute("class") + " " + names.map(name => looks[name]).join("; ");
    })))"""
LINES = """cells => cells.map(cell => {
    const words = document.createRange();
    words.selectNodeContents(cell);
    return words.getClientRects().length;
})"""
COLOUR = "cell => getComputedStyle(cell).color"
WEAR = """theme => theme ? document.body.setAttribute("data-jp-theme-light", theme)
    : document.body.removeAttribute("data-jp-theme-light")"""


@pytest.mark.in_parts(4)
@pytest.mark.parametrize("notebook", [*lessons(), *translations()], ids=lambda path: path.parent.name + path.stem)
def test_outputs_look_the_same_with_their_own_styles_in_any_order(chromium, notebook):
    pieces = [
        "".join(output["data"]["text/html"])
        for cell in nbformat.read(notebook, as_version=4).cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert len(pieces) > 5
    sections = [f'<section id="{number}">{piece}</section>' for number, piece in enumerate(pieces)]
    bare = [drawing.without_style(section) for section in sections]
    page = chromium.new_page()
    looks = []
    for head, body in ((drawing.PAGE_STYLE, bare), ("", sections), ("", sections[::-1])):
        page.set_content(f"<html><head>{head}</head><body>{''.join(body)}</body></html>")
        looks.append([looks_of(page, *worn) for worn in (("light", ""), ("dark", ""), ("light", "false"))])
    page.close()
    assert looks[0] == looks[1] == looks[2]


def looks_of(page, scheme, theme):
    """How each element looks, section by section, where the browser prefers that scheme and JupyterLab wears the theme."""
    page.emulate_media(color_scheme=scheme)
    page.evaluate(WEAR, theme)
    return json.loads(page.evaluate(LOOKS))


def test_a_piece_alone_looks_as_among_all(chromium):
    page = chromium.new_page()
    piece = '<p class="mk-faint">a <code>b</code></p><pre><span class="mk-now mk-keyword">c</span></pre><table><tr><td>d</table>'
    page.set_content(f"{drawing.PAGE_STYLE}<section id=0><div class=mk>{piece}</div></section>")
    among_all = page.evaluate(LOOKS)
    page.set_content(f"<section id=0>{drawing.page(piece)}</section>")
    assert page.evaluate(LOOKS) == among_all
    page.close()


def test_no_word_is_broken_beside_an_erratum_on_a_phone(chromium):
    box = erratum(
        "an older text of many words", "what the source has instead, in as many words as that", "a run shows it"
    )
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.set_content(box._repr_html_())
    page.evaluate("document.querySelector('details').open = true")
    names = page.locator("td:first-child")
    assert names.evaluate_all(LINES) == [1, 1, 1]
    faint, ink = (page.locator(f"td:{place}-child").first.evaluate(COLOUR) for place in ("first", "last"))
    assert faint != ink
    page.close()
