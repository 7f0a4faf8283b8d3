"""`minikafka recover` of a whole log directory leaves what Kafka's own `LogManager` leaves after its start and stop."""

import errno
import json
import mmap
import os
import random
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from minikafka.checkpoint.meta_properties import MetaProperties
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.cli import main
from minikafka.common import file_ops
from minikafka.common.errors import ConfigException, IllegalArgumentException, KafkaStorageException
from minikafka.common.file_kind import kind_of
from minikafka.common.file_lock import FileLock
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.uuid import ONE_UUID
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.directory_lock import DirectoryLock
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_segment import LogSegment
from minikafka.log.manager.broker_settings import log_settings
from minikafka.log.manager.config_repository import MapConfigRepository
from minikafka.log.manager.log_dir_checkpoints import LogDirCheckpoints
from minikafka.log.manager.log_manager import LogManager
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.tools.recover import before_recovery
from minikafka.tools.recover.recover_log_dir import settings_of
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager
from tests.golden.places import GOLDEN
from tests.slow.fuzz.origins import Origins
from tests.slow.fuzz.tool_runs import difference, tree
from tests.tools.noted_topics import config, no_topic, note_topics, topic

NOW_MS = 1_795_240_760_000
ORIGINS = ("mixed", "orders", "old", "compacted", "drawn-1", "drawn-2", "drawn-4", "drawn-8")
CHECKPOINTS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint")


@pytest.fixture(scope="module")
def origins(tmp_path_factory) -> Origins:
    return Origins(tmp_path_factory.mktemp("origins"))


@pytest.fixture
def log_dir(origins, tmp_path) -> Path:
    """Partitions of every kind side by side, and directories that wait for their end; the last stop was clean."""
    log_dir = tmp_path / "log.dir"
    log_dir.mkdir()
    shutil.copy(GOLDEN / "meta.properties", log_dir)
    offsets: dict[str, list[str]] = {name: [] for name in CHECKPOINTS[:2]}
    for n, name in enumerate(ORIGINS):
        origin = origins[name]
        shutil.copytree(origin.log_dir / origin.partition, log_dir / f"{name}-{n}")
        (log_dir / f"{name}-{n}/partition.metadata").unlink(missing_ok=True)
        for checkpoint, lines in offsets.items():
            old = (
                OffsetCheckpointFile(origin.log_dir / checkpoint).read()
                if (origin.log_dir / checkpoint).exists()
                else {}
            )
            lines += [f"{name} {n} {offset}" for partition, offset in old.items() if f"{partition}" == origin.partition]
    for checkpoint, lines in offsets.items():
        (log_dir / checkpoint).write_text(f"0\n{len(lines)}\n" + "".join(f"{line}\n" for line in lines))
    for suffix in ("delete", "stray", "future"):
        shutil.copytree(log_dir / "orders-1", log_dir / f"orders-1.{'0123456789abcdef' * 2}-{suffix}")
    (log_dir / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":7}')
    return log_dir


def run(directory: Path, *options: str, code: int = 0):
    consent = () if {"--dry-run", "--json"} & set(options) else ("--yes",)
    arguments = ["recover", str(directory), *consent, "--now-ms", str(NOW_MS), *options]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def recovered(directory: Path, *options: str) -> dict:
    return json.loads(run(directory, "--json", *options).stdout)


def started_and_stopped_by_kafka(kafka, directory: Path, default: dict, topics: dict) -> list[dict]:
    """Kafka's manager on the directory; what its current logs show in between."""
    time = ManualTime(NOW_MS)
    scheduler = ManualScheduler(time)
    manager = KafkaLogManager(
        kafka,
        [directory],
        config_repository=MapConfigRepository(topics),
        initial_default_config=LogConfig(default),
        scheduler=scheduler,
        time=time,
        cleaner_config=CleanerConfig(num_threads=0),
    )
    manager.startup(topics)
    scheduler.run_due_tasks()
    states = [
        {
            "topic": log.topic_partition.topic,
            "partition": log.topic_partition.partition,
            **{
                name: getattr(log, name)
                for name in ("log_start_offset", "log_end_offset", "high_watermark", "last_stable_offset")
            },
            "recovery_point": log.recovery_point,
            "segments": [[segment.base_offset, segment.size] for segment in log.log_segments],
        }
        for log in manager.all_logs
        if not log.dir.name.endswith("-future")
    ]
    scheduler.shutdown()
    manager.shutdown()
    return sorted(states, key=lambda state: (state["topic"], state["partition"]))


@pytest.mark.parametrize("threads", [(), ("--threads", "1"), ("--threads", "4")])
@pytest.mark.parametrize("stop", ["clean", "unclean", "no checkpoints", "checkpoints without numbers"])
def test_same_states_and_same_files_as_kafka(kafka, log_dir, tmp_path, stop, threads):
    if stop != "clean":
        (log_dir / ".kafka_cleanshutdown").unlink()
        with open(max((log_dir / "orders-1").glob("*.log")), "ab") as last:
            last.write(b"torn")
    for name in CHECKPOINTS[:2]:
        if stop == "no checkpoints":
            (log_dir / name).unlink()
        elif stop == "checkpoints without numbers":
            (log_dir / name).write_text("0\n1\norders 1 x\n")
    theirs = tmp_path / "theirs"
    shutil.copytree(log_dir, theirs)
    told = recovered(log_dir, "--topic-config", "orders:retention.ms=-1", *threads)
    states = started_and_stopped_by_kafka(kafka, theirs, {}, {"orders": {"retention.ms": "-1"}})
    assert len(states) == len(ORIGINS)
    assert [{name: each[name] for name in states[0]} for each in told["partitions"]] == states
    assert not told["offline"] and not told["refused"]
    directory_diff(log_dir, theirs).require()
    assert {file.name for file in log_dir.iterdir()} == {file.name for file in theirs.iterdir()}
    for name in (*CHECKPOINTS, ".kafka_cleanshutdown"):
        assert (log_dir / name).read_bytes() == (theirs / name).read_bytes()


@pytest.mark.slow
def test_a_dry_run_changes_nothing_and_foretells(log_dir):
    (log_dir / ".kafka_cleanshutdown").unlink()
    before = tree(log_dir, times=True)
    foretold = recovered(log_dir, "--dry-run")
    assert not difference(before, tree(log_dir, times=True))
    assert foretold == recovered(log_dir)
    assert len(foretold["put_aside"]) == 3
    assert (log_dir / ".kafka_cleanshutdown").exists() and not (log_dir / ".lock").exists()


@pytest.mark.slow
def test_what_is_said(log_dir):
    lines = run(log_dir).stdout.splitlines()
    assert lines[0] == f"{log_dir}: loaded and closed" and len(lines) == 1 + len(ORIGINS)
    assert "  mixed-0: offsets 0 to 69, segments 5, bytes 3774" in lines


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--unclean-shutdown",), ("--clean-shutdown",)])
def test_the_marker_can_be_replaced(log_dir, options):
    with open(max((log_dir / "orders-1").glob("*.log")), "ab") as last:
        last.write(b"torn")
    size = sum(file.stat().st_size for file in (log_dir / "orders-1").glob("*.log"))
    run(log_dir, *options)
    left = sum(file.stat().st_size for file in (log_dir / "orders-1").glob("*.log"))
    assert left == size - (4 if options == ("--unclean-shutdown",) else 0)


# ---- settings


def test_settings_of_a_broker_as_kafka_reads_them(kafka):
    """Each setting alone, in Kafka's words for it."""
    config_class = kafka.find_class("kafka.server.KafkaConfig")
    base = {
        "process.roles": "broker", "node.id": "1", "controller.quorum.voters": "9@h:1", "listeners": "PLAINTEXT://:0",
        "controller.listener.names": "C", "listener.security.protocol.map": "C:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }  # fmt: skip
    default = dict(config_class(kafka.properties(base)).extractLogConfigMap())
    for settings in (
        {"log.segment.bytes": "2000000"}, {"log.roll.hours": "3"}, {"log.roll.ms": "77", "log.roll.hours": "3"},
        {"log.roll.jitter.hours": "2"}, {"log.retention.hours": "5"}, {"log.retention.minutes": "5"},
        {"log.retention.ms": "-1"}, {"log.retention.ms": "9", "log.retention.minutes": "5"},
        {"log.flush.interval.ms": "8"}, {"log.flush.scheduler.interval.ms": "9"}, {"log.cleanup.policy": "compact"},
        {"log.index.interval.bytes": "99"}, {"log.index.size.max.bytes": "999"}, {"message.max.bytes": "5000"},
        {"log.flush.interval.messages": "6"}, {"log.retention.bytes": "7"}, {"log.preallocate": "true"},
        {"log.segment.delete.delay.ms": "3"}, {"log.cleaner.min.cleanable.ratio": "0.25"}, {"compression.type": "gzip"},
        {"log.cleaner.delete.retention.ms": "4"}, {"log.message.timestamp.type": "LogAppendTime"},
        {"log.cleaner.min.compaction.lag.ms": "5"}, {"log.cleaner.max.compaction.lag.ms": "6"},
        {"log.message.timestamp.before.max.ms": "7"}, {"log.message.timestamp.after.max.ms": "8"},
    ):  # fmt: skip
        theirs = dict(config_class(kafka.properties({**base, **settings})).extractLogConfigMap())
        changed = {name: str(value) for name, value in theirs.items() if value != default[name]}
        ours = {name: str(value) for name, value in log_settings(settings).items()}
        assert {name: value.strip("[]'").lower() for name, value in changed.items()} == {
            name: value.lower() for name, value in ours.items()
        }


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({"log.retention.ms": "0"}, IllegalArgumentException), ({"log.retention.hours": "0"}, IllegalArgumentException),
        ({"log.retention.minutes": "0"}, IllegalArgumentException), ({"log.retention.hours": "-1"}, None),
        ({"log.retention.minutes": "2147483648"}, ConfigException), ({"log.roll.hours": "2147483648"}, ConfigException),
        ({"log.roll.hours": "0"}, ConfigException), ({"log.roll.ms": "0"}, IllegalArgumentException),
        ({"log.roll.jitter.hours": "-1"}, ConfigException), ({"log.roll.jitter.ms": "-1"}, IllegalArgumentException),
        ({"log.retention.ms": "soon"}, ConfigException), ({"log.retention.hours": "0", "log.retention.ms": "5"}, None),
    ],
)  # fmt: skip
def test_times_with_which_kafka_does_not_start(kafka, settings, refused):
    config_class = kafka.find_class("kafka.server.KafkaConfig")
    base = {
        "process.roles": "broker", "node.id": "1", "controller.quorum.voters": "9@h:1", "listeners": "PLAINTEXT://:0",
        "controller.listener.names": "C", "listener.security.protocol.map": "C:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }  # fmt: skip

    def outcome(read):
        try:
            with kafka_errors():
                read()
        except (ConfigException, IllegalArgumentException) as error:
            return type(error), str(error)
        return None, ""

    ours = outcome(lambda: log_settings(settings))
    assert ours == outcome(lambda: config_class(kafka.properties({**base, **settings})))
    assert ours[0] is refused


def test_settings_are_taken_from_the_metadata_log(tmp_path):
    """A topic's own ones, the last of each name; a deleted topic, and an aborted transaction.

    A broker's own ones come into force once its logs are loaded.
    """

    messages = [
        *topic(1, "a", {}), *topic(2, "b", {}),
        config(2, "a", "segment.bytes", "2000000"), config(2, "a", "retention.ms", "5"),
        config(2, "a", "retention.ms", None), config(2, "b", "retention.ms", "6"),
        no_topic(2),
        b"\1\x17\0\0", config(2, "a", "flush.ms", "7"), b"\1\x19\0\0",
        b"\1\x17\0\0", config(2, "a", "flush.ms", "8"), b"\1\x18\0\0",
        config(4, "", "log.retention.ms", "1"), config(4, "1", "log.retention.ms", "2"),
        config(4, "2", "log.retention.ms", "3"), config(4, "", "num.recovery.threads.per.data.dir", "3"),
    ]  # fmt: skip
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    shutil.copy(GOLDEN / "meta.properties", tmp_path)
    records = [SimpleRecord(0, None, message) for message in messages]
    batch = MemoryRecords.with_records(CompressionType.NONE, *records, initial_offset=0)
    (directory / f"{0:020d}.log").write_bytes(bytes(batch.buffer))
    settings = settings_of(tmp_path, None, {"c": {"flush.ms": "9"}}, {"segment.ms": "10"}, None)
    assert settings.topics == {"a": {"segment.bytes": "2000000", "flush.ms": "8"}, "c": {"flush.ms": "9"}}
    assert (settings.default, settings.threads) == ({"segment.ms": "10"}, 2)
    broker = tmp_path / "server.properties"
    broker.write_text("log.retention.ms=99\nlog.flush.interval.ms = 4 \n")
    settings = settings_of(tmp_path, broker, {}, {}, 5)
    assert (settings.default["retention.ms"], settings.default["flush.ms"], settings.threads) == (99, 4, 5)
    (directory / f"{0:020d}.log").write_bytes(bytes(batch.buffer)[:-9] + bytes(9))
    assert f"{0:020d}.log, position 0: Record is corrupt" in run(tmp_path, code=1).stderr
    batch = MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(0, None, b"\1\2\0\1"), initial_offset=0)
    (directory / f"{0:020d}.log").write_bytes(bytes(batch.buffer))
    assert "The record at offset 0 in" in run(tmp_path, code=1).stderr


# ---- what stops it


def refused(log_dir: Path, *options: str, code: int = 1) -> str:
    """What is said on stderr; nothing is changed."""
    before = tree(log_dir, times=True)
    stderr = run(log_dir, *options, code=code).stderr
    assert not difference(before, tree(log_dir, times=True))
    return stderr


@pytest.mark.parametrize(
    ("file", "content", "error", "where"),
    [
        ("leader-epoch-checkpoint", "0\n7\n0 0\n", "KafkaStorageException", "offline"),
        ("leader-epoch-checkpoint", "0\n1\nx 0\n", "NumberFormatException", "refused"),
        ("partition.metadata", "version: 0\ntopic_id: x\n", "IllegalArgumentException", "refused"),
    ],
)
def test_a_load_that_fails_is_told_and_nothing_is_changed(kafka, log_dir, tmp_path, file, content, error, where):
    (log_dir / "drawn-1-4" / file).write_text(content)
    before = tree(log_dir, times=True)
    result = run(log_dir, "--json", code=1)
    assert not difference(before, tree(log_dir, times=True))
    told = json.loads(result.stdout)
    (refusal,) = told[where]
    assert refusal["name"] == "drawn-1-4" and refusal["error"].startswith(f"{error}: ")
    assert not told["partitions"] and result.stderr == f"{log_dir}/drawn-1-4: {refusal['error']}\n"
    theirs = tmp_path / "theirs"
    shutil.copytree(log_dir, theirs)
    if where == "refused":
        with pytest.raises(Exception) as raised:
            started_and_stopped_by_kafka(kafka, theirs, {}, {})
        assert type(raised.value).__name__ == error
    else:
        with suppress(KafkaStorageException):  # raised or not, as its threads meet the broken directory late or early
            started_and_stopped_by_kafka(kafka, theirs, {}, {})
        assert not (theirs / ".kafka_cleanshutdown").exists()


MARKS = {"an empty directory": Path.mkdir, "a FIFO": os.mkfifo}


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_that_is_no_file_is_deleted_and_nothing_is_recovered(kafka, log_dir, tmp_path, mark):
    with open(max((log_dir / "orders-1").glob("*.log")), "ab") as last:
        last.write(b"torn")
    (log_dir / ".kafka_cleanshutdown").unlink()
    theirs = tmp_path / "theirs"
    shutil.copytree(log_dir, theirs)
    for each in (log_dir, theirs):
        MARKS[mark](each / ".kafka_cleanshutdown")
    foretold = recovered(log_dir, "--dry-run")
    assert kind_of(log_dir / ".kafka_cleanshutdown") in mark.replace("an empty", "a")
    assert foretold == recovered(log_dir)
    started_and_stopped_by_kafka(kafka, theirs, {}, {})
    directory_diff(log_dir, theirs).require()
    for name in (*CHECKPOINTS, ".kafka_cleanshutdown"):
        assert (log_dir / name).read_bytes() == (theirs / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_that_is_no_file_comes_back_as_an_empty_one(log_dir, monkeypatch, mark):
    """It says the same: the last stop was clean."""
    (log_dir / ".kafka_cleanshutdown").unlink()
    MARKS[mark](log_dir / ".kafka_cleanshutdown")
    before = tree(log_dir / "mixed-0")

    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(LogDirCheckpoints, "checkpoint_log_start_offsets_in_dir", broken)
    run(log_dir, code=1)
    assert (log_dir / ".kafka_cleanshutdown").read_bytes() == b""
    assert not difference(before, tree(log_dir / "mixed-0"))


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--clean-shutdown",), ("--unclean-shutdown",)])
def test_a_mark_that_is_a_full_directory_takes_the_directory_offline(log_dir, options):
    marker = log_dir / ".kafka_cleanshutdown"
    marker.unlink()
    (marker / "x").mkdir(parents=True)
    assert refused(log_dir, *options) == f"{marker}: DirectoryNotEmptyException: {marker}\n"


DAMAGED_CHECKPOINTS = {
    "nonsense": (b"0\n7\nnonsense\n", "offline"),
    "bytes that are no text": (random.Random(1).randbytes(300), "offline"),
    "another version": (b"1\n0\n", "offline"),
    "another count": (b"0\n5\n", "offline"),
    "a word for a number": (b"0\n1\norders one 5\n", "warned of"),
    "a negative count": (b"0\n-1\n", "warned of"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKPOINTS[:2])
@pytest.mark.parametrize("damage", DAMAGED_CHECKPOINTS)
def test_a_damaged_checkpoint_takes_the_directory_offline_or_counts_as_empty(kafka, log_dir, tmp_path, name, damage):
    content, fate = DAMAGED_CHECKPOINTS[damage]
    (log_dir / name).write_bytes(content)
    theirs = tmp_path / "theirs"
    shutil.copytree(log_dir, theirs)
    with suppress(KafkaStorageException):
        started_and_stopped_by_kafka(kafka, theirs, {}, {})
    assert (theirs / ".kafka_cleanshutdown").exists() == (fate == "warned of")
    verified = CliRunner().invoke(main, ["verify", "--json", str(log_dir)])
    assert [each["fate"] for each in json.loads(verified.stdout)["findings"] if each["file"].endswith(name)] == [fate]
    if fate == "warned of":
        run(log_dir)
        return
    told = refused(log_dir)
    assert told.startswith(f"{log_dir}/{name}: KafkaStorageException: ") and told.count("\n") == 1


def test_a_directory_that_is_no_partitions(log_dir):
    (log_dir / "foo").mkdir()
    assert refused(log_dir).startswith("KafkaException: Found directory ")


def test_two_future_logs_of_a_partition(log_dir):
    shutil.copytree(log_dir / "orders-1", log_dir / f"orders-1.{'f' * 32}-future")
    assert refused(log_dir).startswith("IllegalStateException: Duplicate log directories found: ")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["loop-0", "nothing", "meta.properties/x"])
def test_a_link_that_leads_nowhere_hides_no_partition(log_dir, tmp_path, target):
    """A start of Kafka takes it for no directory (`test_a_link_that_leads_nowhere_hides_no_log_and_no_file`)."""
    with_link = tmp_path / "with link"
    shutil.copytree(log_dir, with_link)
    (with_link / "loop-0").symlink_to(target)
    commands = [["ls"], ["verify", "--json"], ["recover", "--yes", "--json", "--now-ms", str(NOW_MS)]]
    for command in commands:
        expected, told = (
            CliRunner().invoke(main, [*command, str(each)], catch_exceptions=False) for each in (log_dir, with_link)
        )
        assert told.stdout.replace(str(with_link), str(log_dir)) == expected.stdout
        assert told.exit_code == expected.exit_code
    (with_link / "loop-0").unlink()
    assert difference(tree(log_dir), tree(with_link)) == []


@pytest.mark.slow
def test_links_pipes_and_locks(log_dir, tmp_path):
    lock = FileLock(log_dir / ".lock")
    assert lock.try_lock() and "is held" in run(log_dir, code=1).stderr
    lock.destroy()
    with DirectoryLock(log_dir / "orders-1"):
        assert refused(log_dir).count("\n") == 1
    os.mkfifo(log_dir / f"orders-1/{7:020d}.index")
    assert "FIFO" in refused(log_dir)
    (log_dir / f"orders-1/{7:020d}.index").unlink()
    os.link(log_dir / "meta.properties", tmp_path / "elsewhere")
    os.link(log_dir / "orders-1/leader-epoch-checkpoint", tmp_path / "another")
    assert "hard link" in refused(log_dir)


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
@pytest.mark.parametrize("name", ["meta.properties", ".kafka_cleanshutdown", f"{CHECKPOINTS[0]}.tmp"])
@pytest.mark.parametrize("make", ["a FIFO", "a link in a circle", "a link elsewhere"])
def test_own_files_that_are_none(log_dir, tmp_path, name, make, options):
    """A start would wait for ever, or go on without the directory; a stop would write into what lies elsewhere."""
    file = log_dir / name
    file.unlink(missing_ok=True)
    if make == "a FIFO":
        if name == ".kafka_cleanshutdown":
            return  # it is only deleted
        os.mkfifo(file)
    elif make == "a link in a circle":
        file.symlink_to(file.name)
    elif name == "meta.properties":
        return  # it is only read
    else:
        (tmp_path / "elsewhere").write_text("precious")
        file.symlink_to(tmp_path / "elsewhere")
    assert refused(log_dir, "--clean-shutdown", *options).startswith(f"IOException: {file} is ")
    assert make != "a link elsewhere" or (tmp_path / "elsewhere").read_text() == "precious"


def test_a_second_name_of_what_a_checkpoint_is_written_into(log_dir, tmp_path):
    (tmp_path / "elsewhere").write_text("precious")
    os.link(tmp_path / "elsewhere", log_dir / f"{CHECKPOINTS[1]}.tmp")
    assert "hard link" in refused(log_dir)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["--clean-shutdown", "--unclean-shutdown"])
def test_a_dry_run_where_nothing_can_be_written(log_dir, monkeypatch, how):
    (log_dir / ".lock").touch()
    really_open = os.open

    def read_only(path, flags, *arguments, **keywords):
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and Path(path).is_relative_to(log_dir) and not (flags & os.O_EXCL and Path(path).exists()):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return really_open(path, flags, *arguments, **keywords)

    before = tree(log_dir, times=True)
    expected = recovered(log_dir, "--dry-run", how)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)
        assert recovered(log_dir, "--dry-run", how) == expected
        assert recovered(log_dir / "orders-1", "--dry-run", how)
        assert "Read-only file system" in run(log_dir, how, code=1).stderr
    assert not difference(before, tree(log_dir, times=True))
    lock = FileLock(log_dir / ".lock")
    assert lock.try_lock() and "is held" in run(log_dir, "--dry-run", code=1).stderr
    lock.destroy()


def test_a_damaged_meta_properties(log_dir):
    (log_dir / "meta.properties").write_text("version=7\n")
    assert refused(log_dir, "--unclean-shutdown").startswith("KafkaException: Unknown meta.properties version")


@pytest.mark.slow
def test_a_directory_elsewhere(log_dir, tmp_path):
    os.rename(log_dir / "orders-1", tmp_path / "elsewhere")
    (log_dir / "orders-1").symlink_to(tmp_path / "elsewhere")
    before = tree(tmp_path / "elsewhere", times=True)
    assert "is a symbolic link" in refused(log_dir)
    assert not difference(before, tree(tmp_path / "elsewhere", times=True))
    run(log_dir, "--follow-links")


@pytest.mark.parametrize("name", [b"two words-0", b"two\nlines-0"])
def test_a_name_that_no_checkpoint_can_hold(log_dir, name):
    os.mkdir(os.fsencode(log_dir) + b"/" + name)
    assert refused(log_dir).startswith("KafkaException: A checkpoint cannot hold the name of the topic")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two words-0", "two\nlines-0"])
def test_kafka_loses_the_directory_at_the_second_start_where_no_checkpoint_can_hold_a_name(kafka, log_dir, name):
    """As `verify` foretells it: the first start loads the partition, and leaves the mark of a clean stop."""
    shutil.copytree(log_dir / "orders-1", log_dir / name)
    (log_dir / name / "partition.metadata").unlink(missing_ok=True)
    verified = CliRunner().invoke(main, ["verify", "--json", str(log_dir)])
    [finding] = (each for each in json.loads(verified.stdout)["findings"] if each["fate"] == "offline")
    assert finding["file"] == str(log_dir / name)
    assert finding["next_start"].startswith(
        "it is loaded, and the checkpoints that name it then take the directory off"
    )
    states = started_and_stopped_by_kafka(kafka, log_dir, {}, {})
    assert name.rpartition("-")[0] in {state["topic"] for state in states}
    assert (log_dir / ".kafka_cleanshutdown").exists()
    with suppress(KafkaStorageException):
        started_and_stopped_by_kafka(kafka, log_dir, {}, {})
    assert not (log_dir / ".kafka_cleanshutdown").exists()


@pytest.mark.slow
def test_a_checkpoint_that_could_not_be_written_is_no_success(log_dir, monkeypatch):
    replace_file = file_ops.replace_file

    def broken(path, content):
        if path.name == CHECKPOINTS[0]:
            raise OSError(errno.EIO, "Input/output error")
        replace_file(path, content)

    monkeypatch.setattr(file_ops, "replace_file", broken)
    assert f"IOException: {log_dir} went offline while it was closed" in run(log_dir, code=1).stderr


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["clean", "unclean"])
def test_a_mark_of_a_clean_stop_that_could_not_be_written_is_no_success(log_dir, monkeypatch, before):
    """Kafka goes on, and an empty mark may stay, which its next start takes for one."""
    mark = log_dir / ".kafka_cleanshutdown"
    if not before:
        mark.unlink()
    write, left = file_ops.write, tree(log_dir)

    def full(fd, data, position):
        if os.readlink(f"/proc/self/fd/{fd}") == str(mark):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data, position)

    monkeypatch.setattr(file_ops, "write", full)
    assert f"IOException: {mark} could not be written" in run(log_dir, code=1).stderr
    assert difference(left, tree(log_dir)) == []


@pytest.mark.slow
@pytest.mark.parametrize("there", [True, False], ids=["there", "not there"])
@pytest.mark.parametrize("within, method", [(LogDirCheckpoints, "__init__"), (LogManager, "startup")])
def test_a_run_that_is_ended_leaves_the_lock_file_only_if_it_was_there(log_dir, monkeypatch, within, method, there):
    if there:
        (log_dir / ".lock").touch()
    work = getattr(within, method)

    def ended(self, *arguments, **keywords):
        work(self, *arguments, **keywords)
        signal.raise_signal(signal.SIGTERM)

    left = tree(log_dir)
    monkeypatch.setattr(within, method, ended)
    run(log_dir, code=128 + signal.SIGTERM)
    assert difference(left, tree(log_dir)) == []


@pytest.mark.slow
def test_no_addresses(log_dir, monkeypatch):
    def full(*_arguments, **_keywords):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    flags = {name: getattr(mmap, name) for name in ("MAP_PRIVATE", "MAP_ANONYMOUS", "PROT_READ")}
    monkeypatch.setattr(before_recovery, "mmap", SimpleNamespace(mmap=full, **flags))
    assert "(`ulimit -v`): Cannot allocate memory" in refused(log_dir)


def test_one_partition_takes_no_new_file(log_dir, monkeypatch):
    real = before_recovery.require_room

    def require_room(directory, *needed):
        if directory.name == "orders-1":
            raise PermissionError(errno.EACCES, "Permission denied", str(directory))
        real(directory, *needed)

    monkeypatch.setattr("minikafka.tools.recover.recover_log_dir.require_room", require_room)
    assert refused(log_dir) == f"IOException: Permission denied: {log_dir / 'orders-1'}\n"


@pytest.mark.slow
def test_an_error_of_the_system_cuts_nothing(log_dir, monkeypatch):
    """Kafka takes it for damage and deletes the segments."""
    sizes = {file: file.stat().st_size for file in log_dir.glob("orders-1/*.log")}
    recover_segment = LogSegment.recover

    def broken(segment, *arguments, **keywords):
        if segment.log.file.is_relative_to(log_dir / "orders-1") and not segment.log.file.is_symlink():
            raise OSError(errno.EMFILE, "Too many open files")
        return recover_segment(segment, *arguments, **keywords)

    monkeypatch.setattr(LogSegment, "recover", broken)
    (log_dir / CHECKPOINTS[0]).write_text("0\n0\n")
    assert "IOException: " in run(log_dir, "--unclean-shutdown", code=1).stderr
    assert {file: file.stat().st_size for file in log_dir.glob("orders-1/*.log")} == sizes


def test_a_number_of_the_broker_that_is_none(log_dir, tmp_path):
    (tmp_path / "server.properties").write_text("log.retention.hours=a week\n")
    told = refused(log_dir, "--broker-config", str(tmp_path / "server.properties"))
    words = "Invalid value a week for configuration log.retention.hours: Not a number of type INT"
    assert told == f"ConfigException: {words}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "num.partitions=0",
            "ConfigException: Invalid value 0 for configuration num.partitions: Value must be at least 1",
        ),
        (
            "log.flush.offset.checkpoint.interval.ms=-1",
            "ConfigException: Invalid value -1 for configuration log.flush.",
        ),
        ("log.dirs=", "ConfigException: Configuration 'log.dirs' must not be empty"),
        (
            "log.cleaner.threads=0",
            "IllegalArgumentException: requirement failed: log.cleaner.threads must be at least 1",
        ),
        ("node.id=1\nbroker.id=2", "ConfigException: You must set `node.id` to the same value as `broker.id`."),
        ("log.dir=/a\nlisteners=PLAINTEXT", "KafkaException: Unable to parse"),
    ],
)
def test_settings_with_which_kafka_does_not_start_are_refused(log_dir, tmp_path, text, told):
    (tmp_path / "server.properties").write_text(text)
    assert refused(log_dir, "--broker-config", str(tmp_path / "server.properties")).startswith(told)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "root:x:0:0:root:/root:/bin/sh\n", "cluster.id=abc\nversion=1\n"])
def test_a_file_that_is_no_brokers(log_dir, tmp_path, text):
    (tmp_path / "a-file").write_text(text)
    told = refused(log_dir, "--broker-config", str(tmp_path / "a-file"))
    assert told == (
        f"IllegalArgumentException: {tmp_path / 'a-file'} has no setting of a broker: --broker-config takes its "
        "server.properties\n"
    )
    (tmp_path / "a-file").write_text("process.roles=broker\n")
    run(log_dir, "--broker-config", str(tmp_path / "a-file"), "--dry-run")


@pytest.mark.slow
def test_no_room_and_no_descriptors(log_dir, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("minikafka.tools.recover.before_recovery.os.posix_fallocate", full)
        assert "No space left on device" in refused(log_dir)
    with monkeypatch.context() as patched:
        patched.setattr(
            "minikafka.tools.recover.recover_log_dir.shutil.disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0)
        )
        assert "No space left on device: a copy" in refused(log_dir, "--dry-run")


def test_options_that_are_for_the_other_kind(log_dir):
    assert "is for a partition's directory" in refused(log_dir, "--recovery-point", "3", code=2)
    assert "is for a log directory" in run(log_dir / "orders-1", "--threads", "3", code=2).stderr
    assert refused(log_dir, "--topic-config", "orders=1").startswith("IllegalArgumentException: ")
    assert refused(log_dir, "--topic-config", "orders:flush.ms=x").startswith("ConfigException: ")


@pytest.mark.slow
def test_settings_of_a_topic_that_is_not_there_are_refused(log_dir):
    for setting in ("flush.ms=5", "flush.ms=x"):
        told = (
            f"IllegalArgumentException: --topic-config: there is no topic order in {log_dir}; the nearest is orders\n"
        )
        assert refused(log_dir, "--topic-config", f"order:{setting}") == told
    told = "ConfigException: Invalid value x for configuration retention.ms: Not a number of type LONG\n"
    assert refused(log_dir, "--topic-config", "orders:retention.ms=x") == told
    stderr = run(log_dir, "--topic-config", "orders:flush.msg=5").stderr
    assert stderr == "Warning: Unknown topic config name: flush.msg\n"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["option", "metadata log"])
def test_a_topic_that_may_begin_in_a_remote_tier_is_refused(log_dir, tmp_path, by):
    """Its log start and first epochs would be lost. A broker without a tier goes by what is here, as Kafka does."""
    tiered = ("--topic-config", "orders:remote.storage.enable=true") if by == "option" else ()
    if by == "metadata log":
        note_topics(log_dir, {"orders": {"remote.storage.enable": "true"}})
    before = tree(log_dir)
    for options in ((), ("--dry-run",)):
        assert "has remote.storage.enable=true, so the log may begin in a remote" in refused(log_dir, *tiered, *options)
    told = run(log_dir / "orders-1", *(("--config", "remote.storage.enable=true") if tiered else ()), code=1).stderr
    assert f"{log_dir / 'orders-1'}: the topic has remote.storage.enable=true" in told
    assert not difference(before, tree(log_dir))
    file = tmp_path / "server.properties"
    for system, options in (("true", ("--topic-config", "orders:remote.storage.enable=false")), ("false", tiered)):
        file.write_text(f"node.id=1\nremote.log.storage.system.enable={system}\n")
        if system == "true":
            assert "may begin in a remote tier" in refused(log_dir, *tiered, "--broker-config", str(file))
        run(log_dir, "--broker-config", str(file), *options)
    run(log_dir / "orders-1", "--config", "remote.storage.enable=false")


def test_nobody_is_asked_where_nobody_can_answer(log_dir):
    result = CliRunner().invoke(main, ["recover", str(log_dir)])
    assert result.exit_code == 1 and "--yes" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_the_settings_of_another_broker_are_refused(log_dir, tmp_path, name):
    MetaProperties("a-cluster", 1, ONE_UUID).write(log_dir / "meta.properties", 0)
    file = tmp_path / "server.properties"
    file.write_text(f"{name}=7\n")
    told = refused(log_dir, "--broker-config", str(file))
    assert "RuntimeException" in told and "Stored node id 1 doesn't match previous node id 7" in told
    file.write_text(f"{name}=1\n")
    recovered(log_dir, "--broker-config", str(file))


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_links_into_the_log_directory_of_a_running_broker_are_refused(tmp_path, options):
    with Log.open(tmp_path / "brokers" / "t-0") as log:
        log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, b"k", b"v")), 0)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "t-0").symlink_to(tmp_path / "brokers" / "t-0")
    lock = FileLock(tmp_path / "brokers" / ".lock")
    assert lock.try_lock()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused = run(tmp_path / "links", "--follow-links", *options, code=1)
    assert f"{tmp_path}/brokers/.lock is held: a broker is running" in refused.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    lock.destroy()
    run(tmp_path / "links", "--follow-links", *options)


@pytest.mark.parametrize(("days", "left"), [(7, [7, 8]), (None, [8])])
def test_producers_are_remembered_as_long_as_the_broker_says(tmp_path, days, left):
    def batch(producer_id: int, timestamp: int) -> MemoryRecords:
        return MemoryRecords.with_idempotent_records(
            CompressionType.NONE, producer_id, 0, 0, SimpleRecord(timestamp, b"k", b"v")
        )

    with Log.open(tmp_path / "data" / "t-0", {"segment.ms": LONG_MAX, "retention.ms": -1}) as log:
        log.append_as_leader(batch(7, NOW_MS - 3 * 86_400_000), 0)
        log.roll()
        log.append_as_leader(batch(8, NOW_MS - 1000), 0)
    broker = tmp_path / "server.properties"
    expiration = "" if days is None else f"producer.id.expiration.ms={days * 86_400_000}\n"
    broker.write_text(f"log.roll.ms={LONG_MAX}\nlog.retention.ms=-1\n{expiration}")
    run(tmp_path / "data", "--broker-config", str(broker), "--unclean-shutdown")
    with Log.open(tmp_path / "data" / "t-0") as log:
        entries = read_snapshot(max((tmp_path / "data" / "t-0").glob("*.snapshot")))
        assert sorted(entry.producer_id for entry in entries) == left and log.log_end_offset == 2
    broker.write_text("producer.id.expiration.ms=0\n")
    told = run(tmp_path / "data", "--broker-config", str(broker), code=1).stderr
    assert told.startswith("ConfigException: Invalid value 0 for configuration producer.id.expiration.ms")
