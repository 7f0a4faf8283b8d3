"""What Spark and Apache Kafka answered when the lessons were built, for where neither can be started.

The answers stand in the folder of each lesson, in the file FILE, by the question: who was asked what, and the text of
the workload. An answer is a table of each witness, or the files that Kafka left. `minikafka.lab.course.record_answers`
writes them, from a run of the lesson with all three witnesses. A workload that no lesson has, because the learner made
it, has no answers: minikafka speaks of it alone.
"""

import base64
import functools
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from minikafka.common.at_hand import HAS_SPARK
from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.lab.lesson_folders import LESSONS
from minikafka.lab.stage.background import asked_beside, told_beside
from minikafka.witness.directory_diff import FilesOf
from minikafka.witness.observation import Observations
from minikafka.witness.spoken import say

FILE = "witness_answers.json"
"""In a lesson's folder: {"kafka": version, "answers": {question: answer}}.

An answer is {witness: its table, null for none}, or {"files": {name: [length, content in base64]}}; of the content the
zeros at the end are left out, because an index that grows is 10 MiB long.
"""
RECORDED_IN = "MINIKAFKA_RECORDS_ANSWERS"
"""The environment variable that names the file to which a run of a lesson adds its answers, a line of JSON each."""
RECORDED = (
    "Spark and Apache Kafka {version} are not at hand here. These are their answers to this workload from the day on "
    "which the lesson was built; minikafka's is from now."
)
ALONE = (
    "Spark and Apache Kafka are not at hand here, and no answer of theirs to this workload was recorded: minikafka "
    "speaks alone."
)
RECORDED_FILES = (
    "Apache Kafka {version} is not at hand here. minikafka's files, from now, are compared with those that Kafka left "
    "on the day on which the lesson was built."
)
ALONE_WITH_FILES = (
    "Apache Kafka is not at hand here, and what files it leaves after this was not recorded: minikafka speaks alone."
)

Witness = Callable[[], Observations | None]


def three_answers(
    asked: str, workload: Any, ours: Witness, spark: Witness, kafka: Witness
) -> tuple[Any, Any, Observations | None]:
    """What minikafka, Spark and Apache Kafka say of `workload`; the third is None where Kafka's jars are absent.

    `asked`: in a few words what is asked of each, because two lessons may ask different things of one workload. Where
    Spark and Kafka cannot be started, their recorded answers are given, and a line beside the cell's output says so.
    Without recorded ones Spark's table is blank and Kafka's None.
    """
    question = f"{asked}\n{workload}"
    if not HAS_SPARK:
        return ours(), *_recorded(question, workload)
    with asked_beside(spark) as from_spark:
        of_ours, of_kafka = ours(), kafka()
        answers = {"spark": from_spark.result(), "kafka": of_kafka}
    if RECORDED_IN in os.environ:
        _record(question, answers)
    return of_ours, answers["spark"], of_kafka


def files_left_by_kafka(question: str, kafka: Callable[[], Path | None]) -> Mapping[str, bytes] | None:
    """The files that Apache Kafka leaves, by their names; None where it cannot be asked.

    `kafka` does what `question` tells whole, and returns the directory, or None. Where Kafka cannot be started, its
    recorded files are given, and a line beside the cell's output says so.
    """
    if not HAS_SPARK:
        version, answer = _all_recorded().get(question, (None, None))
        told_beside(say(RECORDED_FILES, version=version) if answer else say(ALONE_WITH_FILES))
        return answer and files_of(answer)
    directory = kafka()
    if directory is None:
        return None
    left = FilesOf(directory)
    if RECORDED_IN in os.environ:
        _write(question, files_as_json(left))
    return left


def _recorded(question: str, workload: Any) -> tuple[Observations, Observations | None]:
    version, answers = _all_recorded().get(question, (None, None))
    if answers is None:
        told_beside(say(ALONE))
        return Observations("spark", workload, tuple({} for _ in workload)), None
    told_beside(say(RECORDED, version=version))
    return table_of(answers["spark"], workload), answers["kafka"] and table_of(answers["kafka"], workload)


@functools.cache
def _all_recorded() -> dict[str, tuple[str, dict[str, Any]]]:
    """By the question: the version of the Kafka that was asked, and the answers."""
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(LESSONS.glob(f"*/{FILE}"))]
    return {question: (file["kafka"], answers) for file in files for question, answers in file["answers"].items()}


def _record(question: str, answers: dict[str, Observations | None]) -> None:
    """Raises ValueError where a table would not be the same when it is read again."""
    told = {witness: table and as_json(table) for witness, table in answers.items()}
    line = json.dumps([question, told])
    for witness, table in answers.items():
        if table and table_of(json.loads(line)[1][witness], table.workload) != table:
            raise ValueError(f"the table of {witness} cannot be recorded:\n{table}")
    _write(question, told)


def _write(question: str, answer: dict[str, Any]) -> None:
    with Path(os.environ[RECORDED_IN]).open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps([question, answer])}\n")


def as_json(table: Observations) -> dict[str, Any]:
    """A witness's table without its workload."""
    return {"witness": table.witness, "rows": table.rows, "notes": table.notes}


def table_of(recorded: dict[str, Any], workload: Any) -> Observations:
    """The table that `as_json` made."""
    rows = tuple({quantity: _in_tuples(value) for quantity, value in row.items()} for row in recorded["rows"])
    return Observations(recorded["witness"], workload, rows, recorded["notes"])


def _in_tuples(value: Any) -> Any:
    return tuple(map(_in_tuples, value)) if isinstance(value, list) else value


def files_as_json(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The answer that tells these files."""
    contents = {name: files[name] for name in sorted(files)}
    kept = {name: base64.b64encode(content.rstrip(b"\0")).decode() for name, content in contents.items()}
    return {"files": {name: [len(content), kept[name]] for name, content in contents.items()}}


def files_of(answer: dict[str, Any]) -> dict[str, bytes]:
    """The files that `files_as_json` told."""
    return {name: base64.b64decode(kept).ljust(length, b"\0") for name, (length, kept) in answer["files"].items()}


def file_of(recorded: Path) -> str:
    """The text of a lesson's FILE, from the lines that a run of the lesson has left in `recorded`; "" from none."""
    lines = recorded.read_text(encoding="utf-8").splitlines() if recorded.exists() else []
    answers = dict(json.loads(line) for line in lines)
    if not answers:
        return ""
    rows = ",\n".join(f"{_json(question)}: {_json(told)}" for question, told in answers.items())
    return f'{{"kafka": {_json(KAFKA_VERSION)}, "answers": {{\n{rows}\n}}}}\n'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
