"""Whatever a learner's function needs from its notebook comes with it; what is honest gets its point."""

import re
import textwrap

import nbformat
import pytest

from minikafka.lab.grading.grade import Mark, _given, _jobs, grade
from minikafka.lab.grading.lesson_tasks import tasks_of
from minikafka.lab.grading.marking import LearnersSide, Terms, verdict_on
from minikafka.lab.grading.submission import read

LESSON = "01-small.ipynb"
IMPORTS = """from minikafka.lab import ___, predict
from minikafka.lessons.high_watermark.exercises import clamp, least_end
from minikafka.lessons.high_watermark.rungs import clamps
"""
STUBS = (
    "def updated(old, suggested, log_start, log_end):\n    return ___",
    "def high_watermarks(ends):\n    return ___",
    "def update_high_watermark(self, high_watermark):\n    return ___",
)
CHECKS = ("clamp.check(updated)", "least_end.check(high_watermarks)", "clamps.check(update_high_watermark)")
RIGHT = "max(log_start, min(suggested, log_end))"
PLAIN = f"def updated(old, suggested, log_start, log_end):\n    return {RIGHT}"
CLAMPS = """
def update_high_watermark(self, high_watermark):
    if isinstance(high_watermark, int):
        high_watermark = LogOffsetMetadata(high_watermark)
    end = self.log_end_offset_metadata
    if high_watermark.message_offset < self.log_start_offset:
        high_watermark = LogOffsetMetadata(self.log_start_offset)
    elif high_watermark.message_offset >= end.message_offset:
        high_watermark = end
    self._update_high_watermark_metadata(high_watermark)
    return high_watermark.message_offset
"""
METADATA = "from minikafka.log.log_offset_metadata import LogOffsetMetadata"


def using(expression: str) -> str:
    """A right function that uses an expression, which is 0."""
    return f"def updated(old, suggested, log_start, log_end):\n    return {RIGHT} + ({expression})"


HONEST = {
    "helper class": ["class Clamp:\n    def __init__(self, low):\n        self.low = low\n    def to(self, at, high):\n"
                     "        return max(self.low, min(at, high))",
                     "def updated(old, suggested, log_start, log_end):\n"
                     "    return Clamp(log_start).to(suggested, log_end)"],
    "derived class, cell by cell": ["class Base:\n    zero = 0", "class Derived(Base):\n    pass",
                                    using("Derived.zero")],
    "dataclass": ["from dataclasses import dataclass\n@dataclass(frozen=True)\n"
                  "class Span:\n    low: int\n    high: int",
                  "def updated(old, suggested, log_start, log_end):\n    span = Span(log_start, log_end)\n"
                  "    return max(span.low, min(suggested, span.high))"],
    "computed constant": ["K = 1024*1024\nM = K * 2", using("M - K - K")],
    "named tuple": ["from collections import namedtuple\nP = namedtuple('P', 'low high')",
                    "def updated(old, suggested, log_start, log_end):\n    p = P(log_start, log_end)\n"
                    "    return max(p.low, min(suggested, p.high))"],
    "constant of a module": ["import math\nINF = math.inf", using("0 if INF > 3 else 1")],
    "constant by a function": ["def squares(n):\n    return [i * i for i in range(n)]\nTABLE = squares(4)",
                               using("TABLE[0]")],
    "table filled step by step": ["TABLE = {}\nTABLE['a'] = 1\nfor i in range(3):\n    TABLE[i] = i\n"
                                  "TABLE.update(b=2)", using("TABLE[1] - TABLE['a'] + TABLE['b'] - 2")],
    "list filled by a function's call": ["from heapq import heapify\nH = [3, 0, 2]\nheapify(H)", using("H[0]")],
    "augmented assignment": ["K = 3\nK -= 1\nK *= 0", using("K")],
    "bound to what it was": ["K = 3\nK = K - 3", using("K")],
    "default of a parameter": ["ZERO = 0", f"def updated(old, suggested, log_start, log_end, zero=ZERO):\n"
                               f"    return {RIGHT} + zero", "ZERO = 'changed later'"],
    "lambda": [f"updated = lambda old, suggested, log_start, log_end: {RIGHT}", CHECKS[0]],
    "another name": [f"{PLAIN.replace('updated', 'my_own')}\nclamp.check(my_own)"],
    "alias": [f"{PLAIN.replace('updated', 'my_own')}\nupdated = my_own\n{CHECKS[0]}"],
    "partial": ["from functools import partial\ndef general(zero, old, suggested, low, high):\n"
                "    return max(low, min(suggested, high)) + zero", "verdict = clamp.check(partial(general, 0))"],
    "a method": [f"class Mine:\n    def run(self, old, suggested, log_start, log_end):\n        return {RIGHT}",
                 "clamp.check(Mine().run)"],
    "a lambda in the check": [f"clamp.check(lambda old, suggested, log_start, log_end: {RIGHT})"],
    "the check under another name": ["from minikafka.lessons.high_watermark.exercises import clamp as exercise_1",
                                     PLAIN.replace("updated", "mine"), "exercise_1.check(function=mine)"],
    "right once, then tried out": [PLAIN.replace("updated", "good"), "clamp.check(good)",
                                   "clamp.check(lambda *a: 7)"],
    "def in an if": ["FAST = True\nif FAST:\n" + textwrap.indent(PLAIN, "    ") + "\nelse:\n    updated = None"],
    "import that is tried": ["try:\n    import no_such_module as fast\nexcept ImportError:\n    fast = None",
                             using("0 if fast is None else 1")],
    "timed cell": [f"%%time\n{PLAIN}\n{CHECKS[0]}"],
    "lines of commands": [f"%load_ext autoreload\n!ls\n{PLAIN}\n%time clamp.check(updated)\nupdated?"],
    "command with options": [f"%timeit -n1 -r1 pass\n{PLAIN}\n%prun -l 5 -q clamp.check(updated)"],
    "command in a function": [PLAIN.replace("    return", "    %time x = 3\n    !ls\n    return") + " + x - 3"],
    "names of a module, all": ["from operator import *", using("sub(3, 3)")],
    "modules": ["import sys, types, warnings, io, os.path, random, time, logging as l, threading\nimport os\n"
                "random.seed(3)",
                using("0 * len(os.path.join('a', 'b')) + sys.maxsize * 0 + (random.random() > 2) + 0 * time.time_ns()"
                      " + (types.SimpleNamespace(a=0).a) + io.BytesIO(b'').tell()")],
    "import in the function": [PLAIN.replace("    return", "    import os, inspect\n    return")],
    "star and nested targets": ["first, *rest = [0, 1, 2]\n(a, (b, c)) = 1, (2, 3)", using("first + c - b - a")],
    "walrus and with": ["from contextlib import nullcontext\nwith nullcontext(0) as zero:\n    (one := 1)",
                        using("zero + one - 1")],
    "decorators": ["from functools import wraps, cache\ndef logged(f):\n    @wraps(f)\n    def inner(*a):\n"
                   "        return f(*a)\n    return inner", f"@logged\n@cache\n{PLAIN}"],
    "generator and recursion": ["def up(n):\n    yield 0\n    if n:\n        yield from up(n - 1)",
                                using("sum(up(3))")],
    "words of the language by name": [using("getattr(3, 'imag') + vars().get('x', 0) + eval('0')")],
    "future import": ["from __future__ import annotations",
                      "def updated(old: Unknown, suggested, log_start, log_end) -> Unknown:\n    return " + RIGHT],
    "counted by a function": ["calls = 0", "def counted():\n    global calls\n    calls += 1\n    return 0",
                              using("counted()")],
    "counted by the function": ["calls = 0",
                                PLAIN.replace("    return", "    global calls\n    calls += 1\n    return", 1)],
    "set by a function": ["def prepare():\n    global ZERO\n    ZERO = 0\nprepare()", using("ZERO")],
    "shown and printed": ["TABLE = [0]\nprint(TABLE)\ndisplay(TABLE)",
                          using("TABLE[0]").replace("    return", "    print(old)\n    display(old)\n    return")],
    "shown by a widget of the lesson": ["from minikafka.lessons.high_watermark.replicas import Replicas\nTABLE = [0]\n"
                                        "Replicas(TABLE)", using("TABLE[0]")],
    "an unrelated cell that fails": ["TABLE = [0]\nfor each in TABLE:\n    TABLE.append(1 / 0)", using("TABLE[0]")],
    "helper below": [using("helper()"), "def helper():\n    return 0"],
    "stub left above": [STUBS[0], PLAIN],
    "main guard": ["if __name__ == '__main__':\n    ZERO = 0", using("ZERO")],
    "asserts and stores": [PLAIN + "\nassert clamp.check(updated)\nupdated.note = 'done'"],
}  # fmt: skip


def notebook(directory, *cells: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    lesson = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(lesson, directory / LESSON)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    directory = tmp_path_factory.mktemp("course")
    notebook(directory, IMPORTS, *(f"{stub}\n\n{check}" for stub, check in zip(STUBS, CHECKS)))
    return directory / LESSON


@pytest.fixture(scope="module")
def side():
    """One for all: what each function brings must not depend on what another has left."""
    with LearnersSide(Terms(7, seconds=20), java=False) as side:
        yield side


def handed_in(course, directory, task: str, *cells: str):
    """The jobs of a notebook for a task, or the mark where there is nothing to run."""
    notebook(directory, IMPORTS, *cells)
    (wanted,) = (each for each in tasks_of(course) if each.name == task)
    return _jobs(wanted, [read(directory / LESSON, directory)], _given(course))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("form", HONEST)
def test_what_is_honest_gets_its_point(form, course, side, tmp_path, spark):
    jobs = handed_in(course, tmp_path, "updated", *HONEST[form])
    assert not isinstance(jobs, Mark), jobs
    verdicts = [verdict_on(job, side, 7) for job in jobs]
    assert any(verdicts), "\n".join(f"{job.code}\n→ {verdict}" for job, verdict in zip(jobs, verdicts))


RUNGS = {
    "plain": [METADATA, CLAMPS],
    "another name": [METADATA, CLAMPS.replace("update_high_watermark(", "my_own("), "clamps.check(my_own)"],
    "helper class": [METADATA, "class Place(LogOffsetMetadata):\n    pass\nMADE = [Place]",
                     CLAMPS.replace(" LogOffsetMetadata(", " MADE[0](")],
    "lost imports, which the lesson has": [METADATA, CLAMPS],
    "engine used on the way": ["from minikafka.log.log import Log\nKEPT = Log.log_end_offset_metadata", METADATA,
                               CLAMPS.replace("self.log_end_offset_metadata", "KEPT.fget(self)")],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("form", RUNGS)
def test_an_honest_rung_gets_its_point(form, course, side, tmp_path, spark):
    (job,) = handed_in(course, tmp_path, "update_high_watermark", *RUNGS[form])
    verdict = verdict_on(job, side, 7)
    assert verdict, f"{job.code}\n→ {verdict}"


CALLS = "def update_high_watermark(self, high_watermark):\n    return {}"
LOG = "from minikafka.log.log import Log\n"
IS_NOT_THERE = "Log.update_high_watermark is the method that your function stands for"
HOSTILE = {
    "the method itself": (LOG, CALLS.format("Log.update_high_watermark(self, high_watermark)"), "RecursionError"),
    "the method, kept": (f"{LOG}ORIGINAL = Log.update_high_watermark",
                         CALLS.format("ORIGINAL(self, high_watermark)"), IS_NOT_THERE),
    "the method, kept in a subclass": (f"{LOG}class Mine(Log):\n    kept = Log.update_high_watermark",
                                       CALLS.format("Mine.kept(self, high_watermark)"), IS_NOT_THERE),
    "the method handed in": (LOG, "clamps.check(Log.update_high_watermark)", IS_NOT_THERE),
    "a judge that is changed": ("import minikafka.lab.rebuild.performer as p",
                                CALLS.format("setattr(p, 'mine', None)"), "where the answers are"),
    "a judge that is changed by its dots": (
        "import minikafka.lab", CALLS.format("minikafka.lab.rebuild.performer.mine"), "where the answers are"),
    "a judge that is changed within": (
        "", CALLS.format("3").replace("    return", "    from minikafka.lab.rebuild import mine\n    return"),
        "^not run: it uses `from minikafka.lab.rebuild import mine`, where the answers are$"),
    "a judge that is changed at the top": (
        "from minikafka.lab.rebuild import performer\nperformer.mine = 3", CALLS.format("performer"),
        "NameError.*\n`from minikafka.lab.rebuild import performer`, where the answers are"),
    "a solution": ("from minikafka.lessons.high_watermark.solutions import *",
                   CALLS.format("update(self, high_watermark)"), "NameError"),
    "a solution within": ("", CALLS.format("__import__('minikafka.lessons.high_watermark.solutions')"),
                          "ModuleNotFoundError|No module named|Your function returned"),
    "the rung's own solution": ("RIGHT = clamps.solved_by()", CALLS.format("RIGHT(self, high_watermark)"), "NameError"),
    "the check itself": ("clamps.check = lambda function: 'correct'", CALLS.format("3"), "not yet"),
    "an object that is equal to all": (
        "class Equal(int):\n    __eq__ = lambda self, other: True\n    __hash__ = int.__hash__",
        CALLS.format("Equal(3)"), "not yet"),
    "ends its process": ("import os\nos._exit(0)", CALLS.format("os.getpid()"), "ended its process"),
    "ends its process as it is made": ("import os\nX = os._exit(0)", CALLS.format("X"), "ended its process"),
    "stops as it is made": ("import sys\nX = sys.exit('correct')", CALLS.format("X"), "SystemExit"),
    "never ends as it is made": ("X = sum(1 for _ in iter(int, 1))", CALLS.format("X"), "not ended"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.in_parts(4)
@pytest.mark.parametrize("form", HOSTILE)
def test_what_is_hostile_gets_no_point(form, course, tmp_path, spark):
    before, function, why = HOSTILE[form]
    notebook(tmp_path, IMPORTS, before, function, "print('correct')")
    terms = Terms(7, seconds=8)
    (mark,) = (each for each in grade(tmp_path, [course], terms).marks if each.task.name == "update_high_watermark")
    assert mark.points == 0
    assert re.search(why, mark.why), mark.why
