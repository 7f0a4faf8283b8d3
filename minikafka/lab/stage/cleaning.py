"""A cleaner's thread, driven by hand: one turn at a time, on the lesson's own clock."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.common.throttler import Throttler
from minikafka.lab.stage.background import told_while_starting
from minikafka.lab.stage.beside_kafkas_files import beside_kafkas_files
from minikafka.lab.stage.workbench import kafka_witness, scratch
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.cleaner.cleaner_thread import CleanerThread
from minikafka.log.cleaner.log_cleaner_manager import LogCleanerManager
from minikafka.log.cleaner.pre_clean_stats import PreCleanStats
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn cleaned.

    The log's name, where the dirty part began, the first offset that could not be cleaned, the `end` up to which the
    log is now clean, the share of dirty bytes before (0 to 1), and what the cleaner counted.
    """

    log: str
    first_dirty: int
    first_uncleanable: int
    end: int
    ratio: float
    stats: Any

    def __str__(self) -> str:
        counted = self.stats
        return (
            f"{self.log}: dirty from {self.first_dirty} ({self.ratio:.0%} of the bytes), uncleanable from"
            f" {self.first_uncleanable}; clean up to {self.end} now. Read {counted.messages_read} records in"
            f" {counted.bytes_read} bytes, wrote {counted.messages_written} in {counted.bytes_written}."
        )

    __repr__ = __str__


class Cleaning:
    """One cleaner with its manager, for these logs; the offset map has room for `slots` keys, of which it uses 9 in 10.

    The clock is the first log's. `manager` and `cleaner` are minikafka's own `LogCleanerManager` and `Cleaner`.
    """

    def __init__(self, *logs: Any, slots: int = 1000):
        self.time, channel = logs[0].time, logs[0].log_dir_failure_channel
        by_partition = {log.topic_partition: log for log in logs}
        self.manager = LogCleanerManager([log.parent_dir for log in logs], by_partition, channel)
        config = CleanerConfig(dedupe_buffer_size=slots * SkimpyOffsetMap.BYTES_PER_ENTRY)
        throttler = Throttler(config.max_io_bytes_per_second, 300, self.time)
        self.cleaner = CleanerThread(
            0, config, self.manager, throttler=throttler, log_dir_failure_channel=channel, time=self.time
        ).cleaner

    def grab(self) -> Any:
        """The log to clean next, a `LogToClean`; None if no log is dirty enough."""
        return self.manager.grab_filthiest_compacted_log(self.time, PreCleanStats())

    def clean(self, to_clean: Any) -> Turn:
        """Clean the log that was grabbed, and note in the checkpoint up to where it is clean."""
        end, stats = self.cleaner.do_clean(to_clean, self.time.milliseconds())
        self.manager.done_cleaning(to_clean.topic_partition, to_clean.log.parent_dir, end)
        first_dirty, first_uncleanable = to_clean.first_dirty_offset, to_clean.first_uncleanable_offset
        return Turn(to_clean.log.name, first_dirty, first_uncleanable, end, to_clean.cleanable_ratio, stats)

    def turn(self) -> Turn | None:
        """One turn of the thread, without the deletion of old segments: grab and clean; None if nothing was grabbed.

        Kafka: `LogCleaner.CleanerThread.cleanFilthiestLog`.
        """
        to_clean = self.grab()
        return None if to_clean is None else self.clean(to_clean)


@told_while_starting()
def cleaned_by_both(workload: Any) -> Any:
    """Run `workload`, cleanings and all, by minikafka and by Apache Kafka, and compare the directories byte by byte.

    Where Kafka cannot be started, its files are those that it left when the lesson was built; the answer's `equal` is
    None where there are none.
    """
    from minikafka.witness import minikafka_log, run

    def by_kafka() -> Path | None:
        kafka, directory = kafka_witness(), scratch()
        if kafka is None:
            return None
        run(workload, kafka, directory)
        return directory

    ours = scratch()
    run(workload, minikafka_log, ours)
    return beside_kafkas_files(ours, f"a log's files\n{workload}", by_kafka)
