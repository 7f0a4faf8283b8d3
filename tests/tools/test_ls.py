"""`minikafka ls` tells what a log directory has, from a few reads, and changes nothing."""

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import termios
import time
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.log.segment_end import find_end
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_channel import FileChannel
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.tools.ls import listing_table
from minikafka.witness.kafka.kafka_log import KafkaLog
from tests.golden.places import GOLDEN
from tests.slow.fuzz.tool_runs import difference, tree
from tests.tools.kafkas_cleaning import log_to_clean

ROOT = Path(__file__).parents[2]
LAST_LOG = f"{68:020d}.log"
NOW = 1_700_000_000_000


@pytest.fixture
def log_dir(tmp_path) -> Path:
    shutil.copytree(GOLDEN, tmp_path / "log.dir")
    return tmp_path / "log.dir"


def run(directory: Path, *options: str, code: int = 0):
    result = CliRunner().invoke(main, ["ls", str(directory), *options], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def listed(directory: Path, code: int = 0) -> dict:
    """The one partition there."""
    (partition,) = json.loads(run(directory, "--json", code=code).stdout)["partitions"]
    return partition


def test_the_latest_record_may_lie_in_an_earlier_segment(tmp_path):
    """Old records were sent again behind it. A time index may lie, or be gone."""
    with Log.open(tmp_path / "t-0") as log:
        for late_by in (50, 0, 90, 70):
            record = SimpleRecord(NOW - late_by, b"k", b"v")
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), leader_epoch=0)
            log.roll()
    assert listed(tmp_path / "t-0")["last_timestamp"] == NOW
    time_indexes = sorted((tmp_path / "t-0").glob("*.timeindex"))
    time_indexes[0].write_bytes((NOW + 5).to_bytes(8, "big") + bytes(4))
    assert listed(tmp_path / "t-0")["last_timestamp"] == NOW
    time_indexes[1].unlink()
    assert listed(tmp_path / "t-0")["last_timestamp"] == NOW


def test_a_log_that_kafka_closed(log_dir):
    before = tree(log_dir, times=True)
    told = listed(log_dir)
    assert not difference(before, tree(log_dir, times=True))
    time = ManualTime(1_795_240_760_000)
    with_log = log_dir / "mixed-0"
    assert listed(with_log) == told
    with Log.create(with_log, LogConfig({}), scheduler=ManualScheduler(time), time=time) as log:
        assert told["log_start_offset"] == log.log_start_offset
        assert told["log_end_offset"] == log.log_end_offset
        assert told["segments"] == log.number_of_segments
        assert told["bytes"] == log.size
        assert told["last_timestamp"] == max(s.largest_timestamp for s in log.log_segments)
    assert (told["high_watermark"], told["recovery_point"]) == (69, 69)
    assert (told["first_timestamp"], told["cleaner_point"], told["dirty_ratio"]) == (1_700_000_000_000, None, None)
    assert (told["kind"], told["findings"]) == ("current", [])


def test_deleted_stray_and_future_directories(log_dir):
    for suffix in ("delete", "stray", "future"):
        shutil.copytree(log_dir / "mixed-0", log_dir / f"mixed-0.{'0' * 32}-{suffix}")
    (log_dir / "foo").mkdir()
    told = json.loads(run(log_dir, "--json").stdout)
    assert [each["kind"] for each in told["partitions"]] == ["current", "delete", "future", "stray"]
    assert [each["high_watermark"] for each in told["partitions"]] == [69, None, None, None]
    assert told["other_directories"] == ["foo"]


def test_the_cleaners_point_and_the_dirty_ratio(log_dir):
    sizes = {int(file.stem): file.stat().st_size for file in (log_dir / "mixed-0").glob("*.log")}
    bases = sorted(sizes)
    checkpoint = log_dir / "cleaner-offset-checkpoint"
    for n, base in enumerate(bases):
        checkpoint.write_text(f"0\n1\nmixed 0 {base}\n")
        clean, dirty = sum(sizes[b] for b in bases[:n]), sum(sizes[b] for b in bases[n:-1])
        told = listed(log_dir)
        assert told["cleaner_point"] == base and told["dirty_ratio"] == pytest.approx(dirty / (clean + dirty))
    checkpoint.write_text("0\n1\nmixed 0 0\n")
    (log_dir / "replication-offset-checkpoint").write_text(f"0\n1\nmixed 0 {bases[0]}\n")
    assert listed(log_dir)["dirty_ratio"] is None


def test_the_dirty_ratio_is_kafkas(kafka, log_dir):
    """Also where a point or the high watermark lies within a segment, or the point cannot be."""
    scheduler = ManualScheduler(time := ManualTime(1_795_240_760_000))
    shutil.copytree(log_dir / "mixed-0", log_dir.parent / "mixed-0")
    log = KafkaLog.create(kafka, log_dir.parent / "mixed-0", {}, scheduler=scheduler, time=time)
    for start, high_watermarks in {0: (0, 20, 46, 60, 69), 47: (47, 60, 69)}.items():
        log.update_high_watermark(69)
        log.maybe_increment_log_start_offset(start, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
        (log_dir / "log-start-offset-checkpoint").write_text(f"0\n1\nmixed 0 {start}\n")
        for point, high_watermark in product((0, 1, 20, 46, 50, 68, 69, 70, 2**63 - 1), high_watermarks):
            (log_dir / "cleaner-offset-checkpoint").write_text(f"0\n1\nmixed 0 {point}\n")
            (log_dir / "replication-offset-checkpoint").write_text(f"0\n1\nmixed 0 {high_watermark}\n")
            log.update_high_watermark(high_watermark)
            theirs = log_to_clean(kafka, log.unified_log, point, time.milliseconds())
            ours = listed(log_dir)["dirty_ratio"]
            is_nothing = theirs.totalBytes() == 0
            assert (ours is None) if is_nothing else ours == theirs.cleanableRatio(), (start, point, high_watermark)
    log.close()


def test_odd_things_are_told(log_dir):
    partition = log_dir / "mixed-0"
    with open(partition / LAST_LOG, "ab") as last:
        last.write(b"torn")
    (partition / f"{46:020d}.index").unlink()
    (partition / f"{9:020d}.log.cleaned").write_bytes(b"")
    os.mkfifo(partition / f"{99:020d}.log")
    (partition / "x.log").write_bytes(b"")
    (log_dir / "recovery-point-offset-checkpoint").write_text("0\n1\nmixed 0 70\n")
    told = listed(log_dir, code=1)
    assert sorted(told["findings"]) == [
        f"{99:020d}.log is a FIFO, not a regular file",
        "1 .cleaned file",
        "1 segment without .index",
        "4 bytes behind the last batch",
        "the recovery point 70 lies beyond the log's end 69",
        "x.log has no offset for a name",
    ]
    assert told["log_end_offset"] == 69
    plain = run(log_dir, code=1).stdout.splitlines()
    assert len(plain) == 2 and "4 bytes behind the last batch; " in plain[1]


@pytest.mark.parametrize("name", ["46.log", "-0000000000000000031.log", "\u0660" * 18 + "\u0669\u0660.log"])
def test_a_file_by_another_name_than_a_brokers_is_no_segment(log_dir, name):
    """Kafka takes the number of a name in any script and length, and opens the file that it would have made for it."""
    before = listed(log_dir)
    shutil.copy(log_dir / "mixed-0" / f"{46:020d}.log", log_dir / "mixed-0" / name)
    told = listed(log_dir)
    [finding] = told.pop("findings")
    assert finding.startswith(f"{name} is not read: a broker opens ") and finding.endswith(".log in its place")
    assert told == {key: value for key, value in before.items() if key != "findings"}


@pytest.mark.parametrize("kind", ["a FIFO", "a directory", "a socket", "a symbolic link to nowhere"])
def test_a_segment_that_is_no_file_is_told_as_unread(log_dir, kind, monkeypatch):
    file = log_dir / f"mixed-0/{99:020d}.log"
    monkeypatch.chdir(file.parent)  # the path of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        match kind:
            case "a FIFO":
                os.mkfifo(file)
            case "a directory":
                file.mkdir()
            case "a socket":
                listener.bind(file.name)
            case _:
                file.symlink_to("nowhere")
    result = run(log_dir, "--json", code=1)
    told = json.loads(result.stdout)
    assert told["unread"] == result.stderr.splitlines() and len(told["unread"]) == 1
    assert told["unread"][0].startswith(f"IOException: {file} is {kind}")
    assert told["partitions"][0]["segments"] == 5 and told["partitions"][0]["log_end_offset"] == 69


def test_a_second_directory_of_a_partition_is_told_of_it_alone_too(log_dir):
    shutil.copytree(log_dir / "mixed-0", log_dir / "mixed-00")
    found = ["a second directory of the partition of mixed-0"]
    assert [each["findings"] for each in json.loads(run(log_dir, "--json").stdout)["partitions"]] == [[], found]
    assert listed(log_dir / "mixed-00")["findings"] == found
    assert listed(log_dir / "mixed-0")["findings"] == []


def test_an_empty_partition_and_one_without_a_segment(log_dir):
    for name in ("empty-3", "none-0"):
        (log_dir / name).mkdir()
    (log_dir / f"empty-3/{7:020d}.log").write_bytes(b"")
    empty, _, none = json.loads(run(log_dir, "--json").stdout)["partitions"]
    assert (empty["log_start_offset"], empty["log_end_offset"], empty["last_timestamp"]) == (7, 7, None)
    assert (none["log_end_offset"], none["findings"]) == (None, ["no segment"])


def test_a_directory_in_use(log_dir):
    """Indexes as long as they may become, filled up with zeros, no mark, and a roll that has just been."""
    partition = log_dir / "mixed-0"
    for file in (*partition.glob("*.index"), *partition.glob("*.timeindex")):
        os.truncate(file, 10 << 20 if file.suffix == ".index" else 10485756)
    (log_dir / ".kafka_cleanshutdown").unlink()
    (partition / f"{69:020d}.log").write_bytes(b"")
    told = listed(log_dir)
    assert (told["log_end_offset"], told["segments"]) == (69, 6)
    assert told["last_timestamp"] == listed(GOLDEN)["last_timestamp"]
    assert json.loads(run(log_dir, "--json").stdout)["clean_shutdown"] is False


@pytest.mark.parametrize(
    "entry", [b"\0\0\0\0\0\0\0\1", b"\0\0\0\0\x7f\0\0\0", b"\xff" * 8, b"\0\0\0\4\0\0\0", b"\1" * 40]
)
def test_an_index_that_lies_is_not_believed(log_dir, entry):
    partition = log_dir / "mixed-0"
    whole = find_end(partition / LAST_LOG)
    (partition / LAST_LOG).with_suffix(".index").write_bytes(entry)
    assert find_end(partition / LAST_LOG) == whole


@pytest.mark.parametrize("damage", [b"", b"nonsense\n", b"0\n1\nmixed 0\n", b"\xff\xfe"])
def test_a_damaged_checkpoint_is_told_and_the_rest_listed(log_dir, damage):
    (log_dir / "replication-offset-checkpoint").write_bytes(damage)
    result = run(log_dir, "--json", code=1 if damage else 0)
    told = json.loads(result.stdout)
    assert told["partitions"][0]["high_watermark"] is None and told["partitions"][0]["log_end_offset"] == 69
    assert result.stderr.count("\n") == len(told["unread"]) == (1 if damage else 0)


def test_what_cannot_be_read_is_told_in_one_line(log_dir, monkeypatch, tmp_path):
    assert run(log_dir / "mixed-0/leader-epoch-checkpoint", code=1).stderr.startswith("IOException: Not a directory")
    assert run(tmp_path / "nowhere", code=1).stderr.startswith("NoSuchFileException: ")
    (tmp_path / "neither").mkdir()
    assert run(tmp_path / "neither", code=1).stderr.startswith("IllegalArgumentException: ")
    (log_dir / "other-0").mkdir()
    (log_dir / f"other-0/{0:020d}.log").write_bytes(b"")

    def refuse(log, *_, **__):
        if "mixed" in str(log):
            raise OSError(5, "Input/output error")
        return find_end(log)

    monkeypatch.setattr("minikafka.tools.ls.partition_listing.find_end", refuse)
    result = run(log_dir, code=1)
    assert result.stderr == f"IOException: Input/output error: {log_dir}/mixed-0/{LAST_LOG}\n"
    assert "other" in result.stdout


def test_a_disk_that_fails_at_any_read_is_told(log_dir, monkeypatch):
    sound, reads = listed(log_dir), []

    def ask(read, fails_at):
        def failing(channel, *arguments):
            reads.append(channel)
            if len(reads) == fails_at:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return read(channel, *arguments)

        return failing

    originals = {name: getattr(FileChannel, name) for name in ("read", "read_into")}
    for fails_at in range(1, 200):
        reads.clear()
        for name, read in originals.items():
            monkeypatch.setattr(FileChannel, name, ask(read, fails_at))
        result = CliRunner().invoke(main, ["ls", str(log_dir), "--json"], catch_exceptions=False)
        if len(reads) < fails_at:
            break
        assert result.exit_code == 1 and result.stderr.count("Input/output error") == 1, fails_at
    assert fails_at > 5 and json.loads(result.stdout)["partitions"] == [sound]


def test_a_checkpoint_that_the_disk_refuses_to_look_for_is_told(log_dir, monkeypatch):
    lstat = os.lstat

    def refusing(path, **options):
        if os.fspath(path).endswith("replication-offset-checkpoint"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))
        return lstat(path, **options)

    monkeypatch.setattr(os, "lstat", refusing)
    assert run(log_dir, code=1).stderr == f"IOException: Input/output error: {log_dir}/replication-offset-checkpoint\n"


def test_a_partition_that_goes_meanwhile_is_left_out(log_dir, monkeypatch):
    def go(directory):
        shutil.rmtree(directory.parent)
        raise FileNotFoundError(2, "No such file", str(directory))

    monkeypatch.setattr("minikafka.tools.ls.partition_listing.find_end", go)
    assert json.loads(run(log_dir, "--json").stdout)["partitions"] == []


def on_a_terminal(directory: Path, columns: int) -> list[str]:
    """The lines on a terminal so wide, without its colours."""
    import pty
    import re

    leader, follower = pty.openpty()
    code = (
        f"import os; os.environ.pop('COLUMNS', None); from minikafka.cli import main; main(['ls', {str(directory)!r}])"
    )
    termios.tcsetwinsize(follower, (24, columns))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    with subprocess.Popen([sys.executable, "-c", code], stdin=follower, stdout=follower, env=environment) as process:
        os.close(follower)
        data = b""
        try:
            while chunk := os.read(leader, 65536):
                data += chunk
        except OSError:
            pass  # the end of a terminal
        assert process.wait() == 0
    os.close(leader)
    return re.sub(r"\x1b\[[0-9;]*m", "", data.decode()).replace("\r", "").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "there", "gone"),
    [(60, ["topic", "end"], ["first", "last"]), (80, ["start", "HW", "size"], ["first"]), (140, ["first", "last"], [])],
)
def test_the_table_fits_the_terminal(log_dir, columns, there, gone):
    with open(log_dir / "mixed-0" / LAST_LOG, "ab") as last:
        last.write(b"torn")
    shutil.copytree(log_dir / "mixed-0", log_dir / "a-topic-with-a-name-of-some-length-0")
    lines = on_a_terminal(log_dir, columns)
    assert max(map(len, lines[:3])) <= columns
    heads = lines[0].split()
    assert set(there) <= set(heads) and not set(gone) & set(heads)
    assert "mixed-0: 4 bytes behind the last batch" in lines
    assert lines[-1].startswith("2 partitions, 10 segments, 7.4 KiB; the last stop was clean")


@pytest.mark.parametrize("with_properties", [True, False])
def test_no_tool_takes_a_folder_of_log_directories(log_dir, tmp_path, with_properties):
    """A log directory may have the name of a partition, `broker-0`, and is none."""
    folder = tmp_path / "brokers"
    shutil.copytree(log_dir, folder / "broker-0")
    if not with_properties:
        (folder / "broker-0" / "meta.properties").unlink(missing_ok=True)
    told = f"IllegalArgumentException: {folder} is neither a partition's directory nor a log directory"
    told += "; it holds log directories: broker-0\n"
    for command, code in (("ls", 1), ("verify", 2)):
        result = CliRunner().invoke(main, [command, str(folder)])
        assert (result.exit_code, result.stdout, result.stderr) == (code, "", told)
    assert CliRunner().invoke(main, ["recover", "--yes", str(folder)]).exit_code == 1
    assert not (folder / ".lock").exists() and sorted(os.listdir(folder)) == ["broker-0"]


def test_names_that_would_move_the_cursor(log_dir):
    os.rename(log_dir / "mixed-0", log_dir / "a\x1b[2Jb\nc-0")
    lines = run(log_dir).stdout.splitlines()
    assert len(lines) == 2 and lines[1].startswith("a\ufffd[2Jb\ufffdc ")


def test_times_beyond_the_calendar():
    assert listing_table._time(2**63 - 1, " ", "minutes") == str(2**63 - 1)
    assert listing_table._time(-5, " ", "minutes") == "-5"
    assert listing_table._time(253_402_300_799_999, "T", "milliseconds") == "9999-12-31T23:59:59.999"


@pytest.mark.slow
def test_a_thousand_partitions_take_two_seconds(tmp_path):
    model = tmp_path / "topic-0"  # links need it on their own disk
    model.mkdir()
    for file in (GOLDEN / "mixed-0").iterdir():
        if int(file.name.partition(".")[0]) in (0, 46, 68) if file.name[0].isdigit() else False:
            shutil.copy(file, model)
    for n in range(1, 1000):
        partition = tmp_path / f"topic-{n}"
        partition.mkdir()
        for file in model.iterdir():
            os.link(file, partition / file.name)
    for name in ("recovery-point-offset", "replication-offset", "log-start-offset"):
        lines = "".join(f"topic {n} 7\n" for n in range(1000))
        (tmp_path / f"{name}-checkpoint").write_text(f"0\n1000\n{lines}")
    start = time.process_time()
    told = json.loads(run(tmp_path, "--json").stdout)["partitions"]
    assert time.process_time() - start < 2
    assert len(told) == 1000 and {each["log_end_offset"] for each in told} == {69}
    assert TopicPartition(told[10]["topic"], told[10]["partition"]) == TopicPartition("topic", 10)
