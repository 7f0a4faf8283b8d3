"""What a write is not begun with: told in one line, before there is a Spark or a directory."""

import json
from pathlib import Path

import pytest

from minikafka.common.errors import (
    IllegalArgumentException,
    InvalidPartitionsException,
    InvalidRequestException,
    InvalidTopicException,
    PolicyViolationException,
)
from minikafka.spark.sink.sink_options import SinkOptions


def options(**changed: str) -> SinkOptions:
    return SinkOptions.of({"path": "/data", "topic": "t", **changed})


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"topic": "a/b"}, InvalidTopicException, "'a/b' contains one or more characters other than"),
        ({"topic": "a\nb"}, InvalidTopicException, "'a b' contains one or more characters other than"),
        ({"topic": ".."}, InvalidTopicException, "'..' is not allowed"),
        ({"topic": "x" * 250}, InvalidTopicException, "is longer than the max allowed length 249"),
        ({"topic": ""}, IllegalArgumentException, "There is no topic to write to"),
        ({"topic": "__cluster_metadata"}, InvalidRequestException, "Creation of internal topic __cluster_metadata is"),
        ({"partitions": "0"}, InvalidPartitionsException, "A topic has 1 partition or more, not 0"),
        ({"partitions": "-1"}, IllegalArgumentException, "partitions='-1' is no number from 0 to 2147483647"),
        ({"partitions": "1_0"}, IllegalArgumentException, "partitions='1_0' is no number from 0 to 2147483647"),
        (
            {"partitions": "10001"},
            PolicyViolationException,
            "Excessively large number of partitions per request: 10001",
        ),
        ({"partitions": "2147483648"}, IllegalArgumentException, "partitions='2147483648' is no number from 0 to"),
        ({"leaderEpoch": "-1"}, IllegalArgumentException, "leaderepoch='-1' is no number from 0 to 2147483647"),
        ({"path": ""}, IllegalArgumentException, "There is no path to write to"),
        ({"path": "s3://bucket/data"}, IllegalArgumentException, "'s3://bucket/data' is no path in a file system"),
        ({"path": "file:/data"}, IllegalArgumentException, "'file:/data' is no path in a file system"),
        ({"path": "/da\0ta"}, IllegalArgumentException, "'/da\\x00ta' is no path in a file system"),
        ({"settings": "[]"}, IllegalArgumentException, "settings='[]' is no JSON object"),
        ({"settings": "{"}, IllegalArgumentException, "settings='{' is no JSON object"),
        ({"topicId": "A" * 22}, IllegalArgumentException, "is no topic's id"),
    ],
)
def test_what_cannot_be_is_refused(changed, error, message):
    with pytest.raises(error) as raised:
        options(**changed)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_can_be_is_taken():
    taken = options(path="file:///data", partitions="10000", settings=json.dumps({"retention.ms": 5}))
    assert (taken.log_dir, taken.partitions, taken.settings) == (Path("/data"), 10_000, {"retention.ms": "5"})


def test_a_step_back_behind_a_missing_directory_leads_where_it_will_lead(tmp_path):
    (tmp_path / "elsewhere" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "below")
    assert options(path=f"{tmp_path}/new/..").log_dir == tmp_path
    assert options(path=f"{tmp_path}/link/..").log_dir == tmp_path / "elsewhere"
