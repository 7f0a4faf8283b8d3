"""A pair of log managers, one minikafka's and one Kafka's."""

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.answered_logs import AnsweredManagers
from tests.two_log_managers import TwoLogManagers

SMALL = {"internal.segment.bytes": 600, "index.interval.bytes": 100, "segment.index.bytes": 1200}


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
    # In memory where the system offers that: flushing to a disk takes most of the time otherwise.
    directory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    made = []

    def make(*names: str, config=None, **settings) -> TwoLogManagers:
        pair = kind(kafka, directory / str(len(made)), names or ("a",), {**SMALL, **(config or {})}, **settings)
        made.append(pair)
        return pair

    yield make
    for pair in made:
        pair.kill()
    shutil.rmtree(directory)


@pytest.fixture(autouse=True, scope="module")
def trouble_is_meant(silent):
    """No test of this folder shows warnings."""
