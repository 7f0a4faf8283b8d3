"""What a command of `minikafka spark` says where records below the high watermark are gone."""

import json
import os
from pathlib import Path

import pytest

from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.jobs.byte_ranges import PartitionDirectory
from minikafka.spark.jobs.lost_records import LostRecords, _lost_records
from minikafka.spark.source.log_segments_on_disk import find_partitions
from minikafka.spark.source.partition_bounds import HIGH_WATERMARKS

BATCH = 74  # bytes


@pytest.fixture
def log_dir(tmp_path) -> Path:
    """Logs of three batches of one record: that of partition 0 has lost the last one, that of partition 1 has not."""
    for partition in (0, 1):
        with Log.open(tmp_path / f"t-{partition}", {}) as log:
            for number in range(3):
                record = SimpleRecord(1, None, b"value%d" % number)
                log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
    (tmp_path / HIGH_WATERMARKS).write_text("0\n2\nt 0 3\nt 1 3\n")
    os.truncate(segment(tmp_path), 2 * BATCH)
    return tmp_path


def segment(log_dir: Path) -> Path:
    return log_dir / "t-0" / f"{0:020}.log"


def told(log_dir: Path) -> str:
    file = log_dir / HIGH_WATERMARKS
    return (
        f"{segment(log_dir)}, position {2 * BATCH}: OffsetOutOfRangeException: the log ends at offset 2, and the high "
        f"watermark in {file} is 3: records are lost"
    )


def found_in(log_dir: Path) -> list[dict]:
    directories = [PartitionDirectory(each.topic_partition, each.directory) for each in find_partitions([str(log_dir)])]
    directories.append(directories[0]._replace(directory=str(log_dir / "gone-0")))
    return [row for batch in _lost_records(iter(directories)) for row in batch.to_pylist()]


def test_a_log_that_ends_below_its_high_watermark(log_dir):
    assert found_in(log_dir) == [LostRecords("t", 0, told(log_dir))._asdict()]


@pytest.mark.parametrize("pattern", ["t-2/{first}", "t-2/*0.log", "t-*/{first}"])
def test_a_log_of_which_other_segments_are_named_than_the_last(log_dir, pattern):
    with Log.open(log_dir / "t-2", {"segment.bytes": "1048576"}) as log:
        for _ in range(2):
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, None, b"x")), 0)
            log.roll()
    (log_dir / HIGH_WATERMARKS).write_text("0\n2\nt 0 3\nt 2 3\n")
    whole = [PartitionDirectory(each.topic_partition, each.directory) for each in find_partitions([str(log_dir)])]

    def told_of(*paths) -> list[int]:
        found = _lost_records(iter(whole), [str(log_dir / path) for path in paths])
        return [row["partition"] for batch in found for row in batch.to_pylist()]

    first = segment(log_dir).name
    assert told_of("t-0", "t-1", "t-2") == [0, 2]
    assert told_of(pattern.format(first=first)) == [0]
    assert told_of(pattern.format(first=first), "t-2") == [0, 2]
    assert told_of("t-2/*.log") == [0, 2]


def test_where_the_high_watermarks_cannot_be_read(log_dir):
    (log_dir / HIGH_WATERMARKS).write_text("0\nmany\n")
    rows = found_in(log_dir)
    assert [row["partition"] for row in rows] == [0, 1]
    assert all(row["told"].startswith(f"{log_dir / HIGH_WATERMARKS}, position 0: ") for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["profile"],
        ["transactions"],
        ["retention"],
        ["lag"],
        ["export", "--option", "bounds=log_end", "--to"],
        ["compaction", "--option", "bounds=log_end"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_each_job_tells_of_lost_records(log_dir, on_the_session, arguments, tmp_path_factory):
    to = [tmp_path_factory.mktemp("export") / "to"] if arguments[-1] == "--to" else []
    done = on_the_session(*arguments, *to, log_dir)
    assert done.exit_code == 0, done.output
    assert f"Warning: {told(log_dir)}" in done.stderr.splitlines()
    # Who says that it does not matter is told nothing.
    done = on_the_session(*arguments, *to, log_dir, "--option", "failOnDataLoss=false")
    assert (done.exit_code, "Warning" in done.stderr) == (0, False)


@pytest.mark.slow
@pytest.mark.parametrize(("job", "warns"), [("profile", False), ("retention", True)])
def test_a_job_on_one_segment_tells_of_its_log_only_if_it_reads_it(log_dir, on_the_session, job, warns):
    with Log.open(log_dir / "t-0", {}) as log:
        log.roll()
    (log_dir / HIGH_WATERMARKS).write_text("0\n1\nt 0 9\n")
    done = on_the_session(job, segment(log_dir))
    assert (done.exit_code, "records are lost" in done.stderr) == (0, warns), done.output


@pytest.mark.slow
def test_a_job_that_has_rows_for_it_tells_once(log_dir, on_the_session):
    done = on_the_session("verify", log_dir, "--json")
    assert done.exit_code == 1 and "Warning" not in done.stderr
    assert any("high watermark" in json.loads(line)["what"] for line in done.stdout.splitlines())
