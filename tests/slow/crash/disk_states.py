"""Log directories as a process stopped in mid-work leaves them, laid out again and opened by both engines."""

import shutil
from collections import defaultdict
from operator import itemgetter
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.record.format.control_record import ControlRecordType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.observation import Observation
from tests.slow.crash.steps import LOG_STARTS, PARTITION, RECOVERY_POINTS
from tests.two_logs import TwoLogs

DiskState = dict[str, bytes]
"""The files of a log directory by their path in it."""

_CHECKPOINTS = "org.apache.kafka.storage.internals.checkpoint."


def look(log_dir: Path) -> DiskState:
    """All files of a log directory as they are now."""
    paths = sorted(path for path in log_dir.rglob("*") if path.is_file())
    return {path.relative_to(log_dir).as_posix(): path.read_bytes() for path in paths}


def put(disk_state: DiskState, directory: Path) -> None:
    """Make `directory` look like that disk state."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name, content in disk_state.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def batches(directory: Path) -> set[tuple[int, int, bytes]]:
    """(base offset, next offset, bytes) of all batches in the segments of a directory."""
    found = set()
    for path in directory.glob("*.log"):
        data, position = path.read_bytes(), 0
        while size := int.from_bytes(data[position + 8 : position + 12]):  # behind the last one: the end, or zeros
            batch = data[position : position + 12 + size]
            base_offset, last_offset_delta = int.from_bytes(batch[:8]), int.from_bytes(batch[23:27])
            found.add((base_offset, base_offset + last_offset_delta + 1, batch))
            position += len(batch)
    return found


def latest_values(batches: set[tuple[int, int, bytes]]) -> dict[bytes, bytes]:
    """What a reader of a compacted log must find, however often it was cleaned: the last value of each key, if any.

    Records of aborted and of open transactions do not count.
    """
    counted, undecided = [], defaultdict(list)
    for _, _, data in sorted(batches):
        [batch] = MemoryRecords.readable_records(data).batches()
        records = [(record.offset, bytes(record.key), record.value) for record in batch]
        if batch.is_control_batch:
            pending = undecided.pop(batch.producer_id, [])
            if any(ControlRecordType.parse(key) is ControlRecordType.COMMIT for _, key, _ in records):
                counted += pending
        elif batch.is_transactional:
            undecided[batch.producer_id] += records
        else:
            counted += records
    latest = {key: value for _, key, value in sorted(counted, key=itemgetter(0))}
    return {key: bytes(value) for key, value in latest.items() if value is not None}


def open_both(kafka: KafkaJvm, logs: TwoLogs, log_dir: Path, config: dict, now_ms: int) -> tuple[Observation, set]:
    """Open the disk state in `log_dir` with both engines, use both logs a little, and demand that they stay equal.

    Returns what was observed of the load, and the batches that the log had then. Raises AssertionError for a
    difference.
    """
    known, clean = known_of(kafka, log_dir)
    (log_dir / "topic-0").mkdir(exist_ok=True)
    logs.stand_on(log_dir / "topic-0", known, config, now_ms)
    observation = logs.do(f"reopen clean={str(clean).lower()}")
    if observation.error:
        return observation, set()
    opened = batches(logs.directories[0])
    logs.do("tick 60000")
    logs.observe("append_as_leader leader_epoch=20 [2x20 keys=2 pid=70 epoch=0 seq=0]")
    if "compact" in config.get("cleanup.policy", "delete"):
        logs.do("update_high_watermark leo", "clean")
    for runner in logs.runners:
        runner.log.close()
    logs.compare("close")
    return observation, opened


def known_of(kafka: KafkaJvm, log_dir: Path) -> tuple[dict[str, int], bool]:
    """The checkpointed offsets and whether the marker of a clean end is there, read by both engines."""
    known = {}
    for name, file in (("recovery_point", log_dir / RECOVERY_POINTS), ("log_start_offset", log_dir / LOG_STARTS)):
        known[name] = OffsetCheckpointFile(file).read_or_empty().get(PARTITION, 0) if file.exists() else 0
        if file.exists():
            assert _kafkas_checkpointed_offset(kafka, file) == known[name], file
    marker = CleanShutdownFileHandler(log_dir)
    if marker.exists():
        epoch = kafka.find_class(_CHECKPOINTS + "CleanShutdownFileHandler")(str(log_dir)).read()
        assert (epoch.getAsLong() if epoch.isPresent() else None) == marker.read()
    return known, marker.exists()


def _kafkas_checkpointed_offset(kafka: KafkaJvm, file: Path) -> int:
    channel = kafka.log_class("LogDirFailureChannel")(1)
    try:
        with kafka_errors():
            offsets = kafka.find_class(_CHECKPOINTS + "OffsetCheckpointFile")(kafka.file(file), channel).read()
    except (RuntimeError, ValueError):
        return 0
    return next((entry.getValue() for entry in offsets.entrySet()), 0)
