"""Builds the slides: `python -m minikafka.lab.teaching.slides.build FOLDER [LESSON…]`, which `make slides` calls."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.lesson_folders import lesson_named
from minikafka.lab.site.own_folder import FolderError, replaced, require_free
from minikafka.lab.teaching.build import ANSWERS
from minikafka.lab.teaching.known_answers import read_answers
from minikafka.lab.teaching.slides.deck import Deck, deck_of
from minikafka.lab.teaching.slides.page import html_of, index_of
from minikafka.lab.teaching.slides.plan import FILE, PlanError, read_plan

MARK = ".minikafka-slides"
"""The file by which a folder is known as slides that may be replaced."""


def decks_of(notebooks: Sequence[Path]) -> list[Deck]:
    """The deck of each lesson, of its stored outputs and of the answers that the teachers' pages know.

    Raises PlanError where a lesson has no plan, or one that does not fit it.
    """
    answers = read_answers(ANSWERS)
    plans = (read_plan(lesson_named(path.stem).path / FILE) for path in notebooks)
    return [deck_of(path, plan, answers.get(path.stem, {})) for path, plan in zip(notebooks, plans)]


def write_slides(folder: Path, decks: list[Deck]) -> None:
    """Write a file for each deck, and one that names them, into `folder`, all or nothing.

    Raises FolderError when `folder` holds something that is no earlier slides, OSError as the disk does.
    """
    with replaced(folder, MARK) as new:
        for deck in decks:
            (new / f"{deck.name}.html").write_text(html_of(deck), encoding="utf-8")
        (new / "index.html").write_text(index_of(decks), encoding="utf-8")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1)
def main(folder: Path, words: tuple[str, ...]) -> None:
    """Write ten slides for each lesson whose name contains one of WORDS, or for all, into FOLDER."""
    chosen = [path for path in lessons() if not words or any(word in path.stem for word in words)]
    if not chosen:
        raise click.UsageError(f"no lesson's name contains {' or '.join(words)}")
    try:
        require_free(folder, MARK)
        decks = decks_of(chosen)
        write_slides(folder, decks)
    except (FolderError, PlanError, OSError) as failure:
        sys.exit(f"minikafka slides: {failure}")
    click.echo(f"{folder / 'index.html'}: {len(decks)} decks, {sum(len(deck.slides) for deck in decks)} slides")


if __name__ == "__main__":
    main()
