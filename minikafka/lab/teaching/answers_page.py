"""The answers of a lesson, as the lower half of its page: predictions, exercises, rungs, the question to take along.

Nothing is told here that does not stand in the lesson, its solutions, its checks, or what its run gave.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from minikafka.lab.course.lesson_notebooks import rebuild_name
from minikafka.lab.exercises.prediction import known_beliefs
from minikafka.lab.grading.lesson_tasks import EXERCISE, RUNG, Assignment, tasks_of
from minikafka.lab.teaching.lesson_parts import ideas_of, questions_of, takeaway_of, words_before_checks

LINE = "<!-- Made by `make teaching`: the plan above stands in the folder of the lesson. -->"
_WHY = re.compile(r"\*Why: (.+?)\*", re.DOTALL)


def answers_page(notebook: Path, answers: Mapping[str, str]) -> str:
    """The answers of the lesson in `notebook`, in Markdown; `answers`: by a prediction's id, what its run gives.

    Raises KeyError for a prediction without an answer.
    """
    kinds = (("Exercises", EXERCISE), ("Rungs", RUNG))
    tasks = {words: [task for task in tasks_of(notebook) if task.kind == kind] for words, kind in kinds}
    parts = [["## Answers", "", *_links(notebook)], *_predictions(notebook, answers)]
    parts += [_tasks(words, of_kind, notebook) for words, of_kind in tasks.items() if of_kind]
    if takeaway := takeaway_of(notebook):
        parts.append(["### The question to take along", "", takeaway.question, "", takeaway.answer])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _links(notebook: Path) -> list[str]:
    home, rebuild = "../../notebooks", rebuild_name(notebook)
    lesson = f"The lesson: [{notebook.name}]({home}/{notebook.name}), and [{rebuild}]({home}/{rebuild}), its part 6."
    return [f"{lesson} One way to write each function: [solutions]({home}/solutions/{rebuild})."]


def _predictions(notebook: Path, answers: Mapping[str, str]) -> Iterator[list[str]]:
    yield ["### Predictions"]
    for number, (name, (question, cell)) in enumerate(questions_of(notebook).items(), 1):
        right = answers[name]
        lines = [f"**{number}. {_text(question)}** `{right}`", f"<br>{cell.where}"]
        wrong = {answer: words for answer, words in known_beliefs().get(name, {}).items() if repr(answer) != right}
        if wrong:
            lines += ["", "| who says | needs to hear |", "|:---|:---|"]
            lines += [f"| `{_cell(_shown(answer))}` | {_cell(words)} |" for answer, words in wrong.items()]
        yield lines


def _tasks(heading: str, tasks: list[Assignment], notebook: Path) -> list[str]:
    ideas, above = ideas_of(notebook), words_before_checks(notebook)
    lines = [f"### {heading}"]
    for task in tasks:
        made = getattr(import_module(task.module), task.check)
        why = made.why if task.kind == RUNG else _why(above[task.name])
        twin = f" Kafka: `{made.kafka}`." if task.kind == RUNG else ""
        lines += ["", f"**{made.name}** (`{task.name}`).{twin} {_text(why)}", "", f"*The idea:* {ideas[task.name]}"]
        wrong = [each.words for each in made.beliefs]
        lines += ["", "*Wrong versions that are recognised, and what is said to them:*", ""]
        lines += [f"- {_text(words)}" for words in wrong]
    return lines


def _why(words: str) -> str:
    found = _WHY.search(words)
    return f"Why: {' '.join(found[1].split())}" if found else ""


def _shown(answer: Any) -> str:
    return repr(list(answer)) if isinstance(answer, tuple) else repr(answer)


def _text(words: str) -> str:
    return " ".join(words.split()).replace("<", "&lt;")


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")
