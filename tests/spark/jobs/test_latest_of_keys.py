"""What a task gives for the job `compaction`, joined in Python, against what the cleaner leaves."""

import json
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.cli import main
from minikafka.common.errors import CorruptRecordException
from minikafka.common.topic_partition import TopicPartition
from minikafka.record.files.file_records import FileRecords
from minikafka.spark.jobs.byte_ranges import PartitionDirectory
from minikafka.spark.jobs.latest_of_keys import latest_of_keys
from minikafka.spark.jobs.log_to_compact import RoundAhead, rounds_ahead
from tests.slow.fuzz.origins import Origins
from tests.spark.jobs.tasks import tasks_of_ranges

DAY = 86_400_000
SLOW = ("mixed", "orders", *(f"drawn-{n}" for n in (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 13)))
NAMES = ("old", "compacted", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW))


@pytest.fixture(scope="module")
def origins(tmp_path_factory) -> Origins:
    return Origins(tmp_path_factory.mktemp("origins"))


def rows_of(directory: Path, config: dict, now_ms: int, mode: str = "FAILFAST", **options) -> tuple[dict, list[dict]]:
    """The round, and the rows of all tasks."""
    one = PartitionDirectory(TopicPartition("any", 0), str(directory))
    rounds = [
        RoundAhead(**row)
        for batch in rounds_ahead(iter([one]), configs=config, now=now_ms, mode=mode)
        for row in batch.to_pylist()
    ]
    if not rounds:
        return {}, []
    tasks = tasks_of_ranges(directory, isolation__level="read_committed", mode=mode, **options)
    batches = [
        batch for task in tasks for batch in latest_of_keys(((each, rounds[0]) for each in task), now=now_ms, mode=mode)
    ]
    return rounds[0]._asdict(), [row for batch in batches for row in batch.to_pylist()]


def survivors(rows: list[dict]) -> set[int]:
    """The offsets of the records that a round leaves below the first uncleanable offset."""
    newest = defaultdict(lambda: -1)
    for row in rows:
        if row["dirty"]:
            newest[row["key"]] = max(newest[row["key"]], row["offset"])
    return {
        row["offset"]
        for row in rows
        if row["key"] is not None and row["offset"] >= newest[row["key"]] and not row["expired"]
    }


def data_below(directory: Path, end: int) -> list:
    return [
        record
        for log in sorted(directory.glob("*.log"))
        for batch in FileRecords.open(log, mutable=False).batches()
        if not batch.is_control_batch
        for record in batch
        if record.offset < end
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [700, 1 << 27])
def test_the_cleaner_leaves_the_survivors(origins, tmp_path, name, size):
    """Three rounds, a day between them, so that tombstones and markers go."""
    made = origins[name]
    directory = made.copy_to(tmp_path / "log.dir")
    (directory.parent / "replication-offset-checkpoint").unlink(missing_ok=True)  # `clean` goes to the log end
    config = {**made.config, "cleanup.policy": "compact"}
    settings = [word for key, value in config.items() for word in ("--config", f"{key}={value}")]
    topic, _, partition = directory.name.rpartition("-")
    seen_dirty = 0
    for day in range(3):
        now_ms = made.now_ms + day * DAY
        ahead, rows = rows_of(directory, config, now_ms, maxBytesPerTask=size)
        first_dirty, uncleanable = ahead["firstDirtyOffset"], ahead["firstUncleanableOffset"]
        before = data_below(directory, uncleanable)
        assert sum(row["records"] or 0 for row in rows) == len(before)
        done = CliRunner().invoke(
            main,
            [
                "clean",
                str(directory),
                "--even-damaged",
                "--json",
                "--now-ms",
                str(now_ms),
                "--map-memory",
                "65536",
                *settings,
            ],
            catch_exceptions=False,
        )
        answer = json.loads(done.stdout)
        assert (first_dirty, uncleanable) == (answer["first_dirty_offset"], answer["first_uncleanable_offset"])
        if ahead["cleanableBytes"]:
            assert survivors(rows) == {record.offset for record in data_below(directory, uncleanable)}
            seen_dirty += 1
        # Where the next round begins.
        OffsetCheckpointFile(directory.parent / "cleaner-offset-checkpoint").write(
            {TopicPartition(topic, int(partition)): answer["next_dirty_offset"] if day else first_dirty}
        )
    assert seen_dirty


def test_the_latest_of_each_key_crosses_once_for_each_range(origins):
    made = origins["compacted"]
    config = {**made.config, "cleanup.policy": "compact"}
    _, rows = rows_of(made.log_dir / made.partition, config, made.now_ms)
    candidates = [(row["segment"], row["key"]) for row in rows if row["key"] is not None]
    assert len(set(candidates)) == len(candidates) > 0


def test_damage(origins, tmp_path):
    made = origins["compacted"]
    directory = made.copy_to(tmp_path / "log.dir")
    config = {**made.config, "cleanup.policy": "compact"}
    _, sound = rows_of(directory, config, made.now_ms)
    log = sorted(directory.glob("*.log"))[0]
    data = bytearray(log.read_bytes())
    data[40] ^= 1
    log.write_bytes(data)
    with pytest.raises(CorruptRecordException, match=log.name):
        rows_of(directory, config, made.now_ms)
    _, left = rows_of(directory, config, made.now_ms, mode="DROPMALFORMED")
    assert 0 < sum(row["records"] or 0 for row in left) < sum(row["records"] or 0 for row in sound)


def test_a_damaged_checkpoint_of_the_cleaner(origins, tmp_path):
    made = origins["compacted"]
    directory = made.copy_to(tmp_path / "log.dir")
    (directory.parent / "cleaner-offset-checkpoint").write_text("0\n1\nnonsense\n")
    config = {"cleanup.policy": "compact"}
    with pytest.raises(CorruptRecordException, match="cleaner-offset-checkpoint"):
        rows_of(directory, config, made.now_ms)
    assert rows_of(directory, config, made.now_ms, mode="PERMISSIVE") == ({}, [])
