"""A log manager of minikafka's and one of Apache Kafka's, to which the same is done."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.config_repository import MapConfigRepository
from minikafka.log.log_config import LogConfig
from minikafka.log.log_manager import LogManager
from minikafka.record.memory_records import MemoryRecords
from minikafka.witness.batch import Batch
from minikafka.witness.differential import comparable
from minikafka.witness.kafka_log_manager import KafkaLogManager
from minikafka.witness.workload import START_MS

_UNIQUE_ID = re.compile(r"\b[0-9a-f]{32}\b")


class OneLogManager:
    """A log manager on some log directories, and the clock, scheduler and settings that it is given.

    `make` is `LogManager`, or makes a `KafkaLogManager`. The manager that `start` makes ends with `stop`, `kill`, or
    when it cannot start; then another one can be started on what it left.
    """

    def __init__(self, make: Callable, directory: Path, names: Sequence[str], default_config: Mapping, **settings):
        self._make = make
        self.directory = directory
        self.log_dirs = [directory / name for name in names]
        self.default_config = dict(default_config)
        self.topic_configs: dict[str, dict] = {}
        self.settings = settings
        self.time = ManualTime(START_MS)
        self.scheduler = ManualScheduler(self.time)
        self.manager = None

    def start(self, is_stray: Callable = lambda log: False, **settings) -> None:
        """Make a manager and load its logs. Raises what either raises."""
        self.scheduler = ManualScheduler(self.time)
        repository = MapConfigRepository(self.topic_configs)
        self.manager = self._make(
            self.log_dirs,
            config_repository=repository,
            initial_default_config=LogConfig(self.default_config),
            scheduler=self.scheduler,
            time=self.time,
            **{**self.settings, **settings},
        )
        self.manager.startup(self.topic_configs, is_stray)

    def stop(self, broker_epoch: int = 7) -> None:
        """Stop as a broker does: first the scheduler, then the manager."""
        self.scheduler.shutdown()
        manager, self.manager = self.manager, None
        manager.shutdown(broker_epoch)

    def kill(self) -> None:
        """Let go of everything, and write nothing."""
        self.scheduler.shutdown()
        manager, self.manager = self.manager, None
        if manager is not None:
            manager.let_go()

    def append(self, partition: TopicPartition, *batches: str, is_future: bool = False) -> None:
        """Append batches, in the text form of workloads, to a log, and let it count as replicated."""
        log = self.manager.get_log(partition, is_future)
        for text in batches:
            records = MemoryRecords.readable_records(bytearray(Batch.parse(text).encode(self.time.milliseconds())))
            log.append_as_leader(records, 0)
        log.update_high_watermark(log.log_end_offset)

    def world(self) -> dict[str, bytes | None]:
        """All files of the log directories and their contents, all directories; unique ids in names left out."""
        world = {}
        for path in sorted(self.directory.rglob("*")):
            name = _UNIQUE_ID.sub("ID", path.relative_to(self.directory).as_posix())
            world[name] = path.read_bytes() if path.is_file() else None
        return world


class TwoLogManagers:
    """Does each act to both managers, and demands equal results, equal exceptions and equal log directories."""

    def __init__(self, kafka, directory: Path, names: Sequence[str] = ("a",), default_config: Mapping = (), **settings):
        def kafkas(*args, **kwargs) -> KafkaLogManager:
            return KafkaLogManager(kafka, *args, **kwargs)

        self.minikafka = OneLogManager(LogManager, directory / "minikafka", names, default_config, **settings)
        self.kafka = OneLogManager(kafkas, directory / "kafka", names, default_config, **settings)

    @property
    def both(self) -> tuple[OneLogManager, OneLogManager]:
        return self.minikafka, self.kafka

    def do(self, act: Callable[[OneLogManager], object], excluded: Sequence[str] = ()) -> object:
        """Do `act(one)` to both; returns what it gave, or the exception.

        Raises AssertionError where results, exceptions (class and message), directories or pending tasks differ.
        """
        ours, theirs = (self._result(act, one) for one in self.both)
        assert ours == theirs, f"\n minikafka: {ours!r}\n Kafka:     {theirs!r}"
        self.compare(excluded)
        return ours

    def compare(self, excluded: Sequence[str] = ()) -> None:
        """Demand equal log directories, but for files whose names end as `excluded` says."""
        ours, theirs = (one.world() for one in self.both)
        names = {name for name in ours.keys() | theirs.keys() if not name.endswith(tuple(excluded))}
        for name in sorted(names):
            assert (name in ours) == (name in theirs), f"only {'minikafka' if name in ours else 'Kafka'} has {name}"
            assert ours[name] == theirs[name], f"{name}\n minikafka: {ours[name]!r}\n Kafka:     {theirs[name]!r}"

    def stand_on(self, directory: Path) -> None:
        """Lay copies of `directory` in the place of both managers' log directories."""
        for one in self.both:
            shutil.rmtree(one.directory, ignore_errors=True)
            shutil.copytree(directory, one.directory, symlinks=True)

    def change(self, change: Callable[[Path], object]) -> None:
        """Do `change(directory)` to what holds each manager's log directories."""
        for one in self.both:
            one.directory.mkdir(parents=True, exist_ok=True)
            change(one.directory)

    def kill(self) -> None:
        """End both, and write nothing."""
        for one in self.both:
            one.kill()

    @staticmethod
    def _result(act, one: OneLogManager):
        try:
            return _neutral(act(one), one)
        except Exception as error:
            return type(error).__name__, comparable(_neutral(str(error), one))


def _neutral(result, one: OneLogManager):
    """Texts without what two sides cannot have in common: directories and unique ids."""
    if isinstance(result, (str, Path)):
        return _UNIQUE_ID.sub("ID", str(result).replace(str(one.directory), "DIR"))
    if isinstance(result, (list, tuple)):
        return [_neutral(each, one) for each in result]
    return result
