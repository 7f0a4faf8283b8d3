"""What a learner did in a browser, in one file: it is taken into a working copy, and nothing there is lost."""

import ast
import json
import os
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from minikafka.cli.open_lab import lab
from minikafka.common.errors import IOException
from minikafka.lab.course.places import COURSE
from minikafka.lab.course.work_file import NAME, WorkFileError, read_work, take, unpacked, work_of
from minikafka.lab.course.working_copy import lay_out
from minikafka.lab.exercises import progress
from minikafka.lab.grading.submission import read_in_every_language

REBUILD = "03-high-watermark-rebuild.ipynb"
ANSWERED = "    return max(log_start, min(suggested, log_end))\n"


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """The files that a browser keeps: a working copy in which a function was written and judged."""
    lay_out(COURSE, tmp_path / "browser")
    monkeypatch.chdir(tmp_path / "browser")
    write_in(tmp_path / "browser" / REBUILD, ANSWERED)
    progress.note("exercises", "Exercise 2, update_high_watermark", "correct")
    return tmp_path / "browser"


@pytest.fixture
def desk(tmp_path):
    lay_out(COURSE, tmp_path / "desk")
    return tmp_path / "desk"


@pytest.fixture
def file(browser, tmp_path):
    (tmp_path / NAME).write_bytes(work_of(browser))
    return tmp_path / NAME


def write_in(path, line):
    """Write `line` in the place of the blank of exercise 2, as JupyterLab saves it."""
    notebook = json.loads(path.read_bytes())
    (cell,) = [each for each in notebook["cells"] if "clamp.check(updated)" in "".join(each["source"])]
    cell["source"] = [line if "return" in each and "___" in each else each for each in cell["source"]]
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "never to be believed"}]
    path.write_text(json.dumps(notebook), encoding="utf-8")


def many_tasks(of):
    [entry] = of["exercises"].values()
    return {**of, "exercises": {f"task {number}": entry for number in range(10_000)}}


def test_the_file_has_what_was_written_and_no_outputs(file, browser):
    work = json.loads(file.read_bytes())
    assert [*work["notebooks"]] == [REBUILD]
    assert "max(log_start" in file.read_text() and "believed" not in file.read_text()
    assert work["progress"]["exercises"]["update_high_watermark"]["outcome"] == "correct"


def test_an_untouched_notebook_becomes_the_one_from_the_file_and_stays_so(file, desk):
    assert take(file, desk)[0] == f"{REBUILD}: taken"
    assert "max(log_start" in (desk / REBUILD).read_text()
    assert progress.read(desk)["exercises"]["update_high_watermark"]["done"]
    assert lay_out(COURSE, desk) == []
    before = progress.read(desk)
    assert take(file, desk)[0] == f"{REBUILD}: here already"
    assert progress.read(desk) == before


def test_where_both_were_written_in_both_are_kept(file, desk):
    write_in(desk / REBUILD, "    return mine\n")
    mine = (desk / REBUILD).read_bytes()
    for _ in range(2):
        told = take(file, desk)
        assert (desk / REBUILD).read_bytes() == mine
        assert "max(log_start" in (desk / REBUILD.replace(".ipynb", "-taken-1.ipynb")).read_text()
        assert not (desk / REBUILD.replace(".ipynb", "-taken-2.ipynb")).exists()
    assert "stays" not in told[0] and "already" in told[0]


@pytest.mark.slow
def test_of_two_desks_the_later_outcome_and_the_earlier_success_are_known(tmp_path, desk):
    one = {**progress._new_entry(), "tries": 3, "outcome": "not yet", "last": "2026-01-03T00:00:00Z"}
    done = {"outcome": "correct", "done": "2026-01-02T00:00:00Z", "tries_until_done": 2, "tries": 2}
    other = {**progress._new_entry(), **done, "last": "2026-01-02T00:00:00Z"}
    for entry in (one, other, one):
        progress.merge(desk, {"predictions": {}, "exercises": {}, "rungs": {"a": entry}})
    kept = progress.read(desk)["rungs"]["a"]
    assert (kept["outcome"], kept["tries"], kept["done"], kept["tries_until_done"]) == (
        "not yet", 3, "2026-01-02T00:00:00Z", 2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda work: "no JSON", "damaged, or not what"),
        (lambda work: "[" * 100_000, "damaged, or not what"),
        (lambda work: {**work, "more": float("nan")}, "damaged, or not what"),
        (lambda work: {"cells": []}, "is not what my_progress"),
        (lambda work: {**work, "version": 2}, "later version"),
        (lambda work: {**work, "progress": {"version": 1}}, "damaged: ValueError"),
        (lambda work: {**work, "progress": many_tasks(work["progress"])}, "more progress than the course has"),
        (lambda work: {**work, "notebooks": [1]}, "damaged: "),
        (lambda work: {**work, "notebooks": {REBUILD: {"cells": [{"cell_type": "code"}]}}}, "damaged: KeyError"),
        (lambda work: {**work, "notebooks": {REBUILD: {"cells": [{"cell_type": "x", "source": ""}]}}}, "no known kind"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_in_one_line_and_nothing_is_taken(
    file, desk, tmp_path, monkeypatch, damage, told
):
    damaged = damage(json.loads(file.read_bytes()))
    file.write_text(damaged if isinstance(damaged, str) else json.dumps(damaged))
    with pytest.raises(WorkFileError, match=told):
        read_work(file)
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(lab, ["--lay-out", "--take", str(file)])
    assert said.exit_code == 1 and said.output.count("\n") == 1 and "nothing was taken" in said.output
    assert not (tmp_path / "my-lessons").exists()


def test_progress_never_grows_larger_than_what_is_read(file, desk):
    [entry] = read_work(file).progress["exercises"].values()
    with pytest.raises(IOException, match="would have more than"):
        for start in range(0, 40_000, 4_000):
            names = (f"task {start + number}" for number in range(4_000))
            progress.merge(desk, {"predictions": {}, "rungs": {}, "exercises": dict.fromkeys(names, entry)})
    assert len(progress.read(desk)["exercises"]) > 4_000


def test_a_notebook_that_the_course_does_not_have_is_left_out(file, desk):
    work = json.loads(file.read_bytes())
    work["notebooks"]["../../outside.ipynb"] = work["notebooks"][REBUILD]
    file.write_text(json.dumps(work))
    assert "left out" in take(file, desk)[0]
    assert not [*desk.parent.rglob("outside.ipynb")]


def test_the_command_lays_out_and_takes(file, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    said = CliRunner().invoke(lab, ["--lay-out", "--take", str(file)])
    assert said.exit_code == 0 and f"{REBUILD}: taken" in said.output


def test_who_grades_gets_the_functions_of_the_file_alone_or_in_a_directory(file, tmp_path):
    for submission in (file, tmp_path):
        with unpacked(submission) as (directories, _):
            (answered,) = read_in_every_language(directories[-1], REBUILD)
        assert any("max(log_start" in line for line in map(ast.unparse, answered.statements))


def test_a_submission_that_becomes_a_link_while_it_is_graded_brings_nobody_elses_work(file, tmp_path, monkeypatch):
    for learner in ("ada", "bob"):
        (tmp_path / learner).mkdir()
        (tmp_path / learner / NAME).write_bytes(file.read_bytes())
    really_glob = Path.glob

    def found_before_it_is_replaced(directory, pattern):
        found = list(really_glob(directory, pattern))
        (tmp_path / "ada").rename(tmp_path / "earlier")
        (tmp_path / "ada").symlink_to("bob")
        return found

    monkeypatch.setattr(Path, "glob", found_before_it_is_replaced)
    with unpacked(tmp_path / "ada") as (directories, unread):
        assert directories == [tmp_path / "ada"]
        assert unread == [f"{tmp_path}/ada/{NAME} is reached by a link that leads out of {tmp_path}/ada"]
    with unpacked(tmp_path / "ada" / NAME) as (directories, unread):
        assert not directories and "leads out of" in unread[0]


def test_half_a_character_is_no_obstacle_to_saving_what_was_taken(browser, desk, tmp_path):
    half = "    return '\\ud83d'  # \ud83d\n"
    lines = (browser / REBUILD).read_text().replace(json.dumps(ANSWERED), json.dumps(half))
    (browser / REBUILD).write_text(lines)
    (tmp_path / NAME).write_bytes(work_of(browser))
    told = f"{REBUILD}: taken; \ufffd stands for half a character, with which JupyterLab could not save it"
    assert take(tmp_path / NAME, desk)[0] == told
    whole = half.replace("\ud83d", "\ufffd")
    assert whole in [line for cell in json.loads((desk / REBUILD).read_bytes())["cells"] for line in cell["source"]]
    nbformat.writes(nbformat.read(desk / REBUILD, 4)).encode()  # as JupyterLab saves it
    assert lay_out(COURSE, desk) == []
    assert take(tmp_path / NAME, desk)[0] == f"{REBUILD}: here already"


def test_two_halves_that_meet_are_a_character(browser, desk, tmp_path):
    content = json.loads(work_of(browser))
    cell = content["notebooks"][REBUILD]["cells"][0]
    cell["source"] = ["\ud83d", "\ude00"]
    (tmp_path / NAME).write_text(json.dumps(content))
    assert take(tmp_path / NAME, desk)[0] == f"{REBUILD}: taken"
    assert json.loads((desk / REBUILD).read_bytes())["cells"][0]["source"] == ["\U0001f600"]


def test_a_file_that_cannot_be_read_does_not_hide_what_lies_beside_it(file, tmp_path):
    cut_off = file.read_bytes()[:-100]
    for number, make in enumerate(
        [
            lambda path: path.write_bytes(cut_off),
            lambda path: path.write_text("[]"),
            lambda path: path.mkdir(),
            lambda path: os.mkfifo(path),
            lambda path: path.symlink_to(file),
            lambda path: path.symlink_to("nowhere"),
        ]
    ):
        make(tmp_path / f"minikafka-work ({number}).json")
    with unpacked(tmp_path) as (directories, unread):
        assert read_in_every_language(directories[-1], REBUILD)
        assert len(directories) == 2 and len(unread) == 6
    with unpacked(tmp_path / "minikafka-work (1).json") as (directories, unread):
        assert not directories and len(unread) == 1
