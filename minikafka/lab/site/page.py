"""One lesson as one HTML file: its text, its code, its outputs, and as data the frames and answers of its run."""

import base64
import gzip
import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from minikafka.lab.course.build_lessons import fold_answers
from minikafka.lab.course.diagrams import diagram
from minikafka.lab.language.chosen import spoken_in
from minikafka.lab.site.recorded_run import RECORD
from minikafka.lab.widgets import drawing
from minikafka.witness.spoken import language, say

_CELL_CODE = re.compile(r"(?<=<code>)[^<]+(?=</code>(?:(?!<td>).)*</td>)", re.DOTALL)
_BREAKS = re.compile(r"(?<=[._])(?=\w)|(?<=[a-z])(?=[A-Z])")
"""Where a name in a narrow column of a table may be broken."""
_DIAGRAM = re.compile(r'<p><img src="[./]+/diagrams/(?:\w+/)?(\w+)\.svg"[^>]*></p>')
"""A picture of the course in a text. The site has no such files, so the page itself gets the drawing."""
_EMPTY_HEAD = re.compile(r"<thead>\s*<tr>(\s*<th[^>]*></th>)+\s*</tr>\s*</thead>\s*")
_EMPTY_HEADER = re.compile(r"<th([^>]*)></th>")
_ONLY_SHOWS = re.compile(r"(predict|diagram)\(")
"""The code of a cell of which only the output is meant to be read."""
_WAIT_FOR_THE_KERNEL = re.compile(
    r"(This notebook has its own kernel,|It takes a few seconds, because it|这个 notebook 有自己的内核，)"
    r".*?[.。](?=\s|$)\s?",
    re.DOTALL,
)
"""What a notebook to rebuild tells those who run it, and nobody else."""
_SCRIPT_WORDS = re.findall(r'say\("([^"]+)"', Path(__file__).with_name("site.js").read_text(encoding="utf-8"))
"""What the script says, in English; a page in another language brings the translations along."""


@dataclass(frozen=True)
class Heading:
    """A heading of a page: its level (1 to 6), its words, and the id that a link names."""

    level: int
    words: str
    anchor: str


@dataclass(frozen=True)
class Page:
    """A page of the site: `name` is the file's, without `.html`; `body` is HTML, `records` what its script replays.

    `sections` pairs each heading with the plain words below it, for the search. `source` is the file that it was made
    from, in the repository, where its links begin. `folder` is that of its language, "" for English. `live` is the
    address of the notebook that runs in the browser, "" where there is none; `why_not_live` is a line that says why.
    """

    name: str
    title: str
    body: str
    records: Sequence[dict[str, Any]]
    sections: Sequence[tuple[Heading, str]]
    source: str = ""
    folder: str = ""
    live: str = ""
    why_not_live: str = ""

    @property
    def headings(self) -> list[Heading]:
        """The page's headings in reading order."""
        return [heading for heading, _ in self.sections]


def page_of(name: str, notebook: Any, folder: str = "") -> Page:
    """The page of a lesson that has run (`recorded_run`); `folder` is that of its language."""
    source = posixpath.join("notebooks", folder, f"{name.removeprefix(f'{folder}-')}.ipynb")
    fold_answers(notebook)
    with spoken_in(folder):
        return replace(_Maker(name).page(notebook.cells), source=source, folder=folder)


def page_of_markdown(name: str, words: str, source: str = "") -> Page:
    """The page of a text that does not run, such as the glossary; `source` is its file in the repository."""
    maker = _Maker(name)
    maker.markdown(words)
    return replace(maker.done(), source=source)


def html_of(page: Page, pages: Sequence[tuple[str, str]]) -> str:
    """The whole file. `pages`: name and title of all pages in its language in reading order."""
    with spoken_in(page.folder):
        return _html_of(page, pages)


def _html_of(page: Page, pages: Sequence[tuple[str, str]]) -> str:
    names = [name for name, _ in pages]
    place = names.index(page.name) if page.name in names else None
    before = pages[place - 1] if place else None
    after = pages[place + 1] if place is not None and place + 1 < len(pages) else None
    inner = "".join(
        f'<li class="level-{heading.level}"><a href="#{heading.anchor}">{escape(heading.words)}</a></li>'
        for heading in page.headings
        if heading.level in (2, 3)
    )
    contents = f"<details><summary>{say('On this page')}</summary><ul>{inner}</ul></details>" if inner else ""
    way = "".join(
        f'<a rel="{rel}" href="{other[0]}.html">{say(words)} {escape(other[1])}</a>'
        for rel, words, other in (("prev", "Before:", before), ("next", "Next:", after))
        if other
    )
    ways = "".join(
        f'<a href="{target}">{say(words)}</a>'
        for target, words in (
            ("index.html#lessons", "Lessons"),
            ("index.html#documentation", "Documentation"),
            ("glossary.html", "Glossary"),
        )
    )
    button = f'<a href="{page.live}">{say("Open it live")}</a>' if page.live else escape(page.why_not_live)
    live = f'<p class="live">{button}</p>' if button else ""
    hint = say("Search (press /)")
    kept = {words: said for words in _SCRIPT_WORDS if (said := say(words)) != words}
    script_words = f", words: {json.dumps(kept, ensure_ascii=False)}" if kept else ""
    data = f'page: {json.dumps(page.name)}, records: "{_packed(page.records)}"{script_words}'
    return f"""<!DOCTYPE html>
<html lang="{language()}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(page.title)} · minikafka</title>
{drawing.PAGE_STYLE}
<link rel="stylesheet" href="site.css">
</head>
<body>
<a class="skip" href="#content">{say("To the text")}</a>
<header>
<a class="home" href="index.html">minikafka</a>
<nav class="ways" aria-label="{say("The site")}">{ways}</nav>
<form role="search" id="search-form"><label for="search">{say("Search")}</label>
<input id="search" type="search" autocomplete="off" placeholder="{hint}" aria-controls="found"></form>
<button type="button" id="theme">{say("Dark or light")}</button>
</header>
<div id="found" role="region" aria-label="{say("Search results")}" aria-live="polite" hidden></div>
<main id="content" tabindex="-1">
<nav class="contents" aria-label="{say("On this page")}">{contents}</nav>
<article>
{live}{page.body}
</article>
</main>
<footer><nav aria-label="{say("Pages")}">{way}</nav></footer>
<script>window.MINIKAFKA = {{{data}}};</script>
<script src="search.js" defer></script>
<script src="site.js" defer></script>
</body>
</html>
"""


def _packed(records: Sequence[dict[str, Any]]) -> str:
    """The records as base64 of gzipped JSON: frames repeat each other, so that a hundred take the room of a few."""
    raw = json.dumps(list(records), ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()


class _Maker:
    """Collects the parts of one page."""

    def __init__(self, name: str):
        self._name = name
        self._parts: list[str] = []
        self._records: list[dict[str, Any]] = []
        self._sections: list[tuple[Heading, list[str]]] = []
        self._markdown = MarkdownIt("commonmark", {"html": True, "highlight": _code_block}).enable("table")

    def page(self, cells: Sequence[Any]) -> Page:
        """The page of a notebook's cells."""
        for cell in cells:
            if cell.cell_type == "markdown":
                self.markdown(cell.source)
            else:
                self._code(cell)
        return self.done()

    def markdown(self, source: str) -> None:
        """Add text; its headings become places that a link can name, its tables can be scrolled on a narrow page."""
        tokens = self._markdown.parse(_WAIT_FOR_THE_KERNEL.sub("", source))
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                heading = self._heading(int(token.tag[1]), _plain(self._markdown.renderInline(tokens[i + 1].content)))
                token.attrSet("id", heading.anchor)
            elif token.type == "inline" and tokens[i - 1].type != "heading_open" and self._sections:
                self._sections[-1][1].append(_plain(self._markdown.renderInline(token.content)))
        html = self._markdown.renderer.render(tokens, self._markdown.options, {})
        html = _CELL_CODE.sub(lambda code: _BREAKS.sub("<wbr>", code[0]), html)
        html = _EMPTY_HEADER.sub(r"<td\1></td>", _EMPTY_HEAD.sub("", html))
        html = _DIAGRAM.sub(lambda picture: _shown(drawing.page(diagram(picture[1]).svg)), html)
        html = html.replace("<table>", '<div class="scroll"><table>')
        self._parts.append(html.replace("</table>", "</table></div>"))

    def done(self) -> Page:
        """The page of all that was added. Raises ValueError for a text without a heading."""
        if not self._sections:
            raise ValueError(f"{self._name} has no heading")
        sections = [(heading, " ".join(words)) for heading, words in self._sections]
        return Page(self._name, sections[0][0].words, "\n".join(self._parts), self._records, sections)

    def _heading(self, level: int, words: str) -> Heading:
        anchor = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "part"
        used = sum(other.anchor == anchor or other.anchor.startswith(f"{anchor}~") for other, _ in self._sections)
        heading = Heading(level, words, f"{anchor}~{used + 1}" if used else anchor)
        self._sections.append((heading, []))
        return heading

    def _code(self, cell: Any) -> None:
        if not _ONLY_SHOWS.match(cell.source):
            self._parts.append(_code_block(cell.source, "python"))
        records = [output.data[RECORD] for output in cell.outputs if RECORD in output.get("data", {})]
        shown = [output for output in cell.outputs if RECORD not in output.get("data", {})]
        if records:
            shown = [output for output in shown if output.output_type != "execute_result"]
        question = len(self._records) - 1
        parts = [html for output in shown for html in _output(output)]
        parts += map(self._place_for, records)
        if parts and "jupyter" in cell.metadata:  # folded: it answers the question before it
            summary = f"<summary>{say('What the run shows: it opens when you have answered')}</summary>"
            parts = [f'<details class="after" data-after="{question}">{summary}{"".join(parts)}</details>']
        self._parts += parts

    def _place_for(self, record: dict[str, Any]) -> str:
        if record["kind"] == "exercise":
            words = say("In the notebook the line above runs your function and says where it differs first.")
            return f'<p class="aside">{escape(record["name"])}{say(". ")}{words}</p>'
        self._records.append(record)
        return f'<div class="{record["kind"]}" data-record="{len(self._records) - 1}">{_without_script(record)}</div>'


def _code_block(source: str, name: str, _attributes: str = "") -> str:
    """`source` in a box of its own; coloured if `name`, that of its language, is Python's."""
    is_python = name == "python"
    code = (
        highlight(source, PythonLexer(), HtmlFormatter(nowrap=True, classprefix="py-")) if is_python else escape(source)
    )
    return f'<pre class="code"><code>{code.rstrip()}</code></pre>'


def _without_script(record: dict[str, Any]) -> str:
    """What stands in a record's place until the script has run, and for whoever runs none."""
    if record["kind"] == "question":
        return f"<p><b>{say('Predict.')}</b> {escape(record['question'])}</p>"
    return f"<p><b>{escape(record['title'])}</b></p><pre>{escape(record['words'][record['start']])}</pre>"


def _output(output: Any) -> Iterator[str]:
    """One output of a cell as HTML."""
    if output.output_type == "stream":
        yield _pre(output.text)
    elif output.output_type == "error":
        yield _pre(f"{output.ename}: {output.evalue}")
    elif "text/html" in output.get("data", {}):
        yield _shown(output.data["text/html"])
    elif output.get("data", {}).get("text/plain"):
        yield _pre(output.data["text/plain"])


def _shown(html: str) -> str:
    return f'<div class="output scroll">{drawing.without_style(html)}</div>'


def _pre(words: str) -> str:
    return f'<pre class="output">{escape(words.rstrip())}</pre>'


def _plain(html: str) -> str:
    return unescape(re.sub("<[^>]+>", "", html)).strip()
