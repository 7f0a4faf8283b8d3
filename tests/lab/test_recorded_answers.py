"""Recorded answers: those of Kafka are minikafka's of today, and where nobody else is at hand they speak."""

import json
import subprocess
import sys

import pytest

from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.lab.lesson_folders import LESSONS
from minikafka.lab.stage.recorded_answers import FILE, as_json, file_of, files_as_json, files_of, table_of
from minikafka.lab.stage.workbench import scratch
from minikafka.witness import Workload, agree, minikafka_log, run
from minikafka.witness.directory_diff import FilesOf

FILES = sorted(LESSONS.glob(f"*/{FILE}"))
ALL = [
    (path.parent.name, question, answer)
    for path in FILES
    for question, answer in json.loads(path.read_text(encoding="utf-8"))["answers"].items()
]
OF_LOGS = [each for each in ALL if each[1].startswith("a log, ")]
# Asks two workloads as a cell does: one of a lesson, and one that the learner made.
ALONE = """
import json, sys
for name in ("pyspark", "py4j", "ipykernel"):
    sys.modules[name] = None
from minikafka.lab.stage import recorded_answers
from minikafka.lab import three_witnesses
from minikafka.witness import Workload, agree
recorded_answers.told_beside = print
for text in json.load(sys.stdin):
    ours, spark, kafka = three_witnesses(Workload.parse(text))
    print(bool(kafka and agree(ours, spark, kafka)), spark.column("high_watermark")[-1])
"""
OF_FILES = [each for each in ALL if each[1].startswith("a log's files\n")]
# Compares files as a cell does: of a lesson's workload, of the same with a planted bug, and of the learner's own.
FILES_ALONE = """
import json, sys
for name in ("pyspark", "py4j", "ipykernel"):
    sys.modules[name] = None
from minikafka.lab.stage import recorded_answers
from minikafka.lab import cleaned_by_both, planted
from minikafka.witness import Workload
recorded_answers.told_beside = print
lessons, mine = map(Workload.parse, json.load(sys.stdin))
print(cleaned_by_both(lessons).equal)
with planted("only the active segment ends a cleaning"):
    print(cleaned_by_both(lessons))
alone = cleaned_by_both(mine)
print(alone, alone.equal)
"""


@pytest.mark.parametrize(
    ("lesson", "question", "answers"), OF_LOGS, ids=[f"{a}-{i}" for i, (a, _, _) in enumerate(OF_LOGS)]
)
def test_recorded_kafka_agrees_with_minikafka(lesson, question, answers):
    workload = Workload.parse(question.partition("\n")[2])
    assert agree(run(workload, minikafka_log, scratch()), table_of(answers["kafka"], workload))


def test_each_file_is_small_and_of_the_kafka_that_is_the_course_s():
    assert FILES
    for path in FILES:
        assert path.stat().st_size < 2_000_000
        assert json.loads(path.read_text(encoding="utf-8"))["kafka"] == KAFKA_VERSION


@pytest.mark.slow
def test_where_nobody_is_at_hand_the_recorded_speak_and_a_line_says_so():
    mine = "append_as_leader [7x10]\n"
    asked = json.dumps([OF_LOGS[0][1].partition("\n")[2], mine])
    done = subprocess.run([sys.executable, "-c", ALONE], input=asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told, compared, alone, blank = done.stdout.splitlines()
    assert f"Apache Kafka {KAFKA_VERSION} are not at hand" in told and compared.startswith("True")
    assert "minikafka speaks alone" in alone and blank == "False —"


def test_a_table_is_the_same_when_it_is_read_again(tmp_path):
    workload = Workload.parse("append_as_leader [3x10]\nread 0\n")
    table = run(workload, minikafka_log, scratch())
    assert table_of(json.loads(json.dumps(as_json(table))), workload) == table
    assert file_of(tmp_path / "nothing") == ""


@pytest.mark.parametrize(("lesson", "question", "answer"), OF_FILES, ids=[lesson for lesson, _, _ in OF_FILES])
def test_the_recorded_files_of_kafka_are_those_of_minikafka(lesson, question, answer):
    directory = scratch()
    run(Workload.parse(question.partition("\n")[2]), minikafka_log, directory)
    assert dict(FilesOf(directory)) == files_of(answer)


def test_files_are_the_same_when_they_are_read_again():
    files = {"index": bytes(1000), "log": b"\0a\0", "empty": b"", "bytes": bytes(range(256))}
    assert files_of(json.loads(json.dumps(files_as_json(files)))) == files


@pytest.mark.slow
def test_recorded_files_are_compared_with_those_of_now_and_a_line_says_so():
    asked = json.dumps([OF_FILES[0][1].partition("\n")[2], "append_as_leader [7x10]\n"])
    done = subprocess.run([sys.executable, "-c", FILES_ALONE], input=asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told, equal, told_again, compared, difference, *_, alone, blank = done.stdout.splitlines()
    assert f"Apache Kafka {KAFKA_VERSION} is not at hand" in told and told == told_again and equal == "True"
    assert compared.startswith("minikafka and Apache Kafka: ") and "✗" in difference
    assert "minikafka speaks alone" in alone and blank == f"{alone} None"
