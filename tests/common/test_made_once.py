"""What threads ask for at the same time is made once."""

import time
from concurrent.futures import ThreadPoolExecutor

from minikafka.common.made_once import made_once
from minikafka.messages import message_codec, message_tables
from minikafka.messages.message_codec import message_class
from minikafka.messages.message_tables import message_schema

SLOW_S = 0.05


def asked_by_two_threads(question):
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.submit(question), threads.submit(question)
        return first.result(), second.result()


def test_the_second_thread_gets_what_the_first_one_makes():
    made = []

    @made_once
    def thing(name):
        time.sleep(SLOW_S)
        made.append(name)
        return object()

    first, second = asked_by_two_threads(lambda: thing("a"))
    assert first is second and made == ["a"]
    assert thing("b") is not first and made == ["a", "b"]


def test_what_failed_is_made_anew():
    answers = iter([ValueError("not yet"), "made"])

    @made_once
    def thing():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    try:
        thing()
    except ValueError:
        assert thing() == "made"


def test_two_threads_get_messages_of_one_class(monkeypatch):
    """Messages of two classes are never equal, and a field that holds its default could not be written."""
    slowly(monkeypatch, message_tables, "_message")
    slowly(monkeypatch, message_codec, "make_dataclass")
    table = {"Thing": "Thing key 1 versions 0 flexible none\nnumber int32 0+\n"}
    monkeypatch.setattr(message_tables, "_blocks", lambda _: table)
    one, other = asked_by_two_threads(lambda: message_class(message_schema("a-new-table", "Thing").struct)())
    assert one == other


def slowly(monkeypatch, module, name):
    quick = getattr(module, name)

    def slow(*arguments, **named):
        time.sleep(SLOW_S)
        return quick(*arguments, **named)

    monkeypatch.setattr(module, name, slow)
