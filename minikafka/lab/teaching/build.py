"""Writes the pages below `teaching/`: `python -m minikafka.lab.teaching.build [NAME…]`, which `make teaching` calls.

The lessons whose names contain one of the words are run for the answers of their predictions, and so is a lesson with a
new question; all else is made of what the course says, in seconds. The upper half of a lesson's page is the plan in its
folder, which is written by hand.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.course.places import COURSE
from minikafka.lab.lesson_folders import LessonFolder, lesson_named
from minikafka.lab.teaching import answers_page, cards, invariants, known_answers
from minikafka.lab.teaching.quiz.quiz_page import quiz_page

TEACHING = COURSE.parent / "teaching"
ANSWERS = TEACHING / "answers.json"


def pages() -> dict[Path, Callable[[], str]]:
    """Each page that is made, wholly or in part, and what gives its text."""
    made = {TEACHING / "lessons" / f"{lesson.stem}.md": partial(_lesson_page, lesson) for lesson in lessons()}
    return {
        **made,
        TEACHING / "cards.md": cards.page_of_cards,
        TEACHING / "cards.html": cards.printed_cards,
        TEACHING / "quiz.md": quiz_page,
        TEACHING / "invariants.md": invariants.sheet,
        TEACHING / "invariants.html": invariants.printed_sheet,
    }


def plan_of(lesson: LessonFolder) -> str:
    """How to teach the lesson: its plan, written by hand. Raises ValueError where there is none."""
    file = lesson.path / "plan.md"
    if not file.exists():
        raise ValueError(f"{file} is missing: write a plan for the lesson")
    return file.read_text(encoding="utf-8").rstrip()


def _lesson_page(notebook: Path) -> str:
    """The plan as it is, and the answers."""
    plan = plan_of(lesson_named(notebook.stem))
    answers = known_answers.read_answers(ANSWERS)[notebook.stem]
    return f"{plan}\n\n{answers_page.LINE}\n\n{answers_page.answers_page(notebook, answers)}"


def main() -> None:
    """Write all pages; name those that have changed."""
    for ran in known_answers.renew_answers(ANSWERS, sys.argv[1:]):
        print(f"{ran} was run")
    for page, text_of in pages().items():
        text = text_of()
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            print(page.relative_to(COURSE.parent))


if __name__ == "__main__":
    main()
