"""What the tools tell of a link to a partition, and do to it, goes by the files that lie beside the partition itself:
there a broker notes the log start and the high watermark, and beside a link there is nothing.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from tests.slow.fuzz.tool_runs import tree
from tests.spark.rows import rows

CHECKPOINTS = {"log-start-offset-checkpoint": 5, "replication-offset-checkpoint": 12}


@pytest.fixture
def partition(tmp_path) -> Path:
    """Five segments of four records with three keys; the log starts at 5, and the high watermark is 12."""
    directory = tmp_path / "data" / "t-0"
    with Log.open(directory, {"cleanup.policy": "compact"}) as log:
        for number in range(20):
            if number and number % 4 == 0:
                log.roll()
            record = SimpleRecord(1_700_000_000_000 + number, b"%d" % (number % 3), b"%d" % number)
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), leader_epoch=0)
    for name, offset in CHECKPOINTS.items():
        (directory.parent / name).write_text(f"0\n1\nt 0 {offset}\n")
    return directory


@pytest.fixture
def linked(partition, tmp_path) -> Path:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "t-0").symlink_to(partition)
    return tmp_path / "links" / "t-0"


def told(*arguments: object) -> str:
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False).output


@pytest.mark.parametrize(
    "command",
    [
        ["ls", "--json"],
        ["verify"],
        ["recover", "--dry-run", "--json"],
        ["clean", "--dry-run", "--json", "--config", "cleanup.policy=compact"],
    ],
    ids=lambda command: command[0],
)
def test_a_link_is_the_partition_to_which_it_leads(partition, linked, command):
    assert told(*command, linked) == told(*command, partition)


def test_a_link_with_a_log_directory_around_it_is_a_partition_of_that_one(partition, linked):
    (linked.parent / "replication-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    (listed,) = json.loads(told("ls", "--json", linked))["partitions"]
    assert listed["high_watermark"] == 3
    for path in (linked, linked.parent):
        assert [row["offset"] for row in rows(path)] == [0, 1, 2]


def test_no_record_above_the_high_watermark_is_cleaned_by_way_of_a_link(partition, linked):
    before = tree(partition.parent)
    command = ["clean", "--yes", "--config", "cleanup.policy=compact"]
    assert "--follow-links would follow it" in told(*command, linked)
    assert tree(partition.parent) == before
    told(*command, "--follow-links", linked)
    with Log.open(partition, log_start_offset=5, last_shutdown_clean=True) as log:
        kept = [each.offset for start in (12, 16) for each in log.read(start).records.records()]
    assert kept == [*range(12, 20)]


def test_spark_reads_a_linked_partition_within_the_bounds_noted_beside_it(partition, linked):
    segment = linked / f"{4:020d}.log"
    for path in (partition, linked, linked.parent, linked.parent / "*", segment):
        offsets = [row["offset"] for row in rows(path)]
        assert offsets == ([5, 6, 7] if path == segment else [*range(5, 12)]), path
