"""minikafka's cleaner and Apache Kafka's own, each on its own copy of the same log directory."""

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from minikafka.common.errors import IllegalStateException, LogCleaningAbortedException, LogCleaningException
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.throttler import Throttler
from minikafka.log.cleaner.cleaner import Cleaner
from minikafka.log.cleaner.log_cleaner_manager import LogCleanerManager
from minikafka.log.cleaner.pre_clean_stats import PreCleanStats
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap
from minikafka.log.log_config import LogConfig
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.kafka_time import JavaTime

STATS = (
    "messages_read", "bytes_read", "messages_written", "bytes_written",
    "map_messages_read", "map_bytes_read", "invalid_messages_read", "buffer_utilization",
)  # fmt: skip


class Turn(NamedTuple):
    """What one turn of a cleaner showed: what it chose, how it ended, and what is written down."""

    grabbed: str = ""
    dirty: tuple = ()
    end_offset: int = -1
    stats: tuple = ()
    error: str = ""
    pre_stats: tuple = ()
    deleted: tuple = ()


class Settings(NamedTuple):
    """Memory of the offset map and sizes of the buffers, in bytes; the share of the map that is used; a rate."""

    memory: int = 1 << 16
    io: int = 1 << 16
    max_io: int = 1 << 20
    load_factor: float = 0.9
    bytes_per_second: float = 1e18


class OurCleaner:
    """minikafka's cleaner on the logs of runners."""

    def __init__(self, runners, settings: Settings):
        self.time = runners[0].time
        self.logs = {runner.log.topic_partition: runner.log for runner in runners}
        dirs = list(dict.fromkeys(runner.directory.parent for runner in runners))
        self.manager = LogCleanerManager(dirs, self.logs, LogDirFailureChannel(10))
        throttler = Throttler(settings.bytes_per_second, 300, self.time)
        self.checks = []
        self.cleaner = Cleaner(
            0,
            SkimpyOffsetMap(settings.memory),
            io_buffer_size=settings.io,
            max_io_buffer_size=settings.max_io,
            dup_buffer_load_factor=settings.load_factor,
            throttler=throttler,
            time=self.time,
            check_done=self.checks.append,
        )

    def turn(self) -> Turn:
        pre = PreCleanStats()
        try:
            todo = self.manager.grab_filthiest_compacted_log(self.time, pre)
        except LogCleaningException as error:
            return Turn(error=f"{error}: {type(error.__cause__).__name__}: {error.__cause__}")
        except IllegalStateException as error:
            return Turn(error=str(error).split(" (attempted")[0])
        numbers = pre.max_compaction_delay_ms, pre.delayed_partitions, pre.cleanable_partitions
        seen, end, counted, error = "", -1, (), ""
        dirty = ()
        if todo is not None:
            seen = str(todo.topic_partition)
            dirty = (
                todo.first_dirty_offset, todo.first_uncleanable_offset, todo.clean_bytes, todo.cleanable_bytes,
                todo.need_compaction_now,
            )  # fmt: skip
            end = todo.first_dirty_offset
            try:
                end, stats = self.cleaner.do_clean(todo, self.time.milliseconds())
                counted = tuple(getattr(stats, name) for name in STATS)
            except Exception as failure:
                error = _words(failure, todo.log.parent_dir)
            self.manager.done_cleaning(todo.topic_partition, todo.log.parent_dir, end)
            if error:
                self.manager.mark_partition_uncleanable(todo.log.parent_dir, todo.topic_partition)
        deletable = self.manager.deletable_logs()
        deleted = tuple((str(tp), log.delete_old_segments()) for tp, log in deletable.items())
        self.manager.done_deleting(deletable)
        return Turn(seen, dirty, end, counted, error, numbers, deleted)


class KafkasCleaner:
    """Kafka's `LogCleanerManager` and `Cleaner`, led by hand as a cleaner thread leads them."""

    def __init__(self, kafka, runners, settings: Settings):
        self.kafka = kafka
        self.time = runners[0].time
        self._java_time = JavaTime(self.time)
        logs = kafka.find_class("java.util.concurrent.ConcurrentHashMap")()
        dirs = kafka.find_class("java.util.ArrayList")()
        for runner in runners:
            logs.put(runner.log.unified_log.topicPartition(), runner.log.unified_log)
        for directory in dict.fromkeys(runner.directory.parent for runner in runners):
            dirs.add(kafka.file(directory))
        self.manager = kafka.log_class("LogCleanerManager")(dirs, logs, kafka.log_class("LogDirFailureChannel")(10))
        self.manager.removeMetrics()
        throttler = kafka.find_class("org.apache.kafka.storage.internals.utils.Throttler")(
            settings.bytes_per_second, 300, "cleaner-io", "bytes", self._java_time
        )
        self.cleaner = kafka.log_class("Cleaner")(
            0, kafka.log_class("SkimpyOffsetMap")(settings.memory), settings.io, settings.max_io,
            settings.load_factor, throttler, self._java_time, self._nothing(),
        )  # fmt: skip

    def _nothing(self):
        """A `Consumer` that does nothing."""
        loader = self.kafka.find_class("java.lang.ClassLoader").getSystemClassLoader()
        consumer = self.kafka.find_class("java.lang.Class").forName("java.util.function.Consumer", True, loader)
        handler = self.kafka.find_class("java.beans.EventHandler")
        return handler.create(consumer, self.kafka.find_class("java.util.Date")(0), "getTime")

    def turn(self) -> Turn:
        pre = self.kafka.log_class("PreCleanStats")()
        from py4j.protocol import Py4JJavaError

        try:
            todo = self.manager.grabFilthiestCompactedLog(self._java_time, pre).orElse(None)
        except Py4JJavaError as failure:
            error = failure.java_exception
            cause = error.getCause()
            if cause is None:  # of two values, which is named first follows from the directory's name
                return Turn(error=error.getMessage().split(" (attempted")[0])
            return Turn(error=f"{error.getMessage()}: {cause.getClass().getSimpleName()}: {cause.getMessage()}")
        numbers = pre.maxCompactionDelayMs(), pre.delayedPartitions(), pre.cleanablePartitions()
        seen, end, counted, error, dirty = "", -1, (), "", ()
        if todo is not None:
            log, partition = todo.log(), todo.topicPartition()
            seen = partition.toString()
            dirty = (
                todo.firstDirtyOffset(), todo.firstUncleanableOffset(), todo.cleanBytes(), todo.cleanableBytes(),
                self._private(todo, "needCompactionNow"),
            )  # fmt: skip
            end = todo.firstDirtyOffset()
            try:
                with kafka_errors():
                    result = self.cleaner.doClean(todo, self.time.milliseconds())
                    end, stats = result.getKey(), result.getValue()
                    counted = self._numbers(stats)
            except Exception as failure:
                error = _words(failure, Path(log.parentDir()))
            self.manager.doneCleaning(partition, log.parentDirFile(), end)
            if error:
                self.manager.markPartitionUncleanable(log.parentDir(), partition)
        deletable = self.manager.deletableLogs()
        with kafka_errors():
            deleted = tuple((e.getKey().toString(), e.getValue().deleteOldSegments()) for e in deletable.entrySet())
        self.manager.doneDeleting(self.kafka.find_class("java.util.ArrayList")(deletable.keySet()))
        return Turn(seen, dirty, end, counted, error, numbers, deleted)

    def _numbers(self, stats) -> tuple:
        return (
            stats.messagesRead(), stats.bytesRead(), stats.messagesWritten(), stats.bytesWritten(),
            stats.mapMessagesRead(), self._private(stats, "mapBytesRead"), stats.invalidMessagesRead(),
            stats.bufferUtilization(),
        )  # fmt: skip

    @staticmethod
    def _private(java_object, field: str):
        found = java_object.getClass().getDeclaredField(field)
        found.setAccessible(True)
        return found.get(java_object)


def _words(failure: Exception, log_dir: Path) -> str:
    # Of an abort, Kafka says nothing but that it is one; of a damaged stream, what Java's codec says.
    silent = isinstance(failure, LogCleaningAbortedException) or re.search(
        "GZIP|decompress|remaining bytes", str(failure)
    )
    said = "" if silent else str(failure)
    return f"{type(failure).__name__}: {said}".replace(str(log_dir), "DIR")


class TwoCleaners:
    """Does the same to the logs of minikafka and of Kafka, and demands that all be equal after each turn."""

    def __init__(self, kafka, logs, settings: Settings):
        self.kafka = kafka
        self.logs = logs
        self.ours = OurCleaner([pair.runners[0] for pair in logs], settings)
        self.theirs = KafkasCleaner(kafka, [pair.runners[1] for pair in logs], settings)

    def turns(self, number: int) -> list[Turn]:
        """So many turns, one after the other."""
        return [self.turn() for _ in range(number)]

    def turn(self) -> Turn:
        """One turn of each; returns what both showed."""
        parents = [directory.parent for directory in self.logs[0].directories]
        for parent in parents:
            _date(parent)
        ours, theirs = self.ours.turn(), self.theirs.turn()
        assert ours == theirs, f"\n minikafka: {ours}\n Kafka:     {theirs}"
        self.compare(*parents)
        assert _dates(parents[0]) == _dates(parents[1])
        assert self.ours.time.milliseconds() == self.theirs.time.milliseconds()
        return ours

    def compare(self, ours: Path, theirs: Path) -> None:
        """Demand equal directories."""
        directory_diff(ours, theirs).require()

    def configure(self, **changes) -> None:
        """Change settings of all logs on both sides."""
        for pair in self.logs:
            for runner in pair.runners:
                runner.config = {**runner.config, **{name.replace("__", "."): v for name, v in changes.items()}}
            ours, theirs = pair.runners
            ours.log.update_config(LogConfig(ours.config))
            properties = self.kafka.properties(theirs.config)
            theirs.log.unified_log.updateConfig(self.kafka.log_class("LogConfig")(properties))


def _date(parent: Path) -> None:
    """Give each file a time that follows from its name, in the year 2001 and later."""
    for file in parent.rglob("*"):
        if file.is_file():
            offset = file.name.split(".")[0]
            ms = 1_000_000_000_000 + (int(offset) if offset.isdigit() else 0) * 1000 + 7
            os.utime(file, ns=(ms * 1_000_000, ms * 1_000_000))


def _dates(parent: Path) -> dict[str, int]:
    """The ms at which each file of a segment was last changed, by its path: those files that a cleaning dates."""
    files = [file for suffix in ("log", "index", "timeindex") for file in parent.rglob(f"*.{suffix}")]
    return {str(file.relative_to(parent)): file.stat().st_mtime_ns // 1_000_000 for file in files}


@pytest.fixture
def two_cleaners(kafka):
    """`two_cleaners(logs, **settings)`: both cleaners on a pair of logs, or on a list of them."""

    def make(logs, **settings) -> TwoCleaners:
        return TwoCleaners(kafka, logs if isinstance(logs, list) else [logs], Settings(**settings))

    return make
