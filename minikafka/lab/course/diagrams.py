"""The course's diagrams: Graphviz sources in `diagrams/`, those of other languages in a folder each, drawn to SVG by `make diagrams` (`python -m
minikafka.lab.course.diagrams`).

Only the pinned Graphviz of the wheel `graphviz-pure` draws them, because another `dot` produces different SVG.
"""

import re
import shutil
import sys
import sysconfig
from html import escape, unescape
from pathlib import Path
from typing import Any

from minikafka.lab.course.places import DIAGRAMS
from minikafka.lab.course.readme_picture import readme_picture
from minikafka.lab.language.chosen import spoken_folder
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.letters import width_of

_COLOURS = {  # each colour that a source may use, and the role that it stands for
    "ink": "#010101", "faint": "#020202", "line": "#030303", "panel": "#040404", "paper": "#050505",
    "hw": "#060606", "leo": "#070707", "lso": "#080808", "start": "#090909",
    "committed": "#0a0a0a", "pending": "#0b0b0b", "gone": "#0c0c0c", "mark": "#0d0d0d",
    "a": "#0e0e0e", "b": "#0f0f0f", "c": "#101010", "d": "#111111", "e": "#121212", "f": "#131313", "g": "#141414",
}  # fmt: skip
_WIDE = re.compile("[\u2e80-\u9fff\uff00-\uffef]")
_TEXT = re.compile(r"(?<=>)[^<>]*(?=</text>)")
_GAP = '<br/><font point-size="4"> </font>'
"""What `<gap/>` at the end of an arrow's label stands for: a low line that keeps the letters off the arrow, because Graphviz
puts a label of its own accord so near that the arrow touches them.
"""
_DEFAULTS = """
  graph [bgcolor="transparent" fontname="Liberation Sans" fontsize=10 fontcolor="ink" color="line" pad=0.15 nodesep=0.35 ranksep=0.45]
  node [shape=box style="filled,rounded" fontname="Liberation Sans" fontsize=10 fontcolor="ink" color="line" fillcolor="panel" margin="0.14,0.08"]
  edge [fontname="Liberation Sans" fontsize=9 fontcolor="faint" color="faint" arrowsize=0.7]
"""


class Picture:
    """A diagram of the course, as drawn in `diagrams/`; `words` says the same in text."""

    def __init__(self, svg: str, words: str):
        self.svg, self.words = svg, words

    def __str__(self) -> str:
        return self.words

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        return {"text/html": drawing.page(self.svg), "text/plain": self.words}


def diagram(name: str) -> Picture:
    """The drawn diagram `name`, in the language that is spoken. Raises FileNotFoundError when `make diagrams` has not drawn it."""
    svg = drawing.drawing_of((DIAGRAMS / spoken_folder() / f"{name}.svg").read_text(encoding="utf-8"))
    words = re.search(r"<title>(.*?)</title>", svg, flags=re.DOTALL).group(1)
    return Picture(svg, unescape(words))


def draw(source: str) -> str:
    """The SVG of a Graphviz source whose colours are roles of `minikafka.lab.widgets.drawing`, and in which `<gap/>` ends
    the label of an arrow that runs below it; its first line, `// …`, is its text.
    """
    import graphviz

    graphviz.backend.dot_command.DOT_BINARY = dot_binary()
    words = source.split("\n", 1)[0].removeprefix("//").strip()
    plain = source.replace("{", "{" + _DEFAULTS, 1).replace("<gap/>", _GAP)
    for role, colour in _COLOURS.items():
        plain = re.sub(rf'(color=)"?{role}\b"?', rf'\g<1>"{colour}"', plain)
    drawn = _laid_out(plain)
    if _WIDE.search(plain):  # Graphviz takes a Chinese letter for narrower than it is, and "@" for as wide as that
        texts = iter(_TEXT.findall(drawn))
        drawn = _TEXT.sub(lambda _: next(texts), _laid_out(_WIDE.sub("@", plain)))
    return _themed(drawn, words)


def _laid_out(source: str) -> str:
    import graphviz

    return graphviz.Source(source, engine="dot").pipe("svg", encoding="utf-8", quiet=True)


def dot_binary() -> str:
    """The program of the pinned wheel, in the directory of the running Python. Raises FileNotFoundError without it."""
    found = shutil.which("graphviz-pure", path=sysconfig.get_path("scripts")) or shutil.which("graphviz-pure")
    if found is None:
        raise FileNotFoundError("graphviz-pure is not installed: pip install 'minikafka[lab]'")
    return found


def _themed(drawn: str, words: str) -> str:
    """The SVG with colours turned back into roles, without the titles of nodes, with fixed widths and with its text
    equivalent.
    """
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<!--.*?-->\n?", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r"\s*<title>.*?</title>", "", drawn, flags=re.DOTALL)
    for role, colour in _COLOURS.items():
        drawn = drawn.replace(f'"{colour}"', f'"var(--mk-{role})"')
    width, height = (float(n) * 4 / 3 for n in re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', drawn).groups())
    scale = min(1, drawing.WIDTH / width)
    drawn = re.sub(
        r'width="[\d.]+pt" height="[\d.]+pt"',
        f'width="{width * scale:.0f}" height="{height * scale:.0f}"',
        drawn,
        count=1,
    )
    drawn = drawn.replace('xmlns:xlink="http://www.w3.org/1999/xlink"', 'role="img"', 1)
    drawn = re.sub(r"<text (.*?)>(.*?)</text>", _of_fixed_width, drawn)
    return drawn.replace(">", f">\n<title>{escape(words)}</title>", 1)


def _of_fixed_width(drawn_text: re.Match) -> str:
    """The text with its width stated, and with other fonts for readers without the one that it was measured in."""
    attributes, words = drawn_text.groups()
    size = float(re.search(r'font-size="([\d.]+)"', attributes).group(1))
    width = width_of(unescape(words), size, bold='font-weight="bold"' in attributes)
    attributes = attributes.replace('"Liberation Sans"', f'"{drawing.SANS}"')
    return f"<text {attributes} {drawing.of_width(width)}>{words}</text>"


def main() -> None:
    """Draw every source in `diagrams/` and the README's picture; write the SVGs that differ, and say which."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DIAGRAMS
    drawn = {
        source.with_suffix(".svg"): drawing.standing_alone(draw(source.read_text(encoding="utf-8")))
        for source in [*sorted(directory.glob("*.dot")), *sorted(directory.glob("*/*.dot"))]
    }
    drawn[directory / "lesson.svg"] = readme_picture()
    for target, svg in drawn.items():
        changed = not target.exists() or target.read_text(encoding="utf-8") != svg
        if changed:
            target.write_text(svg, encoding="utf-8")
        print(f"{'drawn    ' if changed else 'unchanged'} {target.relative_to(directory)}")


if __name__ == "__main__":
    main()
