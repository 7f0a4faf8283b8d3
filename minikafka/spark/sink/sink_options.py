"""The options of the data source's writer; `write_log_dir` describes what they mean."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from minikafka.common.errors import (
    IllegalArgumentException,
    InvalidPartitionsException,
    InvalidRequestException,
    InvalidTopicException,
    NumberFormatException,
    PolicyViolationException,
)
from minikafka.common.java.java_numbers import INT_MAX, parse_int
from minikafka.common.topic import CLUSTER_METADATA_TOPIC_NAME, validate
from minikafka.common.uuid import ZERO_UUID, uuid_from_string
from minikafka.log.log_config import INTERNAL_SEGMENT_BYTES_CONFIG, LogConfig
from minikafka.metadata.topic_creation import MAX_PARTITIONS_PER_BATCH
from minikafka.record.codecs.compression import Compression
from minikafka.spark.source.known_options import require_known

_OPTIONS = (
    "path", "topic", "partitions", "topicId", "leaderEpoch", "batch.size", "settings", "cluster.id", "node.id",
)  # fmt: skip


class SinkOptions(NamedTuple):
    """What is to be written where. `settings` are the topic's; `batch_size` is in bytes; `broker`: cluster, node."""

    log_dir: Path
    topic: str
    topic_id: str | None
    partitions: int
    leader_epoch: int
    batch_size: int
    settings: dict[str, str]
    broker: tuple[str, int] | None

    @staticmethod
    def of(options: Mapping[str, str]) -> "SinkOptions":
        """The options of a write.

        Raises InvalidTopicException, InvalidRequestException for the cluster's metadata, InvalidPartitionsException,
        PolicyViolationException, IllegalArgumentException, and what a LogConfig raises.
        """
        require_known(options, _OPTIONS)
        given = {name.lower(): text for name, text in options.items()}
        for required in ("path", "topic"):
            if not given.get(required):
                raise IllegalArgumentException(f"There is no {required} to write to")
        _require_topic(given["topic"])
        partitions = _number(given, "partitions", 1)
        if not partitions:
            raise InvalidPartitionsException(f"A topic has 1 partition or more, not {partitions}")
        if partitions > MAX_PARTITIONS_PER_BATCH:
            raise PolicyViolationException(
                f"Excessively large number of partitions per request: {partitions}; no more than "
                f"{MAX_PARTITIONS_PER_BATCH} are created at once"
            )
        topic_id = given.get("topicid")
        if topic_id is not None and uuid_from_string(topic_id) == ZERO_UUID:
            raise IllegalArgumentException(f"{topic_id} is no topic's id")
        settings = _settings(given)
        LogConfig.validate(
            {name: setting for name, setting in settings.items() if name != INTERNAL_SEGMENT_BYTES_CONFIG}
        )
        LogConfig(settings)
        broker = (given["cluster.id"], _number(given, "node.id", 0)) if "cluster.id" in given else None
        return SinkOptions(
            log_dir=_local_path(given["path"]),
            topic=given["topic"],
            topic_id=None if topic_id is None else uuid_from_string(topic_id),
            partitions=partitions,
            leader_epoch=_number(given, "leaderepoch", 0),
            batch_size=_number(given, "batch.size", 16384),
            settings=settings,
            broker=broker,
        )

    @property
    def config(self) -> LogConfig:
        """The topic's settings."""
        return LogConfig(self.settings)

    @property
    def compression(self) -> Compression:
        """The codec that the settings name; none for `producer`."""
        return self.config.compression or Compression.NONE


def _require_topic(name: str) -> None:
    try:
        validate(name)
    except InvalidTopicException as error:  # its name may have several lines
        raise InvalidTopicException(" ".join(str(error).splitlines())) from None
    if name == CLUSTER_METADATA_TOPIC_NAME:
        raise InvalidRequestException(f"Creation of internal topic {name} is prohibited.")


def _local_path(text: str) -> Path:
    path = text.removeprefix("file://")
    if "://" in path or path.startswith("file:") or "\0" in path:
        raise IllegalArgumentException(f"{text!r} is no path in a file system: a broker starts on no other")
    if ".." in Path(path).parts:  # which may stand behind a directory that is yet to be made
        return Path(os.path.realpath(path))
    return Path(path).absolute()


def _settings(given: Mapping[str, str]) -> dict[str, str]:
    text = given.get("settings", "{}")
    try:
        settings = json.loads(text)
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise IllegalArgumentException(f"settings={text!r} is no JSON object")
    return {name: str(setting) for name, setting in settings.items()}


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    try:
        number = parse_int(text)
    except NumberFormatException:
        number = -1
    if number < 0:
        raise IllegalArgumentException(f"{name}={text!r} is no number from 0 to {INT_MAX}")
    return number
