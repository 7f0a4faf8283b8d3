"""In a Spark session: how rows become records, where they go, and in which order."""

import pytest

from minikafka.common.errors import (
    ConfigException,
    IllegalArgumentException,
    InvalidConfigurationException,
    InvalidOffsetException,
    InvalidPartitionsException,
    InvalidTimestampException,
    InvalidTopicException,
    KafkaStorageException,
    PolicyViolationException,
    TopicExistsException,
)
from minikafka.common.murmur2 import murmur2
from minikafka.spark import register, write_log_dir
from tests.spark.rows import rows


@pytest.fixture(scope="module")
def registered(spark):
    register(spark)
    return spark


def test_keys_choose_partitions_and_values_where_there_is_no_key(registered, tmp_path):
    frame = registered.range(200).selectExpr(
        "IF(id % 4 = 0, NULL, CONCAT('k', id)) key", "IF(id % 3 = 0, NULL, CAST(id AS string)) value"
    )
    write_log_dir(frame, str(tmp_path), topic="t", partitions=5)
    back = rows(tmp_path)
    assert len(back) == 200
    for each in back:
        hashed = each["value"] or b"" if each["key"] is None else each["key"]
        assert each["partition"] == murmur2(hashed, 0, len(hashed)) % 5
    written = {(None if row.key is None else row.key.encode(), None if row.value is None else row.value.encode())
               for row in frame.collect()}  # fmt: skip
    assert {(each["key"], each["value"]) for each in back} == written


def test_a_partition_that_is_given_is_kept_and_the_others_are_chosen(registered, tmp_path):
    frame = registered.range(20).selectExpr("'k' key", "CAST(id AS string) value", "IF(id < 10, 3, NULL) partition")
    write_log_dir(frame, str(tmp_path), topic="t")
    chosen = murmur2(b"k", 0, 1) % 4
    assert chosen != 3
    partitions = {int(each["value"]): each["partition"] for each in rows(tmp_path)}
    assert partitions == {number: 3 if number < 10 else chosen for number in range(20)}
    assert sorted(path.name for path in tmp_path.glob("t-*")) == ["t-0", "t-1", "t-2", "t-3"]


AROUND_NOW = "IF(id < 50, id, 4000000000000 + id)"
"""ms: 1970 and 2096."""
ORDER_AROUND_NOW = [*range(1, 50, 2), *range(0, 100, 2), *range(51, 100, 2)]
"""Those of 1970, those that are stamped now, those of 2096."""


@pytest.mark.parametrize(
    ("columns", "order_by", "expected"),
    [
        (["99 - id offset"], None, range(99, -1, -1)),
        ([], None, range(100)),
        (["timestamp_millis((id * 37) % 100) timestamp"], None, sorted(range(100), key=lambda n: n * 37 % 100)),
        (["CAST(id % 3 AS bigint) timestamp"], None, sorted(range(100), key=lambda n: n % 3)),
        ([f"IF(id % 2 = 0, NULL, timestamp_millis({AROUND_NOW})) timestamp"], None, ORDER_AROUND_NOW),
        ([f"IF(id % 2 = 0, NULL, {AROUND_NOW}) timestamp"], ["timestamp"], ORDER_AROUND_NOW),
        (["timestamp_millis((id * 37) % 100) timestamp"], [], range(100)),
        (["id % 3 rank", "-id other"], ["rank", "other"], sorted(range(100), key=lambda n: (n % 3, -n))),
    ],
    ids=[
        "offset",
        "none",
        "timestamp",
        "equal timestamps",
        "no timestamps",
        "no timestamps, asked for",
        "input order",
        "order_by",
    ],
)
def test_the_order_of_records(registered, tmp_path, columns, order_by, expected):
    frame = registered.range(0, 100, 1, 7).selectExpr("CAST(id AS string) value", *columns)
    write_log_dir(frame, str(tmp_path), topic="t", order_by=order_by)
    back = rows(tmp_path)
    assert [int(each["value"]) for each in back] == list(expected)
    assert [each["offset"] for each in back] == list(range(100))


def test_a_timestamp_that_is_missing_is_the_time_of_the_write(registered, tmp_path):
    before = registered.sql("SELECT current_timestamp()").first()[0].astimezone()
    frame = registered.sql("SELECT 'a' value, NULL :: timestamp timestamp UNION ALL SELECT 'b', timestamp_millis(-1)")
    write_log_dir(frame, str(tmp_path), topic="t", order_by=["value"])
    first, second = rows(tmp_path)
    assert first["timestamp"] >= before.replace(microsecond=0)
    assert round(second["timestamp"].timestamp() * 1000) == -1


def refusals():
    header = "CAST('x' AS binary)"
    return {
        "SELECT 'v' value": [
            ({"topic": "a/b"}, InvalidTopicException, "Topic name is invalid: 'a/b' contains one or more characters"),
            ({"topic": ""}, IllegalArgumentException, "There is no topic to write to"),
            ({"partitions": 0}, InvalidPartitionsException, "A topic has 1 partition or more, not 0"),
            ({"topic_id": "x"}, IllegalArgumentException, "Input byte"),
            ({"mode": "append"}, IllegalArgumentException, "mode=append is neither error nor overwrite"),
            ({"order_by": "value"}, IllegalArgumentException, "order_by='value' is one name, not a list of names"),
            ({"order_by": ["no"]}, IllegalArgumentException, "with name `no` cannot be resolved"),
            ({"settings": {"segment.byts": 1}}, InvalidConfigurationException, "Unknown topic config name: segment.by"),
            ({"settings": {"segment.bytes": 1}}, ConfigException, "Invalid value 1 for configuration segment.bytes"),
            ({"settings": {"compression.type": "brotli"}}, ConfigException, "Invalid value brotli for configuration"),
        ],
        "SELECT 1 key, 'v' value": [({}, IllegalArgumentException, "Column `key` is int, which is no binary")],
        "SELECT 'k' key": [({}, IllegalArgumentException, "The rows have no column `value`; they have: key")],
        "SELECT 'v' value, 'w' value": [({}, IllegalArgumentException, "is ambiguous")],
        "SELECT 'v' value, map(1, 2) m": [({"order_by": ["m"]}, IllegalArgumentException, "does not support ordering")],
        **{
            f"SELECT 'v' value, {headers} headers": [({}, IllegalArgumentException, "Column `headers` is ")]
            for headers in (
                "array('a')", f"map('a', {header})", "'a'", f"array(struct(1 AS key, {header} AS value))",
                f"array(struct({header} AS value, 'a' AS key))", "array(struct('a' AS key))",
            )
        },
        "SELECT 'v' value, array(NULL :: struct<key: string, value: binary>) headers": [
            ({}, IllegalArgumentException, "A header has no key")
        ],
        "SELECT 'v' value, 'x' timestamp": [({}, IllegalArgumentException, "Column `timestamp` is string")],
        "SELECT 'v' value, -2L timestamp": [({}, InvalidTimestampException, "A record's timestamp is -2 ms")],
        "SELECT 'v' value, 9223372036854775807L timestamp": [
            ({}, InvalidTimestampException, "A timestamp in ms is no time that is known: 9223372036854775807")
        ],
        "SELECT 'v' value, 3L offset UNION ALL SELECT 'w', 3L": [
            ({}, InvalidOffsetException, "Offset 3 of t-0 is negative, occurs twice, or does not ascend")
        ],
        "SELECT 'v' value, -1 offset": [({}, InvalidOffsetException, "Offset -1 of t-0 is negative")],
        "SELECT 'v' value, NULL offset": [({}, InvalidOffsetException, "A row of t-0 has no offset")],
        "SELECT 'v' value, 9223372036854775807L offset": [({}, InvalidOffsetException, "no log can end")],
        "SELECT 'v' value, '1' offset": [({}, IllegalArgumentException, "Column `offset` is string")],
        "SELECT 'v' value, 7 partition": [
            ({"partitions": 2}, IllegalArgumentException, "A row is of partition 7; t ha")
        ],
        "SELECT 'v' value, -1 partition": [
            ({}, IllegalArgumentException, "A row is of partition -1; the first one is 0"),
            ({"partitions": 2}, IllegalArgumentException, "A row is of partition -1; t has 2"),
        ],
        "SELECT 'v' value, 4294967296L partition": [
            ({}, IllegalArgumentException, "partitions='4294967297' is no number from 0 to 2147483647"),
            ({"partitions": 2}, IllegalArgumentException, "A row's partition is no int: 4294967296"),
        ],
        "SELECT 'v' value, 2147483646 partition": [({}, PolicyViolationException, "Excessively large number")],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "arguments", "error", "message"),
    [(query, *refusal) for query, refused in refusals().items() for refusal in refused],
)
def test_what_cannot_be_written_is_told_in_one_line_and_leaves_nothing(
    registered, tmp_path, query, arguments, error, message
):
    log_dir = tmp_path / "data"
    with pytest.raises(error) as raised:
        write_log_dir(registered.sql(query), str(log_dir), **{"topic": "t", **arguments})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not log_dir.exists()


def test_columns_that_are_nothing_but_null_are_none(registered, tmp_path):
    frame = registered.sql("SELECT NULL key, NULL value, NULL headers, NULL timestamp, NULL partition")
    write_log_dir(frame, str(tmp_path), topic="t")
    (only,) = rows(tmp_path)
    assert (only["key"], only["value"], only["offset"]) == (None, None, 0)


def test_a_partition_beyond_int_is_refused_where_spark_would_wrap_it(registered, tmp_path):
    frame = registered.sql("SELECT 'v' value, 4294967296L partition")
    registered.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(IllegalArgumentException, match="^A row's partition is no int: 4294967296$"):
            write_log_dir(frame, str(tmp_path / "data"), topic="t", partitions=2)
    finally:
        registered.conf.unset("spark.sql.ansi.enabled")
    assert not (tmp_path / "data").exists()


def test_what_the_disk_refuses_is_told_in_one_line(registered, tmp_path):
    frame = registered.sql("SELECT 'v' value")
    write_log_dir(frame, str(tmp_path / "written"), topic="t")
    with pytest.raises(TopicExistsException, match="t-0 has records; mode='overwrite' would replace the topic$"):
        write_log_dir(frame, str(tmp_path / "written"), topic="t")
    (tmp_path / "file").write_text("")
    with pytest.raises(KafkaStorageException, match=r"cannot be written: \[Errno 20\] Not a directory: '[^\n]*'$"):
        write_log_dir(frame, str(tmp_path / "file" / "data"), topic="t")
    with pytest.raises(KafkaStorageException, match=r"cannot be written: \[Errno 36\] File name too long: '[^\n]*'$"):
        write_log_dir(frame, str(tmp_path / ("d" * 300)), topic="t")


def test_a_row_whose_making_fails_is_told_by_spark_and_leaves_nothing(registered, tmp_path):
    log_dir = tmp_path / "data"
    frame = registered.range(1000).selectExpr("CAST(raise_error(concat('no ', id)) AS string) value")
    with pytest.raises(Exception, match=r"no \d"):
        write_log_dir(frame, str(log_dir), topic="t")
    assert not log_dir.exists()
