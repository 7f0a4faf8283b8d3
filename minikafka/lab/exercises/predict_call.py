"""Calls of `predict`, read in code that is not run: in the texts of the lessons, in notebooks."""

import ast
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from minikafka.common.python_source import parse
from minikafka.lab.lesson_folders import lesson_folders

_ID = re.compile("[a-z0-9]+(-[a-z0-9]+){0,3}")
_PARAMETERS = ("name", "question", "answer")


@dataclass(frozen=True)
class PredictCall:
    """What a call says: the prediction's `id`, the `question`, and the expression that stands for the answer.

    `id` is "" in a call as notebooks had it before predictions had ids: predict(question, answer, run).
    """

    id: str
    question: str
    answer: ast.expr


def is_id(name: str) -> bool:
    """Whether `name` is a prediction's id, and no question: one to four words in small letters, joined by hyphens."""
    return _ID.fullmatch(name) is not None


def predict_call_of(node: ast.AST) -> PredictCall | None:
    """What `node` says if it is a call of `predict` or `lab.predict`; None for anything else."""
    if isinstance(node, ast.Call) and "predict" in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
        given = dict(zip(_PARAMETERS, node.args)) | {each.arg: each.value for each in node.keywords}
        match [given.get(parameter) for parameter in _PARAMETERS]:
            case [ast.Constant(str(name)), ast.Constant(str(question)), ast.expr() as answer] if is_id(name):
                return PredictCall(name, question, answer)
            case [ast.Constant(str(question)), ast.expr() as answer, _]:
                return PredictCall("", question, answer)
    return None


def predict_calls_in(code: str) -> Iterator[PredictCall]:
    """The calls in `code`, in their order. Raises SyntaxError for what is no Python."""
    for node in ast.walk(parse(code)):
        if call := predict_call_of(node):
            yield call


@functools.cache
def ids_by_question() -> dict[str, str]:
    """The ids of the predictions of all lessons, by the question as each language has it.

    By it, what was written before predictions had ids is found: a learner's notebooks and progress name the question,
    which may have other words by now.
    """
    ids = {}
    for lesson in lesson_folders():
        earlier = lesson.path / "earlier_questions.json"
        if earlier.exists():
            ids |= json.loads(earlier.read_text(encoding="utf-8"))
        for text in lesson.texts:
            ids |= {call.question: call.id for call in predict_calls_in(text.read_text(encoding="utf-8"))}
    return ids
