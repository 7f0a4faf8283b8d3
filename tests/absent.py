"""What a test needs and this machine lacks."""

import os
from typing import NoReturn

import pytest

_IN_CI = "MINIKAFKA_TESTS_IN_CI"


def hide_ci() -> None:
    """Let pytest not know that CI runs it: there it shows the difference of two values whole, which takes minutes for
    the bytes of a file, and ends the process as one that stands still. `in_ci` still knows, also in other processes.
    """
    if "CI" in os.environ:
        os.environ[_IN_CI] = os.environ.pop("CI")


def in_ci() -> bool:
    """Whether CI runs the tests: there nothing may be absent."""
    return os.environ.get(_IN_CI) == "true"


def absent(why: str) -> NoReturn:
    """End the test: it fails in CI, where all must be there, and is skipped elsewhere."""
    (pytest.fail if in_ci() else pytest.skip)(why)
