"""A broker's log manager on log directories of its own, and a clock that stands still until it is told to move.

Partitions are named as their directories are (`orders-0`). All records count as replicated at once.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    OffsetCheckpointFile,
)
from minikafka.lab.stage.tables import rows
from minikafka.lab.stage.workbench import scratch
from minikafka.log.log_segment import LogSegment
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.log.manager.log_manager import LogManager
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.log_dir.one_log_manager import OneLogManager
from minikafka.witness.log_dir.workload import parse_partition

SECOND = 1_000
RECOVERY_POINTS, LOG_STARTS = RECOVERY_POINT_CHECKPOINT_FILE, LOG_START_OFFSET_CHECKPOINT_FILE


class NotingScheduler:
    """Hands tasks on to `scheduler`, and notes the name of each that runs, and when (ms), in `ran`."""

    def __init__(self, scheduler: Any, time: Any, ran: list[tuple[str, int]]):
        self._scheduler, self._time, self._ran = scheduler, time, ran

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1) -> Any:
        """Kafka: `Scheduler.schedule`."""
        return self._scheduler.schedule(name, self._noted(name, task), delay_ms, period_ms)

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int = 0) -> Any:
        """Kafka: `Scheduler.scheduleOnce`."""
        return self._scheduler.schedule_once(name, self._noted(name, task), delay_ms)

    def _noted(self, name: str, task: Callable[[], object]) -> Callable[[], object]:
        def run() -> object:
            self._ran.append((name, self._time.milliseconds()))
            return task()

        return run


class StorageLayer:
    """A `LogManager` that is started, stopped and killed again and again on the same log directories.

    - `default`: the settings of all topics; `topics`: those of single ones; `dirs`: the names of the log directories;
      `directory`: what holds them (default: a new one); other settings: the times (ms) of the manager's tasks.
    - `manager`: minikafka's own, None while the broker is down. `ran`: the tasks that have run, each with the second.
    """

    def __init__(
        self,
        default: Mapping[str, Any] | None = None,
        *,
        topics: Mapping[str, Mapping[str, Any]] | None = None,
        dirs: Sequence[str] = ("disk",),
        directory: Path | None = None,
        **settings: Any,
    ):
        self.directory = directory or scratch("disks")
        self._one = OneLogManager(self._make, self.directory, dirs, default or {}, **settings)
        self._one.topic_configs = {topic: dict(config) for topic, config in (topics or {}).items()}
        self._begun = self._one.time.milliseconds()
        self._ran: list[tuple[str, int]] = []
        self.runs: list[tuple[int, int | None]] = []
        """The seconds at which the broker was started and went; None while it is up."""
        self.kills: list[int] = []
        """The seconds at which it was killed."""

    def _make(self, log_dirs: Sequence[Path], *, scheduler: Any, time: Any, **rest: Any) -> Any:
        return LogManager(log_dirs, scheduler=NotingScheduler(scheduler, time, self._ran), time=time, **rest)

    # The broker

    @property
    def manager(self) -> Any:
        """The log manager."""
        return self._one.manager

    def start(self) -> list[str]:
        """Start a manager; gives the segments that it had to recover, as `orders-0/3`. Raises what it raises."""
        with _recovered() as recovered:
            self._one.start()
        self._began()
        return sorted(recovered)

    def made(self) -> Any:
        """A manager that is not started yet: for a walk through its `startup`."""
        self._one.manager = self._one.make(self._one.log_dirs)
        self._began()
        return self.manager

    def stop(self) -> None:
        """Stop as a broker does."""
        self._went()
        self._one.stop()

    def kill(self) -> None:
        """End the process as kill -9 does: nothing is written, nothing closed."""
        self._went()
        self.kills.append(self.second)
        self._one.kill()

    def before_shutdown(self) -> Callable[[], None]:
        """Stop the scheduler, as a broker does first, and give the manager's `shutdown`: for a walk through it."""
        manager = self.manager
        self._went()
        self._one.scheduler.shutdown()
        self._one.manager = None
        return manager.shutdown

    def _began(self) -> None:
        for log in self.manager.all_logs:
            log.update_high_watermark(log.log_end_offset)
        self.runs.append((self.second, None))

    def _went(self) -> None:
        self.runs[-1] = (self.runs[-1][0], self.second)

    # Its clock

    @property
    def second(self) -> int:
        """The seconds since this storage layer was made."""
        return self._second(self._one.time.milliseconds())

    @property
    def ran(self) -> list[tuple[str, int]]:
        """The names of the tasks that have run, each with the second at which it ran."""
        return [(name, self._second(ms)) for name, ms in self._ran]

    def sleep(self, seconds: int) -> None:
        """Let time pass, a second at a time, so that each task runs when it is due."""
        self._one.pass_time(seconds * SECOND)

    def sleep_until(self, happened: Callable[[], bool]) -> int:
        """Let time pass until `happened()` is true; gives the second. Raises TimeoutError after a day."""
        for _ in range(86_400):
            if happened():
                return self.second
            self.sleep(1)
        raise TimeoutError("it has not happened for a day")

    def _second(self, ms: int) -> int:
        return (ms - self._begun) // SECOND

    # Its logs

    def create(self, *names: str) -> None:
        """Make the logs of these partitions."""
        for name in names:
            self.manager.get_or_create_log(parse_partition(name), is_new=True)

    def append(self, name: str, *values: str) -> int:
        """Append one batch with these values to a log, each under itself as its key; gives the log's new end.

        Raises what the log raises.
        """
        log, now = self.log(name), self._one.time.milliseconds()
        records = [SimpleRecord(now, value.encode(), value.encode()) for value in values]
        log.append_as_leader(MemoryRecords.with_records(Compression.NONE, *records), 0)
        return log.update_high_watermark(log.log_end_offset)

    def values(self, name: str) -> list[str]:
        """What a consumer gets that reads a log from its start."""
        return [value for _, _, value in rows(self.log(name))]

    def roll(self, name: str) -> None:
        """Begin a new segment at the log's end, and let the background do at once what a roll leaves to it."""
        self.log(name).roll()
        self._one.scheduler.run_due_tasks()

    def delete_records(self, name: str, offset: int) -> None:
        """Let the log begin at `offset`, as DeleteRecords does."""
        reason = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
        self.log(name).maybe_increment_log_start_offset(offset, reason)

    def delete(self, name: str) -> Any:
        """Delete a partition, as a broker does whose topic is deleted."""
        return self.manager.async_delete(parse_partition(name))

    def partition(self, name: str) -> Any:
        """The `TopicPartition` of that name."""
        return parse_partition(name)

    def log(self, name: str) -> Any:
        """The log of a partition."""
        return self.manager.get_log(parse_partition(name))

    def notice_failures(self) -> None:
        """Take a log directory that was reported as failed out of use, as the broker's failure handler does."""
        channel = self.manager.log_dir_failure_channel
        self.manager.handle_log_dir_failure(channel.take_next_offline_log_dir())

    # What lies on its disks

    @property
    def log_dirs(self) -> list[Path]:
        """The paths of the log directories."""
        return list(self._one.log_dirs)

    def checkpoint(self, name: str = RECOVERY_POINTS, disk: int = 0) -> dict[str, int]:
        """What a checkpoint file says, partition by partition, sorted."""
        entries = OffsetCheckpointFile(self.log_dirs[disk] / name).read()
        return dict(sorted((str(partition), offset) for partition, offset in entries.items()))

    def rewrite(self, text: str, name: str = RECOVERY_POINTS, disk: int = 0) -> None:
        """Put other words into a checkpoint file."""
        (self.log_dirs[disk] / name).write_text(text)

    def entries(self, disk: int = 0) -> list[str]:
        """The names in a log directory, those of directories with a slash; unique ids are written ID."""
        return sorted(_neutral(path) for path in self.log_dirs[disk].iterdir())

    def files(self, disk: int = 0) -> list[str]:
        """The names of all files in the partitions' directories, sorted."""
        return sorted(path.name for path in self.log_dirs[disk].glob("*/*"))

    def has_deleted_files(self, name: str, disk: int = 0) -> bool:
        """Whether files of this log wait for their deletion."""
        return any((self.log_dirs[disk] / name).glob("*.deleted"))

    def is_offline(self, disk: int = 0) -> bool:
        """Whether the log directory was reported as failed."""
        return self.manager.log_dir_failure_channel.has_offline_log_dir(self.log_dirs[disk])

    def has_marker(self, disk: int = 0) -> bool:
        """Whether the clean-shutdown marker is there."""
        return CleanShutdownFileHandler(self.log_dirs[disk]).exists()


def refused_by(call: Callable[..., object], *arguments: object) -> str:
    """The name of the exception that `call(*arguments)` raises; "nothing" if it raises none."""
    try:
        call(*arguments)
    except Exception as error:
        return type(error).__name__
    return "nothing"


def break_disk(log_dir: Path) -> None:
    """Let the system refuse to write the recovery points of a log directory: a directory is where the file is to be."""
    (log_dir / f"{RECOVERY_POINTS}.tmp").mkdir()


@contextmanager
def _recovered() -> Iterator[set[str]]:
    """Note the segments that are recovered inside."""
    recover, found = LogSegment.recover, set()

    def noted(segment: Any, *arguments: Any, **more: Any) -> Any:
        found.add(f"{segment.log.file.parent.name}/{segment.base_offset}")
        return recover(segment, *arguments, **more)

    with mock.patch.object(LogSegment, "recover", noted):
        yield found


def _neutral(path: Path) -> str:
    return re.sub(r"\b[0-9a-f]{32}\b", "ID", path.name) + ("/" if path.is_dir() else "")
