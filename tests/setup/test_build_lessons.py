"""What a build refuses to store."""

import pytest
from nbformat.v4 import new_code_cell, new_output

from minikafka.lab import lesson_folders
from minikafka.lab.course import build_lessons
from minikafka.lab.exercises.task import NOT_ATTEMPTED, NOT_YET, Verdict
from minikafka.witness.agreement import agree
from minikafka.witness.observation import Observations

TEXT = """# %% [markdown]
# # A lesson

# %%
first = 1

# %%
"""


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    """A function that writes the text of a lesson whose second code cell is given, and returns the notebook's path."""
    monkeypatch.setattr(build_lessons, "COURSE", tmp_path)
    monkeypatch.setattr(lesson_folders, "LESSONS", tmp_path / "lessons")

    def write(cell, name="01-lesson"):
        folder = tmp_path / "lessons" / name.replace("-", "_")
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(f"{TEXT}{cell}\n")
        return tmp_path / f"{name}.ipynb"

    return write


def build(monkeypatch, *words):
    """The exit code of the command."""
    monkeypatch.setattr(build_lessons.sys, "argv", ["build_lessons", *words])
    with pytest.raises(SystemExit) as end:
        build_lessons.main()
    return int(end.value.code)


@pytest.mark.slow
def test_a_cell_that_raises_is_named_and_the_notebook_stays_as_it_was(lesson, monkeypatch, capsys):
    bad = lesson("raise ValueError('no such offset')")
    good = lesson("first + 1", name="02-lesson")
    bad.write_text("as it was")
    assert build(monkeypatch) == 1
    said = capsys.readouterr()
    assert "01-lesson.py was not built: cell 01-lesson-002, raise ValueError" in said.err
    assert said.err.strip().endswith("ValueError: no such offset")
    assert bad.read_text() == "as it was" and "02-lesson.ipynb" in said.out and '"2"' in good.read_text()


@pytest.mark.slow
def test_a_witness_that_contradicts_is_refused(lesson, monkeypatch, capsys):
    path = lesson(
        "from minikafka.witness.agreement import Agreement, Difference, Line\n"
        "said = Difference(1, 'append', 'error', {'minikafka': '', 'kafka': 'NoClassDefFoundError'})\n"
        "Agreement(('minikafka', 'spark', 'kafka'), 4, (Line('error', 3, ('minikafka', 'kafka'), said),))"
    )
    assert build(monkeypatch) == 1 and not path.exists()
    assert "First difference: after operation 1 (append), error: minikafka says" in capsys.readouterr().err


def test_a_word_that_no_lesson_has_is_an_error(lesson, monkeypatch):
    lesson("1")
    assert build(monkeypatch, "12-nothing") == 1


def ran(said):
    output = new_output("execute_result", {"text/plain": str(said)})
    return new_code_cell("agree(ours, spark, kafka)", outputs=[output])


def observations(witness, end):
    return Observations(witness, ("append",), ({"log_end_offset": end},))


def test_what_is_wrong_with_a_cell():
    three = [observations(witness, 1) for witness in ("minikafka", "spark", "kafka")]
    assert build_lessons.fault_of(ran(agree(*three))) is None
    absent = "a witness is absent: minikafka · spark: 1 operations, 1 values compared"
    assert build_lessons.fault_of(ran(agree(*three[:2], None))) == absent
    difference = build_lessons.fault_of(ran(agree(*three[:2], observations("kafka", 2))))
    assert difference.startswith("First difference: after operation 0 (append), log_end_offset: minikafka says 1")
    assert build_lessons.fault_of(ran(Verdict("floor", NOT_YET, "off by one"))) == "floor: not yet. off by one"
    assert build_lessons.fault_of(ran(Verdict("floor", NOT_ATTEMPTED, ""))) is None
    assert build_lessons.fault_of(new_code_cell("1", outputs=[new_output("stream", name="stderr", text="x")])) == "x"
