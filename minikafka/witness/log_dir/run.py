"""A log manager, to which the operations of a workload are done, observed after each operation."""

from dataclasses import replace
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    OffsetCheckpointFile,
)
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.witness.log_dir.one_log_manager import NO_CLEANER_THREADS, OneLogManager
from minikafka.witness.log_dir.workload import LogDirOperation, LogDirWorkload, parse_partition
from minikafka.witness.observation import Observations


class Impossible(Exception):
    """An operation for which the broker is not up, or is up already, or has no log. Nothing was done."""


class LogDirRunner:
    """Does one operation after another to one log manager, in the new log directory `directory`.

    `make`: `LogManager`, or what makes a `KafkaLogManager`.
    """

    def __init__(self, workload: LogDirWorkload, make, directory: Path):
        directory.mkdir(parents=True)
        self.directory = directory
        settings = {
            **workload.manager,
            "cleaner_config": replace(NO_CLEANER_THREADS, enable_cleaner=workload.has_cleaner),
        }
        self._one = OneLogManager(make, directory.parent, [directory.name], workload.default, **settings)
        self._one.topic_configs = {name: dict(settings) for name, settings in workload.topics.items()}

    def apply(self, operation: LogDirOperation) -> dict:
        """Do it, and look; what was seen, by quantity.

        Raises Impossible, and what the log manager and its logs raise. The log directory can be observed all the same.
        """
        is_up = self._one.manager is not None
        if operation.kind != "tick" and is_up == (operation.kind == "start"):
            raise Impossible(f"the broker is {'up' if is_up else 'down'}")
        _apply(self._one, operation)
        return self.observe()

    def observe(self) -> dict:
        """What is seen now, by quantity."""
        return _observe(self._one, self.directory)

    def let_go(self) -> None:
        """Release everything, and write nothing."""
        self._one.kill()


def run_log_dir(workload: LogDirWorkload, make, directory: Path, witness: str = "minikafka") -> Observations:
    """What a log manager makes of `workload` in the new log directory `directory`, observed after each operation.

    `make`: `LogManager`, or what makes a `KafkaLogManager`. Offsets of partitions are tuples of (partition, offset);
    those of logs are missing while the broker is down, those of a file while the file is missing.
    """
    runner = LogDirRunner(workload, make, directory)
    try:
        rows = [runner.apply(operation) for operation in workload]
    finally:
        runner.let_go()
    return Observations(witness, workload, tuple(rows))


def _apply(one: OneLogManager, operation: LogDirOperation) -> None:
    match operation.kind:
        case "start":
            one.start()
            for log in one.manager.all_logs:
                log.update_high_watermark(log.log_end_offset)
        case "stop":
            one.stop()
        case "kill":
            one.kill()
        case "tick":
            one.pass_time(operation.number)
        case "create":
            one.manager.get_or_create_log(parse_partition(operation.partition), is_new=True)
        case "append":
            _log(one, operation)
            one.append(parse_partition(operation.partition), *map(str, operation.batches))
        case "roll":
            _log(one, operation).roll()
        case "delete_records":
            reason = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
            _log(one, operation).maybe_increment_log_start_offset(operation.number, reason)
        case "delete" | "stray":
            # As its callers do: without an argument where the log is to be deleted.
            how = {"is_stray": True} if operation.kind == "stray" else {}
            if one.manager.async_delete(_log(one, operation).topic_partition, **how) is None:
                raise Impossible(f"the manager says that it had no log of {operation.partition}")
    one.scheduler.run_due_tasks()  # what a roll leaves to the background


def _log(one: OneLogManager, operation: LogDirOperation):
    log = one.manager.get_log(parse_partition(operation.partition))
    if log is None:
        raise Impossible(f"there is no log of {operation.partition}")
    return log


def _observe(one: OneLogManager, directory: Path) -> dict:
    row = {
        "recovery_point_file": _offsets(directory / RECOVERY_POINT_CHECKPOINT_FILE),
        "log_start_file": _offsets(directory / LOG_START_OFFSET_CHECKPOINT_FILE),
        "clean_shutdown": CleanShutdownFileHandler(directory).exists(),
    }
    if one.manager is not None:
        logs = sorted((str(log.topic_partition), log) for log in one.manager.all_logs)
        row["log_end_offsets"] = tuple((name, log.log_end_offset) for name, log in logs)
        row["log_start_offsets"] = tuple((name, log.log_start_offset) for name, log in logs)
        row["recovery_points"] = tuple((name, log.recovery_point) for name, log in logs)
        row["segments"] = tuple((name, ",".join(str(s.base_offset) for s in log.log_segments)) for name, log in logs)
    return row


def _offsets(file: Path) -> tuple[tuple[str, int], ...]:
    if not file.exists():
        return ()
    return tuple(sorted((str(partition), offset) for partition, offset in OffsetCheckpointFile(file).read().items()))
