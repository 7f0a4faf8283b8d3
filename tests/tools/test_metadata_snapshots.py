"""`minikafka verify` foretells what becomes of the metadata log and its snapshots as Kafka does it."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.kafka_time import JavaScheduler, JavaTime
from tests.slow.fuzz.origins import NO_OP_RECORD, snapshot_of

DIRECTORY = "__cluster_metadata-0"
RAFT = "org.apache.kafka.raft."
FILE_DELETE_DELAY_MS = 60_000


def snapshot(offset: int, epoch: int, suffix: str = ".checkpoint") -> str:
    return f"{offset:020}-{epoch:010}{suffix}"


REACHES = snapshot(6, 1)
PARTIAL, DELETED = snapshot(6, 1, "-123.checkpoint.part"), snapshot(3, 1, ".checkpoint.deleted")
ALONE = {
    "none": (),
    "one that reaches the log's start": (REACHES,),
    "one below the log's start": (snapshot(3, 1),),
    "one below the log's start, and one above it": (snapshot(3, 1), snapshot(8, 1)),
    "what was left over": (PARTIAL, DELETED, REACHES),
    "what was left over, and none": (PARTIAL, DELETED),
    "one of the log's end": (snapshot(9, 1),),
    "one beyond the log's end": (REACHES, snapshot(20, 1)),
    "one of a later epoch": (REACHES, snapshot(7, 2)),
    "one of a later epoch at the log's start": (snapshot(6, 2),),
    "one of an earlier epoch": (snapshot(20, 0),),
    "a short name": ("x.checkpoint", REACHES),
    "a short name of what was left over": ("x.checkpoint.part", REACHES),
    "no offset": (f"{'x' * 20}-{1:010}.checkpoint", REACHES),
    "an epoch that is too large": (f"{6:020}-9999999999.checkpoint",),
    "a longer name": (snapshot(6, 1, "-7.checkpoint"),),
}


@pytest.fixture(params=[0, 6])
def metadata_log(request, tmp_path) -> Path:
    """A metadata log of epoch 1 with segments of three records up to offset 9, which begins at this offset."""
    directory = tmp_path / "log-dir" / DIRECTORY
    directory.parent.mkdir()
    with Log.open(directory) as log:
        for number in range(9):
            if number in (3, 6):
                log.roll()
            record = SimpleRecord(1, None, NO_OP_RECORD)
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 1)
    for offset in range(request.param):
        for file in directory.glob(f"{offset:020}.*"):
            file.unlink()
    return directory


@pytest.mark.parametrize("case", ALONE)
def test_snapshots_fare_as_in_kafka(metadata_log, case, kafka_says, tmp_path):
    for name in ALONE[case]:
        put(metadata_log / name)
    findings, error, left = foretold(metadata_log)

    def after_kafkas_start(kafka) -> list:
        directory = shutil.copytree(metadata_log, tmp_path / "kafka" / DIRECTORY)
        return [open_as_kafka(kafka, directory), snapshots_and_segments(directory)]

    names = snapshots_and_segments(metadata_log)
    assert [error, left] == kafka_says(after_kafkas_start, names)
    assert snapshots_and_segments(metadata_log) == names
    assert (error is None and left == names) or findings


def test_what_is_said_of_snapshots(metadata_log):
    put(metadata_log / snapshot(3, 1))
    starts_at = int(min(metadata_log.glob("*.log")).stem)
    findings, _, _ = foretold(metadata_log)
    if starts_at == 0:
        assert findings == []
    else:
        (finding,) = findings
        assert finding["file"] == str(metadata_log)
        assert finding["what"].startswith(
            "IllegalStateException: Inconsistent snapshot state: there must be a snapshot"
        )
        assert finding["next_start"] == "the load fails with IllegalStateException"
        put(metadata_log / REACHES)
        (finding,) = foretold(metadata_log)[0]
        assert Path(finding["file"]).name == snapshot(3, 1)
        assert (finding["what"], finding["fate"]) == ("the log begins beyond this snapshot", "deleted")
    put(metadata_log / snapshot(20, 1))
    told = {finding["what"] for finding in foretold(metadata_log)[0] if finding["file"].endswith(".log")}
    assert told == {"the latest snapshot is ahead of the log, which then begins at offset 20"}


def test_recover_leaves_the_snapshots_to_the_start(metadata_log):
    put(metadata_log / snapshot(20, 1))
    before = snapshots_and_segments(metadata_log)
    told = CliRunner().invoke(main, ["recover", "--yes", str(metadata_log)], catch_exceptions=False)
    assert told.exit_code == 0 and snapshots_and_segments(metadata_log) == before


def test_recover_refuses_a_metadata_log_with_which_no_start_succeeds(metadata_log):
    (metadata_log / "x.checkpoint").touch()
    before = snapshots_and_segments(metadata_log)
    for directory in (metadata_log, metadata_log.parent):
        for option in ("--yes", "--dry-run"):
            told = CliRunner().invoke(main, ["recover", option, str(directory)], catch_exceptions=False)
            assert told.exit_code == 1 and "StringIndexOutOfBoundsException" in told.output, told.output
            assert snapshots_and_segments(metadata_log) == before
    (metadata_log / "x.checkpoint").unlink()
    if any(metadata_log.glob(f"{0:020}.log")):
        return
    for directory in (metadata_log, metadata_log.parent):
        told = CliRunner().invoke(main, ["recover", "--yes", str(directory)], catch_exceptions=False)
        assert told.exit_code == 1 and "Inconsistent snapshot state" in told.output, told.output


def test_only_the_metadata_log_has_snapshots(metadata_log):
    partition = metadata_log.rename(metadata_log.with_name("t-0"))
    for name in (REACHES, PARTIAL):
        put(partition / name)
    findings, error, left = foretold(partition)
    assert error is None and {REACHES, PARTIAL} <= set(left)
    assert [(each["what"], each["fate"]) for each in findings] == [("no file of Kafka's", "stays")] * 2


def test_the_checkpoints_say_nothing_of_where_the_metadata_log_begins(metadata_log):
    put(metadata_log / REACHES)
    (metadata_log.parent / "log-start-offset-checkpoint").write_text("0\n1\n__cluster_metadata 0 7\n")
    assert foretold(metadata_log)[0] == []


def put(file: Path) -> None:
    """A snapshot of nothing, or an empty file where its name is another one."""
    file.write_bytes(snapshot_of(b"", 1) if file.name.endswith(".checkpoint") else b"")


def foretold(partition: Path) -> tuple[list[dict], str | None, list[str]]:
    """What `verify` finds; the exception of the start, None for none; the snapshots and segments that it leaves."""
    told = CliRunner().invoke(main, ["verify", "--json", str(partition)], catch_exceptions=False)
    findings = json.loads(told.stdout)["findings"]
    failures = {each["next_start"].split()[-1] for each in findings if each["fate"] == "load fails"}
    gone = {Path(each["file"]).name for each in findings if each["fate"] == "deleted"}
    left = [name for name in snapshots_and_segments(partition) if name not in gone]
    assert len(failures) <= 1
    return findings, next(iter(failures), None), left


def snapshots_and_segments(partition: Path) -> list[str]:
    """Their names, but for empty segments, which a start has made."""
    segments = [path.name for path in partition.glob("*.log*") if path.stat().st_size]
    return sorted([*segments, *(path.name for path in partition.glob("*.checkpoint*"))])


def open_as_kafka(kafka, directory: Path) -> str | None:
    """The name of the exception with which Kafka opens the log, None for none. Kafka: `KafkaRaftLog.createLog`."""
    clock = ManualTime(1_000)
    scheduler = ManualScheduler(clock)
    settings = kafka.find_class(RAFT + "MetadataLogConfig")
    config = kafka.find_class("org.apache.kafka.common.config.AbstractConfig")(
        settings.CONFIG_DEF, kafka.properties({}), False
    )
    try:
        with kafka_errors():
            log = kafka.find_class(RAFT + "internals.KafkaRaftLog").createLog(
                kafka.find_class("org.apache.kafka.common.TopicPartition")("__cluster_metadata", 0),
                kafka.find_class("org.apache.kafka.common.Uuid").METADATA_TOPIC_ID,
                kafka.file(directory),
                JavaTime(clock),
                JavaScheduler(kafka, scheduler),
                settings(config),
                1,
            )
            clock.sleep(FILE_DELETE_DELAY_MS)
            scheduler.run_due_tasks()
            log.close()
    except Exception as failure:
        return type(failure).__name__
    return None
