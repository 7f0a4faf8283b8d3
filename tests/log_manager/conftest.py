"""A pair of log managers, one minikafka's and one Kafka's."""

import shutil
import tempfile
from pathlib import Path

import pytest

from minikafka.witness.two_log_managers import TwoLogManagers

SMALL = {"internal.segment.bytes": 600, "index.interval.bytes": 100, "segment.index.bytes": 1200}


@pytest.fixture
def two_managers(kafka):
    """`two_managers("a", "b", **settings)` makes a pair on log directories of these names; nothing is started."""
    # In memory where the system offers that: flushing to a disk takes most of the time otherwise.
    directory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    made = []

    def make(*names: str, **settings) -> TwoLogManagers:
        managers = TwoLogManagers(kafka, directory / str(len(made)), names or ("a",), SMALL, **settings)
        made.append(managers)
        return managers

    yield make
    for managers in made:
        managers.kill()
    shutil.rmtree(directory)
