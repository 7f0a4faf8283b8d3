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
from minikafka.spark.jobs.byte_ranges import table
from minikafka.spark.jobs.verify import _findings, _notes, _Settings, verify
from minikafka.spark.source.data_source import KafkaLogDataSource
from tests.spark.drawn_log import draw_log

GOLDEN = Path(__file__).parents[1] / "golden"
SETTINGS = _Settings((), follow_links=False)


def found_by_the_tool(*directories: Path) -> tuple[list[tuple], list[str]]:
    """The findings of `minikafka verify`, and the lines about what it could not read."""
    result = CliRunner().invoke(main, ["verify", "--json", *map(str, directories)], catch_exceptions=False)
    told = json.loads(result.stdout)
    return [tuple(finding.values()) for finding in told["findings"]], told["unread"]


def found(rows: list[dict]) -> tuple[list[tuple], list[str]]:
    columns = ("file", "position", "offset", "what", "fate", "nextStart")
    findings = [tuple(row[name] for name in columns) for row in rows if row["fate"] is not None]
    return findings, [row["what"] for row in rows if row["fate"] is None]


def found_by_the_job(*directories: Path, **options) -> tuple[list[tuple], list[str]]:
    """The same by the job's parts, with a task for each piece, and without Spark."""
    paths = json.dumps(list(map(str, directories)))
    source = KafkaLogDataSource({"table": "verify", "paths": paths, "maxBytesPerTask": "1", **options})
    reader = source.reader(source.schema())
    tasks = [reader.read(task) for task in reader.partitions()]
    noted = pa.Table.from_batches([batch for task in tasks for batch in _notes(task, SETTINGS)])
    rows = []
    for number in sorted(set(noted.column("number").to_pylist())):
        part = noted.filter(pa.compute.equal(noted.column("number"), number))
        rows += _findings(part, SETTINGS).to_pylist()
    return found(sorted(rows, key=lambda row: (row["unread"], row["number"], row["place"])))


def test_sound_directories():
    for directory in (GOLDEN / "kafka-4.3.0", GOLDEN / "kafka-4.3.0" / "mixed-0"):
        assert found_by_the_job(directory) == found_by_the_tool(directory) == ([], [])


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 30))])
def test_damaged_directories(seed, tmp_path):
    draw = random.Random(seed)
    log_dirs = [tmp_path / "one", tmp_path / "two"]
    shutil.copytree(GOLDEN / "kafka-4.3.0", log_dirs[0])
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


def damage(file: Path, draw: random.Random) -> None:
    data = bytearray(file.read_bytes())
    what = draw.choice(("flip", "flip", "cut", "zeros", "remove", "double", "fifo"))
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
    shutil.copytree(GOLDEN / "kafka-4.3.0", log_dir)
    first, second, *_ = sorted((log_dir / "mixed-0").glob("*.log"))
    first.write_bytes(first.read_bytes() + second.read_bytes())
    findings, unread = found_by_the_tool(log_dir)
    assert any("reaches into the next segment" in finding[3] for finding in findings)
    assert any("or above was due" in finding[3] for finding in findings)
    assert found_by_the_job(log_dir) == (findings, unread)


def test_what_is_no_directory(tmp_path):
    (tmp_path / "file").touch()
    nothing = [tmp_path, tmp_path / "none", tmp_path / "file"]
    findings, unread = found_by_the_job(*nothing)
    assert (findings, unread) == found_by_the_tool(*nothing)
    assert len(unread) == 3


def test_with_spark(spark, tmp_path):
    log_dir = Path(shutil.copytree(GOLDEN / "kafka-4.3.0", tmp_path / "log"))
    draw_log(log_dir, 1)
    for file in sorted(log_dir.rglob("*.log"))[::2]:
        damage(file, random.Random(2))
    rows = verify(table(spark, "verify", [log_dir, tmp_path / "none"], {"maxBytesPerTask": 3000})).collect()
    findings, unread = found([row.asDict() for row in rows])
    assert findings and unread
    assert (findings, unread) == found_by_the_tool(log_dir, tmp_path / "none")
