"""Builds the site: `python -m minikafka.lab.site.build FOLDER [LESSON…]`."""

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

import click

from minikafka.lab.course.places import COURSE
from minikafka.lab.course.run_lessons import in_one_line, lessons
from minikafka.lab.site.page import Heading, Page, html_of, page_of, page_of_markdown
from minikafka.lab.site.recorded_run import recorded_run
from minikafka.lab.site.search_entries import search_script

MARK = ".minikafka-site"
"""The file by which a folder is known as a site that may be replaced."""
_HERE = Path(__file__).parent
_SUBTITLE = re.compile(r"^\*(.+)\*$", re.MULTILINE)


class FolderError(Exception):
    """The folder can't become a site; the message says why."""


def pages_of(notebooks: Sequence[Path], say=lambda words: None) -> tuple[list[Page], list[str]]:
    """The page of each lesson, run anew, and its subtitle. `say` is told which one is next."""
    pages, subtitles = [], []
    for path in notebooks:
        say(path.stem)
        notebook = recorded_run(path)
        pages.append(page_of(path.stem, notebook))
        subtitle = _SUBTITLE.search(notebook.cells[0].source)
        subtitles.append(subtitle[1] if subtitle else "")
    return pages, subtitles


def write_site(folder: Path, pages: Sequence[Page], subtitles: Sequence[str]) -> None:
    """Write the lessons' `pages`, the glossary, the start page and the search into `folder`, all or nothing.

    Raises FolderError when `folder` holds something that is no earlier site, OSError as the disk does.
    """
    require_free(folder)
    glossary = page_of_markdown("glossary", (COURSE / "glossary.md").read_text(encoding="utf-8"))
    everything = [_start_page(pages, subtitles), *pages, glossary]
    order = [(page.name, page.title) for page in everything]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as workshop:
        new, old = Path(workshop, "new"), Path(workshop, "old")
        new.mkdir()
        (new / MARK).write_text("This folder was made by minikafka and is replaced when the site is made again.\n")
        for page in everything:
            html = html_of(page, order)
            (new / f"{page.name}.html").write_text(_with_links_to_pages(html, order), encoding="utf-8")
        (new / "search.js").write_text(search_script(everything), encoding="utf-8")
        for name in ("site.js", "site.css"):
            shutil.copyfile(_HERE / name, new / name)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)


def require_free(folder: Path) -> None:
    """Raises FolderError unless `folder` is missing, empty, or an earlier site."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FolderError(f"{folder} is no folder of its own")
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise FolderError(f"{folder} is not empty, and no earlier site: name another folder, or empty this one")


def _start_page(pages: Sequence[Page], subtitles: Sequence[str]) -> Page:
    rows = "".join(
        f'<li><a href="{page.name}.html">{escape(page.name.split("-")[0])} {escape(page.title)}</a>'
        f"<p>{escape(subtitle)}</p>"
        f'<p class="done" data-lesson="{page.name}" data-questions="{_questions(page)}"></p></li>'
        for page, subtitle in zip(pages, subtitles, strict=True)
    )
    title = "Inside Kafka's log"
    words = (
        "Apache Kafka's storage layer, read in its source, stepped through in a Python twin that writes the same "
        "bytes, and checked by three witnesses: minikafka, Spark and Kafka."
    )
    how = (
        "These pages need no installation: move the sliders, answer the predictions, search. To change the code and to "
        "have your own functions judged by Kafka, open the lessons as notebooks: <code>minikafka lab</code>."
    )
    body = (
        f'<h1 id="start">{title}</h1><p>{escape(words)}</p><p>{how}</p><h2 id="lessons">Lessons</h2>'
        f'<ol class="lessons">{rows}</ol><p><a href="glossary.html">Glossary</a></p>'
    )
    sections = [(Heading(1, title, "start"), words), (Heading(2, "Lessons", "lessons"), "")]
    return Page("index", title, body, [], sections)


def _questions(page: Page) -> int:
    return sum(record["kind"] == "question" for record in page.records)


def _with_links_to_pages(html: str, order: Sequence[tuple[str, str]]) -> str:
    """Links to notebooks of the course lead to their pages."""
    names = {name for name, _ in order}
    return re.sub(
        r'href="([\w-]+)\.(?:ipynb|md)(#[^"]*)?"',
        lambda link: f'href="{link[1]}.html{link[2] or ""}"' if link[1] in names else link[0],
        html,
    )


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1)
def main(folder: Path, words: tuple[str, ...]) -> None:
    """Run the lessons whose names contain one of WORDS, or all, and write the site into FOLDER."""
    chosen = [path for path in lessons() if not words or any(word in path.stem for word in words)]
    if not chosen:
        raise click.UsageError(f"no lesson's name contains {' or '.join(words)}")
    try:
        require_free(folder)
        pages, subtitles = pages_of(chosen, say=lambda name: click.echo(name, err=True))
        write_site(folder, pages, subtitles)
    except (FolderError, OSError) as failure:
        sys.exit(f"minikafka site: {failure}")
    except Exception as failure:  # of a lesson, as nbclient tells it
        sys.exit(f"minikafka site: {in_one_line(failure)}")
    click.echo(f"{folder / 'index.html'}: {len(pages)} lessons")


if __name__ == "__main__":
    main()
