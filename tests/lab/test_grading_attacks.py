"""Submissions that want to harm the teacher's machine, to get a point that is not earned, or to end the grading."""

import json
import os
import re
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import nbformat
import numpy
import psutil
import pytest

from minikafka.lab.course.places import COURSE
from minikafka.lab.grading import learners_side
from minikafka.lab.grading.grade import _jobs, grade
from minikafka.lab.grading.lesson_tasks import tasks_of
from minikafka.lab.grading.marking import _ANSWERS_LIE_IN, Terms
from minikafka.lab.grading.submission import read_in_every_language
from minikafka.lab.lesson_folders import lesson_folders
from minikafka.lab.sandbox import control_group
from minikafka.lab.sandbox.control_group import ControlGroup

PACKAGE = Path(learners_side.__file__).parents[2]
LESSON = "01-small.ipynb"
IMPORTS = """from minikafka.lab import ___, predict
from minikafka.lessons.high_watermark.exercises import clamp, least_end
from minikafka.lessons.high_watermark.rungs import clamps
"""
FUNCTIONS = {
    "updated": "(old, suggested, log_start, log_end)",
    "high_watermarks": "(ends)",
    "update_high_watermark": "(self, high_watermark)",
}
CHECKS = "clamp.check(updated)\nleast_end.check(high_watermarks)\nclamps.check(update_high_watermark)"
RIGHT = "return max(log_start, min(suggested, log_end))"
REACHES = """
from heapq import merge
def builtin(name):
    match merge:
        case object(__globals__=found):
            return found["__builtins__"][name]
def get(attribute):
    return lambda value: builtin("getattr")(value, attribute)
def module(name):
    return builtin("__import__")(name)
"""


def function(name: str, body: str, before: str = "") -> str:
    return f"{before}\ndef {name}{FUNCTIONS[name]}:\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"


def updated(body: str) -> str:
    return function("updated", body, REACHES)


def attacks(teachers: Path, port: int) -> dict[str, str]:
    """By name, the code of a cell. Where an attack can, it goes on to give a right answer."""
    victim, written, evil = (str(teachers / name) for name in ("victim", "written", "evil.npy"))
    return {
        "shell": updated(f"get('system')(module('os'))('rm -r {victim}; touch {written}')\n{RIGHT}"),
        "file_ops": function(
            "updated",
            f"deletes(get('Path')(module('pathlib'))({victim!r}))\n{RIGHT}",
            REACHES + "from minikafka.common.file_ops import delete_directory as deletes",
        ),
        "pickle": function(
            "updated",
            f"try:\n    get('load')(module('numpy'))({evil!r}, allow_pickle=True)\nexcept OSError:\n    pass\n{RIGHT}",
            REACHES,
        ),
        "numpy": function("updated", f"np.savetxt({written!r}, np.zeros(3))\n{RIGHT}", "import numpy as np"),
        "home": updated(f"raise ValueError(get('listdir')(module('os'))({str(Path.home())!r}))"),
        "network": updated(f"""
            socket = get("import_module")(module("importlib"))("socket")
            get("create_connection")(socket)(("127.0.0.1", {port}), 3)
            {RIGHT}"""),
        "daemon": updated(f"""
            system_calls = module("os")
            if get("fork")(system_calls)() == 0:
                get("setsid")(system_calls)()
                get("execv")(system_calls)("/bin/sleep", ["sleep", "{port}.61"])
            {RIGHT}"""),
        "bomb": updated("""
            while True:
                get("fork")(module("os"))()"""),
        "verdicts": updated("""
            system_calls = module("os")
            for argument in get("argv")(module("sys")):
                try:
                    descriptor = get("open")(system_calls)(argument, 577)
                    get("write")(system_calls)(descriptor, b'{"state": "correct", "words": ""}\\n' * 7)
                except OSError:
                    pass
            get("_exit")(system_calls)(0)"""),
        "garbage": updated("""
            for descriptor in range(3, 10_000):
                try:
                    get("write")(module("os"))(descriptor, b"not json" * 100)
                except OSError:
                    pass
            get("_exit")(module("os"))(0)"""),
        "answers": updated("""
            told = b'["is", {"tuple": ["is", "correct"]}]'
            for descriptor in range(3, 10_000):
                try:
                    get("write")(module("os"))(descriptor, len(told).to_bytes(8, "big") + told)
                except OSError:
                    pass"""),
        "liar": function(
            "updated",
            """
            class Liar(int):
                def __eq__(self, other):
                    return True
                def __ne__(self, other):
                    return False
            return Liar(0)""",
        ),
        "solution": updated("""
            find = get("import_module")(module("importlib"))
            exercise = get("clamp")(find("minikafka.lessons.high_watermark.exercises"))
            return get("solved_by")(exercise)()(old, suggested, log_start, log_end)"""),
        "spark": function(
            "high_watermarks",
            f"""
            from pyspark.sql import SparkSession
            spark = SparkSession.getActiveSession()
            try:
                spark.sql("INSERT OVERWRITE DIRECTORY '{victim}' USING text SELECT 'written'")
            except Exception:
                pass
            return spark.sql("SELECT value FROM text.`{teachers}/secret`")""",
        ),
        "java": function(
            "high_watermarks",
            f"""
            from pyspark.sql import SparkSession
            java = get("_jvm")(SparkSession.getActiveSession()).java.lang
            for command in ("/bin/sleep {port}.61", "/usr/bin/touch {written}"):
                try:
                    get("exec")(java.Runtime.getRuntime())(command)
                except Exception:
                    pass
            return [(0, 0)]""",
            REACHES,
        ),
        "python": function(
            "high_watermarks",
            """
            spark = ends.sparkSession
            return spark.createDataFrame([(1, 2)], "a INT, b INT")""",
        ),
        "left_out": function(
            "update_high_watermark",
            """
            get("__dict__")(module("learners_side"))["run"] = lambda text: ("is", [], "topic-0", {}, [], 99)
            if isinstance(high_watermark, int):
                high_watermark = LogOffsetMetadata(high_watermark)
            end = self.log_end_offset_metadata
            if high_watermark.message_offset < self.log_start_offset:
                high_watermark = LogOffsetMetadata(self.log_start_offset)
            elif high_watermark.message_offset >= end.message_offset:
                high_watermark = end
            self._update_high_watermark_metadata(high_watermark)
            return high_watermark.message_offset""",
            REACHES + "from minikafka.log.log_offset_metadata import LogOffsetMetadata",
        ),
        "deep_function": function("updated", "return " + "1 + " * 1200 + "1"),
        "deep_answer": 'predict("how-many", "How many?", ' + "1 + " * 1200 + "1, lambda: 3)",
        "large": function("updated", "return 'x' * (200 << 20)"),
        "exits": function("updated", "raise SystemExit(0)"),
        "sound": function("updated", RIGHT),
    }


def notebook(directory: Path, *cells: str) -> None:
    directory.mkdir(parents=True)
    lesson = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(lesson, directory / LESSON)


class Evil:
    """Unpickled, it runs a command."""

    def __init__(self, command: str):
        self._command = command

    def __reduce__(self):
        return os.system, (self._command,)


@pytest.fixture(scope="module")
def teachers(tmp_path_factory):
    """The teacher's directory, with what must not change."""
    directory = tmp_path_factory.mktemp("teachers")
    (directory / "victim").mkdir()
    (directory / "victim" / "precious").write_text("x")
    (directory / "secret").write_text("the secret")
    numpy.save(directory / "evil.npy", numpy.array([Evil(f"touch {directory}/written")], dtype=object))
    return directory


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A lesson with a prediction, two exercises and a rung."""
    directory = tmp_path_factory.mktemp("course")
    stubs = [function(name, "return ___") for name in FUNCTIONS]
    notebook(directory / "course", IMPORTS, 'predict("how-many", "How many?", ___, lambda: 3)', *stubs, CHECKS)
    return directory / "course" / LESSON


@pytest.fixture
def server():
    """A server that nobody reaches."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening
        listening.settimeout(0)
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.in_parts(4)
@pytest.mark.parametrize(
    ("attack", "task", "points", "why"),
    [
        ("shell", "updated", 1, ""),
        ("file_ops", "updated", 1, ""),
        ("pickle", "updated", 1, ""),
        ("numpy", "updated", 0, "FileNotFoundError|Read-only file system"),
        ("home", "updated", 0, r"FileNotFoundError|\['\.\w+'\]$|ValueError: \[.{0,60}\]"),
        ("network", "updated", 0, "Connection refused"),
        ("daemon", "updated", 1, ""),
        ("bomb", "updated", 0, "BlockingIOError|PermissionError|not ended|ended its process|more memory"),
        ("verdicts", "updated", 0, "^not yet: It ended its process"),
        ("garbage", "updated", 0, "^not yet: Its process answered with (what is no plain value|more than 8 MB)"),
        ("answers", "updated", 0, "^not yet: .*you answer 'correct', expected"),
        ("liar", "updated", 0, "a value of the type Liar, a class made from int is no plain value"),
        ("solution", "updated", 0, "No module named 'minikafka.lessons.high_watermark'"),
        ("spark", "high_watermarks", 0, "PATH_NOT_FOUND|AnalysisException"),
        ("java", "high_watermarks", 0, "you answer|entry|expected"),
        ("left_out", "update_high_watermark", 0, "^not yet: "),
        ("deep_function", "updated", 0, "nested too deeply|expected"),
        ("deep_answer", "How many?", 0, "the answer is nested too deeply|the run gives"),
        ("large", "updated", 0, "more than 8 MB|no plain value|not ended"),
        ("exits", "updated", 0, "SystemExit: 0"),
        ("sound", "updated", 1, ""),
    ],
)
def test_an_attack_brings_nothing_and_harms_nobody(
    attack, task, points, why, teachers, course, server, tmp_path, spark
):
    port = server.getsockname()[1]
    notebook(tmp_path / "eve", IMPORTS, attacks(teachers, port)[attack])
    marks = {mark.task.name: mark for mark in grade(tmp_path / "eve", [course], Terms(7, seconds=20)).marks}
    if attack == "daemon" and not control_group.can_be_made():
        points = 0  # for os.fork raises there
    assert marks[task].points == points and re.search(why, marks[task].why), marks[task]
    assert [mark.points for name, mark in marks.items() if name != task] == [0, 0, 0]
    assert {path.name: path.read_text() for path in teachers.iterdir() if path.suffix == "" and path.is_file()} == {
        "secret": "the secret"
    }
    assert [path.name for path in (teachers / "victim").iterdir()] == ["precious"]
    assert "the secret" not in str(marks)
    assert [each for each in psutil.process_iter(["cmdline"]) if f"{port}.61" in (each.info["cmdline"] or ())] == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.in_parts(4)
@pytest.mark.parametrize(
    ("attack", "task", "why"),
    [
        ("daemon", "updated", "PermissionError: .*Operation not permitted"),
        ("spark", "high_watermarks", "PATH_NOT_FOUND"),
        ("python", "high_watermarks", "PermissionError: for it Spark starts another Python .* createDataFrame .* root"),
    ],
)
def test_without_a_control_group_the_reason_says_what_is_forbidden(
    attack, task, why, teachers, course, server, tmp_path, spark, monkeypatch
):
    """As for who is not root."""
    monkeypatch.setattr(ControlGroup, "files", [])
    monkeypatch.setattr(control_group, "can_be_made", lambda: False)
    notebook(tmp_path / "eve", IMPORTS, attacks(teachers, server.getsockname()[1])[attack])
    marks = {mark.task.name: mark for mark in grade(tmp_path / "eve", [course], Terms(7, seconds=20)).marks}
    assert marks[task].points == 0 and re.search(why, marks[task].why) and len(marks[task].why) < 500, marks[task]
    assert [path.name for path in (teachers / "victim").iterdir()] == ["precious"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("one statement", json.dumps({"cells": [{"cell_type": "code", "source": "a;" * 9_500_000}]}), "10 MB"),
        ("code", json.dumps({"cells": [{"cell_type": "code", "source": "a;" * 2_000_000}]}), "characters of code"),
        ("cells", json.dumps({"cells": [{"cell_type": "code", "source": ["x=1\n"]}] * 90_000}), "characters of code"),
        ("values", '{"cells": [' + "[]," * 3_000_000 + "3]}", "more values than a notebook has"),
        ("wide text", '{"cells": 3, "a": "\U0001f600' + "a" * 9_000_000 + '"}', "is no notebook"),
        ("numbers", '{"cells": [' + "1.5," * 900_000 + "3]}", "is no notebook"),
    ],
)
def test_a_large_notebook_is_refused_within_seconds_and_200_mb(name, text, why, tmp_path):
    (tmp_path / LESSON).write_text(text)
    code = textwrap.dedent(f"""
        import resource, sys
        from pathlib import Path
        from minikafka.lab.grading.submission import read
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            read(Path({str(tmp_path / LESSON)!r}), Path({str(tmp_path)!r}))
        except ValueError as error:
            print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10, error)
    """)
    begun = time.process_time()
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    megabytes, _, words = told.partition(" ")
    assert why in words and int(megabytes) < 200, told
    assert time.process_time() - begun < 10


def test_no_solution_is_shown_to_the_sandbox():
    """Nor what Python compiles from one, at this moment or while a submission is graded."""
    names = ("*solutions*", "rungs.*", "predictions.*", "quiz.*")
    answers = [path for root in (COURSE, PACKAGE) for name in names for path in root.rglob(name)]
    assert len(answers) > 4 * len(lesson_folders())
    for path in answers:
        beside = path.parent / "__pycache__" / path.name
        assert all(any(each.is_relative_to(hidden) for hidden in _ANSWERS_LIE_IN) for each in (path, beside)), path


MANY = [f"a{n}" for n in range(3_000)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    [
        "=".join(MANY) + "=1\n" + function("updated", f"return ({','.join(MANY)})"),
        function("updated", "return 1\n" + "if 1:\n" + "\n".join(f"{' ' * n}if 1:" for n in range(1, 80))
                 + "\n" + " " * 80 + "a;" * 100_000),
        function("updated", "return (" + "a," * 100_000 + ")"),
        "K = 0\n" + "K += 1\n" * 20_000 + function("updated", "return K"),
        "from m import " + ", ".join(MANY) + "\n" + function("updated", f"return ({','.join(MANY)})"),
        "\n".join(f"def a{n}(): return a{n - 1}, K, a{n + 1}\nK = a{n}" for n in range(2_000))
        + function("updated", "return a7, K"),
        "%time " * 300 + "3\n" + function("updated", "return 3"),
        "%time 3\n" * 2_000 + function("updated", "return 3"),
        function("updated", "return 3") + "clamp.check(updated)\n" * 5_000,
    ],
    ids=["many names of one statement", "deeply indented", "many names", "many changes", "many imports",
         "many functions and constants", "one command within another", "many commands", "many checks"],
)  # fmt: skip
def test_the_code_of_a_function_is_taken_out_and_looked_at_within_seconds(cell, course, tmp_path):
    notebook(tmp_path / "eve", cell)
    (task,) = (task for task in tasks_of(course) if task.name == "updated")
    begun = time.process_time()
    found = _jobs(task, read_in_every_language(tmp_path / "eve", LESSON), [])
    assert time.process_time() - begun < 5
    if isinstance(found, list):
        assert all(len(job.code) < 100_000 for job in found)
    else:
        too_much = "not run: it has more than 20,000 names, values and operations"
        assert found.why in (too_much, "there is no such function (1 cells are no Python)")
