"""Where Spark cannot be started: tables without queries, recorded answers, and a line that says whose they are."""

import pytest

from minikafka.lab.exercises import exercise as exercise_module
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.plain_table import NoSparkError, PlainTable, columns_of
from minikafka.lab.exercises.recorded_judge import recorded_for
from minikafka.lab.exercises.task import CORRECT, NOT_HERE, NOT_YET
from minikafka.lab.rebuild import rung as rung_module
from minikafka.lab.rebuild import trial as trial_module
from minikafka.lessons.high_watermark import solutions
from minikafka.lessons.high_watermark.exercises import clamp
from minikafka.lessons.high_watermark.rungs import clamps


@pytest.fixture
def told(monkeypatch):
    """What is shown beside the cell's output; Spark and Kafka are absent."""
    told = []
    monkeypatch.setattr(exercise_module, "HAS_SPARK", False)
    monkeypatch.setattr(exercise_module, "told_beside", told.append)
    monkeypatch.setattr(trial_module, "kafka_witness", lambda: None)
    monkeypatch.setattr(rung_module, "told_beside", told.append)
    return told


@pytest.fixture
def bounded():
    """Exercise 2 of *High watermark*, whose judge can be asked nothing."""

    def absent(case):
        raise AssertionError("Spark is asked")

    return Exercise(clamp.name, clamp.cases, absent, solutions.updated, hints=["none"])


def test_recorded_answers_judge_and_a_line_says_so(told, bounded):
    assert bounded.check(solutions.updated).state == CORRECT
    assert bounded.check(lambda old, suggested, log_start, log_end: suggested).state == NOT_YET
    version, _ = recorded_for(clamp.name)
    assert len(told) == 2 and f"Spark {version} is not at hand here" in told[0]


def test_a_query_is_not_judged_and_not_kept_as_a_try(told, bounded, monkeypatch):
    monkeypatch.setattr(exercise_module.Task, "noted", lambda self, verdict: verdict)
    table = PlainTable(["t"], [(1,)])
    verdict = bounded.check(lambda *_: table.sparkSession.sql("SELECT t FROM {table}", table=table))
    assert verdict.state == NOT_HERE and ".collect()" in verdict.words and told == []
    assert not verdict


@pytest.mark.slow
def test_a_rung_is_judged_by_the_engine_s_own_method_and_a_line_names_it(told):
    assert clamps.check(clamps.solved_by()).state == CORRECT
    assert "minikafka's own `Log.update_high_watermark` is the judge. Tests hold it" in told[0]
    clamps.check(clamps.solved_by(), seed=3)
    assert told[1].endswith("is the judge.")


def test_the_rows_of_a_table_are_found_by_names_and_places():
    table = PlainTable(["t", "end"], [(2, None), (1, 5), (2, 3)])
    first, second, third = table.orderBy("t", "end").collect()
    assert (first.t, first["end"], first[1]) == (1, 5, 5) and tuple(second) == (2, None)
    assert third.asDict() == {"t": 2, "end": 3} and table.columns == ["t", "end"]
    with pytest.raises(AttributeError):
        first.other  # noqa: B018
    for query in (table.filter, table.sparkSession.sql, table.createOrReplaceTempView):
        with pytest.raises(NoSparkError):
            query("anything")
    assert not hasattr(table, "schema")


def test_the_names_of_columns_are_read_from_a_schema():
    assert columns_of("t BIGINT, s STRUCT<a: INT, b: DECIMAL(3, 1)>, u INT") == ["t", "s", "u"]
