"""Streams whose micro batches `write_log_dir` writes, through failures and restarts from the checkpoint."""

import os
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from minikafka.common.errors import IllegalArgumentException
from minikafka.spark import write_log_dir
from tests.spark.rows import rows

LINES = ["a a b", "b c", "c c d"]  # a micro batch each


@pytest.fixture
def lines(spark, tmp_path):
    """A stream of text, a file a micro batch."""
    source = tmp_path / "source"
    source.mkdir()
    for number, line in enumerate(LINES):
        file = source / str(number)
        file.write_text(line)
        os.utime(file, (number, number))  # Spark takes the oldest first
    return spark.readStream.option("maxFilesPerTrigger", 1).text(str(source))


def run(stream, tmp_path: Path, write, mode: str = "append") -> None:
    """Write what there is, from where the checkpoint is."""
    options = stream.writeStream.outputMode(mode).option("checkpointLocation", str(tmp_path / "checkpoint"))
    options.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()


def test_a_stream_itself_is_refused(lines, tmp_path):
    with pytest.raises(IllegalArgumentException, match=r"The rows are a stream, .* micro batches \(foreachBatch\)$"):
        write_log_dir(lines, str(tmp_path / "data"), topic="t")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("dies", ["before the write", "after the write"])
def test_a_table_that_each_micro_batch_replaces_is_whole_after_a_restart(lines, tmp_path, dies):
    """In complete mode a micro batch is the whole table. The one that is repeated puts the same in its place."""
    words = lines.select(F.explode(F.split("value", " ")).alias("key"))
    totals = words.groupBy("key").count().selectExpr("key", "CAST(count AS string) value")
    log_dir, begun, ids = tmp_path / "data", [], set()

    def write(batch, number):
        begun.append(number)
        first_try = begun == [0, 1]
        if first_try and dies == "before the write":
            raise RuntimeError("the driver dies")
        write_log_dir(batch, str(log_dir), topic="totals", order_by=["key"], mode="overwrite")
        ids.add((log_dir / "totals-0" / "partition.metadata").read_text())
        if first_try:
            raise RuntimeError("the driver dies")

    def table() -> list[tuple]:
        return [(each["offset"], each["key"], each["value"]) for each in rows(log_dir)]

    with pytest.raises(StreamingQueryException):
        run(totals, tmp_path, write, "complete")
    after_one = [(0, b"a", b"2"), (1, b"b", b"1")]
    after_two = [(0, b"a", b"2"), (1, b"b", b"2"), (2, b"c", b"1")]
    assert table() == (after_one if dies == "before the write" else after_two)
    run(totals, tmp_path, write, "complete")
    assert begun == [0, 1, 1, 2]
    assert table() == [(0, b"a", b"2"), (1, b"b", b"2"), (2, b"c", b"3"), (3, b"d", b"1")]
    assert len(ids) == 1, "the topic keeps its id"


def test_nothing_is_appended_to_a_topic(lines, tmp_path):
    """The second micro batch is refused, or replaces the first."""

    def refused(batch, number):
        write_log_dir(batch, str(tmp_path / "refused"), topic="t")

    with pytest.raises(StreamingQueryException, match="t-0 has records; mode='overwrite' would replace the topic"):
        run(lines, tmp_path / "1", refused)
    assert [each["value"] for each in rows(tmp_path / "refused")] == [LINES[0].encode()]

    def replaced(batch, number):
        write_log_dir(batch, str(tmp_path / "replaced"), topic="t", mode="overwrite")

    run(lines, tmp_path / "2", replaced)
    assert [each["value"] for each in rows(tmp_path / "replaced")] == [LINES[2].encode()]


def test_micro_batches_in_directories_of_their_own_are_there_once_each_after_a_restart(lines, tmp_path):
    begun = []

    def write(batch, number):
        begun.append(number)
        write_log_dir(batch, str(tmp_path / "data" / str(number)), topic="t", mode="overwrite")
        if begun == [0, 1]:
            raise RuntimeError("the driver dies")

    with pytest.raises(StreamingQueryException):
        run(lines, tmp_path, write)
    run(lines, tmp_path, write)
    assert begun == [0, 1, 1, 2]
    for number, line in enumerate(LINES):
        assert [(each["offset"], each["value"]) for each in rows(tmp_path / "data" / str(number))] == [
            (0, line.encode())
        ]
