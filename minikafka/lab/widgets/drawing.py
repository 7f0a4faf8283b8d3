"""The look that all lab pieces share: colours for light and dark pages, and the few helpers that write SVG.

A picture names colours by role (`hw`, `committed`, …), never by value. On a live page the roles follow JupyterLab's
theme; a picture that leaves the page (`as_image`) carries its own style and follows the reader's system instead.
"""

import base64
import re
from collections.abc import Collection
from html import escape
from itertools import count
from typing import Any

from minikafka.lab.widgets.letters import cut_to, width_of
from minikafka.witness.spoken import ENGLISH, language

WIDTH = 880
"""Width of every picture in px; JupyterLab's cells are at least that wide in a window of 1,280 px. In a narrower one it
shrinks to 560 px, so that its letters can be read, and is scrolled from there on.
"""

LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "faint": "#57606a", "line": "#c4ccd6", "panel": "#f3f5f8",
    "start": "#57606a", "lso": "#8250df", "hw": "#b35900", "leo": "#0550ae",
    "committed": "#cfe8d5", "pending": "#fbe3c0", "gone": "#e4e7eb", "mark": "#fff3b0", "good": "#116329", "bad": "#b3261e",
    "a": "#d5e4f7", "b": "#f9ddd2", "c": "#d4edd9", "d": "#eadcf8", "e": "#fbe9b7", "f": "#d3eef0", "g": "#f6d7e6",
}  # fmt: skip
DARK = {
    "paper": "#14171c", "ink": "#e8ebf0", "faint": "#a3adb9", "line": "#4a5361", "panel": "#20252d",
    "start": "#a3adb9", "lso": "#c8a6ff", "hw": "#ffab57", "leo": "#79b8ff",
    "committed": "#1f4a2e", "pending": "#5c421a", "gone": "#2c323b", "mark": "#40370a", "good": "#6fdd8b", "bad": "#ff8a80",
    "a": "#24456b", "b": "#6b3a28", "c": "#275235", "d": "#4b3570", "e": "#5f4d14", "f": "#1f5257", "g": "#642f4a",
}  # fmt: skip

SANS = "'Liberation Sans',Arial,Helvetica,sans-serif"
_MONO = "'Liberation Mono','DejaVu Sans Mono',Menlo,Consolas,monospace"
_SIZE, _SMALL, _HEADING = 13, 11.5, 14.5
_PICTURE_RULES = f"""
.mk-t{{font:{_SIZE}px/1.35 {SANS};fill:var(--mk-ink)}}
.mk-t.mk-s{{font-size:{_SMALL}px;fill:var(--mk-faint)}} .mk-t.mk-b{{font-weight:700}} .mk-t.mk-m{{font-family:{_MONO}}}
.mk-t.mk-h{{font-size:{_HEADING}px;font-weight:700}}
"""
# A picture is made smaller for a narrow cell, but not in a narrow window, where one scrolls: its letters stay legible.
_PAGE_RULES = (
    _PICTURE_RULES
    + f"""
.mk{{font:13px/1.45 {SANS}}} .mk pre,.mk code{{font:12.5px/1.45 {_MONO}}}
"""
    + """
.mk{color:var(--mk-ink);background:var(--mk-paper);max-width:900px;padding:8px 10px;box-sizing:border-box;overflow-x:auto}
.widget-html-content:has(>.mk){min-width:0}
.mk-field:hover rect{stroke:var(--mk-ink);stroke-width:2.5}
.mk svg{display:block;max-width:max(100%,560px,(940px - 100vw)*99);height:auto} .mk img{max-width:max(100%,560px,(940px - 100vw)*99)}
.mk pre,.mk code{color:inherit;background:none;overflow-wrap:break-word}
.mk pre{margin:0;padding:6px 0;background:var(--mk-panel);border-radius:4px;overflow-x:auto;white-space:pre}
.mk .mk-now{background:var(--mk-mark);display:inline-block;min-width:100%}
.mk table{border-collapse:collapse;margin:4px 0;font-size:12.5px;color:inherit} div.mk td,div.mk th{padding:2px 10px 2px 0;text-align:left;border:0;background:none}
.mk a{color:var(--mk-leo)} .mk-strong{font-weight:700} .mk-faint{color:var(--mk-faint)} .mk-good{color:var(--mk-good);font-weight:700} .mk-bad{color:var(--mk-bad);font-weight:700}
.mk .mk-keyword{color:var(--mk-leo);font-weight:700} .mk .mk-string{color:var(--mk-good)} .mk .mk-number{color:var(--mk-lso)} .mk .mk-comment{color:var(--mk-faint);font-style:italic}
.mk pre .mk-faint .mk-keyword{font-weight:400}
.mk-line{overflow-wrap:anywhere;padding-left:3em;text-indent:-3em}
.mk-box{border-left:4px solid var(--mk-line);padding:6px 12px;background:var(--mk-panel);border-radius:0 4px 4px 0;overflow-wrap:anywhere}
.mk-box td.mk-faint{white-space:nowrap;vertical-align:top}
"""
)
"""Where two rules of equal weight set the same of an element, both have the same selector. So a piece that has some of
the rules and stands below another one, or is shown again, changes nothing in that one.
"""
_ROUND_A_PIECE = {"div", ".mk", ".widget-html-content"}
"""What a piece's own HTML does not hold, but the page around it."""


def _variables(palette: dict[str, str], roles: Collection[str]) -> str:
    return ";".join(f"--mk-{role}:{colour}" for role, colour in palette.items() if role in roles)


def _style(rules: str, html: str) -> str:
    """The style of a live page with these rules, and with the colours that they and `html` name."""
    light, dark = (_variables(palette, _roles(html + rules)) for palette in (LIGHT, DARK))
    return (
        f"<style>:root{{{light}}}"
        f"@media (prefers-color-scheme:dark){{body:not([data-jp-theme-light]){{{dark}}}}}"
        f"[data-jp-theme-light='false']{{{dark}}}{rules}</style>"
    )


def _roles(words: str) -> set[str]:
    return set(re.findall(r"var\(--mk-(\w+)\)", words))


def _used(rules: str, html: str) -> str:
    """Those of the rules that concern an element of `html`, a line each."""
    classes = (name for names in re.findall(r'class="([^"]*)"', html) for name in names.split())
    there = {*_ROUND_A_PIECE, *re.findall(r"<(\w+)", html), *(f".{name}" for name in classes)}
    used = []
    for selectors, body in re.findall(r"([^{}]+)\{([^}]*)\}", rules):
        fitting = [each for each in selectors.strip().split(",") if there.issuperset(_NAMES.findall(each))]
        if fitting:
            used.append(f"{','.join(fitting)}{{{body}}}")
    return "\n".join(used)


_NAMES = re.compile(r"\.[a-z][\w-]*|(?<![:.\w-])[a-z]\w*")
"""The elements and classes of a selector: `.mk-field` and `rect` of `.mk-field:hover rect`."""

PAGE_STYLE = _style(_PAGE_RULES, "".join(f"var(--mk-{role})" for role in LIGHT))
"""The style of a live page with every piece in it; JupyterLab says in `data-jp-theme-light` which theme it shows."""


def page(html: str) -> str:
    """One lab piece as it stands in a live page: `html` in its frame, with the style that it needs and no more.

    No piece relies on another one's style: a reader runs and clears cells in any order, JupyterLab's windowing mode
    "full" takes out of the page what is scrolled away, and Colab shows each output in a frame of its own.
    """
    # JupyterLab shows the first line of an output that is folded: an empty one, and not the style.
    return f'\n{_style(_used(_PAGE_RULES, html), html)}<div class="mk"{_lang()}>{html}</div>'


def without_style(html: str) -> str:
    """What `page` made, without its style, for a page that has `PAGE_STYLE`."""
    return re.sub(r"\n?<style>:root\{--mk-.*?</style>", "", html, flags=re.DOTALL)


def static_page(html: str) -> str:
    """`html` for a page without a kernel or a style sheet: each `<svg>` becomes an image that carries its own style."""
    return re.sub(r"<svg\b.*?</svg>", lambda match: as_image(match.group()), html, flags=re.DOTALL)


def as_image(svg: str) -> str:
    """An `<img>` of `svg` that needs nothing around it; the picture's `<title>` becomes the text for those who can't
    see it.
    """
    title = re.search(r"<title>(.*?)</title>", svg, flags=re.DOTALL)
    width = re.search(r'width="(\d+)"', svg).group(1)
    whole = svg.replace(">", f">{_image_style(svg)}", 1)
    data = base64.b64encode(whole.encode()).decode()
    return f'<img width="{width}" alt="{title.group(1) if title else ""}" src="data:image/svg+xml;base64,{data}">'


def standing_alone(svg: str) -> str:
    """`svg` with the style and the background that it needs in a file of its own; `drawing_of` takes them out again."""
    paper = "svg{background:var(--mk-paper)}"
    style = _image_style(svg + paper).replace("</style>", f"{paper}</style>")
    return svg.replace(">", f">\n{style}", 1)


def drawing_of(svg: str) -> str:
    """The picture without its own style, for a page that has one."""
    return re.sub(r"\n<style>.*?</style>", "", svg, count=1, flags=re.DOTALL)


def _image_style(svg: str) -> str:
    """The style that this picture needs and no more, because an exported notebook holds many pictures."""
    rules = _used(_PICTURE_RULES, svg)
    light, dark = (_variables(palette, {"ink", "faint"} | _roles(svg + rules)) for palette in (LIGHT, DARK))
    return f"<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{rules}</style>"


def svg(width: float, height: float, body: str, title: str) -> str:
    """A picture on the page's paper; `title` is its text equivalent."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g}'
        f' {height:g}" role="img"{_lang()}><title>{escape(title)}</title><rect width="100%" height="100%"'
        f' fill="var(--mk-paper)"/>{body}</svg>'
    )


def _lang() -> str:
    """The attribute that tells the browser another language than English; by it Chinese letters get a Chinese font."""
    return "" if language() == ENGLISH else f' lang="{language()}"'


def text(
    x: float,
    y: float,
    words: object,
    *,
    kind: str = "",
    anchor: str = "start",
    fill: str = "",
    room: float | None = None,
) -> str:
    """Words with their baseline at (x, y), equally wide in every font; `kind` is any of s(mall) b(old) m(ono)
    h(eading).

    What is longer than `room` px is cut, with an ellipsis.
    """
    words = re.sub(" +", " ", str(words)).strip(" ")  # as a browser would
    if room is not None:
        words = cut_to(room, words, **_letters(kind))
    classes = " ".join(["mk-t", *(f"mk-{letter}" for letter in kind)])
    style = f' style="fill:var(--mk-{fill})"' if fill else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {of_width(width(words, kind))}'
    return f'<text class="{classes}" {place}{style}>{escape(words)}</text>' if words else ""


def of_width(px: float) -> str:
    """The attributes that make a `<text>` that wide in any font."""
    return f'textLength="{px:.1f}" lengthAdjust="spacingAndGlyphs"'


def width(words: object, kind: str = "") -> float:
    """The width in px that `text` gives to these words."""
    return width_of(str(words), **_letters(kind))


def _letters(kind: str) -> dict[str, Any]:
    size = _HEADING if "h" in kind else _SMALL if "s" in kind else _SIZE
    return {"size": size, "bold": "b" in kind or "h" in kind, "mono": "m" in kind}


def fitting(room: float, *choices: str, kind: str = "s") -> str:
    """The first of `choices` that fits into `room` px, or nothing."""
    return next((words for words in choices if width(words, kind) <= room), "")


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    stroke: str = "line",
    dash: str = "",
    weight: float = 1,
) -> str:
    """A box; `fill` and `stroke` are roles, or "none"."""
    colours = f'fill="{_colour(fill)}" stroke="{_colour(stroke)}" stroke-width="{weight:g}"'
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" {colours}{dashes}/>'


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = "line", *, weight: float = 1, dash: str = "") -> str:
    """A straight line; `stroke` is a role."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_colour(stroke)}"'
        f' stroke-width="{weight:g}"{dashes}/>'
    )


def polygon(points: list[tuple[float, float]], fill: str) -> str:
    """A filled shape; `fill` is a role."""
    return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="{_colour(fill)}"/>'


def hatch(x: float, y: float, width: float, height: float, stroke: str, step: float = 7) -> str:
    """Slanted lines over a box, so that its colour is not the only signal."""
    lines, start = [], -height
    while start < width:
        x1, x2 = max(start, 0), min(start + height, width)
        lines.append(line(x + x1, y + height - (x1 - start), x + x2, y + height - (x2 - start), stroke, weight=0.8))
        start += step
    return "".join(lines)


def tick_step(unit: float, room: float) -> int:
    """The distance between the numbers that a scale names: the least of 1, 2, 5, 10, 20, … that takes `room` px or
    more.

    `unit`: the px from one number to the next, above 0.
    """
    steps = (first * 10**zeros for zeros in count() for first in (1, 2, 5))
    return next(step for step in steps if step * unit >= room)


def shorten(words: str, length: int) -> str:
    """`words`, cut to `length` characters with an ellipsis."""
    return words if len(words) <= length else words[: length - 1] + "…"


def _colour(role: str) -> str:
    return "none" if role == "none" else f"var(--mk-{role})"
