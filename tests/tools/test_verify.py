"""`minikafka verify` finds each kind of damage, says where and what Kafka would do, and changes no byte."""

import cProfile
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.errors import CorruptRecordException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.producer.snapshot_file import write_snapshot
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import SimpleRecord
from minikafka.testing import Broker
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.kafka_log import KafkaLog
from tests.golden.places import GOLDEN
from tests.slow.fuzz.origins import QUORUM_STATE, snapshot_of
from tests.tools.noted_topics import no_topic, note, note_topics, topic
from tests.tools.transactions_in_segments import append_transactions, of_transactions


@pytest.fixture
def log_dir(tmp_path) -> Path:
    shutil.copytree(GOLDEN, tmp_path / "log")
    return tmp_path / "log"


def verify(*arguments: Path | str, code: int) -> list[dict]:
    directories = [argument for argument in arguments if isinstance(argument, Path)]
    before = [tuple(sorted((p, p.read_bytes()) for p in d.rglob("*") if p.is_file())) for d in directories]
    result = CliRunner().invoke(main, ["verify", "--json", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    after = [tuple(sorted((p, p.read_bytes()) for p in d.rglob("*") if p.is_file())) for d in directories]
    assert before == after
    return json.loads(result.stdout)["findings"]


def test_what_a_broker_left_is_sound(log_dir):
    assert verify(log_dir, code=0) == []
    assert verify(log_dir / "mixed-0", code=0) == []
    text = CliRunner().invoke(main, ["verify", str(log_dir)])
    assert text.output == "1 partition sound\n"


def test_the_directory_that_one_is_in(log_dir, monkeypatch):
    monkeypatch.chdir(log_dir / "mixed-0")
    assert verify(Path("."), code=0) == []
    Path("x.swap").touch()
    [finding] = verify(Path("."), code=1)
    assert finding["next_start"] == "the load fails with NumberFormatException"


@pytest.mark.parametrize("other", ["mixed-00", "mixed-+0", "mixed-\u0660"])
def test_two_directories_of_one_partition_are_told_however_they_are_given(log_dir, other, monkeypatch):
    """Java reads these numbers as 0; tests/log/manager shows that no start of Kafka survives it."""
    shutil.copytree(log_dir / "mixed-0", log_dir / other)
    second, first = sorted([other, "mixed-0"], reverse=True)
    (told,) = verify(log_dir, code=1)
    assert told["file"] == str(log_dir / second) and told["next_start"] == "the broker does not start"
    assert told["what"] == f"a second directory of the partition of {first}"
    assert verify(log_dir / other, log_dir / "mixed-0", code=1) == [told]
    assert verify(log_dir / second, code=1) == [told]
    assert verify(log_dir / first, code=0) == []
    monkeypatch.chdir(log_dir / second)
    assert verify(Path("."), code=1) == [{**told, "file": "."}]


def test_directories_of_one_partition_in_two_log_directories_are_no_second_ones(log_dir, tmp_path):
    shutil.copytree(log_dir / "mixed-0", tmp_path / "other" / "mixed-00")
    assert verify(log_dir / "mixed-0", tmp_path / "other" / "mixed-00", code=0) == []


def flip(file: Path, position: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 1
    file.write_bytes(data)


def damage_table():
    log, index, time_index = f"{52:020d}.log", f"{52:020d}.index", f"{52:020d}.timeindex"
    return {
        "flipped bit of a record": (lambda d: flip(d / log, 70), log, "it stays (a clean start checks no batch)"),
        "torn tail of the last segment": (
            lambda d: (d / f"{68:020d}.log").write_bytes((d / f"{68:020d}.log").read_bytes()[:-1]),
            f"{68:020d}.log",
            "it stays, and no offset belongs to these bytes",
        ),
        "zeros at the end": (
            lambda d: (d / f"{68:020d}.log").write_bytes((d / f"{68:020d}.log").read_bytes() + bytes(18)),
            f"{68:020d}.log",
            "the load fails with CorruptRecordException",
        ),
        "missing offset index": (lambda d: (d / index).unlink(), index, "an empty one is made"),
        "missing time index": (lambda d: (d / time_index).unlink(), time_index, "an empty one is made"),
        "entry of the offset index": (lambda d: flip(d / index, 7), index, "it stays: an index is not checked"),
        "torn offset index": (lambda d: (d / index).write_bytes((d / index).read_bytes()[:-3]), index, "it stays"),
        "entry of the time index": (lambda d: flip(d / time_index, 7), time_index, "it stays"),
        "transaction index": (lambda d: flip(d / f"{52:020d}.txnindex", 9), f"{52:020d}.txnindex", "committed readers"),
        "missing transaction index": (
            lambda d: (d / f"{52:020d}.txnindex").unlink(),
            f"{52:020d}.txnindex",
            "it stays, and committed readers get its records",
        ),
        "last entry of the transaction index": (
            lambda d: (d / f"{52:020d}.txnindex").write_bytes((d / f"{52:020d}.txnindex").read_bytes()[:-34]),
            f"{52:020d}.txnindex",
            "it stays, and committed readers get its records",
        ),
        "first offset of an aborted transaction": (
            lambda d: flip(d / f"{52:020d}.txnindex", 11),
            f"{52:020d}.txnindex",
            "committed readers",
        ),
        "last stable offset of an aborted transaction": (
            lambda d: flip(d / f"{52:020d}.txnindex", 30),
            f"{52:020d}.txnindex",
            "committed readers",
        ),
        "snapshot": (lambda d: flip(d / f"{69:020d}.snapshot", 2), f"{69:020d}.snapshot", "the file is written anew"),
        "snapshot that is not needed": (
            lambda d: flip(d / f"{64:020d}.snapshot", 12),
            f"{64:020d}.snapshot",
            "it stays",
        ),
        "stray snapshot": (
            lambda d: shutil.copy(d / f"{64:020d}.snapshot", d / f"{5:020d}.snapshot"),
            f"{5:020d}.snapshot",
            "it is deleted",
        ),
        "epochs": (
            lambda d: (d / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 900\n"),
            "leader-epoch-checkpoint",
            "the file is written anew",
        ),
        "epochs that cannot be read": (
            lambda d: (d / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n"),
            "leader-epoch-checkpoint",
            "the load fails with KafkaStorageException",
        ),
        "topic id": (
            lambda d: (d / "partition.metadata").write_text("version: 0\ntopic_id: x"),
            "partition.metadata",
            "the load fails",
        ),
        "deleted leftover": (lambda d: (d / f"{1:020d}.log.deleted").touch(), f"{1:020d}.log.deleted", "it is deleted"),
        "cleaned leftover": (lambda d: (d / f"{1:020d}.log.cleaned").touch(), f"{1:020d}.log.cleaned", "it is deleted"),
        "swap leftover": (lambda d: (d / f"{0:020d}.log.swap").touch(), f"{0:020d}.log.swap", "completed"),
        "orphan index": (lambda d: (d / f"{1:020d}.index").touch(), f"{1:020d}.index", "it is deleted"),
        "foreign file": (lambda d: (d / "notes.txt").touch(), "notes.txt", "it stays"),
    }


@pytest.mark.parametrize("name", damage_table())
def test_damage_is_found_where_it_is(log_dir, name):
    damage, file, fate = damage_table()[name]
    damage(log_dir / "mixed-0")
    findings = verify(log_dir / "mixed-0", code=1)
    assert any(Path(f["file"]).name == file and fate in f["next_start"] for f in findings), findings


@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("clean", [True, False])
def test_an_abort_is_missed_where_the_records_lie_in_earlier_segments(tmp_path, segments, clean):
    partition = of_transactions(tmp_path / "t-0", *["write", "roll"] * segments, "ABORT")
    if clean:
        (tmp_path / ".kafka_cleanshutdown").touch()
    (finding,) = verify(partition, code=1)
    assert finding == {
        "file": str(partition / f"{segments:020}.txnindex"),
        "position": None,
        "offset": segments,
        "what": f"no entry names the transaction of producer 5 that was aborted at offset {segments}",
        "fate": "stays" if clean else "made",
        "next_start": "it stays, and committed readers get its records" if clean else "it is made anew",
    }


@pytest.mark.parametrize(
    "steps",
    [
        ("write", "roll", "COMMIT", "roll", "ABORT"),
        ("write", "COMMIT", "roll", "ABORT"),
        ("write", "roll", "COMMIT", "ABORT"),
        ("write", "roll", "write", "roll", "COMMIT"),
    ],
)
def test_an_abort_of_no_record_has_no_entry(tmp_path, steps):
    partition = of_transactions(tmp_path / "t-0", *steps)
    (tmp_path / ".kafka_cleanshutdown").touch()
    assert verify(partition, code=0) == []


@pytest.mark.parametrize("lost", ["the segment's end", "the segment"])
def test_an_abort_after_what_cannot_be_read_is_not_missed(tmp_path, lost):
    """The lost bytes may have had the marker of the records that come before them."""
    partition = of_transactions(tmp_path / "t-0", "write", "roll", "COMMIT", "roll", "ABORT")
    (tmp_path / ".kafka_cleanshutdown").touch()
    if lost == "the segment":
        for file in partition.glob(f"{1:020}.*"):
            file.unlink()
        assert len(notes(partition)) == 1
    else:
        os.truncate(partition / f"{1:020}.log", 77)
        assert not any("was aborted" in finding["what"] for finding in verify(partition, code=1))


def test_after_an_unclean_stop_the_segment_is_cut(log_dir):
    (log_dir / ".kafka_cleanshutdown").unlink()
    (log_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    flip(log_dir / f"mixed-0/{52:020d}.log", 70)
    [finding] = [f for f in verify(log_dir, code=1) if f["file"].endswith(f"{52:020d}.log")]
    assert finding["next_start"] == "the segment is cut here, and every later segment is deleted"
    assert (finding["position"], finding["offset"]) == (0, 52)


@pytest.mark.slow
def test_no_flipped_bit_of_a_log_goes_unseen(log_dir):
    draw = random.Random(3)
    for _ in range(40):
        file = log_dir / f"mixed-0/{draw.choice((0, 46, 52, 64, 68)):020d}.log"
        sound = file.read_bytes()
        position = draw.randrange(len(sound))
        if any(start + 12 <= position < start + 16 for start in batch_starts(sound)):
            continue  # the leader epoch lies outside the CRC; the epochs' own test finds it
        flip(file, position)
        assert verify(log_dir, code=1), (file, position)
        file.write_bytes(sound)
    directory_diff(log_dir, GOLDEN).require()


def batch_starts(data: bytes) -> list[int]:
    starts, position = [], 0
    while position < len(data):
        starts.append(position)
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return starts


def test_what_cannot_be_read(log_dir, tmp_path):
    verify(tmp_path / "absent-0", code=2)
    (tmp_path / "empty").mkdir()
    verify(tmp_path / "empty", code=2)
    told = CliRunner().invoke(main, ["verify", str(tmp_path / "empty")]).stderr
    assert told.startswith("IllegalArgumentException: ") and told.count("\n") == 1


CHECKPOINTS = {
    "recovery-point-offset-checkpoint": (
        "warned of",
        "a warning is logged and every recovery point is taken as 0",
    ),
    "log-start-offset-checkpoint": (
        "warned of",
        "a warning is logged and every log starts at its first segment",
    ),
    "replication-offset-checkpoint": ("stays", "it stays, and the partitions take no records"),
    "cleaner-offset-checkpoint": ("stays", "it stays, and the threads of the cleaner end"),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_checkpoints_of_a_log_directory(log_dir, name):
    """What Kafka does about each, `test_recover_log_dir.py` asks it."""
    for content in (b"0\n5\n", b"nonsense\n", b"1\n0\n", b"0\n1\nmixed 0\n", random.Random(1).randbytes(300)):
        (log_dir / name).write_bytes(content)
        [finding] = verify(log_dir, code=1)
        assert (finding["fate"], finding["next_start"]) == ("offline", "the directory goes offline"), content
    for content in (b"0\n1\nmixed zero 5\n", b"0\n1\nmixed 0 x\n", b"0\n-1\n"):
        (log_dir / name).write_bytes(content)
        [finding] = verify(log_dir, code=1)
        assert (finding["fate"], finding["next_start"]) == CHECKPOINTS[name], content


@pytest.mark.parametrize(
    ("name", "noted"),
    [
        ("replication-offset-checkpoint", "the high watermark"),
        ("recovery-point-offset-checkpoint", "the recovery point"),
        ("cleaner-offset-checkpoint", "the cleaner's point"),
    ],
)
def test_a_checkpoint_beyond_the_end_is_told_as_ls_tells_it(log_dir, name, noted):
    (log_dir / name).write_text("0\n1\nmixed 0 69\n")
    assert verify(log_dir, code=0) == []
    (log_dir / name).write_text("0\n1\nmixed 0 70\n")
    for given in (log_dir, log_dir / "mixed-0"):
        (finding,) = verify(given, code=1)
        assert finding["what"] == f"{noted} 70 lies beyond the log's end 69"
        assert (finding["file"], finding["next_start"]) == (str(log_dir / name), "it stays")
    ls = CliRunner().invoke(main, ["ls", "--json", str(log_dir)], catch_exceptions=False)
    assert json.loads(ls.stdout)["partitions"][0]["findings"] == [finding["what"]]
    (log_dir / "mixed-0").rename(log_dir / f"mixed-0.{'a' * 32}-stray")
    assert verify(log_dir, code=0) == []


def test_the_metadata_log_is_sound(log_dir):
    note_topics(log_dir, {"t": {}})
    partition = log_dir / "__cluster_metadata-0"
    (partition / "quorum-state").write_text(QUORUM_STATE)
    (partition / f"{1:020d}-{0:010d}.checkpoint").write_bytes(snapshot_of(b"", 1))
    assert verify(partition, code=0) == []
    (partition / f"{56:020d}-{1:010d}123.checkpoint.part").touch()
    (partition / f"{40:020d}-{1:010d}.checkpoint.deleted").touch()
    assert [finding["next_start"] for finding in verify(partition, code=1)] == ["it is deleted"] * 2


@pytest.mark.slow
def test_no_mark_vouches_for_the_metadata_log(tmp_path):
    """Kafka loads it as after a kill, whatever lies beside it: the tail is cut, the indexes are made again."""
    with Broker(tmp_path / "d", topics={"t": 2}) as broker:
        for partition in (0, 1):  # whose topic id is on the disk with its first record
            broker.append("t", partition, b"a")
        broker.kill()
        metadata = tmp_path / "d" / "__cluster_metadata-0"
        segment = metadata / f"{0:020d}.log"
        sound = segment.read_bytes()
        assert verify(tmp_path / "d", code=0) == []
        (tmp_path / "d" / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
        for given, code in ((tmp_path / "d", 1), (metadata, 0)):  # the other logs' indexes were not trimmed
            assert [each for each in verify(given, code=code) if metadata.name in each["file"]] == []
        segment.write_bytes(sound + b"junk" * 6)
        for given in (tmp_path / "d", metadata):
            [finding] = (each for each in verify(given, code=1) if metadata.name in each["file"])
            assert finding["next_start"].startswith("the segment is cut here")
        told = CliRunner().invoke(main, ["recover", "--yes", str(metadata)], catch_exceptions=False).output
        assert "loaded as after an unclean stop" in told and segment.read_bytes() == sound
        broker.start()
        assert segment.read_bytes().startswith(sound)


def test_a_million_bad_entries_of_an_index_are_summed_up(log_dir):
    """Each of them as a finding would take a gigabyte."""
    (log_dir / f"mixed-0/{0:020d}.timeindex").write_bytes(b"\xff" * 12 * 5_000)
    found = verify(log_dir / "mixed-0", code=1)
    assert len(found) < 150 and found[-1]["what"] == "4900 more findings in this index"


def test_a_partition_that_waits_for_deletion_was_not_closed(log_dir):
    """Its indexes are not trimmed and its epochs are gone, even after a clean stop."""
    partition = (log_dir / "mixed-0").rename(log_dir / f"mixed-0.{'a' * 32}-delete")
    (partition / "leader-epoch-checkpoint").write_text("0\n0\n")
    for suffix in ("index", "timeindex"):
        with open(partition / f"{68:020d}.{suffix}", "ab") as file:
            file.write(bytes(240))
    assert verify(log_dir, code=0) == []
    partition.rename(log_dir / "mixed-0")
    assert len(verify(log_dir, code=1)) >= 2


def test_epochs_below_a_forgotten_log_start(log_dir):
    """DeleteRecords cuts the epochs at once; the start itself is forgotten by a kill before its checkpoint."""
    epochs = log_dir / "mixed-0" / "leader-epoch-checkpoint"
    for first, log_start, is_noted in ((30, 0, True), (30, 17, True), (30, 30, False), (0, 0, False)):
        epochs.write_text(f"0\n1\n0 {first}\n")
        (log_dir / "log-start-offset-checkpoint").write_text(f"0\n1\nmixed 0 {log_start}\n")
        told = json.loads(CliRunner().invoke(main, ["verify", "--json", str(log_dir)]).stdout)
        what = (
            "the batch has leader epoch 0, and leader-epoch-checkpoint begins at offset 30: normal where a kill has "
            "lost a log start, else epochs are lost"
        )
        assert told["findings"] == [] and [note["what"] for note in told["notes"]] == [what] * is_noted
        assert all(log_start - 10 < note["offset"] <= log_start for note in told["notes"])


def test_a_batch_that_was_compacted_away(tmp_path):
    """A snapshot knows the last batch before it, of which compaction kept nothing as the producer has a later one."""
    clock = ManualTime(1_000)
    scheduler = ManualScheduler(clock)
    directory = tmp_path / "compacted-0"
    log = Log.create(directory, LogConfig({}), scheduler=scheduler, time=clock)
    log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(900, b"k", b"v")), 0)
    kept = log.size
    for sequence in (0, 1):
        record = SimpleRecord(800, b"k", b"w")
        log.append_as_leader(MemoryRecords.with_idempotent_records(CompressionType.NONE, 5, 0, sequence, record), 0)
        log.roll()
    log.close()
    assert verify(directory, code=0) == []
    with open(directory / f"{0:020d}.log", "r+b") as file:
        file.truncate(kept)
    assert verify(directory, code=0) == []
    with open(directory / f"{2:020d}.log", "r+b") as file:
        file.write((1).to_bytes(8, "big"))
    assert verify(directory, code=1)


def partition_of(directory: Path, *batches: bytes, zeros: int = 0, index_bytes: int = 0) -> Path:
    """A partition of one segment without a line of index, as it stands after a kill."""
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(b"".join(batches) + bytes(zeros))
    for suffix in ("index", "timeindex"):
        (directory / f"{0:020d}.{suffix}").write_bytes(bytes(index_bytes))
    (directory / "leader-epoch-checkpoint").write_text("0\n0\n")
    return directory


def batch(offset: int, epoch: int = -1, magic: int = 2) -> bytes:
    builder = MemoryRecordsBuilder(
        Compression(CompressionType.NONE), magic=magic, base_offset=offset, partition_leader_epoch=epoch
    )
    builder.append(1_000, b"k", b"v")
    return bytes(builder.build().buffer)


@pytest.mark.parametrize("magic", [3, 6, 127])
@pytest.mark.parametrize("clean", [True, False])
def test_a_magic_above_the_highest(kafka, tmp_path, magic, clean):
    """The checksum does not cover it, and no load of Kafka's looks at it; whoever gets the batch does."""
    first = batch(0)
    second = batch(1)[:16] + bytes([magic]) + batch(1)[17:]
    partition = partition_of(tmp_path / "magic-0", first, second)
    if clean:
        (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    # Nobody has closed the log, and so its time index has no entry.
    [finding] = (each for each in verify(partition, code=1) if not each["file"].endswith(".timeindex"))
    assert (finding["position"], finding["offset"], finding["fate"]) == (len(first), 1, "stays")
    assert finding["what"] == f"the batch has magic {magic}, above 2"
    assert finding["next_start"] == "it stays, and consumers and followers fail on it"
    clock = ManualTime(1_000)
    log = KafkaLog.create(
        kafka, partition, {}, log_start_offset=0, recovery_point=0, scheduler=ManualScheduler(clock), time=clock,
        last_shutdown_clean=clean,
    )  # fmt: skip
    assert log.log_end_offset == 2
    log.close_handlers()
    assert (partition / f"{0:020d}.log").read_bytes() == first + second
    received = kafka.records(second)
    with pytest.raises(CorruptRecordException, match=f"Invalid magic found in record: {magic}"), kafka_errors():
        received.batches().iterator().hasNext()


def test_epochs_before_a_batch_of_an_old_format(tmp_path):
    """Kafka forgets the epochs when it appends one."""
    assert verify(partition_of(tmp_path / "old-0", batch(0, epoch=3), batch(1, magic=1)), code=0) == []
    assert verify(partition_of(tmp_path / "old-1", batch(0, magic=1), batch(1, epoch=3)), code=1)


def test_a_killed_segment_of_full_size(tmp_path):
    """Indexes without an entry, and with preallocate=true the segment itself, end in zeros until the log is closed."""
    smallest = 1 << 20
    assert verify(partition_of(tmp_path / "killed-0", batch(0), index_bytes=8 * 12 * 100), code=0) == []
    size = smallest - len(batch(0))
    assert verify(partition_of(tmp_path / "killed-1", batch(0), zeros=size, index_bytes=9600), code=0) == []
    with open(tmp_path / f"killed-1/{0:020d}.log", "r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    assert verify(tmp_path / "killed-1", code=1)
    assert verify(partition_of(tmp_path / "killed-2", batch(0), zeros=40), code=1)
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    assert verify(tmp_path / "killed-0", code=1)


def fates_of_segments(directory: Path) -> list[tuple[str, str]]:
    """Name and fate of each finding in a segment, in the order in which they are reported."""
    found = [(Path(finding["file"]).name, finding["fate"]) for finding in verify(directory, code=1)]
    return [(f"{int(name.split('.')[0])}.log", fate) for name, fate in found if name.endswith(".log")]


def test_a_split_is_told_with_the_offset_that_does_not_fit_and_not_again(tmp_path):
    far = partition_of(tmp_path / "far-0", batch(0), batch(2**31 + 5))
    assert fates_of_segments(far) == [("0.log", "split")]


def test_a_segment_that_goes_is_told_once(tmp_path):
    replaced = partition_of(tmp_path / "replaced-0", batch(0), batch(1))
    for offset in (2, 3):
        (replaced / f"{offset:020d}.log").write_bytes(batch(offset))
    (replaced / f"{0:020d}.log.swap").write_bytes(batch(0) + batch(1) + batch(2))
    assert fates_of_segments(replaced) == [("0.log", "deleted"), ("2.log", "deleted")]
    flip(replaced / f"{2:020d}.log", 65)  # a finding of its own, which has the same fate
    assert fates_of_segments(replaced) == [("2.log", "deleted"), ("0.log", "deleted")]


def test_segments_behind_a_cut_are_told_with_it(tmp_path):
    cut = partition_of(tmp_path / "cut-0", batch(0), batch(1))
    for offset in (2, 3):
        (cut / f"{offset:020d}.log").write_bytes(batch(offset))
    flip(cut / f"{0:020d}.log", len(batch(0)) + 65)
    assert fates_of_segments(cut) == [("0.log", "cut")]


def test_a_stray_snapshot_is_sound(tmp_path):
    """The one that a close made at the log's end stays when the next segment begins elsewhere."""
    clock = ManualTime(1_000)
    for appends in (1, 2):
        log = Log.create(tmp_path / "reopened-0", LogConfig({}), scheduler=ManualScheduler(clock), time=clock)
        for _ in range(appends):
            log.append_as_leader(MemoryRecords.readable_records(batch(0)), 0)
        log.roll()
        log.append_as_leader(MemoryRecords.readable_records(batch(0)), 0)
        log.close()
    assert [path.name for path in sorted(tmp_path.glob("*/*2.snapshot"))] == [f"{2:020d}.snapshot"]
    assert verify(tmp_path / "reopened-0", code=0) == []


# What cannot be read, and what must not be opened


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def verify_process(*arguments: object, shell: str = "") -> subprocess.CompletedProcess:
    """Runs the command in a process of its own, after `shell`."""
    command = shlex.join([sys.executable, "-m", "minikafka", "verify", *map(os.fspath, arguments)])
    return subprocess.run(
        ["bash", "-c", f"{shell} {command}"], env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )


def verify_as_nobody(directory: Path) -> subprocess.CompletedProcess:
    """Runs the command as a user to whom modes apply: root lays its rights down, once all is imported."""
    process = """
import os, sys
from click.testing import CliRunner
from minikafka.cli import main
if os.geteuid() == 0:
    CliRunner().invoke(main, ["verify", sys.argv[2]])
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
sys.argv = ["minikafka", "verify", sys.argv[1]]
main()
"""
    command = [sys.executable, "-c", process, str(directory), str(GOLDEN)]
    (directory.parent / "tmp").mkdir(mode=0o777, exist_ok=True)
    (directory.parent / "tmp").chmod(0o777)
    environment = {**ENVIRONMENT, "TMPDIR": str(directory.parent / "tmp")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def open_log_dir(log_dir):
    """A log directory that any user reaches, with a second partition; all modes are mended afterwards."""
    place = Path(tempfile.mkdtemp(prefix="minikafka-test-"))
    place.chmod(0o755)
    copy = shutil.copytree(log_dir, place / "log")
    shutil.copytree(copy / "mixed-0", copy / "other-0")
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield copy
    for path in (copy, *(copy / name for name in os.listdir(copy))):
        path.chmod(0o755)
    shutil.rmtree(place)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_partition_that_may_not_be_read_keeps_no_other_from_being_checked(open_log_dir, mode):
    (open_log_dir / "mixed-0").chmod(mode)
    (open_log_dir / f"other-0/{1:020d}.log.deleted").touch()
    run = verify_as_nobody(open_log_dir)
    assert run.returncode == 2
    assert "IOException: Permission denied: " in run.stderr and "Traceback" not in run.stderr
    assert "left over from a deletion" in run.stdout and "mixed-0" not in run.stdout


@pytest.mark.slow
def test_a_file_that_may_not_be_read_is_one_line(open_log_dir):
    unreadable = [
        open_log_dir / "mixed-0" / name
        for name in (
            "leader-epoch-checkpoint",
            "partition.metadata",
            f"{69:020d}.snapshot",
            f"{52:020d}.log",
            f"{0:020d}.index",
            f"{46:020d}.timeindex",
        )
    ] + [open_log_dir / "meta.properties"]
    for file in unreadable:
        file.chmod(0)
    run = verify_as_nobody(open_log_dir)
    assert run.returncode == 2
    assert run.stdout == ""
    assert sorted(run.stderr.splitlines()) == sorted(f"IOException: Permission denied: {file}" for file in unreadable)


@pytest.mark.slow
def test_links_are_told_and_not_followed(log_dir, tmp_path):
    partition = log_dir / "mixed-0"
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.move(partition / f"{52:020d}.log", tmp_path / "elsewhere")
    (partition / f"{52:020d}.log").symlink_to(moved)
    verify(log_dir, code=2)
    assert verify(log_dir, "--follow-links", code=0) == []
    (partition / "loop").symlink_to("loop")
    (partition / "dangling").symlink_to("nowhere")
    for options in ((), ("--follow-links",)):
        run = verify_process(log_dir, *options)
        assert run.returncode == 2 and "Traceback" not in run.stderr
        assert {"loop", "dangling"} <= set(re.findall(r"/(\w+) is a symbolic link", run.stderr))


@pytest.mark.slow
def test_a_name_with_a_line_break_is_one_line(log_dir):
    (log_dir / "mixed-0" / "a\nb.log").mkdir()
    (log_dir / "mixed-0" / "c\nd").write_bytes(b"")
    run = verify_process(log_dir / "mixed-0")
    (line,) = run.stderr.splitlines()
    assert run.returncode == 2 and re.fullmatch(r"IOException: .*/a b\.log is a directory, not a regular file", line)
    assert [line.startswith(str(log_dir)) for line in run.stdout.splitlines()] == [True]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["mixed-0/00000000000000000052.log", "mixed-0/00000000000000000000.index",
    "mixed-0/leader-epoch-checkpoint", "mixed-0/partition.metadata", "mixed-0/00000000000000000069.snapshot",
    "mixed-0/notes", "recovery-point-offset-checkpoint", "meta.properties"])  # fmt: skip
def test_a_fifo_is_told_and_not_waited_for(log_dir, place):
    (log_dir / place).unlink(missing_ok=True)
    os.mkfifo(log_dir / place)
    run = verify_process(log_dir)
    assert run.returncode == 2
    assert f"{place} is a FIFO, not a regular file" in run.stderr
    assert "missing" not in run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("place", ["mixed-0/00000000000000000069.snapshot", "mixed-0/00000000000000000052.txnindex",
    "mixed-0/00000000000000000000.index", "mixed-0/leader-epoch-checkpoint", "mixed-0/partition.metadata",
    "meta.properties", "recovery-point-offset-checkpoint"])  # fmt: skip
def test_a_file_of_twenty_gigabytes_is_not_read(log_dir, place):
    with open(log_dir / place, "ab") as file:
        file.truncate(20 << 30)
    run = verify_process(log_dir, shell="ulimit -v 2000000;")
    assert run.returncode == 2
    assert f"{place} is not read: it has {20 << 30} bytes" in run.stderr


@pytest.mark.slow
def test_a_batch_that_decompresses_to_gigabytes(tmp_path):
    zeros = bytes(1 << 20)
    compressor = zlib.compressobj(wbits=31)
    stream = b"".join(compressor.compress(zeros) for _ in range(768)) + compressor.flush()
    body = bytes([1, 1]) + bytes(8) + b"\xff" * 4 + len(stream).to_bytes(4, "big") + stream
    message = zlib.crc32(body).to_bytes(4, "big") + body
    data = (0).to_bytes(8, "big") + len(message).to_bytes(4, "big") + message
    run = verify_process(partition_of(tmp_path / "bomb-0", data), shell="ulimit -v 1000000;")
    assert (run.returncode, run.stderr) == (1, "")
    assert "its records cannot be read" in run.stdout


@pytest.mark.parametrize("attributes", range(8))
@pytest.mark.parametrize("magic", [0, 1])
def test_damaged_messages_of_old_formats_are_findings(tmp_path, magic, attributes):
    """The check goes on behind them."""
    wrong = (1 << 30).to_bytes(4, "big")
    for rest in (wrong + bytes(8), b"\xff" * 4 + wrong + bytes(8), b"\xff" * 4 + b"\0\0\0\x08garbage!"):
        body = bytes([magic, attributes]) + bytes(8 * magic) + rest
        message = zlib.crc32(body).to_bytes(4, "big") + body
        data = (0).to_bytes(8, "big") + len(message).to_bytes(4, "big") + message
        torn = batch(1)[:-1]
        partition = partition_of(tmp_path / f"old-{rest.hex()[:24]}-0", data, torn)
        findings = verify(partition, code=1)
        assert {f["position"] for f in findings} >= {len(data)} | (
            {0} if b"garbage" not in rest or attributes else set()
        )


@pytest.mark.slow
def test_files_that_are_cut_meanwhile(log_dir):
    """No index is mapped: a mapped file that becomes shorter ends the process."""
    partition = log_dir / "mixed-0"
    cut = subprocess.Popen(
        [sys.executable, "-c", CUTTER, *(str(f) for f in partition.iterdir() if f.suffix != ".metadata")]
    )
    try:
        for _ in range(2):
            run = verify_process(log_dir)
            assert run.returncode in (0, 1, 2), run
            assert "Traceback" not in run.stderr
    finally:
        cut.terminate()
        cut.wait()


CUTTER = """
import os, sys
sound = {path: open(path, "rb").read() for path in sys.argv[1:]}
while True:
    for path in sound:
        os.truncate(path, 0)
    for path, data in sound.items():
        with open(path, "r+b") as file:
            file.write(data)
"""


# Streams and names


@pytest.mark.slow
def test_a_reader_who_leaves_is_no_finding(log_dir):
    closed = (
        f"({shlex.quote(sys.executable)} -m minikafka verify {shlex.quote(str(log_dir))}; echo $? >&2) | true; true"
    )
    run = subprocess.run(["bash", "-c", closed], env=ENVIRONMENT, capture_output=True)
    assert run.stderr.split() == [b"0"]


@pytest.mark.parametrize("topic", ["two words", "two\nlines", "tab\t"])
def test_a_name_that_no_checkpoint_can_hold(tmp_path, topic):
    """`recover` refuses it. What Kafka does, `test_recover_log_dir.py` asks it."""
    with Log.open(tmp_path / "d" / f"{topic}-0") as log:
        log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, b"k", b"v")), 0)
    for given in (tmp_path / "d", tmp_path / "d" / f"{topic}-0"):
        (finding,) = verify(given, code=1)
        assert finding == {
            "file": str(tmp_path / "d" / f"{topic}-0"),
            "position": None,
            "offset": None,
            "what": f"KafkaException: A checkpoint cannot hold the name of the topic {topic!r}",
            "fate": "offline",
            "next_start": "it is loaded, and the checkpoints that name it then take the directory offline at the start "
            "after that",
        }


@pytest.mark.slow
def test_names_that_are_no_utf_8(log_dir):
    partition = os.fsencode(log_dir) + b"/p\xff-0"
    shutil.copytree(os.fsencode(log_dir / "mixed-0"), partition)
    open(partition + b"/note\xfe", "wb").close()
    run = subprocess.run(
        [sys.executable, "-m", "minikafka", "verify", os.fsencode(log_dir)],
        env=ENVIRONMENT,
        capture_output=True,
    )
    assert (run.returncode, run.stderr) == (1, b"")
    assert run.stdout.startswith(os.fsencode(log_dir) + b": the name of p\\xff-0 is not UTF-8: Kafka passes over it")
    assert len(verify(log_dir, code=1)) == 1
    # Who names the directory itself means it.
    run = subprocess.run([sys.executable, "-m", "minikafka", "verify", partition], env=ENVIRONMENT, capture_output=True)
    assert (run.returncode, run.stderr) == (1, b"")
    assert run.stdout.startswith(partition + b": the name of note\\xfe is not UTF-8: Kafka passes over it")


# Many segments


@pytest.mark.slow
def test_the_work_grows_with_the_number_of_segments(tmp_path):
    """Counted in calls: ten times the segments are some ten times the calls, with a snapshot and an epoch for each."""
    calls = {}
    for count in (20, 200):
        directory = tmp_path / f"many-{count}"
        directory.mkdir()
        for offset in range(count):
            (directory / f"{offset:020d}.log").write_bytes(batch(offset, epoch=offset))
            (directory / f"{offset:020d}.index").touch()
            (directory / f"{offset:020d}.timeindex").write_bytes((1_000).to_bytes(8, "big") + bytes(4))
            if offset:
                write_snapshot(directory / f"{offset:020d}.snapshot", [], sync=False)
        epochs = "".join(f"{offset} {offset}\n" for offset in range(count))
        (directory / "leader-epoch-checkpoint").write_text(f"0\n{count}\n{epochs}")
        profile = cProfile.Profile()
        profile.enable()
        assert verify(directory, code=0) == []
        profile.disable()
        calls[count] = sum(entry.callcount for entry in profile.getstats())
    assert calls[200] < 12 * calls[20], calls


@pytest.fixture
def of_four_batches(tmp_path) -> Path:
    """A partition with segments of four batches of one record: offsets 0, 4, and 8."""
    with Log.open(tmp_path / "t-0", {"internal.segment.bytes": 4 * 74, "index.interval.bytes": 4096}) as log:
        for number in range(10):
            record = SimpleRecord(1, None, b"value%d" % number)
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
    return tmp_path / "t-0"


def gone_between(partition: Path) -> None:
    log = partition / f"{4:020}.log"
    data = log.read_bytes()
    log.write_bytes(data[:74] + data[3 * 74 :])


def last_gone(partition: Path) -> None:
    os.truncate(partition / f"{4:020}.log", 3 * 74)


def segment_gone(partition: Path) -> None:
    for file in partition.glob(f"{4:020}.*"):
        file.unlink()


GAPS = {
    "batches within a segment": (gone_between, 4, 74, 7, "offsets 5 to 6"),
    "the last batch of a segment": (last_gone, 8, None, 8, "offsets 7 to 7"),
    "a segment": (segment_gone, 8, None, 8, "offsets 4 to 7"),
}


@pytest.mark.parametrize("gap", GAPS)
def test_offsets_are_missing_where_the_topic_is_said_to_delete_only(of_four_batches, gap):
    """Compaction may have taken them, unless the user says that it never does."""
    lose, segment, position, offset, told = GAPS[gap]
    assert verify(of_four_batches, "--config", "cleanup.policy=delete", code=0) == []
    lose(of_four_batches)
    for policy in ("compact", "compact,delete"):
        assert notes(of_four_batches, "--config", f"cleanup.policy={policy}") == []
    (finding,) = verify(of_four_batches, "--config", "cleanup.policy=delete", code=1)
    assert finding["file"] == str(of_four_batches / f"{segment:020}.log")
    assert (finding["position"], finding["offset"], finding["fate"]) == (position, offset, "stays")
    assert finding["what"] == f"{told} are missing before it, and cleanup.policy=delete leaves no gaps"


def notes(*arguments: Path | str) -> list[dict]:
    """The notes about directories in which nothing else is found."""
    result = CliRunner().invoke(main, ["verify", "--json", *map(str, arguments)], catch_exceptions=False)
    told = json.loads(result.stdout)
    assert (result.exit_code, told["findings"], told["unread"]) == (0, [], [])
    return told["notes"]


IN_NO_BATCH = "are in no batch: normal for a compacted topic, a loss for any other"


@pytest.mark.parametrize("gap", GAPS)
def test_offsets_in_no_batch_are_noted_where_the_policy_is_not_known(of_four_batches, gap):
    assert notes(of_four_batches) == []
    lose, _, _, offset, told = GAPS[gap]
    lose(of_four_batches)
    (note,) = notes(of_four_batches, "--config", "segment.bytes=2000000")
    first = int(told.split()[1])
    assert note == {"file": str(of_four_batches), "offset": first, "what": f"{told} {IN_NO_BATCH}"}
    text = CliRunner().invoke(main, ["verify", str(of_four_batches)]).output
    assert text == f"{of_four_batches}: note: {told} {IN_NO_BATCH}\n1 partition sound\n"
    # Nobody misses what was deleted.
    (of_four_batches.parent / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {offset}\n")
    assert notes(of_four_batches) == []


def test_the_first_batch_of_a_segment_may_be_missing(of_four_batches):
    """Its time index tells of it, too, so this is not all that is found."""
    for base_offset in (0, 4):
        log = of_four_batches / f"{base_offset:020}.log"
        log.write_bytes(log.read_bytes()[74:])
    result = CliRunner().invoke(main, ["verify", "--json", str(of_four_batches)])
    assert [note["what"] for note in json.loads(result.stdout)["notes"]] == [
        f"offsets 0 to 0 and 1 more range {IN_NO_BATCH}"
    ]
    found = [each["what"] for each in verify(of_four_batches, "--config", "cleanup.policy=delete", code=1)]
    for offset in (0, 4):
        assert f"offsets {offset} to {offset} are missing before it, and cleanup.policy=delete leaves no gaps" in found


def test_before_an_empty_last_segment_offsets_may_be_missing(of_four_batches):
    with Log.open(of_four_batches, {"internal.segment.bytes": 4 * 74}) as log:
        log.roll()
    os.truncate(of_four_batches / f"{8:020}.log", 74)
    assert [note["what"] for note in notes(of_four_batches)] == [f"offsets 9 to 9 {IN_NO_BATCH}"]


@pytest.mark.parametrize("policy", ["delete", "compact", "compact,delete", None])
def test_the_metadata_log_beside_it_may_name_the_policy(of_four_batches, policy):
    gone_between(of_four_batches)
    log_dir = of_four_batches.parent
    settings = {"retention.ms": "5"} if policy is None else {"cleanup.policy": policy}
    note_topics(log_dir, {"t": settings, "other": {"cleanup.policy": "delete"}})
    if policy == "delete":
        for directory in (log_dir, of_four_batches):
            (finding,) = verify(directory, code=1)
            assert finding["what"].startswith("offsets 5 to 6 are missing before it")
        assert notes(log_dir, "--config", "cleanup.policy=compact") == []
    else:
        told = [] if policy else [f"offsets 5 to 6 {IN_NO_BATCH}"]
        assert [note["what"] for note in notes(log_dir)] == told
        assert len(verify(of_four_batches, "--config", "cleanup.policy=delete", code=1)) == 1
    (metadata,) = log_dir.glob("__cluster_metadata-0/*.log")
    metadata.write_bytes(metadata.read_bytes()[:-1] + b"x")  # it cannot be believed any more
    assert [note["what"] for note in notes(of_four_batches)] == [f"offsets 5 to 6 {IN_NO_BATCH}"]


def test_a_directory_on_which_a_broker_runs_is_refused(tmp_path):
    with Broker(tmp_path / "data", topics={"t": 1}) as broker:
        broker.append("t", 0, b"x")
        result = CliRunner().invoke(main, ["verify", str(tmp_path / "data")])
        assert result.exit_code == 2 and result.stdout == ""
        assert f"{tmp_path / 'data' / '.lock'} is held: a broker is running" in result.stderr
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "t-0").symlink_to(tmp_path / "data" / "t-0")
        for named in ("links", "links/t-0"):
            result = CliRunner().invoke(main, ["verify", str(tmp_path / named)])
            assert result.exit_code == 2 and f"{tmp_path}/data/.lock is held" in result.stderr, result.output
    verify(tmp_path / "data", code=0)
    verify(tmp_path / "links" / "t-0", code=0)


def test_a_link_is_verified_with_the_files_beside_what_it_leads_to(tmp_path):
    with Broker(tmp_path / "data", topics={"t": 1}) as broker:
        for _ in range(3):
            broker.append("t", 0, b"x")
    (tmp_path / "link-7").symlink_to(tmp_path / "data" / "t-0")
    verify(tmp_path / "link-7", code=0)
    (log,) = (tmp_path / "data" / "t-0").glob("*.log")
    log.write_bytes(log.read_bytes()[: log.stat().st_size * 2 // 3])
    told = verify(tmp_path / "data" / "t-0", code=1)
    assert verify(tmp_path / "link-7", code=1) == told and "high watermark 3" in str(told)


ANOTHER_ID = "AAAAAAAAAAAAAAAAAAAAQQ"


@pytest.mark.slow
def test_what_the_broker_does_not_take_for_its_own_is_put_aside(tmp_path):
    data = tmp_path / "data"
    with Broker(data, topics={"t": 4}):
        pass
    assert verify(data, code=0) == []
    (data / "t-0" / "partition.metadata").unlink()
    for partition, text in (("t-1", ANOTHER_ID), ("t-2", "not base64")):
        file = data / partition / "partition.metadata"
        file.write_text(re.sub("topic_id: .*", f"topic_id: {text}", file.read_text()))
    (data / "t-3").rename(data / "t-9")
    found = {Path(each["file"]).name: each for each in verify(data, code=1)}
    aside = [name for name, each in found.items() if each["fate"] == "put aside"]
    assert aside == ["t-0", "t-1", "t-9"] and "load" in found["partition.metadata"]["next_start"]
    assert found["t-0"]["what"] == "it has no topic id (partition.metadata)"
    assert [each["fate"] for each in verify(data / "t-1", code=1)] == ["put aside"]
    shutil.rmtree(data / "t-2")
    told = CliRunner().invoke(main, ["recover", "--yes", str(data)], catch_exceptions=False)
    assert told.exit_code == 0
    for partition in aside:
        assert re.search(f"Warning: {data / partition}: .*: a broker that starts here puts it aside", told.stderr)
    with Broker(data):
        strays = sorted(path.name[:3] for path in data.glob("*-stray"))
    assert strays == aside


@pytest.mark.parametrize("value", [b"\xff\xff\xff", b"", bytes([1, 120, 0]), b"\1\x09\0" + b"\x11" * 16 + b"\0"])
def test_messages_of_the_metadata_log_that_no_start_can_replay(tmp_path, value):
    note_topics(tmp_path, {"t": {}})
    assert verify(tmp_path / "__cluster_metadata-0", code=0) == []
    note(tmp_path, value)
    (finding,) = verify(tmp_path / "__cluster_metadata-0", code=1)
    assert finding["next_start"] == "the broker does not start"


def test_settings_that_a_deleted_topic_left_behind_count(tmp_path):
    """With these settings no load succeeds: a time index of one entry is full once there is another timestamp."""
    with Log.open(tmp_path / "t-0", {"internal.segment.bytes": 10**6}) as log:
        for number in range(9):
            record = SimpleRecord(number, None, b"x" * 5000)
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
    note(
        tmp_path, *topic(1, "t", {"segment.index.bytes": "12", "preallocate": "true"}), no_topic(1), *topic(2, "t", {})
    )
    before = verify(tmp_path / "t-0", "--config", "segment.index.bytes=12", "--config", "preallocate=true", code=1)
    assert verify(tmp_path / "t-0", code=1) == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("__cluster_metadata-0/quorum-state", b"{garbage"),
        ("__cluster_metadata-0/quorum-state", b'{"leaderId":1,"data_version":1}'),
        ("bootstrap.checkpoint", b"garbage" * 30),
        ("bootstrap.checkpoint", b""),
        ("meta.properties", b""),
        (f"__cluster_metadata-0/{3:020}-{1:010}.checkpoint", b""),
        (f"__cluster_metadata-0/{3:020}-{1:010}.checkpoint", b"garbage" * 30),
    ],
)
def test_files_of_the_quorum_that_end_the_start(tmp_path, name, content):
    with Broker(tmp_path / "data", topics={"t": 1}):
        pass
    (tmp_path / "data" / name).write_bytes(content)
    (finding,) = verify(tmp_path / "data", code=1)
    assert finding["file"] == str(tmp_path / "data" / name)
    assert finding["next_start"] == "the broker does not start"
    if name != "meta.properties":
        told = CliRunner().invoke(main, ["recover", "--dry-run", str(tmp_path / "data")], catch_exceptions=False)
        assert f"{finding['what']}; with it no broker starts here" in told.stderr and told.exit_code == 0


def test_half_a_snapshot_of_the_metadata_log(tmp_path):
    note_topics(tmp_path, {"t": {}})
    snapshot = tmp_path / "__cluster_metadata-0" / f"{1:020}-{0:010}.checkpoint"
    snapshot.write_bytes(snapshot_of(b"", 1)[:-20])
    (finding,) = verify(snapshot.parent, code=1)
    assert (finding["what"], finding["fate"]) == ("the snapshot ends before its footer", "stays")


@pytest.fixture
def with_aborts(tmp_path) -> Path:
    """Two segments; three transactions are aborted in the second one, of which the first began before it."""
    with Log.open(tmp_path / "t-0") as log:
        before = "write 7", "ABORT 7", "write 8", "ABORT 8", "write 7"
        append_transactions(log, *before, "roll", "write 8", "ABORT 7", "write 7", "ABORT 8", "ABORT 7")
        log.update_high_watermark(log.log_end_offset)
    return tmp_path / "t-0"


FIRST, LAST_STABLE = 10, 26


@pytest.mark.parametrize("entry", range(3))
@pytest.mark.parametrize(("field", "change"), [(FIRST, -1), (FIRST, 1), (LAST_STABLE, -1), (LAST_STABLE, 1)])
def test_entries_of_aborts_that_were_changed(with_aborts, entry, field, change):
    policy = "--config", "cleanup.policy=delete"
    assert verify(with_aborts, *policy, code=0) == []
    (index,) = (file for file in with_aborts.glob("*.txnindex") if file.stat().st_size == 3 * 34)
    data = bytearray(index.read_bytes())
    at = 34 * entry + field
    data[at : at + 8] = (int.from_bytes(data[at : at + 8], "big") + change).to_bytes(8, "big")
    index.write_bytes(data)
    (finding,) = verify(with_aborts, *policy, code=1)
    assert finding["file"] == str(index)
    assert ("begins at offset" if field == FIRST else "last stable offset") in finding["what"]


def test_an_entry_that_comes_twice(with_aborts):
    index = max(with_aborts.glob("*.txnindex"))
    index.write_bytes(index.read_bytes() + index.read_bytes()[:34])
    (finding,) = verify(with_aborts, code=1)
    assert "there is an entry of the abort at offset 6 already" in finding["what"]


@pytest.mark.parametrize("segment", [0, 1])
def test_the_last_entry_of_a_time_index_was_lost(tmp_path, segment):
    with Log.open(tmp_path / "t-0") as log:
        for number in range(6):
            record = SimpleRecord(number, None, b"v")
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
            if number == 2:
                log.roll()
    (tmp_path / ".kafka_cleanshutdown").touch()
    assert verify(tmp_path / "t-0", code=0) == []
    index = sorted((tmp_path / "t-0").glob("*.timeindex"))[segment]
    os.truncate(index, index.stat().st_size - 12)
    (finding,) = verify(tmp_path / "t-0", code=1)
    assert finding["what"] == f"no entry has the segment's largest timestamp, {3 * segment + 2} ms"


@pytest.mark.parametrize("topic", ["t", "t.u"])
def test_a_future_log_beside_the_current_one(tmp_path, topic):
    data = tmp_path / "data"
    with Broker(data, topics={topic: 1}):
        pass
    future = shutil.copytree(data / f"{topic}-0", data / f"{topic}-0.{'a' * 32}-future")
    (finding,) = verify(data, code=1)
    assert finding["file"] == str(future) and finding["next_start"] == "the broker does not start"
