"""The job `export`: each record once, whatever dies and however often it runs; and what the log lost is told."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.errors import PythonException

from minikafka.common import file_ops
from minikafka.common.errors import IllegalArgumentException, KafkaException, KafkaStorageException
from minikafka.common.file_lock import FileLock
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.jobs.byte_ranges import range_of, ranges
from minikafka.spark.jobs.export import EXPORTED, _Part, _parts, _summed_up, export
from minikafka.spark.jobs.export_directory import ISOLATION, MANIFEST, ExportDirectory, Reached
from minikafka.spark.source.damage import Mode
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.range_rows import carried_isolation
from minikafka.tools.process_id import ProcessId
from tests.spark.drawn_log import DrawnLog, draw_log
from tests.spark.rows import rows
from tests.spark.sink.writing import row, write

LEVELS = "read_committed", "read_uncommitted"
US = ("host", 1, "then")
STAGED = f"{1:032x}.parquet"
"""A name such as tasks give to what they stage."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> DrawnLog:
    return draw_log(tmp_path_factory.mktemp("drawn"), 4, 300)


def isolation_of(options: dict) -> str | None:
    """What the table `ranges` carries, for options as `run` takes them."""
    given = {name.replace("__", "."): value for name, value in options.items() if name != "by_date"}
    return carried_isolation(KafkaLogDataSource({"path": ".", "table": "ranges", **given}).schema())


def written(drawn, to: Path, run: str, *, by_date: bool = False, once_planned=lambda: None, **options):
    """What the workers of a run do, in one task, up to the commit; `once_planned` is called before they do it."""
    directory = ExportDirectory(str(to))
    begun = directory.begin(run, US, None, by_date=by_date, isolation=isolation_of(options))
    reached = {
        TopicPartition(topic, int(number)): Reached(*each)
        for topic, partitions in begun["reached"].items()
        for number, each in partitions.items()
    }
    found = map(range_of, rows(drawn.directory, table="ranges", maxBytesPerTask=2000, **options))
    once_planned()
    work = partial(_parts, root=str(to), run=run, reached=reached, by_date=by_date, compression="zstd")
    parts = [_Part(**row) for batch in work(found, mode=Mode.FAILFAST) for row in batch.to_pylist()]
    return _summed_up(parts, reached)


def run(drawn, to: Path, name: str, *, once_planned=lambda: None, **options):
    """A whole run; returns the rows of its answer."""
    files, reached, answer = written(drawn, to, name, once_planned=once_planned, **options)
    ExportDirectory(str(to)).commit(name, files, reached, isolation_of(options))
    return answer


def exported(to: Path) -> list[tuple]:
    """The records that a reader of Parquet sees, by offset."""
    table = ds.dataset(to, format="parquet", partitioning="hive").to_table()
    return sorted(
        (
            row["offset"], row["key"], row["value"], row["timestampType"],
            tuple((each["key"], each["value"]) for each in row["headers"] or ()),
        )
        for row in table.to_pylist()
    )  # fmt: skip


def expected(drawn, end: int = 1 << 62) -> list[tuple]:
    return [
        (each.offset, each.key, each.value, each.timestamp_type, tuple((key, value) for key, value in each.headers))
        for each in drawn.records
        if each.offset < end
    ]


def offsets(to: Path) -> list[int]:
    return [each[0] for each in exported(to)]


@pytest.mark.slow
def test_a_topic_whose_name_spark_takes_for_null_is_refused(drawn, tmp_path):
    directory = tmp_path / "logs" / "__HIVE_DEFAULT_PARTITION__-3"
    shutil.copytree(drawn.directory, directory)
    with pytest.raises(IllegalArgumentException, match="NULL"):
        run(drawn._replace(directory=directory), tmp_path / "to", "one", bounds="log_end")


@pytest.mark.slow
@pytest.mark.parametrize("by_date", [False, True])
def test_runs_add_up(drawn, tmp_path, by_date):
    all_offsets = [each.offset for each in drawn.records]
    cut = all_offsets[len(all_offsets) // 3]
    first = run(drawn, tmp_path, "one", by_date=by_date, endingOffsets=json.dumps({"drawn": {"3": cut}}))
    assert exported(tmp_path) == expected(drawn, cut)
    second = run(drawn, tmp_path, "two", by_date=by_date)
    assert exported(tmp_path) == expected(drawn)
    third = run(drawn, tmp_path, "three", by_date=by_date)
    assert exported(tmp_path) == expected(drawn)
    ends = [row[6] for (row,) in (first, second, third)]
    assert ends == [max(o for o in all_offsets if o < cut) + 1, all_offsets[-1] + 1, all_offsets[-1] + 1]
    assert [row[2] for (row,) in (first, second, third)] == [
        len(expected(drawn, cut)), len(all_offsets) - len(expected(drawn, cut)), 0,
    ]  # fmt: skip
    assert [row[8] for (row,) in (first, second, third)] == [None] * 3
    assert not list(tmp_path.glob("_staging*")) and not (tmp_path / "_running.json").exists()
    manifest = ExportDirectory(str(tmp_path)).manifest()
    for file in manifest["files"]:
        assert (tmp_path / file["path"]).stat().st_size == file["size"]


@pytest.mark.slow
def test_a_task_that_runs_twice_counts_once(drawn, tmp_path):
    written(drawn, tmp_path, "one")  # an attempt whose answer Spark drops
    run(drawn, tmp_path, "one")
    assert exported(tmp_path) == expected(drawn)
    assert not list(tmp_path.glob("_staging*"))


@pytest.mark.slow
def test_a_commit_that_runs_twice_counts_once(drawn, tmp_path):
    files, reached, _ = written(drawn, tmp_path, "one")
    for _ in range(2):
        ExportDirectory(str(tmp_path)).commit("one", files, reached)
    assert exported(tmp_path) == expected(drawn)


class Died(Exception):
    """The driver, before an effect on the disk."""


def driver_dies_at(effect: int, work: Callable[[], object]) -> bool:
    """Do `work`, in which the driver dies before its effect of this number, the first being 1; False where it has fewer
    and comes to its end.
    """
    left = iter(range(effect - 1))

    def die(*_):
        if next(left, None) is None:
            raise Died

    try:
        with file_ops.observe(die):
            work()
    except Died:
        return True
    return False


@pytest.mark.slow
def test_a_driver_dies_at_any_effect_of_its_commit(drawn, tmp_path):
    """However far the commit came, readers see all of the run or nothing after the next run has begun."""
    cut = drawn.records[len(drawn.records) // 2].offset
    half = {"endingOffsets": json.dumps({"drawn": {"3": cut}})}
    for effect in range(1, 100):
        to = tmp_path / str(effect)
        run(drawn, to, "zero", **half)
        files, reached, _ = written(drawn, to, "one")
        if not driver_dies_at(effect, partial(ExportDirectory(str(to)).commit, "one", files, reached)):
            break
        counted = "one" in ExportDirectory(str(to)).manifest()["runs"]
        begun = ExportDirectory(str(to)).begin("two", US, "one")
        assert offsets(to) == [each.offset for each in drawn.records if counted or each.offset < cut]
        assert begun["reached"]["drawn"]["3"][0] == offsets(to)[-1] + 1
        ExportDirectory(str(to)).abandon("two")
        run(drawn, to, "three")
        assert exported(to) == expected(drawn)
        assert not list(to.glob("_staging*"))
    assert effect > 8


@pytest.mark.slow
def test_a_run_that_was_taken_for_dead_cannot_commit(drawn, tmp_path):
    files, reached, _ = written(drawn, tmp_path, "one")
    directory = ExportDirectory(str(tmp_path))
    assert directory.begin("two", US, None)["running"]["run"] == "one"
    assert "reached" in directory.begin("two", US, "one")
    with pytest.raises(KafkaException, match="took this one for dead"):
        directory.commit("one", files, reached)
    run(drawn, tmp_path, "two")
    assert exported(tmp_path) == expected(drawn)


def copied(drawn, tmp_path) -> DrawnLog:
    home = tmp_path / "copy"
    home.mkdir()
    return drawn._replace(directory=Path(shutil.copytree(drawn.directory, home / drawn.directory.name)))


@pytest.mark.slow
def test_what_retention_deleted_between_two_runs_is_told(drawn, tmp_path):
    log, to = copied(drawn, tmp_path), tmp_path / "out"
    segments = sorted(log.directory.glob("*.log"))
    starts = [int(each.stem) for each in segments]
    cut = starts[2]
    run(log, to, "one", endingOffsets=json.dumps({"drawn": {"3": cut}}))
    for each in segments[:4]:
        each.unlink()
    ((*_, first, next_offset, missed, warning),) = run(log, to, "two")
    reached = max(each.offset for each in drawn.records if each.offset < cut) + 1
    assert missed == starts[4] - reached
    assert warning == f"offsets {reached} to {starts[4] - 1} were deleted before they were exported"
    assert (first, next_offset) == (
        min(each.offset for each in drawn.records if each.offset >= starts[4]), drawn.records[-1].offset + 1,
    )  # fmt: skip
    assert offsets(to) == [each.offset for each in drawn.records if each.offset < cut or each.offset >= starts[4]]


@pytest.mark.slow
def test_what_was_deleted_before_a_run_found_a_record_is_told(tmp_path):
    """The first run has seen the partition, whose records were deleted."""
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    log_starts = log_dir / "log-start-offset-checkpoint"
    ids = "J8qnbwG1TxCm_0gfHbKf_A", "7QkLnGdGTVSPb4QqBYLZkw"
    log = overwritten(log_dir, b"v", 16, topicId=ids[0])
    log_starts.write_text("0\n1\nt 0 16\n")
    assert run(log, to, "one")[0][-3:] == (16, 0, None)
    log = overwritten(log_dir, b"v", 37, topicId=ids[0])
    log_starts.write_text("0\n1\nt 0 36\n")
    told = (20, "offsets 16 to 35 were deleted before they were exported")
    assert run(log, to, "two")[0][-3:] == (37, *told)
    assert offsets(to) == [36]
    assert run(log, tmp_path / "other", "one")[0][-3:] == (37, 0, None)


def test_a_topic_that_was_made_anew_before_a_run_found_a_record_is_exported(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    ids = "J8qnbwG1TxCm_0gfHbKf_A", "7QkLnGdGTVSPb4QqBYLZkw"
    log = overwritten(log_dir, b"v", 16, topicId=ids[0])
    (log_dir / "log-start-offset-checkpoint").write_text("0\n1\nt 0 16\n")
    run(log, to, "one")
    log = overwritten(log_dir, b"v", 50, topicId=ids[1], leaderEpoch=3)
    (log_dir / "log-start-offset-checkpoint").write_text("0\n0\n")
    assert run(log, to, "two")[0][-3:] == (50, 0, None)
    assert offsets(to) == list(range(50))


def emptied(log: DrawnLog, offset: int, topic_id: str) -> None:
    """The partition has this id and begins at this offset, without a byte."""
    partition = log.directory / "t-0"
    for file in partition.iterdir():
        file.unlink()
    (partition / f"{offset:020}.log").touch()
    (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    for name in ("log-start-offset-checkpoint", "replication-offset-checkpoint"):
        (log.directory / name).unlink(missing_ok=True)


@pytest.mark.slow
def test_a_run_remembers_a_partition_of_empty_files(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    ids = "J8qnbwG1TxCm_0gfHbKf_A", "7QkLnGdGTVSPb4QqBYLZkw"
    log = overwritten(log_dir, b"v", 16, topicId=ids[0])
    emptied(log, 16, ids[0])
    for _ in range(2):
        assert run(log, to, "one") == [("t", 0, 0, 0, 0, None, 16, 0, None)]
    log = overwritten(log_dir, b"v", 37, topicId=ids[0])
    (log_dir / "log-start-offset-checkpoint").write_text("0\n1\nt 0 36\n")
    told = (20, "offsets 16 to 35 were deleted before they were exported")
    assert run(log, to, "two")[0][-3:] == (37, *told)
    assert offsets(to) == [36]
    emptied(log, 50, ids[0])
    assert run(log, to, "three")[0][-3:] == (37, 13, "offsets 37 to 49 were deleted before they were exported")
    emptied(log, 20, ids[0])
    assert run(log, to, "four")[0][-2:] == (0, "what can be read ends at 20, but offsets up to 36 are exported")
    emptied(log, 0, ids[1])
    with pytest.raises(KafkaException, match=f"its id is {ids[1]}, and the exported one's was {ids[0]}; export it"):
        run(log, to, "five")


def test_a_topic_that_was_made_anew_before_it_had_a_byte_is_exported(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    ids = "J8qnbwG1TxCm_0gfHbKf_A", "7QkLnGdGTVSPb4QqBYLZkw"
    log = overwritten(log_dir, b"v", 16, topicId=ids[0])
    emptied(log, 16, ids[0])
    run(log, to, "one")
    emptied(log, 0, ids[1])
    assert run(log, to, "two")[0][-3:] == (0, 0, None)
    log = overwritten(log_dir, b"v", 50, topicId=ids[1])
    assert run(log, to, "three")[0][-3:] == (50, 0, None)
    assert offsets(to) == list(range(50))


@pytest.mark.slow
def test_what_a_new_leader_truncated_is_told(drawn, tmp_path):
    log, to = copied(drawn, tmp_path), tmp_path / "out"
    run(log, to, "one")
    segments = sorted(log.directory.glob("*.log"))
    held = segments[-1].read_bytes()
    while not held:
        segments.pop().unlink()
        held = segments[-1].read_bytes()
    segments[-1].unlink()
    ((*_, missed, warning),) = run(log, to, "two")
    assert missed == 0 and warning.startswith(f"what can be read ends at {int(segments[-1].stem)}, but offsets up to ")
    # The same offsets come again, in a later epoch (which no checksum covers).
    data, at = bytearray(held), 0
    while at < len(data):
        if data[at + 16] == 2:
            data[at + 12 : at + 16] = (9).to_bytes(4, "big")
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    segments[-1].write_bytes(data)
    last = expected(drawn)[-1][0]
    ((*_, missed, warning),) = run(log, to, "three")
    if (known := ExportDirectory(str(to)).manifest()["partitions"]["drawn"]["3"])[1] == 1:
        assert known[0] == last + 1
        assert warning.startswith(f"offset {last} was exported in leader epoch 1 and is now of epoch 9")
    assert exported(to) == expected(drawn)


def overwritten(log_dir: Path, value: bytes, count: int, **options) -> DrawnLog:
    """The topic has these records, and no others."""
    write(log_dir, [row(b"%s %d" % (value, number)) for number in range(count)], overwrite=True, **options)
    return DrawnLog(log_dir, [], set(), count, 1)


@pytest.mark.slow
def test_a_topic_that_was_replaced_is_refused_and_nothing_counts(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    run(overwritten(log_dir, b"old", 50), to, "one")
    run(overwritten(log_dir, b"old", 50), to, "the same table again")
    before = exported(to)
    told = f"^{log_dir / 't-0'} is another topic than the one that is exported: offset 49 lies in another batch [^\n]*$"
    for _ in range(2):
        with pytest.raises(KafkaException, match=told):
            run(overwritten(log_dir, b"new", 80), to, "two")
        assert exported(to) == before
        ExportDirectory(str(to)).abandon("two")
    run(overwritten(log_dir, b"new", 80), tmp_path / "elsewhere", "two")
    assert [each[2] for each in exported(tmp_path / "elsewhere")] == [b"new %d" % number for number in range(80)]


def test_a_topic_that_was_deleted_and_made_anew_is_refused(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    ids = "J8qnbwG1TxCm_0gfHbKf_A", "7QkLnGdGTVSPb4QqBYLZkw"
    run(overwritten(log_dir, b"v", 50, topicId=ids[0]), to, "one")
    with pytest.raises(KafkaException, match=f"its id is {ids[1]}, and the exported one's was {ids[0]}; export it"):
        run(overwritten(log_dir, b"v", 50, topicId=ids[1], leaderEpoch=3), to, "two")


def test_an_export_of_an_earlier_minikafka_goes_on(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    log = overwritten(log_dir, b"v", 50)
    run(log, to, "one", endingOffsets='{"t": {"0": 20}}')
    assert Reached(*ExportDirectory(str(to)).manifest()["partitions"]["t"]["0"]).last_batch[:3] == [0, 49, 50]
    manifest_of(to, partitions={"t": {"0": [20, 0]}})
    run(log, to, "two")
    assert offsets(to) == list(range(50))


@pytest.mark.slow
@pytest.mark.parametrize("by_date", [False, True])
def test_files_by_date_and_others_do_not_mix(drawn, tmp_path, by_date):
    run(drawn, tmp_path, "one", by_date=by_date)
    told = (
        f"^{tmp_path} is exported {'by date: go on with' if by_date else 'not by date: go on without'} by_date [^\n]*$"
    )
    with pytest.raises(IllegalArgumentException, match=told):
        run(drawn, tmp_path, "two", by_date=not by_date)
    assert not (tmp_path / "_running.json").exists()
    run(drawn, tmp_path, "three", by_date=by_date)


@pytest.mark.slow
@pytest.mark.parametrize("first, second", [LEVELS, LEVELS[::-1], (None, LEVELS[0])])
def test_runs_with_another_isolation_level_do_not_mix(drawn, tmp_path, first, second):
    level = {} if first is None else {"isolation__level": first}
    run(drawn, tmp_path, "one", **level)
    before, first = exported(tmp_path), first or "read_uncommitted"
    told = f"^{tmp_path} is exported with isolation.level={first}, and this run has {second}: go on with [^\n]*$"
    with pytest.raises(IllegalArgumentException, match=told):
        run(drawn, tmp_path, "two", kafka__isolation__level=second)
    assert not (tmp_path / "_running.json").exists() and exported(tmp_path) == before
    run(drawn, tmp_path, "three", isolation__level=first.upper())


@pytest.mark.slow
def test_without_a_file_or_a_note_the_next_run_decides_the_isolation_level(drawn, tmp_path):
    directory = ExportDirectory(str(tmp_path))
    directory.begin("none", US, None, isolation=LEVELS[0])
    directory.commit("none", [], {}, LEVELS[0])
    run(drawn, tmp_path, "one", isolation__level=LEVELS[1])
    assert directory.manifest()[ISOLATION] == LEVELS[1]
    manifest = directory.manifest()
    del manifest[ISOLATION]
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))  # as an earlier minikafka left it
    run(drawn, tmp_path, "two", isolation__level=LEVELS[0])
    assert directory.manifest()[ISOLATION] == LEVELS[0]


def test_what_retention_deletes_while_a_run_reads_it_is_not_missed(tmp_path):
    """The log start moves behind records that this run still reads; the next run has missed nothing of them."""
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    log = overwritten(log_dir, b"v", 50)
    log_starts = log_dir / "log-start-offset-checkpoint"

    def begin_at(offset: int) -> None:
        log_starts.write_text(f"0\n1\nt 0 {offset}\n")

    run(log, to, "one", endingOffsets='{"t": {"0": 10}}')
    begin_at(15)
    ((*_, first, next_offset, missed, warning),) = run(log, to, "two", once_planned=lambda: begin_at(40))
    assert (first, next_offset, missed) == (15, 50, 5)
    assert warning == "offsets 10 to 14 were deleted before they were exported"
    assert offsets(to) == [*range(10), *range(15, 50)]
    # So where the first run is the one that is overtaken: it began before.
    begin_at(0)
    run(log, tmp_path / "other", "one", once_planned=lambda: begin_at(40))
    begin_at(0)
    assert run(log, tmp_path / "other", "two")[0][-2:] == (0, None)


def test_a_topic_with_the_longest_name_is_exported(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    run(overwritten(log_dir, b"v", 3, topic="t" * 249), to, "one", by_date=True)
    assert offsets(to) == [0, 1, 2]


def test_a_run_that_would_pass_over_records_for_ever_is_refused(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    log = overwritten(log_dir, b"v", 50)
    run(log, to, "one", endingOffsets='{"t": {"0": 20}}')
    told = "^t-0 is exported up to offset 20, and this run begins at 30: what lies between would never be [^\n]*$"
    for noted in ("", "0\n1\nt 0 25\n"):
        (log_dir / "log-start-offset-checkpoint").write_text(noted or "0\n0\n")
        with pytest.raises(IllegalArgumentException, match=told):
            run(log, to, "two", startingOffsets='{"t": {"0": 30}}')
        ExportDirectory(str(to)).abandon("two")
    ((*_, missed, warning),) = run(log, to, "three")
    assert (missed, warning) == (5, "offsets 20 to 24 were deleted before they were exported")
    assert offsets(to) == [*range(20), *range(25, 50)]


def test_a_run_that_asks_for_records_from_before_the_first_run_is_refused(tmp_path):
    log_dir, to = tmp_path / "log-dir", tmp_path / "out"
    log = overwritten(log_dir, b"v", 50)
    run(log, to, "one", startingOffsets='{"t": {"0": 20}}', endingOffsets='{"t": {"0": 30}}')
    told = "^t-0 is exported from offset 20 on, and this run begins at 0: what lies before 20 would never be [^\n]*$"
    with pytest.raises(IllegalArgumentException, match=told):
        run(log, to, "two")
    ExportDirectory(str(to)).abandon("two")
    (log_dir / "log-start-offset-checkpoint").write_text("0\n1\nt 0 25\n")
    run(log, to, "three")
    assert offsets(to) == [*range(20, 50)]


def test_with_spark_topics_that_look_like_numbers_stay_apart(spark, tmp_path):
    for name, count in (("007", 3), ("7", 4)):
        overwritten(tmp_path / "log-dir", b"v", count, topic=name)
    for by_date in (False, True):
        to = str(tmp_path / f"out-{by_date}")
        export(ranges(spark, [tmp_path / "log-dir"]), to=to, by_date=by_date)
        table = spark.read.schema(EXPORTED).parquet(to)
        assert dict(table.groupBy("topic").count().collect()) == {"007": 3, "7": 4}
        seen = spark.read.parquet(to)
        assert {field.name: field.dataType for field in seen.schema if field.name not in ("topic", "date")} == {
            field.name: field.dataType for field in table.schema if field.name not in ("topic", "date")
        }
        assert sorted(set(seen.columns) - set(table.columns)) == []


def test_with_spark_another_isolation_level_is_refused(spark, tmp_path):
    overwritten(tmp_path / "log-dir", b"v", 3)
    export(ranges(spark, [tmp_path / "log-dir"], isolation__level=LEVELS[0]), to=str(tmp_path / "out"))
    with pytest.raises(PythonException, match=f"is exported with isolation.level={LEVELS[0]}, and this run has"):
        export(ranges(spark, [tmp_path / "log-dir"]), to=str(tmp_path / "out"))


@pytest.mark.slow
def test_several_copies_of_a_partition_are_refused_and_nothing_counts(drawn, tmp_path):
    copies = [
        shutil.copytree(drawn.directory, tmp_path / name / drawn.directory.name) for name in ("broker-1", "broker-2")
    ]
    with pytest.raises(IllegalArgumentException, match=f"drawn-3 is in {copies[0]} and in {copies[1]}: export writes"):
        run(drawn._replace(directory=tmp_path / "broker-*"), tmp_path / "out", "one")
    assert not list((tmp_path / "out").glob("topic=*"))


@pytest.mark.slow
def test_a_directory_without_its_manifest_is_refused(drawn, tmp_path):
    run(drawn, tmp_path, "one")
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(KafkaStorageException, match=MANIFEST):
        ExportDirectory(str(tmp_path)).begin("two", US, None)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(KafkaStorageException, match=f"no {MANIFEST}"):
        ExportDirectory(str(tmp_path)).begin("two", US, None)


def everything(below: Path) -> dict[str, object]:
    """All that lies below a directory, by name: what files hold, where links lead, and the other kinds."""
    return {
        str(path.relative_to(below)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file() and path.stat().st_size < 1 << 30
        else path.lstat().st_mode
        for path in sorted(below.rglob("*"))
    }


def manifest_of(to: Path, **changes) -> None:
    (to / MANIFEST).write_text(json.dumps(ExportDirectory(str(to)).manifest() | changes))


def pending(to: Path, staged: str, path: str | None = None) -> None:
    """The last file is not yet in its place, a manifest says."""
    manifest = ExportDirectory(str(to)).manifest()
    manifest_of(to, pending=[[staged, manifest["files"][-1]["path"] if path is None else path]])


def linked(path: Path) -> None:
    """What has this name moves away, and a link leads there."""
    away = path.parent.parent / f"away-{path.name}"
    path.rename(away)
    path.symlink_to(away)


def committed(to: Path) -> Path:
    return to / ExportDirectory(str(to)).manifest()["files"][-1]["path"]


def staged_again(to: Path) -> str:
    """The committed file is staged, as if the run's driver had died before the rename; returns its name there."""
    path = ExportDirectory(str(to)).manifest()["files"][-1]["path"]
    (to / "_staging-one").mkdir()
    (to / path).rename(to / f"_staging-one/{STAGED}")
    pending(to, f"_staging-one/{STAGED}")
    return path


def twice(to: Path) -> None:
    manifest_of(to, files=ExportDirectory(str(to)).manifest()["files"] * 2)


def behind_a_link(to: Path, where: int) -> None:
    path = to / staged_again(to)
    linked(path.parents[where])


def no_file_staged(to: Path) -> None:
    path = to / staged_again(to)
    (to / f"_staging-one/{STAGED}").rename(path.with_name("mine"))
    os.mkfifo(to / f"_staging-one/{STAGED}")


def taken_place(to: Path) -> None:
    (to / staged_again(to)).write_text("mine")


def other_in_its_place(to: Path) -> None:
    """As after a kill behind the rename, and then somebody put another file there."""
    path = to / staged_again(to)
    (to / f"_staging-one/{STAGED}").unlink()
    path.write_text("mine")


def reached(to: Path, *end: object, **instead: object) -> None:
    """Where the partition ends, a manifest says: with other values for the first ones, or those at these places."""
    known = ExportDirectory(str(to)).manifest()["partitions"]["drawn"]["3"]
    known[: len(end)] = end
    for place, value in instead.items():
        known[Reached._fields.index(place)] = value
    manifest_of(to, partitions={"drawn": {"3": known}})


def of_last_file(to: Path, **changes: object) -> None:
    files = ExportDirectory(str(to)).manifest()["files"]
    manifest_of(to, files=[*files[:-1], files[-1] | changes])


def last_offset(to: Path) -> int:
    return max(each["last_offset"] for each in ExportDirectory(str(to)).manifest()["files"])


def sparse(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.touch()
    os.truncate(path, 1 << 40)


OBSTACLES = {
    "pending above": (lambda to: pending(to, "../precious", "../moved"), "none of its files"),
    "pending elsewhere": (lambda to: pending(to, str(to.parent / "precious")), "none of its files"),
    "pending up in the middle": (lambda to: pending(to, "_staging-one/../../precious"), "none of its files"),
    "pending of no run": (lambda to: pending(to, f"_staging-x/{STAGED}"), "cannot become"),
    "pending to no file": (
        lambda to: pending(to, f"_staging-one/{STAGED}", "topic=t/partition=0/f.parquet"),
        "cannot become",
    ),
    "pending is gone": (lambda to: (to / staged_again(to), (to / f"_staging-one/{STAGED}").unlink()), "is gone"),
    "pending is too much": (lambda to: manifest_of(to, pending=[[1, 2, 3]]), "too many values"),
    "pending is no list": (lambda to: manifest_of(to, pending={}), "is no list"),
    "pending is numbers": (lambda to: manifest_of(to, pending=[[1, 2]]), "other fields"),
    "no name the system can have": (lambda to: pending(to, "_staging-one/\ud800"), "can't encode"),
    "a file twice": (twice, "named twice"),
    "a topic behind a link": (lambda to: behind_a_link(to, 1), "is a link"),
    "a partition behind a link": (lambda to: behind_a_link(to, 0), "is a link"),
    "a committed file is gone": (lambda to: committed(to).unlink(), "is gone, and .* put it back"),
    "a committed file is cut": (lambda to: os.truncate(committed(to), 9), "has 9 bytes, and .* counts a file of"),
    "a committed file is a link": (lambda to: linked(committed(to)), "is a link, and"),
    "a committed file is a directory": (lambda to: (committed(to).unlink(), committed(to).mkdir()), "is a directory"),
    "a partition is gone": (lambda to: shutil.rmtree(committed(to).parent), "is gone, and"),
    "a fifo is staged": (no_file_staged, "is a FIFO"),
    "a place is taken": (taken_place, "goes there"),
    "another file in its place": (other_in_its_place, "has 4 bytes, and is not the file of"),
    "a cut file is staged": (lambda to: (staged_again(to), os.truncate(to / f"_staging-one/{STAGED}", 9)), "has 9 by"),
    "a file of somebody else": (
        lambda to: (staged_again(to), (to / "_staging-one/holiday.jpg").touch()),
        "holiday.jpg is none of the files",
    ),
    "a link is staged": (lambda to: (staged_again(to), linked(to / f"_staging-one/{STAGED}")), "is a link"),
    "no partitions": (
        lambda to: manifest_of(to, partitions={}),
        "topic 'drawn', partition 3 has no next offset, and its files go up to offset [1-9]",
    ),
    "not this partition": (
        lambda to: manifest_of(to, partitions={"drawn": {"2": [1, 0]}}),
        "topic 'drawn', partition 2 has the next offset 1, and no file",
    ),
    "no files": (lambda to: manifest_of(to, files=[]), "partition 3 has the next offset [0-9]+, and no file"),
    "no runs": (lambda to: manifest_of(to, runs=[]), "is of run 'one', which it does not name"),
    "a next offset in its files": (
        lambda to: reached(to, last_offset(to)),
        "topic 'drawn', partition 3 has the next offset ([0-9]+), and its files go up to offset \\1 ?",
    ),
    "a next offset of 50": (lambda to: reached(to, 50), "the next offset 50, and its files go up to offset"),
    "a next offset below 0": (lambda to: reached(to, -1), "the next offset -1, and its files go up to offset"),
    "a next offset behind a gap": (lambda to: reached(to, 10**6), "the next offset 1000000, and its files go up to"),
    "a next offset of 71 bits": (lambda to: reached(to, 1 << 70), "the next offset 1180591620717411303424, and its"),
    "a last offset of 63 bits": (
        lambda to: (of_last_file(to, last_offset=(1 << 63) - 1)),
        "cannot have the offsets [0-9]+ to 9223372036854775807",
    ),
    "a first offset behind the last": (lambda to: of_last_file(to, first_offset=10**7), "cannot have the offsets 1000"),
    "a first offset below 0": (lambda to: of_last_file(to, first_offset=-1), "cannot have the offsets -1 to"),
    "too many records": (lambda to: of_last_file(to, records=10**9), "cannot have 1000000000 records at [0-9]+ offse"),
    "no records": (lambda to: of_last_file(to, records=0), "cannot have 0 records"),
    "a file of another topic": (lambda to: of_last_file(to, topic="u"), "is no file of topic 'u', partition 3"),
    "a start behind its files": (lambda to: reached(to, start_offset=10**6), "begins at offset 1000000, and its files"),
    "a start below 0": (lambda to: reached(to, start_offset=-1), "begins at offset -1, and its files"),
    "a leader epoch of 33 bits": (lambda to: reached(to, leader_epoch=1 << 32), "has the leader epoch 4294967296"),
    "another last batch": (lambda to: reached(to, last_batch=[0, 1, 1, 1, 0]), "ends in a batch with the offsets 0 to"),
    "a partition with a zero": (
        lambda to: manifest_of(to, partitions={"drawn": {"03": [1, 0]}}),
        "'03' is no partition of topic 'drawn'",
    ),
    "a mark of a process of many digits": (
        lambda to: (to / "_running.json").write_text(json.dumps({"run": "x", "owner": ["h", 10**400, "t"]})),
        "is no process",
    ),
    "another version": (lambda to: manifest_of(to, version=2), "it has version 2"),
    "no object": (lambda to: (to / MANIFEST).write_text("[]"), "other fields"),
    "no fields": (lambda to: (to / MANIFEST).write_text('{"version":1}'), "other fields"),
    "deep": (lambda to: (to / MANIFEST).write_text("[" * 100_000), "other fields"),
    "no text": (lambda to: (to / MANIFEST).write_bytes(b"{\xff}"), "decode"),
    "a manifest of a terabyte": (lambda to: sparse(to / MANIFEST), "has 1099511627776 bytes"),
    "a manifest that is a link": (lambda to: linked(to / MANIFEST), "no regular file"),
    "a manifest that is a fifo": (lambda to: ((to / MANIFEST).unlink(), os.mkfifo(to / MANIFEST)), "no regular file"),
    "a mark that is a fifo": (lambda to: os.mkfifo(to / "_running.json"), "no regular file"),
    "a mark that is no JSON": (lambda to: (to / "_running.json").write_text("{"), "is not the mark"),
    "a mark with other fields": (lambda to: (to / "_running.json").write_text("[]"), "is not the mark"),
    "a mark of nobody": (lambda to: (to / "_running.json").write_text('{"run":"x","owner":["h","1","t"]}'), "no int"),
    "a lock that is a fifo": (lambda to: ((to / "_lock").unlink(), os.mkfifo(to / "_lock")), "is a FIFO"),
    "a lock that is a link": (lambda to: linked(to / "_lock"), "is a link"),
    "a new mark that is a link": (lambda to: (to / "_running.json.tmp").symlink_to("../precious"), "is a link"),
    "a new manifest that is a link": (lambda to: (to / f"{MANIFEST}.tmp").symlink_to("../precious"), "is a link"),
}  # fmt: skip


@pytest.fixture(scope="module")
def once_exported(drawn, tmp_path_factory) -> Path:
    to = tmp_path_factory.mktemp("once")
    run(drawn, to, "one")
    return to


@pytest.mark.parametrize("kind", OBSTACLES)
def test_what_no_export_leaves_is_refused_in_one_line_and_kept(once_exported, tmp_path, kind):
    to = tmp_path / "out"
    shutil.copytree(once_exported, to)
    (tmp_path / "precious").write_text("mine")
    put, reason = OBSTACLES[kind]
    put(to)
    before = everything(tmp_path)
    with pytest.raises(KafkaStorageException, match=rf"^[^\n]*out[^\n]*{reason}[^\n]*$"):
        ExportDirectory(str(to)).begin("two", US, None)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("which", ["staged", "place"])
def test_nothing_is_moved_through_a_link_that_comes_between_the_look_and_the_rename(once_exported, tmp_path, which):
    to = tmp_path / "out"
    shutil.copytree(once_exported, to)
    path = to / staged_again(to)
    replaced = path.parent if which == "place" else to / "_staging-one"

    def replace(operation, path):
        if (operation, path.name) == ("rename", "_running.json"):
            linked(replaced)

    with (
        file_ops.observe(replace),
        pytest.raises(KafkaStorageException, match=rf"^{replaced} is in the way: [^\n]*link"),
    ):
        ExportDirectory(str(to)).begin("two", US, None)
    assert not path.exists() and (to / f"_staging-one/{STAGED}").exists()


def test_a_link_that_only_has_the_name_of_what_runs_stage_is_left_alone(once_exported, tmp_path):
    to = tmp_path / "out"
    shutil.copytree(once_exported, to)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/f").write_text("mine")
    (to / "_staging-x").symlink_to(tmp_path / "precious")
    ExportDirectory(str(to)).begin("two", US, None)
    ExportDirectory(str(to)).abandon("two")
    assert (tmp_path / "precious/f").read_text() == "mine" and (to / "_staging-x").is_symlink()


@pytest.mark.slow
def test_a_commit_waits_for_another_run_that_looks_whether_it_may_begin(drawn, tmp_path):
    files, reached, _ = written(drawn, tmp_path, "one")
    lock = FileLock(tmp_path / "_lock")
    assert lock.try_lock()
    timer = threading.Timer(0.3, lock.unlock_and_close)
    timer.start()
    ExportDirectory(str(tmp_path)).commit("one", files, reached)
    timer.join()
    assert exported(tmp_path) == expected(drawn)


@pytest.mark.slow
def test_a_driver_dies_at_any_effect_of_carrying_through_what_another_left(once_exported, tmp_path):
    for effect in range(1, 100):
        to = tmp_path / str(effect)
        shutil.copytree(once_exported, to)
        path = staged_again(to)
        (to / "_staging-dead").mkdir()
        (to / f"_staging-dead/{STAGED}").touch()
        if not driver_dies_at(effect, partial(ExportDirectory(str(to)).begin, "two", US, None)):
            break
        assert "reached" in ExportDirectory(str(to)).begin("three", US, "two")
        assert offsets(to) == offsets(once_exported) and (to / path).exists()
        assert not list(to.glob("_staging*"))
    assert effect > 8


def test_with_spark(spark, drawn, tmp_path):
    to = tmp_path / "out"
    found = ranges(spark, [drawn.directory], maxBytesPerTask=3000)
    (answer,) = export(found, to=str(to), by_date=True).collect()
    assert (answer.topic, answer.partition, answer.records) == ("drawn", 3, len(drawn.records))
    table = spark.read.parquet(str(to))
    assert {"topic", "partition", "date", "offset", "headers"} < set(table.columns)
    assert sorted(row.offset for row in table.select("offset").collect()) == [each.offset for each in drawn.records]
    (answer,) = export(found, to=str(to), by_date=True).collect()
    assert (answer.records, answer.files, answer.firstOffset) == (0, 0, None)
    assert exported(to) == expected(drawn)


def test_with_spark_nothing_counts_when_a_task_fails(spark, drawn, tmp_path):
    log, to = copied(drawn, tmp_path), tmp_path / "out"
    damaged = sorted(log.directory.glob("*.log"))[3]
    data = bytearray(damaged.read_bytes())
    data[70] ^= 1
    damaged.write_bytes(data)
    found = ranges(spark, [log.directory], maxBytesPerTask=3000)
    with pytest.raises(Exception, match="CorruptRecordException"):
        export(found, to=str(to))
    assert sorted(path.name for path in to.iterdir()) == ["_lock"]
    (answer,) = export(found, to=str(to), mode="DROPMALFORMED").collect()
    assert 0 < answer.records < len(drawn.records)


def test_with_spark_a_second_export_is_refused_until_the_first_driver_is_dead(spark, drawn, tmp_path, monkeypatch):
    to = tmp_path / "out"
    found = ranges(spark, [drawn.directory])
    other = subprocess.Popen(["sleep", "60"])
    try:
        owner = ProcessId.of_driver()._replace(
            pid=other.pid, started=Path(f"/proc/{other.pid}/stat").read_text().split()[21]
        )
        ExportDirectory(str(to)).begin("other", tuple(owner), None)
        (to / "_staging-other").mkdir()
        with pytest.raises(KafkaException, match=f"Process {other.pid} on .* is exporting"):
            export(found, to=str(to))
    finally:
        other.kill()
        other.wait()
    export(found, to=str(to))
    assert exported(to) == expected(drawn)
    assert not list(to.glob("_staging*")) and os.listdir(to / "topic=drawn") == ["partition=3"]
