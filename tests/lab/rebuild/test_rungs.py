"""Every rung: the engine and its solution pass before Kafka, the stub is not attempted, wrong versions are named."""

import inspect

import pytest

from minikafka.lab.exercises.task import HELD_OUT_SEED
from minikafka.lab.lesson_folders import parts
from minikafka.lab.rebuild.harnesses import ENGINE, Harness
from minikafka.lab.rebuild.mine import function_of
from minikafka.lab.rebuild.performer import Run
from minikafka.lab.rebuild.trial import KAFKA, tried
from minikafka.lab.stepper.kafka_lines import kafka_link
from tests.lab.rebuild.stubs import stub_of

RUNGS = [rung for rungs in parts("rungs") for rung in rungs.LADDER]


def pytest_generate_tests(metafunc):
    if "rung" in metafunc.fixturenames:
        metafunc.parametrize("rung", RUNGS, ids=[rung.name for rung in RUNGS])


@pytest.mark.in_parts(20)
@pytest.mark.slow
def test_the_solution_passes_with_two_seeds_and_the_engine_with_another_one(rung, spark):
    """With the seed that decides, the engine's own method stands for Kafka's where Kafka is absent. A teacher may take
    any other seed (`grade --seed`).
    """
    solution = rung.solved_by()
    for function, seed in ((solution, HELD_OUT_SEED), (solution, 2), (function_of(rung.method), 1)):
        verdict = rung.check(function, seed=seed)
        assert verdict, str(verdict)  # whole: pytest cuts anything but a string
        assert verdict.compared > 100
        assert KAFKA in verdict.words
        if seed == HELD_OUT_SEED:  # the judge's outcomes are still known
            for workload in rung.workloads(seed):
                trial = tried(workload, Engine(rung.role.harness), rung.role.harness)
                assert trial.passed and trial.judge == KAFKA, str(trial)


class Engine:
    """A Performer that has no learner's function."""

    calls = 0

    def __init__(self, harness):
        self._harness = harness

    def run(self, workload):
        return Run(*self._harness.done(workload, ENGINE))


@pytest.fixture
def few_tries(monkeypatch):
    """A workload that shows a difference is not made as small as for a learner."""
    for harness in (Harness, *Harness.__subclasses__()):
        monkeypatch.setattr(harness, "tries", 4)


@pytest.mark.in_parts(20)
@pytest.mark.slow
def test_each_wrong_version_is_recognised(rung, spark, few_tries):
    assert len({wrong.words for wrong in rung.beliefs}) >= 3
    for wrong in rung.beliefs:
        verdict = rung.check(wrong.function)
        assert verdict.state == "not yet", wrong.words
        assert verdict.words.endswith(wrong.words), verdict


def test_the_stub_is_not_attempted(rung):
    assert rung.check(stub_of(rung)).state == "not attempted"


def test_the_rung_names_kafkas_method(rung):
    assert kafka_link(rung.kafka), rung.kafka
    assert rung.kafka in str(rung)


def test_the_solution_has_the_methods_name_and_parameters(rung):
    engine, solution = function_of(rung.method), rung.solved_by()
    assert solution.__name__ == engine.__name__
    assert list(inspect.signature(solution).parameters) == list(inspect.signature(engine).parameters)
