"""Python's text is parsed, however many threads parse at that moment."""

import ast
import gc
import sys
import threading
import time
from pathlib import Path

import pytest

import minikafka
from minikafka.common.python_source import parse

SOURCE = "x = [" + ", ".join(f"f({number}, (a + b) * c)" for number in range(300)) + "]\n"


@pytest.mark.slow
def test_threads_that_parse_at_the_same_time_do_not_disturb_each_other():
    def let_others_run(_phase, _info):
        time.sleep(0)

    interval = sys.getswitchinterval()
    until, failures = time.monotonic() + 1.5, []

    def run():
        while time.monotonic() < until:
            try:
                assert ast.dump(parse(SOURCE)) == expected
            except BaseException as failure:
                failures.append(failure)

    expected = ast.dump(parse(SOURCE))
    gc.callbacks.append(let_others_run)
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        gc.callbacks.remove(let_others_run)
    assert not failures and gc.isenabled()


def test_a_text_that_is_no_python_leaves_the_collection_as_it_was():
    for text in ("(", "\0", "(" * 1000):
        try:
            parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
        assert gc.isenabled()
    gc.disable()
    try:
        parse("1")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_else_of_minikafka_parses():
    package = Path(minikafka.__file__).parent
    others = [path for path in package.rglob("*.py") if "ast.parse(" in path.read_text(encoding="utf-8")]
    assert others == [package / "common" / "python_source.py"]
