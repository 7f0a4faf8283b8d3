"""The page of the quiz. Each answer on it is what minikafka gives while the page is made."""

from minikafka.lab.course.places import COURSE
from minikafka.lab.lesson_folders import LessonFolder, lesson_folders
from minikafka.lab.teaching.lesson_parts import title_of
from minikafka.lab.teaching.quiz.question import ORDER, Question

_HEAD = """# Quiz

{count} questions across the lessons, of five kinds: **choose** one, bring into **order**, **compute** a value, say
which **files** are meant (there may be several, or none), and say **what** you look at **first**. Answers are folded.
Each follows from the [card](cards.md) of its lesson; with the answer stand the card's words and the lesson's section.

The words of a workload: `[4x10]` is a batch of 4 records of 10 bytes each; `isr 1,2` says which followers are in the
ISR, beside the leader; `fetch 1 4` means that follower 1 fetches from offset 4. `pid`, `epoch` and `seq` are a
producer's id, its epoch and the sequence number of the batch's first record; `txn` is a batch of a transaction, and
`[abort pid=7 epoch=0]` the marker that ends one. `maybe_increment_high_watermark leo` raises the high watermark to LEO.

Nobody wrote the answers down: minikafka gives each one when the page is made, and a test makes it again."""


def quiz_page() -> str:
    """The quiz in Markdown. Runs minikafka for each answer; needs no JVM."""
    asked = questions()
    parts = [_HEAD.format(count=len(asked))]
    for number, (lesson, question) in enumerate(asked, 1):
        title = f"## {lesson.number} {title_of(COURSE / f'{lesson.name}.ipynb')}"
        if title not in parts:
            parts.append(title)
        parts.append(_shown(number, question))
    return "\n\n".join(parts) + "\n"


def questions() -> list[tuple[LessonFolder, Question]]:
    """The questions of all lessons, in their order."""
    quizzes = [(folder, folder.part("quiz")) for folder in lesson_folders()]
    return [(folder, question) for folder, quiz in quizzes if quiz for question in quiz.QUESTIONS]


def _shown(number: int, question: Question) -> str:
    lines = [f"**{number}.** *({question.kind})* {question.text}"]
    if question.workload:
        lines += ["", "```text", *question.workload.splitlines(), "```"]
    if question.options:
        lines += ["", *(f"- {letter}) {question.options[key]}" for key, letter in question.letters().items())]
    answer = question.solved().replace(", ", " – ") if question.kind == ORDER else question.solved()
    told = [f"**{answer}.** {question.why}"]
    if question.replies:
        letters = question.letters()
        told += ["", *(f"- {letters[key]}) {question.replies[key]}" for key in question.wrong())]
    told += ["", "On the card: “{}” *({})*".format(question.card, question.section.replace("*", r"\*"))]
    return "\n".join([*lines, "", "<details><summary>Answer</summary>", "", *told, "", "</details>"])
