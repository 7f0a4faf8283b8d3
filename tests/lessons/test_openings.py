"""How a lesson opens: a few words, a picture at once, then something to decide or to touch."""

import re

import nbformat
import pytest

from minikafka.lab.course.build_lessons import notebook_of
from minikafka.lab.exercises.predict_call import predict_calls_in
from minikafka.lab.lesson_folders import REBUILD, lesson_folders
from tests.notebooks.read_once import read_text

MOST_WORDS = 150
TEXTS = [
    text
    for folder in lesson_folders()
    for text in folder.texts
    if ".solutions" not in text.name and not text.name.partition(".")[0].endswith(REBUILD)
]
each_text = pytest.mark.parametrize("text", TEXTS, ids=[text.stem for text in TEXTS])
PLAYER = re.compile(r"^(?:search_index|microscope)\(|\.(?:play|drag)\([^()]*\)$", re.MULTILINE)


def words_before_the_first_touch(cells):
    """The number of words to read before the first prediction or player."""
    words = 0
    for cell in cells:
        if cell.cell_type == "markdown":
            words += len(re.findall(r"\S*\w\S*", cell.source))
        elif PLAYER.search(cell.source) or [*predict_calls_in(cell.source)]:
            return words
    raise AssertionError("there is nothing to decide or to touch")


@each_text
def test_a_few_words_stand_before_the_first_thing_to_decide_or_to_touch(text):
    assert words_before_the_first_touch(read_text(text).cells) <= MOST_WORDS


@each_text
def test_the_first_question_comes_in_the_first_part(text):
    cells = read_text(text).cells
    part_2 = next(i for i, cell in enumerate(cells) if re.search(r"^## 2\. ", cell.source, re.MULTILINE))
    assert [call for cell in cells[:part_2] if cell.cell_type == "code" for call in predict_calls_in(cell.source)]


@each_text
def test_the_first_cell_wakes_the_witnesses_and_shows_a_picture(text):
    first = next(cell for cell in nbformat.read(notebook_of(text), as_version=4).cells if cell.cell_type == "code")
    assert re.search(r"^wake_\w+\(\)$", first.source, re.MULTILINE)
    shown = "".join(output.get("data", {}).get("text/html", "") for output in first.outputs)
    assert re.search(r"<svg|<img|<pre", shown)


def test_words_are_counted_up_to_a_question_or_a_player():
    def cells(*sources):
        made = {"#": nbformat.v4.new_markdown_cell}
        return [made.get(source[0], nbformat.v4.new_code_cell)(source) for source in sources]

    assert (
        words_before_the_first_touch(cells("# A *title*\n\n- one", "1 + 1", "# two", "ruler.play()", "# no more")) == 4
    )
    assert words_before_the_first_touch(cells("# one", 'predict("a-b", "How many?", ___, f)')) == 1
    with pytest.raises(AssertionError, match="nothing to decide"):
        words_before_the_first_touch(cells("# one", "from minikafka.lab import predict, step_through"))
