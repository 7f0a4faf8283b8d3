"""A learner's progress: kept in the working copy alone, by several notebooks at once, and never in a lesson's way."""

import json
import os
import re
import subprocess
import sys

import pytest

from minikafka.lab import my_progress
from minikafka.lab.course.places import COURSE
from minikafka.lab.course.progress_map import NO_DESK, Lesson, ProgressMap, lessons_of
from minikafka.lab.course.working_copy import WORKSPACE, lay_out
from minikafka.lab.exercises import plain_file, progress
from minikafka.lab.exercises.exercise import Case, Exercise
from minikafka.lab.exercises.prediction import ___, predict
from minikafka.lab.exercises.progress import FILE, KINDS, note, read
from minikafka.lab.lesson_folders import lesson_folders
from minikafka.lessons.segments.rungs import rolls

ORIGINAL_CONTENT = '{"version": 1, "predictions": {}, "exercises": {}, "rungs": {}}'
TIME = "2026-01-02T03:04:05Z"


def kept(name="Rung 1", **changed):
    """The content of a file with one rung."""
    entry = {"outcome": "not yet", "tries": 1, "tries_until_done": None, "solutions_seen": 0, "first": TIME}
    rungs = {name: {**entry, "last": TIME, "done": None, **changed}}
    return json.dumps({"version": 1, "predictions": {}, "exercises": {}, "rungs": rungs})


@pytest.fixture
def desk(tmp_path, monkeypatch):
    (tmp_path / "course").mkdir()
    lay_out(tmp_path / "course", tmp_path / "my-lessons")
    monkeypatch.chdir(tmp_path / "my-lessons")
    monkeypatch.setattr(progress, "_told", set())
    return tmp_path / "my-lessons"


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


def double(number):
    return 2 * number


DOUBLE = Exercise(
    "Exercise 1, doubled", [Case("three", (3,))], lambda case: 2 * case.arguments[0], double, hints=["twice"]
)


def test_in_a_browser_progress_is_kept_without_locks_and_drafts(desk, monkeypatch):
    monkeypatch.setattr(plain_file, "IN_A_BROWSER", True)
    monkeypatch.setattr(progress, "HAS_LOCKS", False)
    before = names_in(desk)
    for outcome in ("not yet", "correct"):
        note("rungs", "Rung 1, one", outcome)
    assert read(desk)["rungs"]["one"]["tries_until_done"] == 2
    assert names_in(desk) == sorted([*before, FILE])


def test_predictions_are_kept(desk):
    predict("how-many", "How many?", ___, lambda: 3)
    assert not (desk / FILE).exists()
    predict("how-many", "How many?", 2, lambda: 3)
    assert read(desk)["predictions"]["how-many"]["outcome"] == "wrong"
    predict("how-many", "How many?", 3, lambda: 3)
    entry = read(desk)["predictions"]["how-many"]
    assert (entry["outcome"], entry["tries"], entry["tries_until_done"]) == ("right", 2, 2)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry["done"])
    predict("how-many", "How many?", 4, lambda: 3)
    after = read(desk)["predictions"]["how-many"]
    assert (after["outcome"], after["tries"], after["tries_until_done"]) == ("wrong", 3, 2)


def test_what_was_kept_by_the_question_is_carried_over_to_the_id(desk):
    """As a version kept it whose predictions had no ids."""
    entry = json.loads(kept())["rungs"]["Rung 1"]
    old = {
        "How many bytes does the varint of 64 take?": {**entry, "tries": 3},
        "The high watermark after the first read up to it?": {**entry, "tries": 4},
        "Asked by no lesson?": entry,
        "mark-after-first-read": {**entry, "tries": 1},
    }
    (desk / FILE).write_text(json.dumps({"version": 1, "predictions": old, "exercises": {}, "rungs": {}}))
    now = {
        "varint-64-length": old["How many bytes does the varint of 64 take?"],
        "The high watermark after the first read up to it?": old["The high watermark after the first read up to it?"],
        "Asked by no lesson?": entry,
        "mark-after-first-read": old["mark-after-first-read"],
    }
    assert read(desk)["predictions"] == now, "what has an entry under its id already keeps that one"
    predict("varint-64-length", "How many bytes does the varint of 64 take?", 2, lambda: 2)
    assert [*json.loads((desk / FILE).read_text())["predictions"]] == [*now]
    assert read(desk)["predictions"]["varint-64-length"]["tries_until_done"] == 4


def test_a_notebook_from_before_predictions_had_ids_keeps_them_by_id(desk):
    told = predict("How many bytes does the varint of 64 take?", 1, lambda: 2)
    assert told.question == "How many bytes does the varint of 64 take?" and "zigzag" in told.belief.lower()
    assert predict("第一次读到高水位之后，高水位是多少？", 33, lambda: 33).state == "right"
    assert predict("Asked by no lesson?", 1, lambda: 2, {1: "So one would think."}).belief == "So one would think."
    assert [*read(desk)["predictions"]] == ["varint-64-length", "mark-after-first-read", "Asked by no lesson?"]


def test_a_prediction_whose_answer_was_deleted_is_told(desk):
    with pytest.raises(TypeError, match="one of them is missing"):
        predict("varint-64-length", "How many bytes does the varint of 64 take?", lambda: 2)
    assert not (desk / FILE).exists()


def test_exercises_are_kept(desk):
    DOUBLE.check(lambda number: ___)
    DOUBLE.hint()
    assert not (desk / FILE).exists()
    DOUBLE.check(lambda number: number)
    DOUBLE.solution()
    DOUBLE.check(double)
    entry = read(desk)["exercises"]["doubled"]
    assert (entry["outcome"], entry["tries"], entry["tries_until_done"]) == ("correct", 2, 2)
    assert entry["solutions_seen"] == 1


def test_rungs_are_kept(desk):
    rolls.check(lambda self, roll_params: ___)
    assert not (desk / FILE).exists()
    rolls.check(lambda self, roll_params: "no")
    rolls.solution()
    entry = read(desk)["rungs"][progress.key_of(rolls.name)]
    assert (entry["outcome"], entry["tries"], entry["solutions_seen"], entry["done"]) == ("not yet", 1, 1, None)


def test_nothing_is_kept_outside_a_working_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    note("rungs", "Rung 1", "correct")
    assert names_in(tmp_path) == []
    assert str(my_progress()) == NO_DESK
    monkeypatch.chdir(COURSE)
    assert progress.desk_here() is None


def test_the_solutions_count_for_nothing(desk, monkeypatch):
    (desk / "solutions").mkdir()
    monkeypatch.chdir(desk / "solutions")
    note("rungs", "Rung 1", "correct")
    assert names_in(desk / "solutions") == [] and FILE not in names_in(desk)


@pytest.mark.slow
def test_notebooks_that_write_at_once_lose_nothing(desk):
    code = (
        "import sys; from minikafka.lab.exercises.progress import note\n"
        "for number in range(40): note('rungs', f'{sys.argv[1]} {number}', 'correct'); note('rungs', 'both', 'not yet')"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, name], cwd=desk) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    rungs = read(desk)["rungs"]
    assert len(rungs) == 81 and rungs["both"]["tries"] == 80
    assert names_in(desk) == [progress.LAID_OUT, FILE, WORKSPACE.partition("/")[0]]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "",
        "[]",
        "\xff",
        '{"version": 2, "predictions": {}, "exercises": {}, "rungs": {}}',
        '{"version": 1, "predictions": [], "exercises": {}, "rungs": {}}',
        '{"version": 1, "predictions": {"q": {"tries": "many"}}, "exercises": {}, "rungs": {}}',
        "[" * 100_000,
        pytest.param(" " * (5 << 20), id="too large"),
        pytest.param(kept(tries=10**4299), id="4300 digits"),
        kept(tries=10**10),
        pytest.param(kept(solutions_seen=10**4299), id="4300 digits of solutions"),
        kept(done=TIME, tries_until_done=10**10),
        kept(first="<script>alert(1)</script>"),
        kept(last="\\ud800"),
    ],
)
def test_a_broken_or_foreign_file_is_put_aside(desk, capsys, content):
    for number in (1, 2):
        (desk / FILE).write_bytes(content.encode("latin-1"))
        assert read(desk) == {kind: {} for kind in KINDS}
        assert (desk / FILE).read_bytes() == content.encode("latin-1")
        note("rungs", "Rung 1", "correct")
        assert list(read(desk)["rungs"]) == ["Rung 1"]
        aside = desk / f".progress-unreadable-{number}.json"
        assert aside.read_bytes() == content.encode("latin-1")
        told = capsys.readouterr().out
        assert told == f"{FILE} could not be read. It is {aside.name} now, and a new one has begun.\n"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda file: file.symlink_to("../elsewhere.json")])
def test_what_is_no_file_of_its_own_is_put_aside(desk, capsys, make):
    elsewhere = desk.parent / "elsewhere.json"
    elsewhere.write_text(kept("of somebody else"))
    (desk / ".progress-unreadable-1.json").symlink_to("nowhere")
    make(desk / FILE)
    assert read(desk) == {kind: {} for kind in KINDS}
    note("rungs", "Rung 1", "correct")
    assert list(read(desk)["rungs"]) == ["Rung 1"] and (desk / FILE).is_file() and not (desk / FILE).is_symlink()
    assert capsys.readouterr().out.count("It is .progress-unreadable-2.json now") == 1
    assert elsewhere.read_text() == kept("of somebody else")


def test_what_a_link_leads_to_is_not_overwritten(desk):
    elsewhere = desk.parent / "elsewhere"
    elsewhere.write_text("of somebody else")
    (desk / f"{FILE}.tmp").symlink_to(elsewhere)
    note("rungs", "Rung 1", "correct")
    assert elsewhere.read_text() == "of somebody else" and list(read(desk)["rungs"]) == ["Rung 1"]


def test_a_name_with_half_a_character_is_kept(desk, capsys):
    (desk / FILE).write_text(kept("\ud800"))
    for name in ("Rung 1", "\udc80"):
        note("rungs", name, "correct")
    assert list(read(desk)["rungs"]) == ["\ud800", "Rung 1", "\udc80"] and not capsys.readouterr().out


def test_numbers_end_where_the_file_may_have_no_larger_ones(desk, capsys):
    (desk / FILE).write_text(kept(tries=10**9, solutions_seen=10**9))
    note("rungs", "Rung 1", "not yet", solutions_seen=1)
    assert read(desk)["rungs"]["Rung 1"]["tries"] == 10**9 and not capsys.readouterr().out


def test_the_map_escapes_what_it_is_given():
    rungs = json.loads(kept("r", first="<script>"))["rungs"]
    html = ProgressMap(LESSONS, {"predictions": {}, "exercises": {}, "rungs": rungs})._repr_html_()
    assert "<script>" not in html and "since &lt;script&gt;" in html


def test_a_deleted_file_begins_anew(desk):
    note("rungs", "Rung 1", "correct")
    (desk / FILE).unlink()
    note("rungs", "Rung 2", "not yet")
    assert list(read(desk)["rungs"]) == ["Rung 2"]


def test_a_directory_that_takes_no_file_is_told_once(desk, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    (desk / FILE).write_text(ORIGINAL_CONTENT)
    monkeypatch.setattr(os, "replace", full)
    for _ in range(2):
        assert DOUBLE.check(double)
    assert capsys.readouterr().out == "Your progress is not kept: No space left on device.\n"
    assert (desk / FILE).read_text() == ORIGINAL_CONTENT
    assert names_in(desk) == [progress.LAID_OUT, FILE, WORKSPACE.partition("/")[0]]


def test_a_lock_that_is_never_given_back_is_told(desk, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_WAIT_S", 0.05)
    with progress._locked(desk):
        note("rungs", "Rung 1", "correct")
    assert capsys.readouterr().out == (
        "Your progress is not kept: another notebook has kept .progress.json locked for 0.05 seconds.\n"
    )


LESSONS = [
    Lesson(
        "02-a.ipynb",
        "A",
        {"predictions": {"p": "p<q?"}, "exercises": {"e": "e"}, "rungs": {"r": "r", "s": "s", "t": "t"}},
        "02-a-rebuild.ipynb",
    ),
    Lesson("03-b.ipynb", "B", {"predictions": {"q": "q?"}, "exercises": {}, "rungs": {}}),
]


def test_the_map_tells_what_is_done(desk):
    note("predictions", "p", "wrong")
    note("predictions", "p", "right")
    note("rungs", "r", "correct")
    note("rungs", "s", "not yet")
    note("rungs", "s", "", tries=0, solutions_seen=1)
    note("rungs", "of an older edition", "correct")
    told = ProgressMap(LESSONS, read(desk))
    lines = str(told).split("\n")
    assert lines[:3] == [
        "    lesson  predictions  exercises  rungs",
        "02  A       ✓            ·          ✓✗·",
        "03  B       ·",
    ]
    assert lines[-1].startswith("1 of 2 predictions, 0 of 1 exercises, 1 of 3 rungs, 1 solution seen, since 20")
    html = told._repr_html_()
    assert re.search(r'title="p&lt;q\?: 2 tries, done at try 2, \d{4}-', html)
    assert 'title="s: 1 try, solution seen once"' in html and '<a href="02-a.ipynb">A</a>' in html
    assert '<a href="02-a-rebuild.ipynb">rebuild</a>' in html and html.count(">rebuild<") == 1


def test_the_map_of_an_empty_file(desk):
    assert str(ProgressMap(LESSONS, read(desk))).endswith("\n0 of 2 predictions, 0 of 1 exercises, 0 of 3 rungs")


@pytest.mark.slow
def test_my_progress_shows_the_course(desk):
    (desk / FILE).write_text(ORIGINAL_CONTENT)
    assert re.search(r"^02 +Segments ", str(my_progress()), re.MULTILINE)


def test_the_map_knows_all_that_the_lessons_ask():
    lessons = lessons_of(COURSE)
    lesson_texts = [folder.text for folder in lesson_folders()]
    assert [lesson.file.removesuffix(".ipynb") for lesson in lessons] == [text.stem for text in lesson_texts]
    for lesson, text in zip(lessons, lesson_texts, strict=True):
        assert len(lesson.tasks["predictions"]) == len(re.findall(r"^predict\(", text.read_text(), re.MULTILINE))
        assert lesson.rebuild == f"{text.stem}-rebuild.ipynb"
        exercises, _, ladder = text.with_name(f"{text.stem}-rebuild.py").read_text().partition("## Rungs")
        for kind, part in (("exercises", exercises), ("rungs", ladder)):
            assert len(lesson.tasks[kind]) == len(re.findall(r"^\w+\.check\(", part, re.MULTILINE)), lesson.file
    for kind in KINDS:
        names = [name for lesson in lessons for name in lesson.tasks[kind]]
        assert len(names) == len(set(names))


def test_a_task_that_got_another_number_keeps_what_was_done(desk):
    (desk / FILE).write_text(kept("Rung 5, a clean stop"), encoding="utf-8")
    assert list(read(desk)["rungs"]) == ["a clean stop"]
    note("rungs", "Rung 1, a clean stop", "correct")
    assert json.loads((desk / FILE).read_text())["rungs"]["a clean stop"]["tries"] == 2
