"""A class of five hands in its notebooks: sound, half done, cheating, broken, and none at all."""

import ast
import inspect
import json
import linecache
import os
import re
import subprocess
import sys
import textwrap
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from minikafka.common import file_ops
from minikafka.lab.course.lesson_notebooks import lessons, rebuild_name
from minikafka.lab.course.places import COURSE
from minikafka.lab.grading import answer_key as answer_key_module
from minikafka.lab.grading import grade as grading
from minikafka.lab.grading import learners_side
from minikafka.lab.grading.answer_key import told
from minikafka.lab.grading.fair_code import unfair, without_judges
from minikafka.lab.grading.grade import Grade, Mark, explained, table
from minikafka.lab.grading.lesson_tasks import EXERCISE, PREDICTION, RUNG, Assignment, tasks_of
from minikafka.lab.grading.marking import Job, LearnersSide, Terms, verdict_on
from minikafka.lab.grading.submission import read, value_of
from minikafka.lab.rebuild.performer import Here
from minikafka.lessons.high_watermark.exercises import clamp, increment
from minikafka.lessons.high_watermark.rungs import clamps
from minikafka.lessons.segments.rungs import looks_up

LESSON = "01-small.ipynb"
IMPORTS = """from minikafka.lab import ___, predict
from minikafka.lessons.high_watermark.exercises import clamp, increment
from minikafka.lessons.high_watermark.rungs import clamps
from minikafka.lessons.segments.rungs import looks_up
from minikafka.lab.rebuild.performer import Here
from minikafka.log.log_offset_metadata import LogOffsetMetadata
"""
POSITIONS = "LogOffsetMetadata(1).position_diff(LogOffsetMetadata(2))"  # which neither of them has
PREDICTIONS = (
    'predict("how-many", "How many?", {}, lambda: 3)\n',
    f'predict("which-error", "Which error?", {{}}, lambda: {POSITIONS})\n',
)
CHECKS = "clamp.check(updated)", "increment.check(incremented)", "clamps.check(update_high_watermark)"
STUBS = (
    "def updated(old, suggested, log_start, log_end):\n    return ___\n",
    "def incremented(old, new, log_end):\n    return ___\n",
    "def update_high_watermark(self, high_watermark):\n    return ___\n",
)


def source_of(function) -> str:
    return textwrap.dedent(inspect.getsource(function))


SOLUTIONS = source_of(clamp.solved_by()), source_of(increment.solved_by()), source_of(clamps.solved_by())
assert all(f"def {stub[4:].partition('(')[0]}(" in solution for stub, solution in zip(STUBS, SOLUTIONS))


def notebook(directory, *cells: str, name: str = LESSON) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    lesson = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(lesson, directory / name)


def lesson_with(answers: tuple[str, str], functions: tuple[str, ...]) -> list[str]:
    asked = [question.format(answer) for question, answer in zip(PREDICTIONS, answers)]
    return [IMPORTS, *asked, *(f"{function}\n\n{check}" for function, check in zip(functions, CHECKS))]


@pytest.fixture
def school(tmp_path):
    """A course of one small lesson, and the class."""
    notebook(tmp_path / "course", *lesson_with(("___", "___"), STUBS))
    of = tmp_path / "class"
    notebook(of / "sound", *lesson_with(("1 + 2", '"KafkaException"'), SOLUTIONS))
    notebook(of / "half", *lesson_with(("4", "___"), (SOLUTIONS[0], STUBS[1], STUBS[2].replace("___", "3"))))
    forged = (
        "from minikafka.lessons.high_watermark.solutions import updated as right\n"
        "def updated(*arguments):\n    print('correct')\n    return right(*arguments)",
        "def incremented(old, new, log_end):\n    return ___\nincrement.check = lambda function: 'correct'",
        "def update_high_watermark(self, high_watermark):\n    return clamps.solved_by()(self, high_watermark)",
    )
    notebook(of / "cheating", *lesson_with(("[3][0]", "KafkaException"), forged), "print('Exercise 1: correct')")
    (of / "broken").mkdir()
    (of / "broken" / LESSON).write_text('{"cells": [')
    (of / "empty").mkdir()
    (of / "browser").mkdir()
    (of / "browser" / "minikafka-work.json").write_text(json.dumps(work_of_sound(of / "sound")))
    return tmp_path


def work_of_sound(directory):
    """What a browser lets its reader download, with two wrong answers and verdicts that are not its own."""
    lesson = json.loads((directory / LESSON).read_text().replace("1 + 2", "1 + 1").replace("KafkaEx", "Ex"))
    entry = {"outcome": "right", "tries": 1, "tries_until_done": 1, "solutions_seen": 0}
    entry |= dict.fromkeys(("first", "last", "done"), "2026-01-02T03:04:05Z")
    progress = {"version": 1, "predictions": {"how-many": entry}, "exercises": {}, "rungs": {}}
    told = {"what": "minikafka, a learner's work", "version": 1, "progress": progress}
    return {**told, "notebooks": {LESSON: lesson}}


def graded(school, *arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "minikafka", "grade", "--course", str(school / "course"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, **options)


@pytest.mark.slow
def test_two_submissions_of_one_name_are_told_apart(school):
    for group in ("2026a", "2026b"):
        (school / group / "bob").mkdir(parents=True)
    told = graded(school, "2026a/bob", "2026b/bob", "class/empty", cwd=school)
    assert [line.split()[0] for line in told.stdout.splitlines()[-3:]] == ["2026a/bob", "2026b/bob", "empty"]
    told = graded(school, "--json", "2026a/bob", "2026b/bob", cwd=school)
    assert [json.loads(line)["submission"] for line in told.stdout.splitlines()] == ["2026a/bob", "2026b/bob"]


@pytest.mark.slow
@pytest.mark.spark
def test_a_class(school):
    (school / "class" / "half" / "minikafka-work.json").write_text("[]")
    (school / "class" / "cut off.json").write_text('{"what": "minika')
    names = ("sound", "half", "cheating", "broken", "empty", "cut off.json", "browser")
    told = graded(school, "--json", "--seed", "7", *(str(school / "class" / name) for name in names))
    assert (told.returncode, told.stderr) == (0, "")
    grades = {grade["submission"]: grade for grade in map(json.loads, told.stdout.splitlines())}
    assert {name: (grade["points"], grade["of"]) for name, grade in grades.items()} == {
        "sound": (5, 5),
        "half": (1, 5),
        "cheating": (1, 5),
        "broken": (0, 5),
        "empty": (0, 5),
        "cut off.json": (0, 5),
        "browser": (3, 5),
    }
    asked = [mark["task"]["name"] for mark in grades["sound"]["marks"] if mark["task"]["kind"] == PREDICTION]
    assert asked == ["How many?", "Which error?"], "teachers read questions, not ids"
    why = {name: [mark["why"] for mark in grade["marks"]] for name, grade in grades.items()}
    assert why["sound"] == [""] * 5
    assert why["half"][:4] == ["the answer is 4; the run gives 3", "not answered", "", "not attempted"]
    assert why["half"][4].startswith("not yet: ")
    assert why["cheating"] == [
        "[3][0] is no plain value",
        "",
        why["cheating"][2],
        "not attempted",
        why["cheating"][4],
    ]
    assert (
        "NameError: name 'right' is not defined\n`from minikafka.lessons.high_watermark.solutions" in why["cheating"][2]
    )
    assert "NameError: name 'clamps' is not defined\n`from minikafka.lessons.high_watermark.rungs" in why["cheating"][4]
    assert set(why["broken"]) == {f"{LESSON} is no notebook"} and set(why["empty"]) == {f"{LESSON} is missing"}
    assert set(why["cut off.json"]) == {"no notebook was handed in"}
    unread = {name: grade["unread"] for name, grade in grades.items() if grade["unread"]}
    assert unread == {
        "half": ["minikafka-work.json is not what my_progress() lets you download"],
        "cut off.json": ["cut off.json is damaged, or not what my_progress() lets you download"],
    }


def test_tasks_that_share_a_reason_share_a_line():
    tasks = [Assignment("01-small", "prediction", question) for question in ("How many?", "Which?", "Where?")]
    tasks += [
        Assignment("01-small", "exercise", "updated"),
        *(Assignment("01-small", "rung", name) for name in ("reads", "writes")),
    ]
    reasons = ["not answered", "the answer is 1; the run gives 2", "not answered"] + ["not attempted"] * 3
    half = Grade("half", tuple(map(Mark, tasks, [0] * 6, reasons)))
    assert explained(half) == [
        "half: 01-small, 2 predictions: not answered",
        "half: 01-small, prediction Which?: the answer is 1; the run gives 2",
        "half: 01-small, exercise updated, rungs reads, writes: not attempted",
    ]
    empty = Grade("empty", tuple(Mark(task, 0, "it is missing") for task in tasks))
    assert explained(empty) == ["empty: 01-small, all 6 tasks: it is missing"]
    assert explained(Grade("sound", (Mark(tasks[0], 1),))) == []
    assert explained(Grade("sound", (Mark(tasks[0], 1),), ("it is damaged",))) == ["sound: it is damaged"]


def test_an_explanation_can_quote_a_line():
    learners_side.make("updated", "def updated(old):\n    return old + ''")
    assert linecache.getline(learners_side._function.__code__.co_filename, 2) == "    return old + ''"


@pytest.mark.slow
@pytest.mark.spark
def test_functions_that_never_end_or_take_all_memory_are_stopped(school, spark):
    endless = """def updated(*arguments):
        while True:
            try:
                sum(range(9**6))
            except BaseException:
                pass"""
    greedy = "def incremented(*arguments):\n    return [0] * 10**10"
    notebook(school / "class" / "mad", *lesson_with(("___", "___"), (endless, greedy, STUBS[2])))
    mad = grading.grade(school / "class" / "mad", lessons(school / "course"), Terms(7, seconds=2))
    assert [*table([mad])] == ["mad  0 of 5 points, 0 of 2 predictions, 0 of 2 exercises, 0 of 1 rungs"]
    lines = explained(mad)
    # An alarm comes again and again, until one falls between the function's handlers; else the process is ended.
    assert any("exercise updated: " in line and ("not ended" in line or "did not end" in line) for line in lines)
    assert any("exercise incremented: not yet: " in line and "MemoryError" in line for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere is no directory of notebooks"),
        (["class", "--lesson", "99"], "no lesson is called 99"),
        (["class", "--lesson", ""], "--lesson '' names no lesson; without --lesson all are graded"),
        (["class", "--seconds", "nan"], "--seconds nan is no time"),
        ([], "Missing argument 'DIR...'"),
        (["link"], "link: it is a link to "),
    ],
)
def test_what_cannot_be_graded_is_told_in_one_line(school, arguments, said):
    with suppress(FileExistsError):
        (school / "link").symlink_to("course", target_is_directory=True)
    ended = graded(school, *arguments, cwd=school, env={**os.environ, "PYTHONPATH": os.getcwd()})
    assert (ended.returncode, ended.stdout) == (2, "") and said in ended.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_link_in_a_class_costs_only_its_own_points(school):
    """A pupil may have linked to somebody else's work, or to the solutions."""
    with suppress(FileExistsError):
        (school / "linked").symlink_to("course", target_is_directory=True)
    pupil = sorted((school / "class").iterdir())[0]
    ended = graded(school, str(pupil), "linked", cwd=school, env={**os.environ, "PYTHONPATH": os.getcwd()})
    assert ended.returncode == 0, ended.stderr
    *reasons, _, linked = ended.stdout.splitlines()
    assert linked.startswith("linked  0 of ") and ended.stdout.splitlines()[-2].startswith(pupil.name)
    told = [line for line in reasons if line.startswith("linked: ")]
    assert told and all(f"not graded: it is a link to {school / 'course'}" in line for line in told)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os, sys\ndef f(a):\n    return open(a.__class__)", ""),
        ("from minikafka.lab import ___, predict, scratch", ""),
        ("from minikafka.log.log import Log\ndef f(a):\n    Log.append = a", ""),
        ("def f(a):\n    from minikafka.lessons.records import x", "from minikafka.lessons.records import x"),
        ("def f(a):\n    from minikafka import witness", "from minikafka import witness"),
        ("def f(a):\n    import minikafka.lab.grading.marking as m", "import minikafka.lab.grading.marking as m"),
        ("import minikafka\nx = minikafka.lab.rebuild.mine.mine", "minikafka.lab.rebuild.mine.mine"),
    ],
)
def test_what_a_function_may_use(code, found):
    assert unfair(ast.parse(code).body) == (f"it uses `{found}`, where the answers are" if found else "")


def test_an_import_from_where_the_answers_are_hurts_only_who_uses_it():
    code = ast.parse("import math\nfrom minikafka.witness import run").body
    first, second = without_judges(code)
    assert first is code[0]
    assert ast.unparse(second) == "raise ImportError('`from minikafka.witness import run`, where the answers are')"


def test_a_functions_helpers_come_with_it(tmp_path):
    notebook(
        tmp_path,
        "LIMIT = 3\nimport math, os\n%time\n",
        "LIMIT = 4\nimport math\n",
        "def helper(a):\n    return math.floor(a) + LIMIT",
        "def updated(a):\n    return helper(a)",
        "%%html\n<b>",
        "raise SystemExit",
    )
    answered = read(tmp_path / LESSON, tmp_path)
    (updated,) = answered.functions_for(Assignment("01-small", EXERCISE, "updated"))
    assert [ast.unparse(each).splitlines()[0] for each in updated.code] == [
        *("LIMIT = 4", "import math", "def helper(a):", "def updated(a):"),
    ]
    assert answered.unread == 1 and not [*answered.functions_for(Assignment("01-small", EXERCISE, "other"))]


@pytest.mark.parametrize(
    ("answer", "value"), [("3", 3), ("30 + 6", 36), ("-1", -1), ("(1, [2])", [1, [2]]), ("OSError", "OSError")]
)
def test_answers(answer, value):
    assert told(value_of(ast.parse(answer, mode="eval").body)) == told(value)


@pytest.mark.parametrize("answer", ["f(3)", "9 ** 9", "1 // 0", "[x for x in 'ab']", "a.b", "2.5 + 'a'"])
def test_answers_that_are_no_values(answer):
    with pytest.raises(ValueError):
        value_of(ast.parse(answer, mode="eval").body)


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 3}', '{"cells": [3]}', "\udcff", "[" * 100_000])
def test_files_that_are_no_notebooks(text, tmp_path):
    (tmp_path / LESSON).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match="is no notebook"):
        read(tmp_path / LESSON, tmp_path)


def test_a_lesson_of_the_course_that_fails_is_told_in_one_line(tmp_path, monkeypatch):
    def fail(*_):
        raise CellExecutionError("a\nlong\ntraceback\nOSError: no room", "OSError", "no room")

    monkeypatch.setattr(answer_key_module, "run_in_a_kernel", fail)
    notebook(tmp_path, "3")
    with pytest.raises(RuntimeError, match=rf"^the course's own {LESSON} cannot be run: OSError: no room$"):
        answer_key_module.answer_key(tmp_path / LESSON)


@pytest.mark.slow
@pytest.mark.parametrize("with_ids", [True, False], ids=["with ids", "as notebooks were before predictions had ids"])
def test_a_translated_lesson_counts_as_the_lesson(tmp_path, monkeypatch, with_ids):
    name, question = "update-beyond-log-end", "The log ends at 10. What does update_high_watermark(12) return?"
    monkeypatch.setattr(grading, "answer_key", lambda _lesson: {name: "10"})
    monkeypatch.setattr(grading, "_checked", lambda jobs, _terms: {task: Mark(task, 1) for task, _ in jobs})
    lesson = COURSE / "03-high-watermark.ipynb"
    done = nbformat.read(COURSE / "zh" / lesson.name, as_version=4)
    for cell in done.cells:
        if f'"{name}"' in cell.source:
            cell.source = cell.source.replace("___", "10")
        if not with_ids:
            cell.source = re.sub(r'^predict\(\n    "[a-z0-9-]+",', "predict(", cell.source)
    for at in ("alone", "beside/zh"):
        (tmp_path / at).mkdir(parents=True)
        nbformat.write(done, tmp_path / at / lesson.name)
    (tmp_path / "beside" / lesson.name).write_text(lesson.read_text())
    for of in ("alone", "beside"):
        points = [mark.task.name for mark in grading.grade(tmp_path / of, [lesson], Terms(1)).marks if mark.points]
        assert points == [question], of


REBUILD = "01-small-rebuild.ipynb"
OLD = "def updated(old, suggested, log_start, log_end):\n    return 'old'\n"
NEW = "def updated(old, suggested, log_start, log_end):\n    return 'new'\n"
MISSING, MISSING_REBUILD = f"{LESSON} is missing", f"{REBUILD} is missing"


@pytest.mark.parametrize(
    ("handed_in", "answers", "functions"),
    [
        pytest.param({LESSON: [PREDICTIONS[0].format(3), OLD]}, "", ["old"], id="as one notebook, as it was before"),
        pytest.param({REBUILD: [NEW]}, MISSING, ["new"], id="the notebook to rebuild alone"),
        pytest.param({LESSON: [PREDICTIONS[0].format(3)], REBUILD: [NEW]}, "", ["new"], id="both"),
        pytest.param(
            {LESSON: [PREDICTIONS[0].format(3), OLD], REBUILD: [NEW]}, "", ["new", "old"], id="both, written twice"
        ),
        pytest.param({LESSON: [OLD], REBUILD: [STUBS[0]]}, "the question is gone", ["old"], id="both, one is a stub"),
        pytest.param({LESSON: [PREDICTIONS[0].format(3)]}, "", MISSING_REBUILD, id="the notebook to read alone"),
        pytest.param({}, *[f"{MISSING} and {MISSING_REBUILD}"] * 2, id="neither"),
        pytest.param({f"zh/{REBUILD}": [NEW]}, MISSING, ["new"], id="the notebook to rebuild in Chinese"),
    ],
)
def test_a_lesson_is_graded_from_both_of_its_notebooks(tmp_path, monkeypatch, handed_in, answers, functions):
    run = []

    def checked(jobs, _terms):
        run.extend(re.findall(r"return '(\w+)'", "".join(job.code for each in jobs.values() for job in each)))
        return {task: Mark(task, 1) for task in jobs}

    monkeypatch.setattr(grading, "answer_key", lambda _lesson: {"how-many": "3"})
    monkeypatch.setattr(grading, "_checked", checked)
    notebook(tmp_path / "course", IMPORTS, PREDICTIONS[0].format("___"))
    notebook(tmp_path / "course", IMPORTS, f"{STUBS[0]}\n\n{CHECKS[0]}", name=REBUILD)
    (tmp_path / "ada").mkdir()
    for name, cells in handed_in.items():
        place = tmp_path / "ada" / name
        notebook(place.parent, *cells, name=place.name)
    prediction, function = grading.grade(tmp_path / "ada", lessons(tmp_path / "course"), Terms(1)).marks
    assert (prediction.why, function.task.lesson) == (answers, "01-small")
    assert function.why == ("" if isinstance(functions, list) else functions)
    assert run == (functions if isinstance(functions, list) else [])


def test_a_lesson_handed_in_whole_counts_for_the_halves_that_it_is_now(tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "answer_key", lambda _lesson: {"how-many": "3", "which-error": "4"})
    monkeypatch.setattr(grading, "_checked", lambda jobs, _terms: {task: Mark(task, 1) for task in jobs})
    for half, *of_half in zip(("01a-small", "01b-more"), PREDICTIONS, STUBS, CHECKS):
        notebook(tmp_path / "course", IMPORTS, of_half[0].format("___"), name=f"{half}.ipynb")
        notebook(tmp_path / "course", IMPORTS, f"{of_half[1]}\n\n{of_half[2]}", name=f"{half}{REBUILD[8:]}")
    notebook(tmp_path / "ada", *lesson_with(("3", "4"), SOLUTIONS[:2]))
    notebook(tmp_path / "eve", *lesson_with(("3", "5"), ()))
    notebook(tmp_path / "eve", *SOLUTIONS[:2], name=REBUILD)
    notebook(tmp_path / "eve", PREDICTIONS[1].format("4"), name="01b-more.ipynb")
    for learner in ("ada", "eve"):
        marks = grading.grade(tmp_path / learner, lessons(tmp_path / "course"), Terms(1)).marks
        assert [(mark.task.lesson, mark.points, mark.why) for mark in marks] == [
            *[("01a-small", 1, "")] * 2,
            *[("01b-more", 1, "")] * 2,
        ], learner


def test_a_link_to_somebody_elses_notebook_is_none_of_ones_own(tmp_path):
    notebook(tmp_path / "bob", "3")
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / LESSON).symlink_to(tmp_path / "bob" / LESSON)
    with pytest.raises(ValueError, match="is a link that leads out of what was handed in"):
        read(tmp_path / "ada" / LESSON, tmp_path / "ada")


def test_a_directory_that_has_become_a_link_since_it_was_named_holds_nothing_of_ones_own(tmp_path):
    notebook(tmp_path / "bob", "3")
    (tmp_path / "ada").symlink_to("bob")
    with pytest.raises(ValueError, match="leads out of what was handed in"):
        read(tmp_path / "ada" / LESSON, tmp_path / "ada")


def test_a_notebook_that_is_replaced_while_it_is_read_brings_no_foreign_answer(tmp_path, monkeypatch):
    notebook(tmp_path / "bob", PREDICTIONS[0].format("4"))
    notebook(tmp_path / "ada", PREDICTIONS[0].format("5"))
    handed_in, path_of = tmp_path / "ada" / LESSON, file_ops.path_of

    def path_before_it_is_replaced(fd):
        path = path_of(fd)
        handed_in.unlink()
        handed_in.symlink_to(tmp_path / "bob" / LESSON)
        return path

    monkeypatch.setattr(file_ops, "path_of", path_before_it_is_replaced)
    assert [value_of(answer) for answer in read(handed_in, tmp_path / "ada").answers.values()] == [5]


@pytest.mark.parametrize(
    "cells, value",
    [
        (["mark = 5", PREDICTIONS[0].format("mark")], 5),
        (["mark: int = 4\nmark = mark + 1", PREDICTIONS[0].format("mark")], 5),
        (["end, start = 9, 2", "size = 4", PREDICTIONS[0].format("(size, [size - 1, size])")], (4, [3, 4])),
        ([PREDICTIONS[0].format("mark"), "mark = 5"], 5),
        (["mark = 4", PREDICTIONS[0].format("mark"), "mark = 5"], 4),
        (["from builtins import OSError", PREDICTIONS[0].format("OSError")], "OSError"),
        (["mark = mark", PREDICTIONS[0].format("mark")], "mark"),
        (["mark, other = 5, 3", PREDICTIONS[0].format("mark")], 5),
        (["[other, mark] = 3, 5", PREDICTIONS[0].format("mark - other")], 2),
        (["other = mark = 5", PREDICTIONS[0].format("mark")], 5),
        (["mark = 2\nmark += 3", PREDICTIONS[0].format("mark")], 5),
        ([PREDICTIONS[0].format("(mark := 5)")], 5),
        ([PREDICTIONS[0].format("5").replace(", 5, ", ", answer=5, run=")], 5),
        ([PREDICTIONS[0].format("5").replace("predict", "minikafka.lab.predict")], 5),
        (['predict(run=lambda: 3, answer=5, question="How many?", name="how-many")'], 5),
    ],
)  # fmt: skip
def test_an_answer_that_is_given_by_a_variable(tmp_path, cells, value):
    notebook(tmp_path, *cells)
    assert [value_of(answer) for answer in read(tmp_path / LESSON, tmp_path).answers.values()] == [value]


@pytest.mark.parametrize(
    "code, set_by",
    [
        ("if late:\n    mark = 3\nelse:\n    mark = 4", "if late:"),
        ("first, *mark = 1, 2", "first, *mark = (1, 2)"),
        ("mark = []\nmark.append(3)", "mark.append(3)"),
        ("for mark in range(4): pass", "for mark in range(4):"),
    ],
)
def test_a_variable_whose_value_is_not_known_is_told_with_what_sets_it(tmp_path, code, set_by):
    notebook(tmp_path, code, PREDICTIONS[0].format("[mark]"))
    (answer,) = read(tmp_path / LESSON, tmp_path).answers.values()
    with pytest.raises(ValueError, match=re.escape(f"mark is no plain value: it is set by `{set_by}`")):
        value_of(answer)


def test_nobody_waits_for_a_pipe_that_replaces_a_notebook(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / LESSON)
    monkeypatch.setattr(Path, "is_file", lambda path: True)  # as it was a moment ago
    with pytest.raises(ValueError, match="is no notebook"):
        read(tmp_path / LESSON, tmp_path)


def test_every_lesson_has_tasks_of_its_own():
    tasks = all_tasks()
    assert {task.lesson for task in tasks} == {lesson.stem for lesson in lessons(COURSE)}
    assert len(tasks) == len(set(tasks))
    for task in tasks:
        assert task.kind == PREDICTION or hasattr(import_module(task.module), task.check), task


def job_of(check, module: str, name: str) -> Job:
    """The solution of an exercise or a rung, as if it had been handed in."""
    solution = check.solved_by()
    statements = ast.parse(inspect.getsource(inspect.getmodule(solution))).body
    used = {node.id for node in ast.walk(ast.parse(source_of(solution))) if isinstance(node, ast.Name)}
    code = [ast.unparse(each) for each in statements if _is_used(each, used)]
    return Job(solution.__name__, "\n".join([*code, source_of(solution)]), module, name)


def _is_used(statement: ast.stmt, names: set[str]) -> bool:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return ".lab" not in ast.unparse(statement)
    if isinstance(statement, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in names for target in statement.targets)
    return isinstance(statement, ast.FunctionDef) and statement.name in names


@cache
def all_tasks() -> list[Assignment]:
    return [task for lesson in lessons(COURSE) for task in tasks_of(lesson)]


def tasks_of_kind(kind: str) -> list[Assignment]:
    return [task for task in all_tasks() if task.kind == kind]


@pytest.fixture(scope="module")
def side_with_java():
    """One for all of a learner's functions, as `grade` has."""
    with LearnersSide(Terms(7), java=True) as side:
        yield side


@pytest.fixture(scope="module")
def side_without_java():
    with LearnersSide(Terms(7), java=False) as side:
        yield side


@pytest.mark.in_parts(20)
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("lesson", sorted({task.lesson for task in tasks_of_kind(EXERCISE)}))
def test_every_exercises_solution_is_right_where_only_plain_values_come_out(lesson, side_with_java, spark):
    for task in (task for task in tasks_of_kind(EXERCISE) if task.lesson == lesson):
        job = job_of(getattr(import_module(task.module), task.check), task.module, task.check)
        verdict = verdict_on(job, side_with_java, 7)
        assert verdict, f"{task.lesson}: {verdict}"


def rungs_to_try() -> list[Assignment]:
    """A rung for each harness, for each kind of result, and those that are asked more than the engine asks."""
    tried = {}
    for task in tasks_of_kind(RUNG):
        role = getattr(import_module(task.module), task.check).role
        told = role.changes_nothing, role.compares_results, role.also_asked.__name__, bool(role.must_call)
        tried.setdefault((type(role.harness), *told, isinstance(role.method, property)), task)
    return list(tried.values())


@pytest.mark.in_parts(20)
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("task", rungs_to_try(), ids=lambda task: task.name)
def test_a_rungs_solution_is_right_where_only_plain_values_come_out(task, side_without_java, spark):
    rung = getattr(import_module(task.module), task.check)
    verdict = verdict_on(job_of(rung, task.module, task.check), side_without_java, 7)
    assert verdict, f"{task.lesson}: {verdict}"


@pytest.mark.slow
@pytest.mark.spark
def test_what_is_wrong_with_a_rung_is_told_as_in_a_notebook(spark):
    segments = "minikafka.lessons.segments.rungs"
    for body, words in (
        ("(self, target):\n    return self.entry(0)", ""),
        ("(self):\n    return 3", "OffsetIndex.lookup takes (self, target_offset); yours takes (self)"),
        ("(self, target):\n    return 3", "Your function returned 3, of the type int; the method returns"),
        ("(self, target):\n    1 / 0", "Your function raised ZeroDivisionError: division by zero\nLine 2: 1 / 0"),
        ("(self, target):\n    return ___", "Replace ___ in the function above, then run this cell again."),
    ):
        with LearnersSide(Terms(7), java=False) as side:
            verdict = verdict_on(Job("lookup", f"def lookup{body}", segments, "looks_up"), side, 7)
        learners_side.make("lookup", f"def lookup{body}")
        assert str(verdict) == str(looks_up.judged(Here(learners_side._function, looks_up.role), 7))
        assert words in verdict.words


@pytest.mark.slow
def test_the_courses_own_solutions_may_run_where_a_learner_writes_them(tmp_path):
    """A function's parameters are often called like something that its notebook imports."""
    tried = 0
    for lesson in lessons():
        rebuild = lesson.with_name(rebuild_name(lesson))
        notebook, solutions = nbformat.read(rebuild, 4), nbformat.read(COURSE / "solutions" / rebuild.name, 4)
        written = {task.name: "" for task in tasks_of(lesson) if task.kind != PREDICTION}
        for cell in solutions.cells:
            if cell.cell_type == "code" and (found := re.search(r"^\w+\.check\((\w+)\)$", cell.source, re.MULTILINE)):
                written[found[1]] = cell.source
        for name, source in written.items():
            notebook.cells.append(nbformat.v4.new_code_cell(source, id=f"own-{name.replace('_', '-')}"[:60]))
        nbformat.write(notebook, tmp_path / rebuild.name)
        answered = read(tmp_path / rebuild.name, tmp_path)
        for task in (task for task in tasks_of(lesson) if task.kind != PREDICTION):
            (*_, function) = answered.functions_for(task)
            code = without_judges(function.code)
            assert code and not function.is_stub and not unfair(code), f"{lesson.stem}, {task.name}: {unfair(code)}"
            assert not any(isinstance(each, ast.Raise) for each in code), f"{lesson.stem}, {task.name}"
            tried += 1
    assert tried > 100
