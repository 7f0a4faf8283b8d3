"""Each lesson has ten slides of its own pictures and words, short enough to be read, in files that stand alone."""

import re

import nbformat
import pytest

from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.lesson_folders import lesson_folders
from minikafka.lab.site.own_folder import FolderError
from minikafka.lab.teaching.slides.build import MARK, decks_of, main, write_slides
from minikafka.lab.teaching.slides.deck import deck_of, plain
from minikafka.lab.teaching.slides.page import html_of
from minikafka.lab.teaching.slides.plan import FILE, ROLES, PlanError, Planned, read_plan

DECKS = decks_of(lessons())
each_deck = pytest.mark.parametrize("deck", DECKS, ids=[deck.name for deck in DECKS])


def test_every_lesson_has_a_plan_and_no_plan_is_left_over():
    assert all((folder.path / FILE).exists() for folder in lesson_folders())


@each_deck
def test_a_deck_has_ten_slides_each_with_something_to_see(deck):
    assert tuple(slide.role for slide in deck.slides) == ROLES
    for slide in deck.slides:
        assert slide.figure or slide.lines, slide.title
        assert plain(slide.notes) or deck.name.startswith("00"), slide.title
    assert all(
        slide.figure for slide in deck.slides if slide.role in ("question", "picture", "walk", "witnesses", "exercise")
    )


def test_a_slide_says_which_it_is_of_how_many():
    """`12.html#3` leads to the third slide, and a screen reader says where one is."""
    numbers = re.findall(r'<section class="slide [a-z]+" id="(\d+)" aria-label="Slide (\d+) of 10">', html_of(DECKS[0]))
    assert numbers == [(str(number), str(number)) for number in range(1, 11)]


@each_deck
def test_a_slide_is_no_page(deck):
    for slide in deck.slides:
        assert slide.words <= (130 if slide.role == "rules" else 45), slide.title
        assert len(plain(slide.answer).split()) <= 60, slide.title
        assert len(slide.title.split()) <= 8, slide.title


@each_deck
def test_the_answer_is_hidden_until_it_is_asked_for(deck):
    [prediction] = [slide for slide in deck.slides if slide.role == "prediction"]
    assert "given" in prediction.answer and not prediction.lines
    assert re.search(r'<details class="answer">', html_of(deck))


@each_deck
def test_a_deck_asks_nobody_and_leads_only_to_kafkas_source(deck):
    html = html_of(deck)
    targets = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert {t for t in targets if not t.startswith(("data:image/svg+xml;", "https://github.com/apache/kafka/"))} <= {
        "index.html"
    }
    assert len(html) < 1_000_000
    assert not re.search(r'<img(?![^>]*alt="[^"]+")', html)


def test_as_much_of_an_output_is_shown_as_a_slide_has_room_for(tmp_path):
    """Eleven rows of ninety letters: a longer line takes several of them."""
    printed = ["a" * 200, *(f"line {number}" for number in range(20))]
    output = nbformat.v4.new_output("execute_result", {"text/plain": "\n".join(printed)})
    cells = [nbformat.v4.new_markdown_cell("# A lesson"), nbformat.v4.new_code_cell("long()", outputs=[output])]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "01-a.ipynb")
    [slide] = deck_of(tmp_path / "01-a.ipynb", [Planned("walk", "A long output", shows="long()")], {}).slides
    assert re.sub("</?pre>", "", slide.figure).split("\n") == [*printed[:9], "…"]


def test_slides_replace_slides_and_nothing_else(tmp_path):
    folder = tmp_path / "slides"
    write_slides(folder, DECKS[:2])
    write_slides(folder, DECKS[3:4])
    assert sorted(path.name for path in folder.iterdir()) == [MARK, "03-high-watermark.html", "index.html"]
    (folder / MARK).unlink()
    with pytest.raises(FolderError, match="not empty, and no earlier slides"):
        write_slides(folder, DECKS[:1])


def test_bad_input_is_one_line(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit, match="^minikafka slides: .* is not empty"):
        main([str(tmp_path), "03-"], standalone_mode=False)
    with pytest.raises(SystemExit):
        main([str(tmp_path / "new"), "no-such-lesson"])
    assert "no lesson's name contains no-such-lesson" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slide = 3", "plans 0 slides, not 10"),
        ("[[slide]]\ntitle = 'alone'", "plans 1 slides, not 10"),
        ("[[slide]]\n" * 10, "the slide for the question has no title"),
        ("[[slide]]\ntitle = 'x'\ncolour = 'red'\n" * 10, "a slide knows no colour"),
        ("[[slide", "Expected "),
    ],
)
def test_a_plan_that_is_none_is_named(tmp_path, text, said):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(PlanError, match=said):
        read_plan(tmp_path / "x.toml")
    with pytest.raises(PlanError, match="missing"):
        read_plan(tmp_path / "y.toml")
