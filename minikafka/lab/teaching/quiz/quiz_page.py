"""The page of the quiz. Each answer on it is what minikafka gives while the page is made."""

from minikafka.lab.teaching.lesson_parts import lessons, title_of
from minikafka.lab.teaching.quiz import brokers, files, housekeeping, marks, starts
from minikafka.lab.teaching.quiz.question import ORDER, Question

GROUPS = (
    ("Bytes and files", files.QUESTIONS),
    ("Marks, producers, readers", marks.QUESTIONS),
    ("Loads and crashes", starts.QUESTIONS),
    ("Housekeeping and compaction", housekeeping.QUESTIONS),
    ("Brokers", brokers.QUESTIONS),
)
_HEAD = """# Quiz

{count} questions across the lessons, of five kinds: **choose** one, bring into **order**, **compute** a value, say
which **files** are meant (there may be several, or none), and say **what** you look at **first**. Answers are folded.

Nobody wrote the answers down: minikafka gives each one when the page is made, and a test makes it again."""


def quiz_page() -> str:
    """The quiz in Markdown. Runs minikafka for each answer; needs no JVM."""
    parts = [_HEAD.format(count=sum(len(questions) for _, questions in GROUPS))]
    number = 0
    for title, questions in GROUPS:
        parts.append(f"## {title}")
        for question in questions:
            number += 1
            parts.append(_shown(number, question))
    return "\n\n".join(parts) + "\n"


def _shown(number: int, question: Question) -> str:
    lines = [f"**{number}.** *({question.kind})* {question.text}"]
    if question.workload:
        lines += ["", "```text", *question.workload.splitlines(), "```"]
    if question.options:
        lines += ["", *(f"- {letter}) {question.options[key]}" for key, letter in question.letters().items())]
    answer = question.solved().replace(", ", " – ") if question.kind == ORDER else question.solved()
    why = f"**{answer}.** {question.why} *({_where(question)})*"
    return "\n".join([*lines, "", "<details><summary>Answer</summary>", "", why, "", "</details>"])


def _where(question: Question) -> str:
    [lesson] = [each for each in lessons() if each.stem.startswith(question.lesson)]
    return f"lesson {question.lesson} {title_of(lesson)}, {question.section}".replace("*", r"\*")
