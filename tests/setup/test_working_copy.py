"""The learner's working copy, and the headless run of the lessons."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.errors import IOException
from minikafka.lab.course import run_lessons, working_copy
from minikafka.lab.course.lesson_notebooks import lessons, rebuild_name
from minikafka.lab.course.places import COURSE


@pytest.fixture
def course(tmp_path):
    notebooks = tmp_path / "notebooks"
    for directory in ("data", "solutions"):
        (notebooks / directory).mkdir(parents=True)
    names = (
        "01-segments.ipynb",
        "02-high-watermark.ipynb",
        "data/0.log",
        "solutions/01-segments.ipynb",
    )
    for name in names:
        (notebooks / name).write_text(f"{name} as the course has it")
    return notebooks


@pytest.fixture
def table(tmp_path):
    return tmp_path / "my-lessons"


def test_everything_is_laid_out_once(course, table):
    assert len(working_copy.lay_out(course, table)) == 4
    assert (table / "data" / "0.log").read_text() == "data/0.log as the course has it"
    assert working_copy.lay_out(course, table) == []


def test_a_changed_notebook_is_never_overwritten_and_an_unchanged_one_follows_the_course(course, table):
    working_copy.lay_out(course, table)
    (table / "01-segments.ipynb").write_text("mine")
    for name in ("01-segments.ipynb", "02-high-watermark.ipynb"):
        (course / name).write_text("the next edition")
    assert working_copy.lay_out(course, table) == [table / "02-high-watermark.ipynb"]
    assert (table / "01-segments.ipynb").read_text() == "mine"


def test_a_learners_window_stays_as_it_was_left(course, table):
    working_copy.lay_out(course, table)
    workspace = table / working_copy.WORKSPACE
    assert json.loads(workspace.read_text())["data"]["layout-restorer:data"]["left"]["collapsed"]
    workspace.write_text("as it was left")
    working_copy.lay_out(course, table)
    assert workspace.read_text() == "as it was left"
    assert f"--LabApp.workspaces_dir={workspace.parent}" in working_copy.lab_command(table)


def test_no_window_is_kept_where_a_link_leads(course, table, tmp_path):
    (tmp_path / "foreign").mkdir()
    table.mkdir()
    (table / working_copy.WORKSPACE).parent.symlink_to(tmp_path / "foreign")
    working_copy.lay_out(course, table)
    assert os.listdir(tmp_path / "foreign") == []
    assert not any("workspaces_dir" in word for word in working_copy.lab_command(table))


def test_two_who_renew_a_notebook_at_once_lose_nothing(course, table, monkeypatch):
    working_copy.lay_out(course, table)
    (table / "01-segments.ipynb").write_text("mine")
    free_name = working_copy.free_name

    def slowly(path):
        kept = free_name(path)
        time.sleep(0.02)
        return kept

    monkeypatch.setattr(working_copy, "free_name", slowly)
    with ThreadPoolExecutor(4) as threads:
        kept = list(threads.map(lambda _: working_copy.fresh("01", course, table), range(20)))
    [only] = filter(None, kept)
    assert only.read_text() == "mine"
    assert (table / "01-segments.ipynb").read_text() == "01-segments.ipynb as the course has it"


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        (lambda cell: cell.update(attachments={"a.png": {"image/png": "AAAA"}}), True),
        (lambda cell: cell["metadata"].update(tags=["important"]), True),
        (lambda cell: cell["metadata"].update(jupyter={"outputs_hidden": True}, scrolled=True, trusted=True), False),
        (lambda cell: cell.update(outputs=[], execution_count=7), False),
    ],
    ids=["a pasted picture", "a tag", "the view", "a run"],
)
def test_what_a_learner_adds_to_a_cell_is_a_change(course, table, change, stays):
    notebook = {"cells": [{"cell_type": "code", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}]}
    (course / "01-segments.ipynb").write_text(json.dumps(notebook))
    working_copy.lay_out(course, table)
    mine = json.loads((table / "01-segments.ipynb").read_text())
    change(mine["cells"][0])
    (table / "01-segments.ipynb").write_text(json.dumps(mine, indent=2))
    (course / "01-segments.ipynb").write_text(json.dumps({"cells": []}))
    assert (table / "01-segments.ipynb" in working_copy.lay_out(course, table)) is not stays


def test_what_was_laid_out_by_a_start_that_was_killed_follows_the_course(course, table, monkeypatch):
    with monkeypatch.context() as killed:
        killed.setattr(working_copy, "_write_laid", lambda *_: None)
        working_copy.lay_out(course, table)
    assert working_copy.lay_out(course, table) == []
    (course / "01-segments.ipynb").write_text("the next edition")
    assert working_copy.lay_out(course, table) == [table / "01-segments.ipynb"]


@pytest.mark.slow
def test_the_pictures_of_a_lesson_lie_in_the_working_copy(table):
    working_copy.lay_out(COURSE, table)
    for name in ("03-high-watermark.ipynb", "zh/03-high-watermark.ipynb"):
        cells = nbformat.read(table / name, as_version=4).cells
        pictures = re.findall(r"!\[.*\]\((.*\.svg)\)", "\n".join(cell.source for cell in cells))
        places = [((table / name).parent / picture).resolve() for picture in pictures]
        assert places and all(place.is_relative_to(table.resolve()) and place.is_file() for place in places)


@pytest.mark.slow
def test_a_lesson_is_laid_out_without_what_answers_an_open_prediction(table):
    working_copy.lay_out(COURSE, table)
    for lesson in lessons():
        course, laid = (nbformat.read(directory / lesson.name, as_version=4).cells for directory in (COURSE, table))
        assert [cell.source.replace("](../diagrams/", "](diagrams/") for cell in course] == [
            cell.source for cell in laid
        ]
        first = next(i for i, cell in enumerate(laid) if re.search(r"^predict\((?s:.*)^    ___,$", cell.source, re.M))
        assert laid[:first] == course[:first]
        assert any(cell.get("outputs") for cell in course[first:])
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in laid[first:])
        for name in (rebuild_name(lesson), f"solutions/{rebuild_name(lesson)}"):
            assert (table / name).read_bytes() == (COURSE / name).read_bytes()
    assert working_copy.lay_out(COURSE, table) == []


def as_jupyterlab_saves(path, source=None):
    """Open a notebook, run it and save it: with the kernel's version and outputs; `source`: what is written first."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["language_info"] = {"name": "python", "version": "3.11.7"}
    notebook.cells[0].outputs = [nbformat.v4.new_output("stream", text="1\n")]
    notebook.cells[0].metadata["collapsed"] = True
    notebook.cells[0].source = source or notebook.cells[0].source
    nbformat.write(notebook, path)


def test_a_notebook_that_was_only_opened_and_run_follows_the_course(course, table):
    lesson = write_notebook(course / "01-segments.ipynb", "print(1)")
    working_copy.lay_out(course, table)
    copy = table / lesson.name
    as_jupyterlab_saves(copy)
    saved = copy.read_bytes()
    assert working_copy.lay_out(course, table) == [] and copy.read_bytes() == saved, "the course has nothing new"
    write_notebook(lesson, "print(2)")
    assert working_copy.lay_out(course, table) == [copy] and copy.read_bytes() == lesson.read_bytes()
    as_jupyterlab_saves(copy)
    assert working_copy.fresh("01-segments", course, table) is None and copy.read_bytes() == lesson.read_bytes()


def test_a_notebook_that_was_written_in_stays(course, table):
    lesson = write_notebook(course / "01-segments.ipynb", "print(1)")
    working_copy.lay_out(course, table)
    as_jupyterlab_saves(table / lesson.name, "print(7)")
    write_notebook(lesson, "print(2)")
    assert working_copy.lay_out(course, table) == []
    assert nbformat.read(table / lesson.name, as_version=4).cells[0].source == "print(7)"
    assert working_copy.fresh("01-segments", course, table) == table / "01-segments-edited-1.ipynb"


STUB = "def {0}(old):\n    return ___\n\n\n{0}_task.check({0})"
SOLVED = "def {0}(old):\n    # mine\n    return old + 1\n\n\n{0}_task.check({0})"
HEAD = "from minikafka.lab import ___"
BEFORE = [HEAD, "1 + 1", STUB.format("clamp"), STUB.format("increment"), "2 + 2"]
"""A lesson as it was when its exercises stood in it."""


@pytest.fixture
def split_course(course, table):
    """The course after a lesson's exercises got a notebook of their own; laid out was the edition before."""
    lesson = write_notebook(course / "03-marks.ipynb", *BEFORE)
    working_copy.lay_out(course, table)
    write_notebook(lesson, HEAD, "1 + 1", "2 + 2")
    write_notebook(course / "03-marks-rebuild.ipynb", HEAD, "'set up'", STUB.format("clamp"), STUB.format("increment"))
    return course


def test_functions_that_were_written_before_the_split_are_carried_over(split_course, table):
    old = table / "03-marks.ipynb"
    write_notebook(old, *BEFORE[:2], SOLVED.format("clamp"), *BEFORE[3:])
    before = old.read_bytes()
    assert working_copy.lay_out(split_course, table) == [table / "03-marks-rebuild.ipynb"]
    assert old.read_bytes() == before, "a copy that the learner has changed stays"
    cells = nbformat.read(table / "03-marks-rebuild.ipynb", as_version=4).cells
    nbformat.validate(nbformat.read(table / "03-marks-rebuild.ipynb", as_version=4))
    assert [cell.source for cell in cells] == [HEAD, "'set up'", SOLVED.format("clamp"), STUB.format("increment")]
    course_cells = nbformat.read(split_course / "03-marks-rebuild.ipynb", as_version=4).cells
    assert [cell.id for cell in cells] == [cell.id for cell in course_cells]

    carried = (table / "03-marks-rebuild.ipynb").read_bytes()
    write_notebook(split_course / "03-marks-rebuild.ipynb", HEAD, "'the next edition'")
    assert working_copy.lay_out(split_course, table) == []
    assert (table / "03-marks-rebuild.ipynb").read_bytes() == carried, "it is the learner's"
    assert working_copy.fresh("marks-rebuild", split_course, table) == table / "03-marks-rebuild-edited-1.ipynb"
    assert "next edition" in (table / "03-marks-rebuild.ipynb").read_text()
    assert working_copy.fresh("03", split_course, table) == table / "03-marks-edited-1.ipynb"
    assert (table / "03-marks.ipynb").read_bytes() == (split_course / "03-marks.ipynb").read_bytes()


def test_a_copy_from_before_the_split_without_a_function_follows_the_course(split_course, table):
    names = {"03-marks.ipynb", "03-marks-rebuild.ipynb"}
    assert {path.name for path in working_copy.lay_out(split_course, table)} == names
    for name in names:
        assert (table / name).read_bytes() == (split_course / name).read_bytes()


@pytest.mark.parametrize("old", ["mine", '{"cells": [{"cell_type": "code", "source": 3}]}', '{"cells": 3}', "[" * 9999])
def test_of_a_broken_copy_from_before_the_split_nothing_is_carried_over(split_course, table, old):
    (table / "03-marks.ipynb").write_text(old)
    assert working_copy.lay_out(split_course, table) == [table / "03-marks-rebuild.ipynb"]
    assert (table / "03-marks-rebuild.ipynb").read_bytes() == (split_course / "03-marks-rebuild.ipynb").read_bytes()


def test_nothing_is_carried_over_from_where_a_link_leads(split_course, table, tmp_path):
    write_notebook(tmp_path / "elsewhere.ipynb", SOLVED.format("clamp"))
    (table / "03-marks.ipynb").unlink()
    (table / "03-marks.ipynb").symlink_to(tmp_path / "elsewhere.ipynb")
    working_copy.lay_out(split_course, table)
    assert (table / "03-marks-rebuild.ipynb").read_bytes() == (split_course / "03-marks-rebuild.ipynb").read_bytes()


@pytest.fixture
def halved_course(course, table):
    """The course after lesson 03 was cut into halves; laid out was the edition before."""
    write_notebook(course / "03-marks.ipynb", HEAD, "predict('first', 'First?', ___, len)")
    write_notebook(course / "03-marks-rebuild.ipynb", HEAD, STUB.format("clamp"), STUB.format("increment"))
    working_copy.lay_out(course, table)
    for old in course.glob("03-*.ipynb"):
        old.unlink()
    for half, task in (("03a-marks", "clamp"), ("03b-growth", "increment")):
        write_notebook(course / f"{half}.ipynb", HEAD, "1 + 1")
        write_notebook(course / f"{half}-rebuild.ipynb", HEAD, STUB.format(task))
    return course


HALVES = {f"03{half}{kind}.ipynb" for half in ("a-marks", "b-growth") for kind in ("", "-rebuild")}


def test_an_unchanged_lesson_goes_when_the_course_has_its_halves(halved_course, table):
    assert {path.name for path in working_copy.lay_out(halved_course, table)} == HALVES
    assert {path.name for path in table.glob("03*")} == HALVES
    assert working_copy.lay_out(halved_course, table) == []


def test_what_was_written_in_a_lesson_stays_and_is_carried_into_its_halves(halved_course, table):
    for name in ("03-marks.ipynb", "03-marks-rebuild.ipynb"):
        write_notebook(table / name, HEAD, *(SOLVED.format(task) for task in ("clamp", "increment")))
    kept = {path.name: path.read_bytes() for path in table.glob("03*")}
    assert {path.name for path in working_copy.lay_out(halved_course, table)} == HALVES
    assert kept.items() <= {path.name: path.read_bytes() for path in table.glob("03*")}.items()
    for half, task in (("03a-marks", "clamp"), ("03b-growth", "increment")):
        cells = nbformat.read(table / f"{half}-rebuild.ipynb", as_version=4).cells
        assert [cell.source for cell in cells] == [HEAD, SOLVED.format(task)]


def test_a_desk_that_an_earlier_version_laid_follows_the_course(course, table):
    working_copy.lay_out(course, table)
    known = table / working_copy.LAID_OUT
    known.write_text(json.dumps({name: file for name, (file, _) in json.loads(known.read_text()).items()}))
    (table / "02-high-watermark.ipynb").write_text("mine")
    for name in ("01-segments.ipynb", "02-high-watermark.ipynb"):
        (course / name).write_text("the next edition")
    assert working_copy.lay_out(course, table) == [table / "01-segments.ipynb"]


KILLED = """
import os, sys
from pathlib import Path
from minikafka.lab.course import working_copy
def die(event, paths):
    if event in ("os.link", "os.rename") and Path(paths[1]).name == sys.argv[3]:
        os.kill(os.getpid(), 9)
sys.addaudithook(die)
working_copy.lay_out(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["01-segments.ipynb", "0.log", working_copy.LAID_OUT])
def test_what_a_start_left_that_was_killed_is_removed_by_the_next_and_nothing_else(course, table, name):
    if name == working_copy.LAID_OUT:
        working_copy.lay_out(course, table)
        (course / "01-segments.ipynb").write_text("the next edition")
    killed = subprocess.run([sys.executable, "-c", KILLED, course, table, name], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    left = list(table.rglob(".*.tmp"))
    assert left and all(path.is_file() for path in left)
    foreign = [table / name for name in ("mine.tmp", ".mine.tmp", f".{'a' * 16}.tmp", ".minikafka-mine.tmp")]
    for path in foreign:
        path.write_text("of somebody else")
    link = table / f".minikafka-{'a' * 16}.tmp"
    link.symlink_to(foreign[0])
    working_copy.lay_out(course, table)
    assert set(table.rglob("*.tmp")) == {*foreign, link}


def test_a_deleted_notebook_comes_back(course, table):
    working_copy.lay_out(course, table)
    (table / "01-segments.ipynb").unlink()
    assert working_copy.lay_out(course, table) == [table / "01-segments.ipynb"]


def test_fresh_resets_one_notebook_and_keeps_the_edited_ones(course, table):
    working_copy.lay_out(course, table)
    for number in (1, 2):
        (table / "01-segments.ipynb").write_text(f"mine {number}")
        kept = working_copy.fresh("segments", course, table)
        assert kept == table / f"01-segments-edited-{number}.ipynb"
        assert kept.read_text() == f"mine {number}"
        assert (table / "01-segments.ipynb").read_text() == "01-segments.ipynb as the course has it"


@pytest.fixture(params=["before it is moved", "before the new one comes", "before both"])
def editor(request, table, monkeypatch):
    """An editor that saves 01-segments.ipynb, as JupyterLab does, between a look at it and a change; what it saved."""
    notebook, saved = table / "01-segments.ipynb", []

    def save():
        draft = table / "draft of the editor"
        saved.append(f"save {len(saved) + 1}")
        draft.write_text(saved[-1])
        os.replace(draft, notebook)

    def saves_before(function, is_meant):
        def saved_before(source, target, **options):
            if not is_meant(source, target) or len(saved) > 1:
                return function(source, target, **options)
            save()
            return function(source, target, **options)

        return saved_before

    def start():
        if request.param != "before the new one comes":
            monkeypatch.setattr(Path, "rename", saves_before(Path.rename, lambda source, target: source == notebook))
        if request.param != "before it is moved":
            monkeypatch.setattr(os, "link", saves_before(os.link, lambda source, target: target == notebook))
        return saved

    return start


def texts(table):
    return {path.read_text() for path in table.glob("01-segments*.ipynb")}


@pytest.mark.parametrize("is_there", [True, False])
def test_what_an_editor_saves_while_a_new_edition_comes_is_kept(course, table, editor, is_there):
    working_copy.lay_out(course, table)
    (course / "01-segments.ipynb").write_text("the next edition")
    if not is_there:
        (table / "01-segments.ipynb").unlink()
    saved = editor()
    working_copy.lay_out(course, table)
    assert (table / "01-segments.ipynb").read_text() == (saved or ["the next edition"])[-1]
    assert "01-segments.ipynb as the course has it" not in texts(table)


@pytest.mark.parametrize("is_edited", [True, False])
def test_what_an_editor_saves_while_a_notebook_is_made_fresh_is_kept(course, table, editor, is_edited):
    working_copy.lay_out(course, table)
    if is_edited:
        (table / "01-segments.ipynb").write_text("mine")
    saved = editor()
    working_copy.fresh("01-segments", course, table)
    assert saved[-1] in texts(table)
    assert (table / "01-segments.ipynb").read_text() == "01-segments.ipynb as the course has it"


def test_fresh_keeps_nothing_of_an_unchanged_notebook(course, table):
    working_copy.lay_out(course, table)
    assert working_copy.fresh("02-high-watermark", course, table) is None
    assert sorted(path.name for path in table.glob("*.ipynb")) == ["01-segments.ipynb", "02-high-watermark.ipynb"]


@pytest.mark.parametrize("name", ["", "nothing-like-it", "0"])
def test_fresh_wants_exactly_one_notebook(course, table, name):
    with pytest.raises(ValueError, match="There are: 01-segments, 02-high-watermark, solutions/01-segments"):
        working_copy.fresh(name, course, table)


def test_fresh_means_a_solution_only_by_its_whole_name(course, table):
    working_copy.lay_out(course, table)
    for name in ("01-segments.ipynb", "solutions/01-segments.ipynb"):
        (table / name).write_text("mine")
    assert (
        working_copy.fresh("solutions/01-segments", course, table) == table / "solutions" / "01-segments-edited-1.ipynb"
    )
    assert (table / "01-segments.ipynb").read_text() == "mine"


@pytest.fixture
def elsewhere(tmp_path, table):
    """A file outside the working copy, which somebody else has prepared and knows what is in it."""
    table.mkdir()
    file = tmp_path / "elsewhere"
    file.write_text("of somebody else")
    known = {"01-segments.ipynb": [hashlib.sha256(file.read_bytes()).hexdigest(), ""]}
    (table / working_copy.LAID_OUT).write_text(json.dumps(known))
    return file


def test_what_a_link_leads_to_is_not_overwritten(course, table, elsewhere):
    (table / "01-segments.ipynb").symlink_to(elsewhere)
    (table / "02-high-watermark.ipynb").symlink_to(elsewhere.with_name("gone"))
    working_copy.lay_out(course, table)
    assert elsewhere.read_text() == "of somebody else" and not elsewhere.with_name("gone").exists()
    assert (table / "01-segments.ipynb").is_symlink() and (table / "data" / "0.log").is_file()
    for name in ("01-segments", "02-high-watermark"):
        assert working_copy.fresh(name, course, table) == table / f"{name}-edited-1.ipynb"
        assert (table / f"{name}.ipynb").read_text() == f"{name}.ipynb as the course has it"
    assert elsewhere.read_text() == "of somebody else" and not elsewhere.with_name("gone").exists()


def test_a_second_name_of_a_file_elsewhere_is_replaced_and_the_file_stays(course, table, elsewhere):
    os.link(elsewhere, table / "01-segments.ipynb")
    assert table / "01-segments.ipynb" in working_copy.lay_out(course, table)
    assert elsewhere.read_text() == "of somebody else"


def test_a_link_in_the_place_of_what_was_laid_out_is_refused(course, table, elsewhere):
    known = table / working_copy.LAID_OUT
    known.unlink()
    known.symlink_to(elsewhere)
    with pytest.raises(OSError, match=f"{working_copy.LAID_OUT} is a link"):
        working_copy.lay_out(course, table)
    assert elsewhere.read_text() == "of somebody else" and os.listdir(table) == [working_copy.LAID_OUT]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_in_the_place_of_what_was_laid_out_is_refused(course, table, make):
    table.mkdir()
    make(table / working_copy.LAID_OUT)
    with pytest.raises(OSError, match=f"{working_copy.LAID_OUT} is no regular file"):
        working_copy.lay_out(course, table)


@pytest.mark.parametrize(
    "told", ["[]", "3", "[" * 100_000, '{"01-segments.ipynb": [' + "[" * 500 + "]" * 500 + ', ""]}', '{"a": 3}', "\xff"]
)
def test_a_broken_list_of_what_was_laid_out_counts_as_none(course, table, told):
    working_copy.lay_out(course, table)
    (table / working_copy.LAID_OUT).write_bytes(told.encode("latin-1"))
    (course / "01-segments.ipynb").write_text("the next edition")
    assert working_copy.lay_out(course, table) == []
    assert (table / "01-segments.ipynb").read_text() == "01-segments.ipynb as the course has it"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_in_the_place_of_a_notebook_stays(course, table, make):
    table.mkdir()
    make(table / "01-segments.ipynb")
    assert len(working_copy.lay_out(course, table)) == 3
    assert not (table / "01-segments.ipynb").is_file()
    assert working_copy.fresh("01-segments", course, table) == table / "01-segments-edited-1.ipynb"
    assert (table / "01-segments.ipynb").is_file()


def test_nothing_is_laid_through_a_link_to_a_directory(course, table, tmp_path):
    (tmp_path / "foreign").mkdir()
    table.mkdir()
    (table / "data").symlink_to(tmp_path / "foreign")
    (table / "solutions").write_text("mine")
    assert [path.name for path in working_copy.lay_out(course, table)] == [
        "01-segments.ipynb",
        "02-high-watermark.ipynb",
    ]
    assert os.listdir(tmp_path / "foreign") == [] and (table / "solutions").read_text() == "mine"
    with pytest.raises(OSError, match="solutions is not a directory of its own"):
        working_copy.fresh("solutions/01-segments", course, table)


def test_a_working_copy_may_be_a_link_of_ones_own_to_a_directory(course, table, tmp_path):
    """To a larger disk, for instance."""
    (tmp_path / "disk").mkdir()
    table.symlink_to("disk")
    assert len(working_copy.lay_out(course, table)) == 4
    assert (tmp_path / "disk" / "data" / "0.log").is_file() and table.is_symlink()
    (table / "01-segments.ipynb").write_text("mine")
    (course / "02-high-watermark.ipynb").write_text("the next edition")
    assert working_copy.lay_out(course, table) == [table / "02-high-watermark.ipynb"]
    assert working_copy.fresh("01-segments", course, table) == table / "01-segments-edited-1.ipynb"


def test_a_working_copy_of_somebody_else_is_refused(course, tmp_path, monkeypatch):
    table = tmp_path / "table"
    table.mkdir()
    monkeypatch.setattr(working_copy.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(IOException, match=rf"table belongs to somebody else \(user {os.getuid()}\): nothing is laid"):
        working_copy.lay_out(course, table)
    assert list(table.iterdir()) == []


@pytest.mark.parametrize("why", ["a file", "nothing", "other files", "somebody else's"])
def test_a_working_copy_that_is_another_link_is_refused_in_one_line(tmp_path, monkeypatch, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-lessons").symlink_to("foreign")
    told = "my-lessons is a link, and not one of yours to a directory: nothing is laid there"
    match why:
        case "a file":
            (tmp_path / "foreign").write_text("")
        case "other files":
            (tmp_path / "foreign").mkdir()
            (tmp_path / "foreign" / "letter").write_text("")
            told = "my-lessons is a link to a directory with other files: nothing is laid there; an empty one will do"
        case "somebody else's":
            (tmp_path / "foreign").mkdir()
            monkeypatch.setattr(working_copy.os, "geteuid", lambda: os.getuid() + 1)
    before = sorted(tmp_path.rglob("*"))
    refused = CliRunner().invoke(main, ["lab", "--lay-out"])
    assert refused.exit_code == 1
    assert refused.stderr == f"IOException: {told}\n"
    monkeypatch.setattr(working_copy.sys, "argv", ["working_copy", "lay"])
    with pytest.raises(SystemExit):
        working_copy.main()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_where_one_stands_the_working_copy_is_laid(tmp_path, monkeypatch):
    """Also from an editable install, which knows where the clone is."""
    monkeypatch.chdir(tmp_path)
    laid = CliRunner().invoke(main, ["lab", "--lay-out"], catch_exceptions=False)
    assert laid.output.endswith(" files laid out in my-lessons/\n")
    assert (tmp_path / "my-lessons" / working_copy.FIRST_LESSON).is_file()


def test_help_says_what_each_action_does_and_where(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")  # nothing is broken at a hyphen
    monkeypatch.setattr(working_copy.sys, "argv", ["working_copy", "--help"])
    with pytest.raises(SystemExit):
        working_copy.main()
    said = " ".join(capsys.readouterr().out.split())
    for words in ("my-lessons", "open JupyterLab", "copy the notebooks", "as the course has it"):
        assert words in said


def write_notebook(path, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


AGREE = """
from minikafka.witness.agreement import Agreement, Difference, Line
who = ("minikafka", "Spark", "Kafka")
good = [Line(name, 3, who, None) for name in ("log_end_offset", "segments")]
bad = Line("high_watermark", 3, who, Difference(1, "append", "high_watermark", {"minikafka": 1, "Spark": 2}))
"""


@pytest.mark.slow
def test_a_lesson_is_run_and_its_agreements_and_exercises_are_counted(tmp_path):
    path = write_notebook(
        tmp_path / "lesson.ipynb",
        AGREE,
        "Agreement(who, 4, (*good,))",
        "Agreement(who, 4, (*good, bad))",
        "from minikafka.lab.exercises.exercise import Verdict",
        "Verdict('roll', 'not attempted', '')",
        "Verdict('roll', 'correct', '', 3), Verdict('floor', 'not yet', '')",
    )
    said = run_lessons.run_lesson(path)
    tally, waited = said.split("; ")
    assert tally == "3 witnesses agree on 2 quantities, 1 difference found, 2 exercises checked"
    assert re.fullmatch(r"first cell \d+\.\d s, slowest other \d+\.\d s", waited)


@pytest.mark.slow
def test_a_lesson_that_fails_is_named_and_fails_the_run(tmp_path, monkeypatch, capsys):
    good = write_notebook(tmp_path / "good.ipynb", "1 + 1")
    bad = write_notebook(tmp_path / "bad.ipynb", "raise ValueError('no such offset')")
    monkeypatch.setattr(run_lessons.sys, "argv", ["run_lessons", str(bad), str(good)])
    with pytest.raises(SystemExit) as end:
        run_lessons.main()
    assert end.value.code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{tmp_path.name}/bad ") and "FAILED: ValueError: no such offset" in lines[0]
    assert lines[1].startswith(f"{tmp_path.name}/good ") and " 0 exercises checked; first cell" in lines[1]
    assert re.fullmatch(r"2 notebooks in \d+ s, 1 failed", lines[2])
