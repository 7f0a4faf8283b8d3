"""The tables `ranges` and `partitions`: a query of the records as rows, which make its byte ranges again."""

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.datasource import EqualTo
from pyspark.sql.pandas.types import to_arrow_schema

from minikafka.common.errors import CorruptRecordException
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.jobs.byte_ranges import for_each_task, range_of, ranges
from minikafka.spark.source.damage import Damage, Mode, OnDamage
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.range_rows import RangeRows
from minikafka.spark.source.read_task import ReadTask
from minikafka.spark.source.segment_positions import PositionRange
from tests.golden.places import GOLDEN
from tests.spark.drawn_log import draw_log
from tests.spark.rows import rows


def test_rows_make_the_ranges_of_a_query_again(tmp_path):
    directory = draw_log(tmp_path, 3).directory
    for options in ({}, {"maxBytesPerTask": "500"}, {"isolation.level": "read_committed", "minPartitions": "4"}):
        given = {"path": str(directory), **options}
        source = KafkaLogDataSource(given)
        tasks = source.reader(source.schema()).partitions()
        found = rows(directory, table="ranges", **{name.replace(".", "__"): value for name, value in options.items()})
        assert list(map(range_of, found)) == [each for task in tasks for each in task.ranges]
        assert [row["task"] for row in found] == [number for number, task in enumerate(tasks) for _ in task.ranges]


def test_a_partition_without_a_byte_has_an_empty_range(tmp_path):
    with_an_empty_partition(tmp_path)
    (found,) = map(range_of, rows(tmp_path, table="ranges"))
    assert found.topic_partition == TopicPartition("empty", 0)
    assert (found.positions, found.start_offset, found.end_offset) == (PositionRange(0, 0), 7, 7)


def with_an_empty_partition(log_dir):
    (log_dir / "empty-0").mkdir()
    (log_dir / "empty-0" / f"{7:020}.log").touch()


def test_damage_that_was_met_while_planning():
    partition, damage = TopicPartition("t", 0), Damage("/log/t-0/0.log", 0, "OSError: gone")
    task = ReadTask([], [(partition, damage)], 0)
    source = KafkaLogDataSource({"path": "/", "table": "ranges", "mode": "PERMISSIVE"})
    schema = to_arrow_schema(source.schema())
    (batch,) = RangeRows(schema, OnDamage.of(Mode.PERMISSIVE)).of(task)
    (row,) = batch.to_pylist()
    assert (row["topic"], row["segment"], row["_corrupt"]) == ("t", None, damage._asdict())
    assert not list(RangeRows(schema, OnDamage.of(Mode.DROPMALFORMED)).of(task))
    with pytest.raises(CorruptRecordException, match="/log/t-0/0.log, position 0: OSError: gone"):
        list(RangeRows(schema, OnDamage.of(Mode.FAILFAST)).of(task))


def test_each_task_is_a_partition_of_spark(spark, tmp_path):
    directory = draw_log(tmp_path, 3).directory
    found = ranges(spark, [directory], maxBytesPerTask=2000)
    numbers = [row.task for row in found.collect()]
    assert len(set(numbers)) > 5
    seen = for_each_task(found, offsets_of_a_task, "first bigint, spark bigint").orderBy("first").collect()
    assert [row.first for row in seen] == sorted({row.first for row in seen})
    assert len({row.spark for row in seen}) == len(seen) == len(set(numbers))
    some = for_each_task(found.where("partition = 4"), offsets_of_a_task, "first bigint, spark bigint")
    assert [row.first for row in some.collect() if row.first is not None] == []
    with_an_empty_partition(tmp_path)
    of_nothing = ranges(spark, [tmp_path / "empty-0"])
    for with_empty, first in ((False, [None]), (True, [7 << 32])):
        seen = for_each_task(of_nothing, offsets_of_a_task, "first bigint, spark bigint", with_empty=with_empty)
        assert [row.first for row in seen.collect()] == first


def offsets_of_a_task(found):
    first = min((each.positions.start + (each.segment.base_offset << 32) for each in found), default=None)
    yield pa.record_batch({"first": [first], "spark": [TaskContext.get().partitionId()]}, schema=SEEN)


SEEN = pa.schema([("first", pa.int64()), ("spark", pa.int64())])


def test_partitions(tmp_path):
    directory = draw_log(tmp_path, 3).directory
    assert rows(tmp_path, table="partitions") == [{"topic": "drawn", "partition": 3, "directory": str(directory)}]
    assert rows(GOLDEN, EqualTo(("partition",), 1), table="partitions") == []
