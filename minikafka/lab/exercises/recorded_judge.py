"""What Spark answered to the cases of the lessons' exercises, for where it cannot be started.

The answers stand in the folder of each lesson, in FILE, by the exercise's name and in the order of its cases.
`minikafka.lab.course.record_exercises` writes them; a test holds them equal to what Spark answers.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.lab.lesson_folders import LESSONS
from minikafka.lab.sandbox import plain

FILE = "exercise_answers.json"
"""In a lesson's folder: {"spark": version, "answers": {exercise: [answers]}}."""
RECORDED = (
    "Spark {version} is not at hand here. Its answers to the cases of this exercise are from the day on which the "
    "lesson was built."
)


def recorded_for(exercise: str) -> tuple[str, list[Any]] | None:
    """The version of Spark, and its answers to the exercise's cases; None where none were recorded."""
    return _all_recorded().get(exercise)


@functools.cache
def _all_recorded() -> dict[str, tuple[str, list[Any]]]:
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(LESSONS.glob(f"*/{FILE}"))]
    return {
        exercise: (file["spark"], plain.decoded(json.dumps(answers).encode()))
        for file in files
        for exercise, answers in file["answers"].items()
    }


def file_of(version: str, answers: Mapping[str, Sequence[Any]]) -> str:
    """The text of FILE. Raises `plain.NotPlainError`."""
    rows = ",\n".join(
        f"{json.dumps(exercise, ensure_ascii=False)}: {plain.encoded([*of_cases]).decode()}"
        for exercise, of_cases in answers.items()
    )
    return f'{{"spark": "{version}", "answers": {{\n{rows}\n}}}}\n'
