"""The checks are checked: stub, solution and wrong answers, judged by Spark, by minikafka and by Apache Kafka."""

import ast
import functools
import importlib
import pkgutil
import re
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

import minikafka.lessons
from minikafka.lab.course.places import COURSE
from minikafka.lab.exercises.exercise import Case, Exercise, first_difference
from minikafka.lab.exercises.prediction import ___
from minikafka.lab.exercises.recorded_judge import recorded_for
from minikafka.lab.exercises.task import CORRECT, NOT_ATTEMPTED, NOT_YET, Belief
from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.run import minikafka_log
from tests.lab.judges import judge_with
from tests.notebooks.outputs import Shown, code_cells, shown

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(minikafka.lessons.__path__, "minikafka.lessons.")
    if "exercises" in module.name.split(".")
]
EXERCISES = [exercise for module in MODULES for exercise in getattr(module, "EXERCISES", ())]
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=[exercise.name for exercise in EXERCISES])
in_parts = pytest.mark.in_parts(20)
spark = pytest.mark.spark
SOLUTIONS = sorted((COURSE / "solutions").glob("*.ipynb"))


@pytest.fixture(scope="module", autouse=True)
def each_is_asked_once():
    """Solutions and beliefs are asked about each case once: many ask Spark, which takes its time, and say the same."""

    def once(exercise, function):
        answers = {}

        @functools.wraps(function)
        def answer(*arguments):
            case = tuple(map(id, arguments))  # an exercise holds its cases, but not what it draws
            if case not in {tuple(map(id, held.arguments)) for held in exercise.cases}:
                return function(*arguments)
            if case not in answers:
                answers[case] = exercise.normal(function(*arguments))
            return answers[case]

        return answer

    with pytest.MonkeyPatch.context() as patch:
        for each in EXERCISES:
            patch.setattr(each, "_solution", once(each, each.solved_by()))
            beliefs = (Belief(once(each, belief.function), belief.words) for belief in each.beliefs)
            patch.setattr(each, "beliefs", tuple(beliefs))
        yield


def test_a_lesson_shows_each_exercise_that_a_module_holds():
    held = {value.name for module in MODULES for value in vars(module).values() if isinstance(value, Exercise)}
    assert held == {exercise.name for exercise in EXERCISES} and len(held) == len(EXERCISES) > 0


@spark
@each_exercise
def test_the_stub_is_not_attempted(exercise):
    assert exercise.check(lambda *arguments: ___).state == NOT_ATTEMPTED
    assert exercise.check(lambda *arguments: None).state == NOT_ATTEMPTED


@spark
@in_parts
@each_exercise
def test_the_solution_passes_for_spark(exercise):
    verdict = exercise.check(exercise.solved_by())
    assert verdict.state == CORRECT, str(verdict)
    assert verdict.compared >= 3


@spark
@in_parts
@each_exercise
def test_the_recorded_answers_are_those_of_spark(exercise):
    _, answers = recorded_for(exercise.name)
    assert answers == [exercise.answer(number) for number in range(len(exercise.cases))]


@spark
@in_parts
@each_exercise
def test_the_solution_passes_for_minikafka(exercise, tmp_path):
    verdict = exercise.check(exercise.solved_by(), judge_with(exercise, minikafka_log, tmp_path))
    assert verdict.state == CORRECT, str(verdict)


@pytest.mark.slow
@in_parts
@pytest.mark.parametrize("notebook", SOLUTIONS, ids=[path.stem for path in SOLUTIONS])
def test_the_notebooks_of_solutions_show_what_is_stored(notebook, spark, monkeypatch):
    """Their cells run here, where the judges have answered already."""
    monkeypatch.chdir(notebook.parent)
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = code_cells(notebook)
    assert any(stored for _, stored in cells)
    for source, stored in cells:
        assert _shown_by(source, names) == stored, source


@spark
@pytest.mark.kafka
@in_parts
@each_exercise
def test_the_solution_passes_for_apache_kafka(exercise, tmp_path, kafka):
    verdict = exercise.check(exercise.solved_by(), judge_with(exercise, kafka_log(kafka), tmp_path))
    assert verdict.state == CORRECT, str(verdict)


@spark
@in_parts
@each_exercise
def test_wrong_beliefs_fail_and_are_called_by_their_names(exercise):
    assert len(exercise.beliefs) >= 3
    said = set()
    for belief in exercise.beliefs:
        verdict = exercise.check(belief.function)
        assert verdict.state == NOT_YET, belief.words
        assert verdict.words.endswith(belief.words)
        said.add(verdict.words)
    assert len(said) == len(exercise.beliefs)


@spark
@each_exercise
def test_an_answer_that_raises_is_told_and_not_raised(exercise):
    verdict = exercise.check(lambda *arguments: 1 / 0)
    assert verdict.state == NOT_YET and "ZeroDivisionError" in verdict.words


def test_a_difference_in_an_earlier_case_is_told_before_an_error_in_a_later_one():
    cases = [Case(f"case {number}", (number,)) for number in (1, 2, 3)]
    exercise = Exercise("one less", cases, lambda case: case.arguments[0] - 1, lambda n: n - 1, hints=["Count."])
    assert "case 1: you answer 1, expected 0" in exercise.check(lambda n: n if n < 3 else 1 / 0).words
    assert "case 3: your function raised ZeroDivisionError" in exercise.check(lambda n: n - 1 if n < 3 else 1 / 0).words


@spark
def test_a_table_that_sql_was_not_given_is_named():
    [exercise] = [exercise for exercise in EXERCISES if "retention by size" in exercise.name]
    verdict = exercise.check(
        lambda segments, limit: segments.sparkSession.sql("SELECT base FROM {segmnts}", segments=segments)
    )
    assert "your query names {segmnts}, and sql(…) was not given segmnts=…" in verdict.words


@each_exercise
def test_hints_come_one_after_the_other_and_the_solution_can_be_read(exercise):
    first, second = exercise.hint(), exercise.hint()
    assert first != second and str(first).startswith("Hint 1 of ")
    assert re.match(r"def [a-z]", str(exercise.solution()))


def test_a_check_that_compares_nothing_is_an_error():
    empty = Exercise("empty", [], lambda case: None, lambda: None, hints=["none"])
    with pytest.raises(AssertionError, match="nothing to check"):
        empty.check(lambda: None)


def test_the_first_difference_names_its_place():
    assert first_difference([1, 2, 3], [1, 5, 3]) == "entry 1 is 2, expected 5"
    assert first_difference([1], [1, 2]) == "1 entry, expected 2; entry 1, 2, is missing"
    assert first_difference([1, 2], [1]) == "2 entries, expected 1; entry 1, 2, is one too many"
    assert first_difference(7, 8) == "you answer 7, expected 8"
    assert first_difference([2, 1], [1, 2]) == "the right entries in another order: entry 0 is 2, expected 1"


def test_true_is_not_taken_for_one():
    exercise = Exercise(
        "ones", [Case("one", (1,))], lambda case: 1, lambda one: one, hints=["1"], judge_name="the test"
    )
    assert exercise.check(lambda one: True).state == NOT_YET
    assert exercise.check(lambda one: 1).state == CORRECT


def _shown_by(source: str, names: dict[str, Any]) -> Shown:
    """What a cell of a notebook prints, and its last value where that is an expression."""
    cell = ast.parse(source)
    last = cell.body.pop() if isinstance(cell.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(cell, "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        outputs.append({"output_type": "execute_result", "data": DisplayFormatter().format(value)[0]})
    return shown(outputs)
