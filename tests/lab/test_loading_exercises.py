"""The checks of *Loading and recovery* are checked: judged by Spark, and by minikafka and Apache Kafka that load what is wrecked."""

import pytest

from minikafka.lab.exercise import CORRECT, NOT_ATTEMPTED, NOT_YET
from minikafka.lab.exercises.loading import EXERCISES, judged_by_loading
from minikafka.lab.prediction import ___
from minikafka.witness.kafka_log import kafka_log
from minikafka.witness.runner import minikafka_log

pytestmark = pytest.mark.spark
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=[exercise.name for exercise in EXERCISES])


@each_exercise
def test_the_stub_is_not_attempted(exercise):
    assert exercise.check(lambda *arguments: ___).state == NOT_ATTEMPTED
    assert exercise.check(lambda *arguments: None).state == NOT_ATTEMPTED


@each_exercise
def test_the_solution_passes_for_spark(exercise):
    verdict = exercise.check(exercise.solved_by())
    assert verdict.state == CORRECT, str(verdict)
    assert verdict.compared >= 4


@each_exercise
def test_the_solution_passes_for_minikafka(exercise):
    verdict = exercise.check(exercise.solved_by(), judged_by_loading(minikafka_log))
    assert verdict.state == CORRECT, str(verdict)


@pytest.mark.kafka
@each_exercise
def test_the_solution_passes_for_apache_kafka(exercise, kafka):
    verdict = exercise.check(exercise.solved_by(), judged_by_loading(kafka_log(kafka)))
    assert verdict.state == CORRECT, str(verdict)


@each_exercise
def test_wrong_beliefs_fail_and_are_called_by_their_names(exercise):
    assert len(exercise.beliefs) >= 3
    for belief in exercise.beliefs:
        verdict = exercise.check(belief.function)
        assert verdict.state == NOT_YET, belief.words
        assert verdict.words.endswith(belief.words), str(verdict)


@each_exercise
def test_an_answer_that_raises_is_told_and_not_raised(exercise):
    verdict = exercise.check(lambda *arguments: 1 / 0)
    assert verdict.state == NOT_YET and "ZeroDivisionError" in verdict.words


@each_exercise
def test_hints_come_one_after_the_other_and_the_solution_can_be_read(exercise):
    first, second = exercise.hint(), exercise.hint()
    assert first != second and str(first).startswith("Hint 1 of ")
    assert str(exercise.solution()).startswith("def ")
