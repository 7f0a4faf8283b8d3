"""Answers of Kafka's that are kept in files are refused when they are those to other questions."""

import json
import subprocess
import sys

import pytest
from _pytest.outcomes import Failed

from minikafka.jvm.kafka_jars import KAFKA_VERSION
from tests import kafka_answers
from tests.kafka_answers import AnswerFiles, plain
from tests.tools.move_to_kafka import steps


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """`ask(who, *questions)` is one run of a test: its answers to the questions, of which Kafka makes upper case."""
    monkeypatch.setattr(kafka_answers, "SAID", tmp_path / "said")

    def ask(who, *questions, jvm=str.upper, case="a", chosen=False):
        files = AnswerFiles(who == "all", who == "write", chosen)
        answers = files.answers_of(tmp_path / "test_x.py", case, lambda: jvm)
        said = [answers(lambda kafka, question=question: kafka(question), question) for question in questions]
        files.keep(tmp_path / "test_x.py", case, answers.close())
        if who == "write":
            files.write()
        return said

    return ask


def test_what_kafka_answered_is_answered_without_it(ask, tmp_path):
    assert ask("write", "x", "y") == ["X", "Y"]
    assert ask("none", "x", "y", jvm=None) == ["X", "Y"]
    assert ask("all", "x", "y") == ["X", "Y"]
    stored = json.loads((tmp_path / "said/test_x.json").read_text())
    assert stored["kafka"] == kafka_answers.KAFKA_VERSION and len(stored["cases"]["a"]["questions"]) == 64


def test_what_is_written_of_chosen_tests_leaves_the_others_as_they_are(ask):
    ask("write", "x", case="a")
    ask("write", "y", case="b", chosen=True)
    assert (ask("none", "x", case="a"), ask("none", "y", case="b")) == (["X"], ["Y"])
    ask("write", "y", case="b")
    with pytest.raises(Failed, match="was not asked yet"):
        ask("none", "x", case="a")


@pytest.mark.parametrize("questions", [("x", "z"), ("z", "y"), ("x",), ("x", "y", "z"), ("y", "x")])
@pytest.mark.parametrize("who", ["none", "all"])
def test_another_question_is_refused(ask, who, questions):
    ask("write", "x", "y")
    with pytest.raises(Failed, match="make scripts"):
        ask(who, *questions)


def test_another_answer_is_refused(ask):
    ask("write", "x")
    with pytest.raises(Failed, match="Kafka answers x, and in the file stands X"):
        ask("all", "x", jvm=str.lower)


def test_no_answer_is_no_success(ask):
    ask("write", "x")
    with pytest.raises(Failed, match="was not asked yet"):
        ask("none", "x", case="b")


def test_answers_of_another_version_are_refused(ask, monkeypatch):
    ask("write", "x")
    monkeypatch.setattr(kafka_answers, "KAFKA_VERSION", "9.9.9")
    with pytest.raises(Failed, match=f"answers of Kafka {KAFKA_VERSION}"):
        ask("none", "x")


def test_what_is_gone_is_written_in_one_order(tmp_path):
    answers = AnswerFiles(asked=False, writes=True).answers_of(
        kafka_answers.SAID.parent / "test_x.py", "a", lambda: None
    )
    before = {f"{number}.log": "1" for number in range(40)}
    assert answers.now(before, lambda kafka: {"new": "2"}, "files") == {"new": "2"}
    ((_, told),) = answers.close()["answers"]
    assert list(told) == [*sorted(before), "new"]


def test_answers_are_plain_values():
    assert plain({("t", 0): (1, b"\x01", None)}) == {'["t", 0]': [1, "01", None]}
    with pytest.raises(TypeError):
        plain(object())


@pytest.mark.slow
def test_make_scripts_asks_every_test_whose_answers_are_kept():
    """Also those that ask by a fixture of their folder, such as `two_managers`."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "--collect-only", "--write-answers", "tests"]
    told = subprocess.run(command, cwd=kafka_answers.SAID.parents[1], capture_output=True, text=True).stdout
    asked = {line.partition("::")[0] for line in told.splitlines() if "::" in line}
    kept = {
        f"tests/{path.relative_to(kafka_answers.SAID).with_suffix('.py')}"
        for path in kafka_answers.SAID.rglob("*.json")
    }
    assert kept == asked
    recipe = (kafka_answers.SAID.parents[1] / "Makefile").read_text(encoding="utf-8")
    assert "--write-answers tests\n" in recipe and list(steps())[-1][-2:] == ["--write-answers", "tests"]
