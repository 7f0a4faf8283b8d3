"""Two logs, one of minikafka and one of Apache Kafka, to which the same operations are applied."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from minikafka.common.time import ManualTime
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.differ import comparable
from minikafka.witness.log.operations import parse_operation
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observation

SMALL = {"internal.segment.bytes": 600, "index.interval.bytes": 100, "segment.index.bytes": 1200}
"""Settings with which a few small batches fill a segment."""

_NOT_KAFKAS_WORDS = re.compile(
    r"Cannot invoke |\w+(Exception|Error): |begin 0, end -1, length "
    r"|Failed to decompress record stream|Error checking for remaining bytes|$"
)
"""Messages that are Java's own: of null pointers, of damage that its codecs find (with the class in front), of strings;
or no message.
"""

_JAVAS_NAMES = {"IsADirectoryError": "FileSystemException"}
"""Errors of the operating system that leave both logs as they are: their names and messages in Java."""


def pairs(make: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """For a fixture: gives `make` without its first argument, a directory. In the end each pair is killed and gone."""
    # In memory where the system offers that: flushing to a disk takes most of the time otherwise.
    directory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    made: list[Any] = []

    def make_one(*arguments: Any, **settings: Any) -> Any:
        made.append(make(directory / str(len(made)), *arguments, **settings))
        return made[-1]

    yield make_one
    for pair in made:
        pair.kill()
    shutil.rmtree(directory)


class TwoLogs:
    """Applies each operation to both logs and demands equal results, equal exceptions and equal directories."""

    def __init__(self, kafka, directory: Path, config: dict, name: str = "topic-0"):
        workload = Workload(config=config)
        factories = {"minikafka": minikafka_log} | ({"kafka": kafka_log(kafka)} if kafka is not None else {})
        self.directories = [directory / side / name for side in factories]
        self.runners = [
            Runner(factory, directory, workload)
            for factory, directory in zip(factories.values(), self.directories, strict=True)
        ]

    @property
    def minikafka(self) -> Runner:
        """The runner of minikafka's log."""
        return self.runners[0]

    def do(self, *lines: str) -> Observation:
        """Apply operations in the text form of workloads; returns what was observed last."""
        for line in lines:
            observation = self.observe(line)
            self.compare(line)
        return observation

    def observe(self, line: str) -> Observation:
        """As `do` for one operation, but without comparing the directories."""
        ours, theirs = self._apply(self.minikafka, line), self.kafkas(line)
        if _JAVAS_NAMES.get(ours.error) == theirs.error:
            ours = replace(ours, error=theirs.error, message=theirs.message)
        if ours.error == theirs.error and _NOT_KAFKAS_WORDS.match(theirs.message):
            ours = replace(ours, message=theirs.message)
        assert ours == theirs, f"{line}\n minikafka: {ours}\n Kafka:     {theirs}"
        return ours

    def kafkas(self, line: str) -> Observation:
        """Apply an operation to Kafka's log alone."""
        return self._apply(self.runners[1], line)

    def fails(self, line: str) -> str:
        """Apply an operation that both must refuse; returns the name of the exception."""
        observation = self.do(line)
        assert observation.error, f"{line} was not refused: {observation}"
        return observation.error

    def kill(self) -> None:
        """End both logs as a killed process does, so that files can be changed before `reopen`."""
        for runner in self.runners:
            runner.let_go()

    def stand_on(
        self, directory: Path, checkpoints: dict, config: dict | None = None, now_ms: int | None = None
    ) -> None:
        """End both logs as a killed process does, and replace their directories by copies of `directory`.

        What a log cleaner has noted beside `directory` is copied, too.

        `checkpoints` (log_start_offset, recovery_point) is what the next `reopen` is told; `config` and `now_ms`
        replace the settings and set the clock.
        """
        self.kill()
        for runner in self.runners:
            shutil.rmtree(runner.directory)
            shutil.copytree(directory, runner.directory)
            (runner.directory.parent / OFFSET_CHECKPOINT_FILE).unlink(missing_ok=True)
            if (noted := directory.parent / OFFSET_CHECKPOINT_FILE).exists():
                shutil.copy(noted, runner.directory.parent)
            runner.checkpoints = dict(checkpoints)
            if config is not None:
                runner.config = config
            if now_ms is not None:
                runner.time = ManualTime(now_ms)

    def change(self, change) -> None:
        """Do `change(directory)` to both directories."""
        for directory in self.directories:
            change(directory)

    def compare(self, after: str = "") -> None:
        """Demand equal log directories."""
        diff = directory_diff(*(directory.parent for directory in self.directories))
        assert diff.equal, f"after {after}: {diff}"

    def _apply(self, runner: Runner, line: str) -> Observation:
        observation = runner.apply(parse_operation(line))
        message = comparable(observation.message.replace(str(runner.directory.parent), "DIR"))
        return Observation(
            *(message if name == "message" else getattr(observation, name) for name in Observation.__slots__)
        )
