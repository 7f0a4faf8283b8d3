"""The drawn cases of the exercises: who judges the cases on the page says of some of them what the solution says."""

from itertools import islice

import pytest

from minikafka.lab.exercises.asked import AskedCase
from minikafka.lab.exercises.exercise import Case, Exercise, _equal
from minikafka.lab.exercises.task import CORRECT, NOT_YET
from minikafka.lab.lesson_folders import parts
from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.run import minikafka_log
from tests.lab.judges import judge_with

EXERCISES = [exercise for exercises in parts("exercises") for exercise in exercises.EXERCISES if exercise.draws]
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=[exercise.name for exercise in EXERCISES])
in_parts = pytest.mark.in_parts(20)
spark = pytest.mark.spark
ASKED = 6


def said_by(exercise, judge, seed=1):
    """The drawn cases, what the solution says of each, and what the judge says."""
    for case in islice(exercise.drawn_cases(seed), ASKED):
        right = exercise.normal(exercise.solved_by()(*case.arguments))
        yield case, right, exercise.normal(judge(case))


@spark
@in_parts
@each_exercise
def test_minikafka_says_what_the_solution_says(exercise, tmp_path):
    for case, right, said in said_by(exercise, judge_with(exercise, minikafka_log, tmp_path)):
        assert _equal(right, said), case.arguments


@spark
@pytest.mark.kafka
@in_parts
@each_exercise
def test_kafka_says_what_the_solution_says(exercise, tmp_path, kafka):
    for case, right, said in said_by(exercise, judge_with(exercise, kafka_log(kafka), tmp_path), seed=2):
        assert _equal(right, said), case.arguments


@spark
@in_parts
@each_exercise
def test_spark_says_what_the_solution_says(exercise):
    for case, right, said in islice(said_by(exercise, exercise.judge, seed=3), 2):
        if not isinstance(case, AskedCase) or said is not None:
            assert _equal(right, said), case.arguments


@spark
@each_exercise
def test_the_cases_are_not_all_alike(exercise):
    cases = islice(exercise.drawn_cases(4), 30)
    answers = {repr(exercise.normal(exercise.solved_by()(*case.arguments))) for case in cases}
    assert len(answers) >= 2


# The mechanism


def doubled(numbers):
    numbers[:] = [2 * number for number in numbers]
    return numbers


TWICE = Exercise(
    "twice",
    [Case("one", ([1],)), Case("two", ([2],)), Case("none", ([],))],
    lambda case: [2 * number for number in case.arguments[0]],
    doubled,
    hints=["Add."],
    judge_name="the test",
    drawn=lambda draw: Case("", ([draw.randint(0, 9) for _ in range(draw.randint(0, 3))],)),
)


def test_a_function_that_only_the_cases_on_the_page_show_right_is_told_the_shortest_drawn_one():
    assert TWICE.check(lambda numbers: [number + number for number in numbers]).state == CORRECT
    verdict = TWICE.check(lambda numbers: [2 * number % 16 for number in numbers])
    assert verdict.state == NOT_YET
    assert "[8]: entry 0 is 0, expected 16. (minikafka's own solution is the judge.)" in verdict.words


def test_what_a_function_raises_for_a_drawn_case_is_told():
    verdict = TWICE.check(lambda numbers: [2 * number if number < 7 else 1 // 0 for number in numbers])
    assert "[7]: your function raised ZeroDivisionError" in verdict.words


def test_another_seed_draws_other_cases():
    first, second = ([case.arguments for case in TWICE.drawn_cases(seed)] for seed in (1, 2))
    assert first != second and first == [case.arguments for case in TWICE.drawn_cases(1)]
