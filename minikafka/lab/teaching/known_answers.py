"""What the predictions of the lessons come to, kept in a file, so that pages are made without running a lesson."""

import json
from collections.abc import Iterable
from pathlib import Path

from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.grading.answer_key import answer_key
from minikafka.lab.teaching.lesson_parts import questions_of


def read_answers(file: Path) -> dict[str, dict[str, str]]:
    """By lesson (the notebook's stem) and id, the answer as `answer_key.told` has it; {} without a file."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def renew_answers(file: Path, asked_anew: Iterable[str]) -> list[str]:
    """Run the lessons whose names contain one of these words, and those with a prediction that has no answer in `file`.

    Writes the file and returns the lessons that ran. Raises RuntimeError where a lesson fails.
    """
    known, words, ran = read_answers(file), [*asked_anew], []
    answers: dict[str, dict[str, str]] = {}
    for notebook in lessons():
        ids, of_lesson = [*questions_of(notebook)], known.get(notebook.stem, {})
        if any(word in notebook.stem for word in words) or not set(ids) <= set(of_lesson):
            of_lesson = answer_key(notebook)
            ran.append(notebook.stem)
        answers[notebook.stem] = {name: of_lesson[name] for name in ids}
    if answers != known:
        file.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return ran
