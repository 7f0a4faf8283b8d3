"""What is done to a log, minikafka's or Kafka's, besides the operations of a workload.

A broker writes checkpoints and the marker of a clean shutdown, a partition is created and deleted, a crash leaves a
torn file. Each of these steps is one word of text, as an operation is one line, so that both fit into one list.
"""

import shutil

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.meta_properties import MetaProperties
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE as LOG_STARTS
from minikafka.checkpoint.offset_checkpoint_file import RECOVERY_POINT_CHECKPOINT_FILE as RECOVERY_POINTS
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.topic_partition import TopicPartition
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.operations import parse_operation
from minikafka.witness.log.run import Runner
from minikafka.witness.log.workload import START_MS

PARTITION = TopicPartition("topic", 0)
_CHECKPOINTS = "org.apache.kafka.storage.internals.checkpoint."
_BROKER_EPOCH = 3


def perform(runner: Runner, line: str) -> None:
    """Do to the runner's log what `line` says: one of `STEPS`, or an operation. Raises what the log raises."""
    if line in STEPS:
        STEPS[line](runner)
    else:
        runner.perform(parse_operation(line))


def write_checkpoints(runner: Runner) -> None:
    """Write the recovery point and the log start, as the log manager does every minute and when it shuts down.

    Kafka: `LogManager.checkpointRecoveryOffsetsInDir`, `checkpointLogStartOffsetsInDir`.
    """
    log = runner.log
    first = log.log_segments[0].base_offset
    runner.perform(parse_operation("checkpoint"))
    _write_offset(runner, RECOVERY_POINTS, log.recovery_point)
    _write_offset(runner, LOG_STARTS, log.log_start_offset if log.log_start_offset > first else None)


def stop_cleanly(runner: Runner) -> None:
    """Flush and close the log, write the checkpoints and the marker. Kafka: `LogManager.shutdown`."""
    log = runner.log
    log.flush(force_flush_active_segment=True)
    log.close()
    write_checkpoints(runner)
    _marker(runner).write(_BROKER_EPOCH)
    runner.log = None


def start_after_clean_stop(runner: Runner) -> None:
    """Delete the marker, then load the log. Kafka: `LogManager.loadLogs`."""
    _marker(runner).delete()
    runner.perform(parse_operation("reopen clean=true"))


def close(runner: Runner) -> None:
    """Close the log, flush nothing. Kafka: `UnifiedLog.close`."""
    runner.log.close()
    runner.log = None


def delete(runner: Runner) -> None:
    """Delete the log with its directory, at once. Kafka: `UnifiedLog.delete`."""
    runner.log.delete()
    runner.log = None


def mark_for_deletion(runner: Runner) -> None:
    """Rename the directory to mark it for deletion. Kafka: `UnifiedLog.renameDir`."""
    kafka, name = getattr(runner.log, "kafka", None), "topic-0.0123456789abcdef-delete"
    if kafka is None:
        runner.log.rename_dir(name, should_reinitialize=False)
        return
    with kafka_errors():
        runner.log.unified_log.renameDir(name, False)


def vanish(runner: Runner) -> None:
    """Remove the partition and everything beside it, which is what a broker finds at its very first start."""
    runner.let_go()
    shutil.rmtree(runner.directory)
    for path in runner.directory.parent.iterdir():
        path.unlink()


def tear(runner: Runner) -> None:
    """Leave what a process killed during its last write leaves, with zeros that a bad disk put behind the previous
    segment.
    """
    runner.let_go()
    *_, earlier, last = sorted(runner.directory.glob("*.log"))
    last.write_bytes(last.read_bytes()[:-9])
    with earlier.open("ab") as file:
        file.write(bytes(9))


def overflow(runner: Runner) -> None:
    """Make the log one flushed segment whose offsets are further apart than one segment can express."""
    runner.let_go()
    shutil.rmtree(runner.directory)
    runner.directory.mkdir()
    offsets = [0, 10, 2_147_483_647, 2_147_483_648, 9_000_000_000]
    data = b"".join(Batch(2, (60,)).encode(START_MS, offset) for offset in offsets)
    (runner.directory / "00000000000000000000.log").write_bytes(data)
    runner.checkpoints["recovery_point"] = offsets[-1] + 2
    (runner.directory.parent / RECOVERY_POINTS).write_text(f"0\n1\ntopic 0 {offsets[-1] + 2}\n")


def swap(runner: Runner) -> None:
    """Leave what a process leaves that was killed after it had copied the first two segments into one `.swap` file."""
    runner.let_go()
    first, second, *_ = sorted(runner.directory.glob("*.log"))
    first.with_name(first.name + ".swap").write_bytes(first.read_bytes() + second.read_bytes())


def litter(runner: Runner) -> None:
    """Leave what a process killed during a replacement and a deletion leaves: `.cleaned`, `.swap` and `.deleted` files,
    and an index without its log.
    """
    runner.let_go()
    segment = min(runner.directory.glob("*.log"))
    for name in (f"{7:020}.log.cleaned", f"{9:020}.log.swap", f"{3:020}.log.deleted"):
        segment.with_name(name).write_bytes(segment.read_bytes())
    segment.with_name(f"{99:020}.index").write_bytes(bytes(8))


def write_meta_properties(runner: Runner) -> None:
    """Write down which cluster and broker the log directory belongs to. Kafka: `MetaPropertiesEnsemble.Copier`."""
    file, kafka = runner.directory.parent / "meta.properties", getattr(runner.log, "kafka", None)
    if kafka is None:
        MetaProperties("cluster", 1).write(file, runner.time.milliseconds())
        return
    properties = kafka.find_class("java.util.Properties")()
    properties.setProperty("cluster.id", "cluster")
    with kafka_errors():
        kafka.find_class("org.apache.kafka.metadata.properties.PropertiesUtils").writePropertiesFile(
            properties, str(file), True
        )


STEPS = {
    step.__name__: step
    for step in (
        write_checkpoints,
        stop_cleanly,
        start_after_clean_stop,
        close,
        delete,
        mark_for_deletion,
        vanish,
        tear,
        overflow,
        swap,
        litter,
        write_meta_properties,
    )
}
"""The words that `perform` knows besides the operations of workloads."""


def _write_offset(runner: Runner, name: str, offset: int | None) -> None:
    file = runner.directory.parent / name
    kafka = getattr(runner.log, "kafka", None)
    if kafka is None:
        OffsetCheckpointFile(file).write({} if offset is None else {PARTITION: offset})
        return
    offsets = _java_offsets(kafka, offset)
    channel = kafka.log_class("LogDirFailureChannel")(1)
    with kafka_errors():
        kafka.find_class(_CHECKPOINTS + "OffsetCheckpointFile")(kafka.file(file), channel).write(offsets)


def _java_offsets(kafka, offset: int | None):
    """A `Map<TopicPartition, Long>`, built by a Java stream because py4j passes small numbers as Integers."""
    if offset is None:
        return kafka.find_class("java.util.HashMap")()
    partition = kafka.find_class("org.apache.kafka.common.TopicPartition")(*PARTITION)
    function = kafka.find_class("java.util.function.Function")
    to_map = kafka.find_class("java.util.stream.Collectors").toMap(_Always(partition), function.identity())
    return kafka.find_class("java.util.stream.LongStream").of(offset).boxed().collect(to_map)


class _Always:
    """A `java.util.function.Function` that returns the same value for every argument."""

    def __init__(self, value):
        self._value = value

    def apply(self, _):
        return self._value

    class Java:
        implements = ["java.util.function.Function"]


def _marker(runner: Runner):
    kafka = getattr(runner.log_factory, "kafka", None)
    log_dir = runner.directory.parent
    if kafka is None:
        return CleanShutdownFileHandler(log_dir)
    return kafka.find_class(_CHECKPOINTS + "CleanShutdownFileHandler")(str(log_dir))
