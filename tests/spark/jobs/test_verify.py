"""The job `verify` finds what `minikafka verify` finds, line by line, whatever was read in parallel."""

import json
import os
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.errors import UnknownTopicOrPartitionException
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.jobs.byte_ranges import table
from minikafka.spark.jobs.registry import JOBS
from minikafka.spark.jobs.verify import _findings, _notes, _Settings, verify
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.range_rows import carried_settings
from tests.golden.places import GOLDEN
from tests.spark.drawn_log import draw_log
from tests.spark.object_store import BUCKET, ObjectStore
from tests.tools.noted_topics import note_topics
from tests.tools.transactions_in_segments import of_transactions

SETTINGS = _Settings((), follow_links=False, storage={})


def found_by_the_tool(*directories: Path) -> tuple[list[tuple], list[str]]:
    """The findings and notes of `minikafka verify`, and the lines about what it could not read."""
    result = CliRunner().invoke(main, ["verify", "--json", *map(str, directories)], catch_exceptions=False)
    told = json.loads(result.stdout)
    notes = [(note["file"], None, note["offset"], note["what"], "note", None) for note in told["notes"]]
    return [tuple(finding.values()) for finding in told["findings"]] + notes, told["unread"]


def found(rows: list[dict]) -> tuple[list[tuple], list[str]]:
    columns = ("file", "position", "offset", "what", "fate", "nextStart")
    findings = [tuple(row[name] for name in columns) for row in rows if row["fate"] is not None]
    findings.sort(key=lambda finding: finding[4] == "note")  # the tool tells notes behind all findings
    return findings, [row["what"] for row in rows if row["fate"] is None]


def found_by_the_job(*directories: Path | str, **options) -> tuple[list[tuple], list[str]]:
    """The same by the job's parts, with a task for each piece, and without Spark."""
    paths = json.dumps(list(map(str, directories)))
    source = KafkaLogDataSource({"table": "verify", "paths": paths, "maxBytesPerTask": "1", **options})
    settings = SETTINGS._replace(storage=carried_settings(source.schema()))
    reader = source.reader(source.schema())
    tasks = [reader.read(task) for task in reader.partitions()]
    noted = pa.Table.from_batches([batch for task in tasks for batch in _notes(task, settings)])
    rows = []
    for number in sorted(set(noted.column("number").to_pylist())):
        part = noted.filter(pa.compute.equal(noted.column("number"), number))
        rows += _findings(part, settings).to_pylist()
    return found(sorted(rows, key=lambda row: (row["unread"], row["number"], row["place"])))


@pytest.mark.slow
def test_sound_directories():
    for directory in (GOLDEN, GOLDEN / "mixed-0"):
        assert found_by_the_job(directory) == found_by_the_tool(directory) == ([], [])


@pytest.mark.slow
def test_partitions_are_chosen_as_for_a_query(tmp_path):
    for name in ("mixed-0", "mixed-1", "other-0"):
        shutil.copytree(GOLDEN / "mixed-0", tmp_path / name)
        (tmp_path / name / "no-file-of-kafkas").touch()

    def asked(**options) -> set[str]:
        findings, unread = found_by_the_job(tmp_path, **options)
        assert not unread
        return {Path(finding[0]).parent.name for finding in findings}

    assert asked() == {"mixed-0", "mixed-1", "other-0"}
    assert asked(subscribe="mixed") == asked(subscribePattern="^m") == {"mixed-0", "mixed-1"}
    assert asked(assign='{"mixed": [1]}') == {"mixed-1"}
    with pytest.raises(UnknownTopicOrPartitionException, match="no topic mixd in .*; the nearest is mixed"):
        asked(subscribe="mixd")


@pytest.mark.slow
def test_two_directories_of_one_partition(tmp_path):
    for name in ("mixed-0", "mixed-00"):
        shutil.copytree(GOLDEN / "mixed-0", tmp_path / name)
    for directories in ([tmp_path], [tmp_path / "mixed-00", tmp_path / "mixed-0"]):
        findings, unread = found_by_the_tool(*directories)
        assert len(findings) == 1 and not unread
        assert found_by_the_job(*directories) == (findings, unread)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 30))])
def test_damaged_directories(seed, tmp_path):
    draw = random.Random(seed)
    log_dirs = [tmp_path / "one", tmp_path / "two"]
    shutil.copytree(GOLDEN, log_dirs[0])
    log_dirs[1].mkdir()
    draw_log(log_dirs[1], seed)
    if draw.random() < 0.5:  # the stop was clean
        (log_dirs[1] / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    shutil.copytree(log_dirs[1] / "drawn-3", log_dirs[1] / f"drawn-3.{'0' * 32}-delete")
    files = sorted(file for log_dir in log_dirs for file in log_dir.rglob("*") if file.is_file())
    for file in draw.sample(files, draw.choice((1, 3, 8))):
        damage(file, draw)
    found = found_by_the_job(*log_dirs)
    assert found == found_by_the_tool(*log_dirs)
    assert found_by_the_job(*log_dirs, maxBytesPerTask="5000") == found


def damage(file: Path, draw: random.Random, fifo: str = "fifo") -> None:
    """Do something to the file; `fifo`: what is done instead where no pipe can be."""
    data = bytearray(file.read_bytes())
    what = draw.choice(("flip", "flip", "cut", "zeros", "remove", "double", fifo))
    if what == "flip" and data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif what == "cut":
        del data[draw.randrange(len(data) + 1) :]
    elif what == "zeros":
        data += bytes(draw.randrange(70))
    elif what == "double":
        data += data[-draw.randrange(200) :]
    file.write_bytes(data)
    if what in ("remove", "fifo"):
        file.unlink()
    if what == "fifo":
        os.mkfifo(file)


def test_segments_that_reach_into_each_other_and_batches_that_are_doubled(tmp_path):
    log_dir = tmp_path / "log"
    shutil.copytree(GOLDEN, log_dir)
    first, second, *_ = sorted((log_dir / "mixed-0").glob("*.log"))
    first.write_bytes(first.read_bytes() + second.read_bytes())
    findings, unread = found_by_the_tool(log_dir)
    assert any("reaches into the next segment" in finding[3] for finding in findings)
    assert any("or above was due" in finding[3] for finding in findings)
    assert found_by_the_job(log_dir) == (findings, unread)


@pytest.mark.slow
def test_a_magic_above_the_highest(tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "log")
    first = min((tmp_path / "log/mixed-0").glob("*.log"))
    data = bytearray(first.read_bytes())
    data[16] = 6
    first.write_bytes(data)
    findings, unread = found_by_the_tool(tmp_path / "log")
    assert [finding[3] for finding in findings] == ["the batch has magic 6, above 2"]
    assert found_by_the_job(tmp_path / "log") == (findings, unread)


def with_a_gap(log_dir: Path) -> Path:
    """Two topics that both lack offsets 2 to 3, and of which the metadata log says that `kept` deletes only."""
    for topic in ("kept", "unknown"):
        with Log.open(log_dir / f"{topic}-0", {"internal.segment.bytes": 4 * 74}) as log:
            for number in range(10):
                record = SimpleRecord(1, None, b"value%d" % number)
                log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
        segment = log_dir / f"{topic}-0" / f"{0:020}.log"
        os.truncate(segment, 2 * 74)
    note_topics(log_dir, {"kept": {"cleanup.policy": "delete"}, "unknown": {}})
    return log_dir


@pytest.mark.slow
def test_offsets_in_no_batch_are_found_or_noted_as_the_metadata_says(tmp_path):
    log_dir = with_a_gap(tmp_path)
    findings, unread = found_by_the_job(log_dir)
    assert (findings, unread) == found_by_the_tool(log_dir)
    assert [(Path(file).name, offset, fate) for file, _, offset, _, fate, _ in findings] == [
        (f"{4:020}.log", 4, "stays"), ("unknown-0", 2, "note"),
    ]  # fmt: skip
    assert found_by_the_job(log_dir, maxBytesPerTask="5000") == (findings, unread)


def test_notes_are_no_findings():
    """The exit code is 0, and the notes are in the table."""

    def code(*fates: str | None) -> int:
        return JOBS["verify"].exit_code(pa.table({"fate": pa.array(fates, pa.string())}))

    assert [code(), code("note"), code("note", "stays"), code("note", None)] == [0, 0, 1, 2]


def test_what_is_no_directory(tmp_path):
    (tmp_path / "file").touch()
    nothing = [tmp_path, tmp_path / "none", tmp_path / "file"]
    findings, unread = found_by_the_job(*nothing)
    assert (findings, unread) == found_by_the_tool(*nothing)
    assert len(unread) == 3


@pytest.mark.slow
def test_what_lies_in_an_object_store(tmp_path):
    """Copies are found to have what the originals have, under their own names; each byte is asked for once."""
    found = []
    with ObjectStore() as store:
        for seed in range(2):
            draw, log_dir = random.Random(seed), tmp_path / str(seed)
            shutil.copytree(GOLDEN, log_dir)
            draw_log(log_dir, seed)
            if seed % 2:
                (log_dir / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
            files = sorted(file for file in log_dir.rglob("*") if file.is_file())
            for file in draw.sample(files, 2 + seed):
                damage(file, draw, fifo="remove")
            if seed == 1:
                (log_dir / "meta.properties").write_bytes(b"nonsense")
            uri = store.put(log_dir, f"kafka/{seed}")
            for path in ("", "/drawn-3"):
                store.forget()
                there = found_by_the_job(uri + path, **store.settings)
                assert named(there, uri, log_dir) == found_by_the_tool(Path(f"{log_dir}{path}"))
                found += there[0]
                assert store.bytes_of(".log") == sum(
                    log.stat().st_size for log in Path(f"{log_dir}{path}").rglob("*.log")
                )
        nothing = [
            f"s3://{BUCKET}/kafka",
            f"s3://{BUCKET}/kafka/none",
            f"{uri}/drawn-3/{0:020}.log",
            "s3://no-bucket/t-0",
        ]
        findings, unread = found_by_the_job(*nothing, **store.settings)
        expected = found_by_the_tool(tmp_path, tmp_path / "none", log_dir / "drawn-3" / f"{0:020}.log")[1]
        # Where a store has no directories but those of partitions, nobody looks into others for a hint.
        expected[0] = expected[0].replace("; it holds log directories: 0, 1", "")
        assert named(([], unread), f"s3://{BUCKET}/kafka", tmp_path)[1][:3] == expected
        assert len(found) > 3 and findings == [] and "s3://no-bucket/t-0" in unread[3]


def named(found: tuple[list[tuple], list[str]], uri: str, directory: Path) -> tuple[list[tuple], list[str]]:
    """What was found below the URI, as if it had been found below the directory."""

    def at_home(value):
        return value.replace(uri, str(directory)) if isinstance(value, str) else value

    findings, unread = found
    return [tuple(map(at_home, finding)) for finding in findings], list(map(at_home, unread))


def test_with_spark(spark, tmp_path):
    log_dir = Path(shutil.copytree(GOLDEN, tmp_path / "log"))
    draw_log(log_dir, 1)
    for file in sorted(log_dir.rglob("*.log"))[::2]:
        damage(file, random.Random(2))
    rows = verify(table(spark, "verify", [log_dir, tmp_path / "none"], {"maxBytesPerTask": 3000})).collect()
    findings, unread = found([row.asDict() for row in rows])
    assert findings and unread
    assert (findings, unread) == found_by_the_tool(log_dir, tmp_path / "none")


def test_a_lost_abort_is_told_though_another_task_met_the_records(tmp_path):
    partition = of_transactions(tmp_path / "t-0", "write", "roll", "write", "roll", "ABORT", "write")
    findings, _ = found_by_the_tool(partition)
    assert [finding[3] for finding in findings] == [
        "no entry names the transaction of producer 5 that was aborted at offset 2"
    ]
    assert found_by_the_job(partition) == (findings, [])
