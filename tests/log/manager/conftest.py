"""A pair of log managers, one minikafka's and one Kafka's."""

from pathlib import Path

import pytest

from tests.answered_logs import AnsweredManagers
from tests.two_log_managers import TwoLogManagers
from tests.two_logs import SMALL, pairs


@pytest.fixture
def two_managers(kafka_says):
    """`two_managers("a", "b", **settings)` makes a pair on log directories of these names; nothing is started.

    The settings of logs are those of `SMALL` and what `config` has. What is done is done to minikafka's manager, and
    compared with what Kafka answered.
    """
    yield from _two_managers(AnsweredManagers, kafka_says)


@pytest.fixture
def two_live_managers(kafka):
    """As `two_managers`, with Kafka's manager always beside: for tests that look into it, or are drawn."""
    yield from _two_managers(TwoLogManagers, kafka)


def _two_managers(kind, kafka):
    def make(directory: Path, *names: str, config=None, **settings) -> TwoLogManagers:
        return kind(kafka, directory, names or ("a",), {**SMALL, **(config or {})}, **settings)

    yield from pairs(make)


@pytest.fixture(autouse=True, scope="module")
def trouble_is_meant(silent):
    """No test of this folder shows warnings."""
