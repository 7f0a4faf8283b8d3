"""Bugs that a lesson plants into minikafka for a moment, so that the witnesses can find them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

from minikafka.lab.lesson_folders import parts

Bug = tuple[type | ModuleType, str, Callable[..., Any] | property]
"""A class or a module, the name of what is wrong in it, and what stands in its place."""


@contextmanager
def planted(bug: str) -> Iterator[None]:
    """Run minikafka with `bug`, one of a lesson's (`planted_bugs.py` in its folder), inside the `with` block; outside
    it is sound again. Raises KeyError for an unknown bug.
    """
    owner, name, wrong = _found(bug)
    with mock.patch.object(owner, name, wrong):
        yield


def _found(bug: str) -> Bug:
    for lesson in parts("planted_bugs"):
        bugs: dict[str, Bug] = lesson.bugs()
        if bug in bugs:
            return bugs[bug]
    raise KeyError(bug)
