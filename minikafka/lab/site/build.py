"""Builds the site: `python -m minikafka.lab.site.build FOLDER [LESSON…]`."""

import re
import shutil
import sys
from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path

import click

from minikafka.lab.course.lesson_notebooks import notebooks, translations
from minikafka.lab.course.places import COURSE
from minikafka.lab.course.run_lessons import in_one_line
from minikafka.lab.language.chosen import LANGUAGES
from minikafka.lab.lesson_folders import REBUILD
from minikafka.lab.site.own_folder import FolderError, replaced, require_free
from minikafka.lab.site.page import Heading, Page, html_of, page_of, page_of_markdown
from minikafka.lab.site.recorded_run import recorded_run
from minikafka.lab.site.search_entries import search_script

MARK = ".minikafka-site"
"""The file by which a folder is known as a site that may be replaced."""
_HERE = Path(__file__).parent
_LINK = re.compile(r'<a href="(?!https?:|#)([^"#]+)[^"]*">(.*?)</a>', re.DOTALL)
_SUBTITLE = re.compile(r"^\*(.+)\*$", re.MULTILINE)


def pages_of(paths: Sequence[Path], say=lambda words: None) -> tuple[list[Page], list[str]]:
    """The page of each notebook, run anew, and its subtitle. `say` is told which one is next."""
    pages, subtitles = [], []
    for path in paths:
        say(path.stem)
        notebook = recorded_run(path)
        folder = path.parent.name if path.parent.name in LANGUAGES else ""
        pages.append(page_of(f"{folder}-{path.stem}" if folder else path.stem, notebook, folder))
        subtitle = _SUBTITLE.search(notebook.cells[0].source)
        subtitles.append(subtitle[1] if subtitle else "")
    return pages, subtitles


def write_site(folder: Path, pages: Sequence[Page], subtitles: Sequence[str]) -> None:
    """Write the lessons' `pages`, the glossary, the start page and the search into `folder`, all or nothing.

    Raises FolderError when `folder` holds something that is no earlier site, OSError as the disk does.
    """
    glossary = page_of_markdown("glossary", (COURSE / "glossary.md").read_text(encoding="utf-8"))
    everything = [_start_page(pages, subtitles), *pages, glossary]
    names = {page.name for page in everything}
    with replaced(folder, MARK) as new:
        for page in everything:
            order = [(other.name, other.title) for other in everything if other.folder == page.folder]
            html = _with_links_to_pages(html_of(page, order), names)
            (new / f"{page.name}.html").write_text(html, encoding="utf-8")
        (new / "search.js").write_text(search_script(everything), encoding="utf-8")
        for name in ("site.js", "site.css"):
            shutil.copyfile(_HERE / name, new / name)


def _start_page(pages: Sequence[Page], subtitles: Sequence[str]) -> Page:
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
    how = (
        "These pages need no installation: move the sliders, answer the predictions, search. To change the code and to "
        "have your own functions judged by Kafka, open the lessons as notebooks: <code>minikafka lab</code>."
    )
    body = (
        f'<h1 id="start">{title}</h1><p>{escape(words)}</p><p>{how}</p><h2 id="lessons">Lessons</h2>'
        f'<ol class="lessons">{rows}</ol>{translated}<p><a href="glossary.html">Glossary</a></p>'
    )
    sections = [(Heading(1, title, "start"), words), (Heading(2, "Lessons", "lessons"), "")]
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


def _with_links_to_pages(html: str, names: Collection[str]) -> str:
    """Links to notebooks of the course, from one language to another as well, lead to their pages.

    What else lies beside a notebook, such as solutions, is not on the site: of a link to it the words are left.
    """

    def to_page(link: re.Match) -> str:
        name = link[1].replace("/", "-")
        return f'href="{name}.html{link[2] or ""}"' if name in names else link[0]

    linked = re.sub(r'href="(?:\.\./)?((?:\w+/)?[\w-]+)\.(?:ipynb|md)(#[^"]*)?"', to_page, html)
    files = {f"{name}.html" for name in names}
    return _LINK.sub(lambda link: link[0] if link[1] in files else link[2], linked)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1)
def main(folder: Path, words: tuple[str, ...]) -> None:
    """Run the lessons whose names contain one of WORDS, or all, and write the site into FOLDER."""
    chosen = [path for path in [*notebooks(), *translations()] if not words or any(word in path.stem for word in words)]
    if not chosen:
        raise click.UsageError(f"no lesson's name contains {' or '.join(words)}")
    try:
        require_free(folder, MARK)
        pages, subtitles = pages_of(chosen, say=lambda name: click.echo(name, err=True))
        write_site(folder, pages, subtitles)
    except (FolderError, OSError) as failure:
        sys.exit(f"minikafka site: {failure}")
    except Exception as failure:  # of a lesson, as nbclient tells it
        sys.exit(f"minikafka site: {in_one_line(failure)}")
    click.echo(f"{folder / 'index.html'}: {len(pages)} pages")


if __name__ == "__main__":
    main()
