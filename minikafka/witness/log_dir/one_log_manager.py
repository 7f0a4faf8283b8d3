"""A log manager, minikafka's or Apache Kafka's, with all that it is given."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.config_repository import MapConfigRepository
from minikafka.log.manager.log_manager import LogManager
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.kafka.kafka_log import KafkaLog
from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.workload import START_MS

NO_CLEANER_THREADS = CleanerConfig(num_threads=0)
"""A cleaner that keeps its states and checkpoints but cleans nothing, because the timing of Kafka's threads varies."""

_STEP_MS = 1_000

_MAY_BE_EMPTY = "delete-producer-snapshot"
"""A task that Kafka also schedules when there is nothing to delete; minikafka does not."""

_UNIQUE_ID = re.compile(r"\b[0-9a-f]{32}\b")


class OneLogManager:
    """A log manager on some log directories, with its clock, scheduler and settings.

    `make` is `LogManager`, or makes a `KafkaLogManager`. The manager that `start` makes ends with `stop`, with `kill`,
    or when it cannot start; another one can then be started on what it left.
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
        """Make a manager, load its logs, and run the tasks that are due at once. Raises what either raises."""
        self.scheduler = ManualScheduler(self.time)
        self.manager = self.make(self.log_dirs, **settings)
        self.manager.startup(self.topic_configs, is_stray)
        self.scheduler.run_due_tasks()

    def make(self, log_dirs: Sequence[Path], **settings) -> LogManager | KafkaLogManager:
        """A manager, not started, on the clock, scheduler and settings of this one."""
        return self._make(
            log_dirs,
            config_repository=MapConfigRepository(self.topic_configs),
            initial_default_config=LogConfig(self.default_config),
            scheduler=self.scheduler,
            time=self.time,
            **{"cleaner_config": NO_CLEANER_THREADS, **self.settings, **settings},
        )

    def stop(self, broker_epoch: int = 7) -> None:
        """Stop as a broker does: first the scheduler, then the manager."""
        self.scheduler.shutdown()
        manager, self.manager = self.manager, None
        manager.shutdown(broker_epoch)

    def kill(self) -> None:
        """Release everything, and write nothing."""
        self.scheduler.shutdown()
        manager, self.manager = self.manager, None
        if manager is not None:
            manager.let_go()

    def pass_time(self, ms: int) -> None:
        """Let the clock move a second at a time, so that each task, due at a whole second, runs when it is due."""
        for passed in range(0, ms, _STEP_MS):
            self.time.sleep(min(_STEP_MS, ms - passed))

    def append(self, partition: TopicPartition, *batches: str, is_future: bool = False) -> None:
        """Append batches, in the text form of workloads, to a log, and raise its high watermark to the end."""
        log = self.manager.get_log(partition, is_future=is_future)
        for text in batches:
            records = MemoryRecords.readable_records(bytearray(Batch.parse(text).encode(self.time.milliseconds())))
            log.append_as_leader(records, 0)
        log.update_high_watermark(log.log_end_offset)

    def note_cleaned(self, partition: TopicPartition, offset: int) -> None:
        """Make the cleaner's checkpoint say that the partition is clean below `offset`, as after a cleaning."""
        if isinstance(self.manager, KafkaLogManager):
            self.manager.note_cleaned(partition, offset)
        else:
            cleaner_manager = self.manager.cleaner.cleaner_manager
            cleaner_manager.update_checkpoints(self.manager.get_log(partition).parent_dir, (partition, offset), None)

    def files(self) -> dict[str, bytes | None]:
        """All files of the log directories and their contents, and all directories (None).

        Unique ids in names are left out; directories whose names are then equal are ordered by their contents.
        """
        files: dict[str, bytes | None] = {}
        for log_dir in self.log_dirs:
            entries = [(_UNIQUE_ID.sub("ID", path.name), _below(path)) for path in log_dir.glob("*")]
            entries.sort(key=lambda entry: (entry[0], sorted(entry[1].items(), key=str)))
            for number, (name, below) in enumerate(entries):
                same = sum(other == name for other, _ in entries[:number])
                for inner, content in below.items():
                    files[f"{log_dir.name}/{name}{f'#{same}' if same else ''}{inner}"] = content
        return files

    def state(self) -> list[tuple]:
        """Each current and future log: its directory and what a runner observes of it; then the tasks that wait."""
        if self.manager is None:
            return []
        logs = []
        for log in self.manager.all_logs:
            logs.append((self.neutral(log), log.fetch_state_snapshot()))
        if isinstance(self.manager, KafkaLogManager):
            self.manager.take_back_cancelled()
        tasks = [name for name in self.scheduler.pending if name != _MAY_BE_EMPTY]
        return [*sorted(logs, key=lambda each: each[0]), *tasks]

    def neutral(self, result):
        """A result in words, without what two managers cannot share: the paths of directories, and unique ids."""
        if isinstance(result, (Log, KafkaLog)):
            result = result.dir
        if isinstance(result, (list, tuple)):
            return [self.neutral(each) for each in result]
        if isinstance(result, (str, Path)):
            return _UNIQUE_ID.sub("ID", str(result).replace(str(self.directory), "DIR"))
        return result


def _below(path: Path) -> dict[str, bytes | None]:
    """What is at and below the path, by what follows its name."""
    below = [path, *path.rglob("*")] if path.is_dir() else [path]
    return {str(each)[len(str(path)) :]: each.read_bytes() if each.is_file() else None for each in sorted(below)}
