"""Builds the site: `python -m minikafka.lab.site.build FOLDER [LESSON…]`."""

import math
import posixpath
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import click

from minikafka.lab.course.lesson_notebooks import notebooks, translations
from minikafka.lab.course.run_lessons import in_one_line
from minikafka.lab.language.chosen import LANGUAGES
from minikafka.lab.lesson_folders import REBUILD
from minikafka.lab.site.live_parts import PartsError
from minikafka.lab.site.live_site import LIVE, address_of, is_live, live_site, why_not_live
from minikafka.lab.site.own_folder import FolderError, replaced, require_free
from minikafka.lab.site.page import Heading, Page, html_of, page_of
from minikafka.lab.site.recorded_run import recorded_run
from minikafka.lab.site.search_entries import search_script
from minikafka.lab.site.texts import is_listed, pages_of_texts

MARK = ".minikafka-site"
"""The file by which a folder is known as a site that may be replaced."""
_HERE = Path(__file__).parent
_LINK = re.compile(r'<a href="(?!https?:|#)([^"#]+)(#[^"]*)?">(.*?)</a>', re.DOTALL)
_MINUTES_A_NOTEBOOK = 0.5
"""What a notebook takes to run, with Spark and Kafka's JVM, on two cores."""
_WAYS = re.compile(r"<p><strong>How much time have you\?</strong></p>\s*<ul>.*?</ul>", re.DOTALL)
"""What *Start here* says of ways through the course, for two hours, a day, a week."""
_SUBTITLE = re.compile(r"^\*(.+)\*$", re.MULTILINE)


def pages_of(paths: Sequence[Path], say=lambda words: None) -> tuple[list[Page], list[str]]:
    """The page of each notebook, run anew, and its subtitle. `say` is told which one is next."""
    pages, subtitles = [], []
    for number, path in enumerate(paths, start=1):
        say(f"{number} of {len(paths)}: {path.stem}")
        notebook = recorded_run(path)
        folder = path.parent.name if path.parent.name in LANGUAGES else ""
        pages.append(page_of(f"{folder}-{path.stem}" if folder else path.stem, notebook, folder))
        subtitle = _SUBTITLE.search(notebook.cells[0].source)
        subtitles.append(subtitle[1] if subtitle else "")
    return pages, subtitles


def write_site(folder: Path, pages: Sequence[Page], subtitles: Sequence[str], live: Path | None = None) -> None:
    """Write the lessons' `pages`, the texts beside them, the start page and the search into `folder`, all or nothing.

    `live`: the folder with the live lessons, which is copied; each lesson's page then has a button that opens it, or a
    line that says why there is none. Raises FolderError when `folder` holds something that is no earlier site, OSError
    as the disk does.
    """
    texts = pages_of_texts()
    names = {page.source: page.name for page in [*pages, *texts]}
    if live is not None:
        pages = [
            replace(
                page,
                live=address_of(page.source) if is_live(name) else "",
                why_not_live=why_not_live(name),
            )
            for page in pages
            for name in [posixpath.splitext(posixpath.basename(page.source))[0]]
        ]
    linked = [_with_links_to_pages(page, names) for page in [*pages, *texts]]
    everything = [_start_page(linked[: len(pages)], subtitles, texts), *linked]
    with replaced(folder, MARK) as new:
        for page in everything:
            order = [(other.name, other.title) for other in everything if other.folder == page.folder]
            (new / f"{page.name}.html").write_text(html_of(page, order), encoding="utf-8")
        (new / "search.js").write_text(search_script(everything), encoding="utf-8")
        if live is not None:
            shutil.copytree(live, new / LIVE)
        for name in ("site.js", "site.css"):
            shutil.copyfile(_HERE / name, new / name)


def _start_page(pages: Sequence[Page], subtitles: Sequence[str], texts: Sequence[Page]) -> Page:
    rows = _rows(pages, subtitles, "")
    translated = "".join(
        f'<h2 id="{folder}" lang="{other.tag}">{other.own_name}</h2><ol class="lessons" lang="{other.tag}">{found}</ol>'
        for folder, other in LANGUAGES.items()
        if (found := _rows(pages, subtitles, folder))
    )
    title = "Inside Kafka's log"
    words = (
        "Apache Kafka's storage layer, read in its source, stepped through in a Python twin that writes the same "
        "bytes, and checked by three witnesses: minikafka, Spark and Kafka."
    )
    here = "These pages need no installation: move the sliders, answer the predictions, search."
    live = (
        "To change the code, press <em>Open it live</em> at the top of a lesson: it then runs in your browser, and "
        "minikafka's own methods judge your functions."
    )
    elsewhere = "have your own functions judged by Kafka, open the lessons as notebooks: <code>minikafka lab</code>."
    if any(page.live for page in pages):
        how = f"{here} {live} To {elsewhere}"
    else:
        how = f"{here} To change the code and to {elsewhere}"
    listed = "".join(
        f'<li><a href="{text.name}.html">{escape(text.title)}</a></li>' for text in texts if is_listed(text)
    )
    ways = next((found[0] for page in pages if not page.folder and (found := _WAYS.search(page.body))), "")
    body = (
        f'<h1 id="start">{title}</h1><p>{escape(words)}</p><p>{how}</p>{ways}<h2 id="lessons">Lessons</h2>'
        f'<ol class="lessons">{rows}</ol>{translated}<h2 id="documentation">Documentation</h2><ul>{listed}</ul>'
    )
    headings = Heading(2, "Lessons", "lessons"), Heading(2, "Documentation", "documentation")
    sections = [(Heading(1, title, "start"), words), *((heading, "") for heading in headings)]
    return Page("index", title, body, [], sections)


def _rows(pages: Sequence[Page], subtitles: Sequence[str], folder: str) -> str:
    """A row for each lesson in the language of `folder`, which also leads to its page to rebuild."""
    by_name = {page.name: (page, subtitle) for page, subtitle in zip(pages, subtitles, strict=True)}
    rows = ""
    for name, (page, subtitle) in by_name.items():
        is_second = name.endswith(REBUILD) and name.removesuffix(REBUILD) in by_name
        if page.folder == folder and not is_second:
            rebuild, _ = by_name.get(f"{name}{REBUILD}", (None, ""))
            rows += _row(page, subtitle, rebuild)
    return rows


def _row(page: Page, subtitle: str, rebuild: Page | None) -> str:
    number = page.name.removeprefix(f"{page.folder}-").split("-")[0]
    second = f'<p><a href="{rebuild.name}.html">{escape(rebuild.title)}</a></p>' if rebuild else ""
    return (
        f'<li><a href="{page.name}.html">{escape(number)} {escape(page.title)}</a><p>{escape(subtitle)}</p>{second}'
        f'<p class="done" lang="en" data-lesson="{page.name}" data-questions="{_questions(page)}"></p></li>'
    )


def _questions(page: Page) -> int:
    return sum(record["kind"] == "question" for record in page.records)


def _with_links_to_pages(page: Page, names: Mapping[str, str]) -> Page:
    """Links to files of the repository that are pages lead to these; `names` has the page of each file.

    What else lies in the repository, such as solutions, is not on the site: of a link to it the words are left.
    """

    def to_page(link: re.Match) -> str:
        target, anchor, words = link.groups()
        name = names.get(posixpath.normpath(posixpath.join(posixpath.dirname(page.source), target)))
        return f'<a href="{name}.html{anchor or ""}">{words}</a>' if name else words

    return replace(page, body=_LINK.sub(to_page, page.body))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1)
@click.option("--live", is_flag=True, help="Beside the pages, the lessons as notebooks that run in the browser.")
def main(folder: Path, words: tuple[str, ...], live: bool) -> None:
    """Run the lessons whose names contain one of WORDS, or all, and write the site into FOLDER, with all texts."""
    chosen = [path for path in [*notebooks(), *translations()] if not words or any(word in path.stem for word in words)]
    if not chosen:
        raise click.UsageError(f"no lesson's name contains {' or '.join(words)}")
    try:
        require_free(folder, MARK)
        minutes = math.ceil(len(chosen) * _MINUTES_A_NOTEBOOK)
        click.echo(f"notebooks to run: {len(chosen)}; minutes that it takes: about {minutes}", err=True)
        live_lessons = live_site() if live else None
        pages, subtitles = pages_of(chosen, say=lambda name: click.echo(name, err=True))
        write_site(folder, pages, subtitles, live_lessons)
    except (FolderError, PartsError, OSError) as failure:
        sys.exit(f"minikafka site: {failure}")
    except Exception as failure:  # of a lesson, as nbclient tells it
        sys.exit(f"minikafka site: {in_one_line(failure)}")
    click.echo(f"{folder / 'index.html'}: {len(pages)} pages")


if __name__ == "__main__":
    main()
