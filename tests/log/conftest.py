"""A log of minikafka's and one of Apache Kafka's, to which the same is done."""

import shutil
import tempfile
from pathlib import Path

import pytest

from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka_log import kafka_log
from minikafka.witness.observation import Observation
from minikafka.witness.operations import parse_operation
from minikafka.witness.runner import Runner, minikafka_log
from minikafka.witness.workload import Workload

SMALL = {"internal.segment.bytes": 600, "index.interval.bytes": 100, "segment.index.bytes": 1200}


class TwoLogs:
    """Does each operation to both logs and demands equal results, equal exceptions and equal directories."""

    def __init__(self, kafka, directory: Path, config: dict, name: str = "topic-0"):
        workload = Workload(config=config)
        self.directories = directory / "minikafka" / name, directory / "kafka" / name
        factories = minikafka_log, kafka_log(kafka)
        self.runners = [Runner(f, d, workload) for f, d in zip(factories, self.directories, strict=True)]

    @property
    def minikafka(self) -> Runner:
        return self.runners[0]

    def do(self, *lines: str) -> Observation:
        """Apply operations in the text form of workloads; returns what was observed last."""
        for line in lines:
            ours, theirs = (self._apply(runner, line) for runner in self.runners)
            assert ours == theirs, f"{line}\n minikafka: {ours}\n Kafka:     {theirs}"
            self.compare(line)
        return ours

    def fails(self, line: str) -> str:
        """Apply an operation that both must refuse; returns the name of the exception."""
        observation = self.do(line)
        assert observation.error, f"{line} was not refused: {observation}"
        return observation.error

    def kill(self) -> None:
        """End both logs as a killed process does, so that files can be changed before `reopen`."""
        for runner in self.runners:
            runner.let_go()

    def change(self, change) -> None:
        """Do `change(directory)` to both directories."""
        for directory in self.directories:
            change(directory)

    def compare(self, after: str = "") -> None:
        """Demand equal directories."""
        diff = directory_diff(*self.directories)
        assert diff.equal, f"after {after}: {diff}"

    def _apply(self, runner: Runner, line: str) -> Observation:
        observation = runner.apply(parse_operation(line))
        message = observation.message.replace(str(runner.directory.parent), "DIR")
        return Observation(*(message if f == "message" else getattr(observation, f) for f in Observation.__slots__))


@pytest.fixture(scope="module")
def two_logs_of_the_module(kafka):
    """As `two_logs`, for fixtures that are made once for a module."""
    yield from _two_logs(kafka)


@pytest.fixture
def two_logs(kafka):
    """`two_logs(**config)` makes a pair of empty logs; settings with `__` for dots replace those of `SMALL`."""
    yield from _two_logs(kafka)


def _two_logs(kafka):
    # In memory where the system offers that: flushing to a disk takes most of the time otherwise.
    directory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    made = []

    def make(name: str = "topic-0", **config) -> TwoLogs:
        settings = {key.replace("__", "."): value for key, value in config.items()}
        logs = TwoLogs(kafka, directory / str(len(made)), {**SMALL, **settings}, name)
        made.append(logs)
        return logs

    yield make
    for logs in made:
        logs.kill()
    shutil.rmtree(directory)
