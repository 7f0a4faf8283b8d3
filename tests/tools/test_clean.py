"""`minikafka clean` leaves the directory, and tells the numbers, that Kafka's own cleaner leaves and counts."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.checkpoint.meta_properties import MetaProperties
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.cli import main
from minikafka.common import file_ops
from minikafka.common.file_lock import FileLock
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import random_uuid
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_CHECKPOINT
from minikafka.log.log import Log
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.recover.offline_log import known_of
from minikafka.witness.directory_diff import directory_diff
from tests.slow.fuzz.mutations import mutate
from tests.slow.fuzz.origins import Origins
from tests.slow.fuzz.tool_runs import difference, tree
from tests.tools.kafkas_cleaning import KafkasCleaning
from tests.tools.noted_topics import note_topics

MEMORY = 1 << 16
COMPACTED = TopicPartition("compacted", 0)


KAFKA_FAILS = ("drawn-3", "drawn-12", "drawn-27")
"""Origins that Kafka's cleaner cannot clean: an old batch would become empty, an index is too small."""


@pytest.fixture(scope="module")
def origins(tmp_path_factory) -> Origins:
    return Origins(tmp_path_factory.mktemp("origins"))


@pytest.fixture
def partition(origins, tmp_path) -> Path:
    """A partition with something to clean; its log directory has no `.lock`, and no checkpoint of the cleaner."""
    return origins["compacted"].copy_to(tmp_path / "log.dir")


def run(directory: Path, *options: str, code: int = 0):
    consent = () if {"--dry-run", "--json"} & set(options) else ("--yes",)
    arguments = ["clean", str(directory), *consent, *options]
    if "--map-memory" not in options:
        arguments += ["--map-memory", str(MEMORY)]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def cleaned(directory: Path, *options: str) -> dict:
    return json.loads(run(directory, "--json", *options).stdout)


def settings(config: dict) -> list[str]:
    return [word for name, value in config.items() for word in ("--config", f"{name}={value}")]


class BothCleanings:
    """The same round by both, each on its copy of a log directory; what is told and left must be equal."""

    def __init__(self, kafka, tmp_path: Path):
        self._kafkas = KafkasCleaning(kafka)
        self._home = tmp_path

    def __call__(self, log_dir: Path, name: str, config: dict, now_ms: int, **limits) -> str:
        """Ends with "" or with the name of the exception. `log_dir` is left as ours left it."""
        theirs = self._home / "theirs"
        shutil.rmtree(theirs, ignore_errors=True)
        shutil.copytree(log_dir, theirs, symlinks=True)
        before = tree(log_dir, times=True)
        policy = {"cleanup.policy": "compact"} if "compact" not in config.get("cleanup.policy", "") else {}
        config = {**config, **policy}
        options = [w for key, value in limits.items() for w in (f"--{key.replace('_', '-')}", str(value))]
        arguments = [str(log_dir / name), "--json", "--now-ms", str(now_ms), *settings(config), *options]
        ours = CliRunner().invoke(main, ["clean", "--even-damaged", *arguments], catch_exceptions=False)
        partition = TopicPartition(name.rpartition("-")[0], int(name.rpartition("-")[2]))
        if not limits.keys() & {"first_dirty_offset"} and (theirs / CLEANER_CHECKPOINT).exists():
            cleaned_to = OffsetCheckpointFile(theirs / CLEANER_CHECKPOINT).read()
            limits["first_dirty_offset"] = cleaned_to.get(partition)
        if "high_watermark" not in limits and (theirs / HIGH_WATERMARK_CHECKPOINT_FILE).exists():
            limits["high_watermark"] = (
                OffsetCheckpointFile(theirs / HIGH_WATERMARK_CHECKPOINT_FILE).read().get(partition)
            )
        try:
            known = known_of(theirs, partition)
            told = self._kafkas(theirs / name, config, now_ms, known, **limits)
        except TOLD as error:
            failure = describe(error).replace(str(theirs), str(log_dir))
            line = ours.stderr.splitlines()[-1]
            assert ours.exit_code == 1 and line.partition(":")[0] == failure.partition(":")[0], (ours.stderr, failure)
            assert not difference(before, tree(log_dir, times=True))
            return line.partition(":")[0]
        assert ours.exit_code == 0, ours.stderr
        mine = {key: value for key, value in json.loads(ours.stdout).items() if key in told}
        assert mine == told
        directory_diff(log_dir / name, theirs / name).require()
        return ""


@pytest.fixture
def both(kafka, tmp_path):
    return BothCleanings(kafka, tmp_path)


@pytest.mark.parametrize(
    "origin", ["mixed", "orders", "killed", "old", "compacted", *(f"drawn-{n}" for n in range(30))]
)
def test_the_same_rounds_as_kafkas(both, origins, tmp_path, origin):
    """Three rounds, a day between them, so that tombstones and markers go."""
    made = origins[origin]
    made.copy_to(tmp_path / "ours")
    failures = []
    for day in range(3):
        now_ms = made.now_ms + day * 86_400_000
        failures.append(both(tmp_path / "ours", made.partition, made.config, now_ms, map_memory=MEMORY))
    assert any(failures) == (origin in KAFKA_FAILS), failures


@pytest.mark.parametrize(
    "limits",
    [
        {"high_watermark": 99},
        {"high_watermark": 60},
        {"high_watermark": -5},
        {"high_watermark": 10_000},
        {"first_dirty_offset": 54},
        {"first_dirty_offset": 70},
        {"first_dirty_offset": -9},
        {"first_dirty_offset": 10_000},
        {"first_dirty_offset": 54, "high_watermark": 54},
        {"map_memory": 100},
    ],
)
def test_the_bounds_of_a_round(both, origins, tmp_path, limits):
    made = origins["compacted"]
    made.copy_to(tmp_path / "ours")
    assert both(tmp_path / "ours", made.partition, made.config, made.now_ms, **{"map_memory": MEMORY, **limits}) == ""


@pytest.mark.slow
def test_damaged_directories(both, origins, tmp_path):
    """What Kafka's load or its cleaner dies of ends with the same name, and leaves the directory as it was."""
    seen = {}
    for seed in range(60):
        log_dir = tmp_path / "ours"
        shutil.rmtree(log_dir, ignore_errors=True)
        mutation = mutate(seed, origins, log_dir)
        config = {**mutation.settings}
        if any(path.is_symlink() or not path.is_file() for path in mutation.partition.iterdir()):
            continue  # ours looks first, Kafka's does not
        if mutation.partition.name == CLUSTER_METADATA_DIRECTORY:
            continue  # refused; no cleaner of Kafka's is given it
        failure = both(mutation.partition.parent, mutation.partition.name, config, mutation.now_ms, map_memory=MEMORY)
        seen[failure] = seen.get(failure, 0) + 1
    assert seen[""] > 20 and len(seen) > 2, seen


@pytest.mark.slow
def test_a_dry_run_foretells_the_round_and_changes_nothing(partition):
    before = tree(partition.parent, times=True)
    foretold = cleaned(partition, "--dry-run", "--now-ms", "1700000100000")
    told = run(partition, "--dry-run", "--now-ms", "1700000100000").stdout
    assert not difference(before, tree(partition.parent, times=True))
    assert foretold == cleaned(partition, "--now-ms", "1700000100000")
    sizes = sum(file.stat().st_size for file in partition.glob("*.log"))
    assert foretold["bytes_written"] < foretold["bytes_read"] and sum(s for _, s in foretold["segments"]) == sizes
    assert "on a copy" in told and "would be saved" in told


def test_the_cleaners_checkpoint_is_read_and_replaced(partition):
    checkpoint = partition.parent / "cleaner-offset-checkpoint"
    first = cleaned(partition)
    assert not checkpoint.exists() and first["first_dirty_offset"] == 0
    checkpoint.write_text("0\n2\nother 3 17\ncompacted 0 54\n")
    told = cleaned(partition)
    assert (told["first_dirty_offset"], told["next_dirty_offset"]) == (54, first["next_dirty_offset"])
    assert OffsetCheckpointFile(checkpoint).read() == {
        TopicPartition("other", 3): 17,
        COMPACTED: told["next_dirty_offset"],
    }
    before = checkpoint.read_text()
    run(partition, "--dry-run", "--first-dirty-offset", "0")
    assert checkpoint.read_text() == before


def orders(log_dir: Path, *, keys: bool = True) -> Path:
    """A partition of ten records of two keys in each of two segments, and a third segment."""
    with Log.open(log_dir / "orders-0") as log:
        for number in range(21):
            if number and number % 10 == 0:
                log.roll()
            record = SimpleRecord(1_700_000_000_000, b"k%d" % (number % 2) if keys else None, b"order %d" % number)
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
    return log_dir / "orders-0"


def test_a_topic_that_is_not_compacted_is_left_alone(tmp_path):
    partition = orders(tmp_path)
    note_topics(tmp_path, {"orders": {"cleanup.policy": "delete"}})
    before = tree(tmp_path, times=True)
    told = run(partition, code=1).output
    assert "cleanup.policy is not compact" in told and not difference(before, tree(tmp_path, times=True))
    assert cleaned(partition, "--dry-run", "--config", "cleanup.policy=compact")["messages_written"] == 2
    shutil.rmtree(tmp_path / "__cluster_metadata-0")
    note_topics(tmp_path, {"orders": {"cleanup.policy": "compact", "min.compaction.lag.ms": str(10**15)}})
    assert cleaned(partition, "--dry-run")["messages_read"] == 0, "the settings in the metadata log count"
    assert cleaned(partition, "--dry-run", "--config", "min.compaction.lag.ms=0")["messages_written"] == 2


def test_a_topic_that_the_metadata_log_has_without_a_policy_is_left_alone(tmp_path):
    """Kafka's default for a topic is delete; what the broker's own file says, nobody knows here."""
    partition = orders(tmp_path)
    note_topics(tmp_path, {"orders": {"retention.ms": "-1"}})
    before = tree(tmp_path, times=True)
    told = run(partition, "--yes", code=1).output
    assert "names no cleanup.policy of this topic" in told and not difference(before, tree(tmp_path, times=True))
    assert cleaned(partition, "--dry-run", "--config", "cleanup.policy=compact")["messages_written"] == 2
    told = run(tmp_path / "__cluster_metadata-0", "--yes", "--config", "cleanup.policy=compact", code=1).output
    assert "no cleaner touches the metadata log" in told and not difference(before, tree(tmp_path, times=True))
    shutil.rmtree(tmp_path / "__cluster_metadata-0")
    note_topics(tmp_path, {"other": {}})
    assert cleaned(partition, "--dry-run")["messages_written"] == 2, "nobody knows the topic"


def test_a_damaged_metadata_log_is_an_error_unless_the_policy_is_given(tmp_path):
    partition = orders(tmp_path)
    note_topics(tmp_path, {"orders": {"cleanup.policy": "compact"}})
    [log] = (tmp_path / "__cluster_metadata-0").glob("*.log")
    os.truncate(log, 70)
    log.write_bytes(log.read_bytes()[:20] + b"\xff" + log.read_bytes()[21:] + bytes(99))
    shutil.copy(log, log.with_name("00000000000000000015-0000000001.checkpoint"))
    assert "__cluster_metadata-0" in run(partition, "--dry-run", code=1).stderr
    assert cleaned(partition, "--dry-run", "--config", "cleanup.policy=compact")["messages_written"] == 2


def test_records_without_keys_stay_unless_somebody_says_that_the_topic_is_compacted(tmp_path):
    partition = orders(tmp_path, keys=False)
    before = tree(tmp_path, times=True)
    told = run(partition, code=1).output
    assert "would take away 20 records that have no key" in told and not difference(before, tree(tmp_path, times=True))
    assert cleaned(partition, "--dry-run", "--config", "cleanup.policy=compact")["invalid_messages_read"] == 20
    note_topics(tmp_path, {"orders": {"cleanup.policy": "compact,delete"}})
    assert cleaned(partition, "--dry-run")["invalid_messages_read"] == 20


def test_nothing_is_cleaned_above_the_noted_high_watermark(tmp_path):
    partition, noted = orders(tmp_path), tmp_path / HIGH_WATERMARK_CHECKPOINT_FILE
    OffsetCheckpointFile(noted).write({TopicPartition("orders", 0): 12})
    told = cleaned(partition, "--dry-run")
    assert (told["high_watermark"], told["first_uncleanable_offset"], told["messages_written"]) == (12, 10, 2)
    told = cleaned(partition, "--dry-run", "--high-watermark", "21")
    assert (told["high_watermark"], told["first_uncleanable_offset"]) == (21, 20)
    OffsetCheckpointFile(noted).write({TopicPartition("orders", 1): 12})
    assert cleaned(partition, "--dry-run")["high_watermark"] == 21
    noted.write_text("0\n1\norders 0 x\n")
    assert HIGH_WATERMARK_CHECKPOINT_FILE in run(partition, code=1).output


def test_replaced_files_are_gone(partition):
    run(partition)
    assert not [file.name for file in partition.iterdir() if file.name.endswith((".deleted", ".cleaned", ".swap"))]


def test_the_report(partition):
    told = run(partition, "--now-ms", "1700000100000").stdout
    assert told.startswith(f"{partition}: one round of the cleaner\n")
    for words in ("dirty              from 0 up to 99", "next round         from 99", "without a key", "saved"):
        assert words in told


# ---- what stops it


def refused(partition: Path, *options: str, code: int = 1) -> str:
    """One line, and nothing is changed."""
    before = tree(partition.parent, times=True)
    stderr = run(partition, *options, code=code).stderr
    assert not difference(before, tree(partition.parent, times=True))
    if code == 1:
        assert stderr.count("\n") == 1, stderr
    return stderr


def test_wrong_arguments(partition):
    assert refused(partition, "--config", "cleanup.policy=delete").startswith("IllegalArgumentException: ")
    assert refused(partition, "--config", "segment.bytes=x").startswith("ConfigException: ")
    assert refused(partition, "--map-memory", "47").startswith("IllegalArgumentException: ")
    assert "not in the range" in refused(partition, "--map-memory", "-1", code=2)
    assert "not in the range" in refused(partition, "--high-watermark", str(2**63), code=2)
    os.rename(partition, partition.with_name("nopartition"))
    assert refused(partition.with_name("nopartition")).startswith("KafkaException: ")


def test_nobody_to_ask(partition):
    result = CliRunner().invoke(main, ["clean", str(partition)])
    assert result.exit_code == 1 and "--yes" in result.stderr


@pytest.mark.parametrize("damage", ["nonsense\n", "0\n1\ncompacted 0\n", "0\n1\ncompacted 0 x\n"])
def test_a_damaged_checkpoint_of_the_cleaner(partition, damage):
    (partition.parent / "cleaner-offset-checkpoint").write_text(damage)
    assert refused(partition).split(":")[0] in ("KafkaStorageException", "NumberFormatException")


def test_a_damaged_batch_in_the_last_group_leaves_every_group(partition):
    """Small segments: the groups before it would have been replaced."""
    last_to_clean = partition / f"{54:020d}.log"
    data = bytearray(last_to_clean.read_bytes())
    data[-20] ^= 0xFF
    last_to_clean.write_bytes(data)
    told = refused(partition, "--even-damaged", "--config", "internal.segment.bytes=400")
    assert told.startswith("InvalidRecordException: ") and "minikafka-recover" not in told


@pytest.mark.parametrize("mark", [True, False], ids=["after a clean stop", "after another one"])
@pytest.mark.parametrize("segment", [0, 1])
def test_a_damaged_batch_is_neither_cut_off_nor_given_a_new_checksum(partition, mark, segment):
    """A load after an unclean stop would cut there, and the cleaner would write what the batch holds anew."""
    if mark:
        (partition.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    log = sorted(partition.glob("*.log"))[segment]
    sound = log.read_bytes()
    for position in (70, len(sound) - 3):
        log.write_bytes(sound[:position] + bytes([sound[position] ^ 1]) + sound[position + 1 :])
        for options in ((), ("--dry-run",)):
            told = refused(partition, *options)
            assert told.startswith(f"CorruptRecordException: {log}, position ") and "--even-damaged" in told
    log.write_bytes(sound[:-5])
    assert "in the midst of a batch" in refused(partition)
    log.write_bytes(sound)
    if not mark:
        with sorted(partition.glob("*.log"))[-1].open("ab") as last:
            last.write(sound[:40])  # the end of a write that was cut short
        run(partition)


def test_a_failure_of_the_disk_half_way_is_met_on_the_copy(partition, monkeypatch):
    from minikafka.common import file_ops

    def full(*_arguments, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file_ops, "replace_file", full)
    monkeypatch.setattr("minikafka.log.cleaner.cleaner.filter_to", full)
    assert "No space left on device" in refused(partition)


def test_no_room_for_a_copy(partition, monkeypatch):
    monkeypatch.setattr(
        "minikafka.tools.recover.before_recovery.shutil.disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0)
    )
    assert refused(partition).startswith("IOException: No space left on device")


def test_links_and_pipes(partition, tmp_path):
    os.rename(partition / f"{0:020d}.log", tmp_path / "elsewhere")
    (partition / f"{0:020d}.log").symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in refused(partition)
    (partition / f"{0:020d}.log").unlink()
    os.mkfifo(partition / f"{0:020d}.log")
    assert "FIFO" in refused(partition)


@pytest.mark.parametrize("make", ["a directory", "a FIFO", "a link elsewhere"])
def test_a_checkpoint_that_cannot_be_replaced(partition, tmp_path, make):
    checkpoint = partition.parent / CLEANER_CHECKPOINT
    checkpoint.write_text("0\n0\n")
    temporary = checkpoint.with_name(checkpoint.name + ".tmp")
    if make == "a directory":
        temporary.mkdir()
    elif make == "a FIFO":
        os.mkfifo(temporary)
    else:
        (tmp_path / "elsewhere").write_text("precious")
        temporary.symlink_to(tmp_path / "elsewhere")
    assert refused(partition).startswith(f"IOException: {temporary} is ")
    assert make != "a link elsewhere" or (tmp_path / "elsewhere").read_text() == "precious"


@pytest.mark.parametrize("name", [b"two words-0", b"two\nlines-0", b"\xff\xfe-0"])
def test_a_name_that_no_checkpoint_can_hold(partition, name):
    other = Path(os.fsdecode(os.fsencode(partition.parent) + b"/" + name))
    os.rename(partition, other)
    (partition.parent / CLEANER_CHECKPOINT).write_text("0\n0\n")
    assert refused(other).startswith("KafkaException: A checkpoint cannot hold the name of the topic")


@pytest.mark.parametrize("command", ["clean", "recover"])
def test_no_broker_starts_meanwhile(partition, monkeypatch, command):
    """A broker that has stopped has deleted `.lock`; where `meta.properties` names a broker, the tool makes it."""
    log_dir, held = partition.parent, []
    MetaProperties("cluster", 1, random_uuid()).write(log_dir / "meta.properties", 0)
    flush = file_ops.flush_dir

    def flush_dir(directory):
        held.append(not FileLock(log_dir / ".lock").try_lock())
        flush(directory)

    monkeypatch.setattr(file_ops, "flush_dir", flush_dir)
    result = CliRunner().invoke(main, [command, str(partition), "--yes"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert held and all(held) and not (log_dir / ".lock").exists()


def test_what_another_process_noted_before_it_let_go_of_the_lock(partition, monkeypatch):
    checkpoint = partition.parent / CLEANER_CHECKPOINT
    checkpoint.write_text("0\n0\n")

    @contextmanager
    def taken_at_last(_log_dir, *, in_place, follow_links):
        checkpoint.write_text("0\n2\nother 3 17\ncompacted 0 54\n")
        yield

    monkeypatch.setattr("minikafka.cli.clean.taken", taken_at_last)
    assert cleaned(partition)["first_dirty_offset"] == 54
    assert OffsetCheckpointFile(checkpoint).read()[TopicPartition("other", 3)] == 17


def test_a_second_process(partition):
    code = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True);"
        "sys.stdin.read()"
    )
    lock = partition.parent / ".lock"
    with subprocess.Popen([sys.executable, "-c", code, str(lock)], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout.readline() == "held\n"
        assert "a broker is running" in run(partition, code=1).stderr
        process.stdin.close()
    run(partition)
    with open(lock, "rb") as file:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_copies_are_taken_away(partition, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    run(partition)
    run(partition, "--dry-run")
    assert not list(scratch.iterdir())
