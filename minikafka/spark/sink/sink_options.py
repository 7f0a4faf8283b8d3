"""The options of the data source's writer; `write_log_dir` describes what they mean."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from minikafka.common.errors import IllegalArgumentException, InvalidPartitionsException
from minikafka.common.java_numbers import INT_MAX
from minikafka.common.topic import validate
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID, uuid_from_string
from minikafka.log.log_config import INTERNAL_SEGMENT_BYTES_CONFIG, LogConfig
from minikafka.log.log_dir_name import log_dir_name
from minikafka.record.compression import Compression

_LONGEST_NAME = 255  # bytes; of a file, wherever Kafka runs


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

        Raises InvalidTopicException, InvalidPartitionsException, IllegalArgumentException, and what a LogConfig raises.
        """
        given = {name.lower(): text for name, text in options.items()}
        for required in ("path", "topic"):
            if not given.get(required):
                raise IllegalArgumentException(f"There is no {required} to write to")
        validate(given["topic"])
        partitions = _number(given, "partitions", 1)
        if not 1 <= partitions <= INT_MAX:
            raise InvalidPartitionsException(f"A topic has 1 partition or more, not {partitions}")
        longest = log_dir_name(TopicPartition(given["topic"], partitions - 1))
        if len(longest) > _LONGEST_NAME:
            raise InvalidPartitionsException(
                f"The name of directory {longest} would have {len(longest)} characters, more than {_LONGEST_NAME}"
            )
        topic_id = given.get("topicid")
        if topic_id is not None and uuid_from_string(topic_id) == ZERO_UUID:
            raise IllegalArgumentException(f"{topic_id} is no topic's id")
        settings = json.loads(given.get("settings", "{}"))
        LogConfig.validate(
            {name: setting for name, setting in settings.items() if name != INTERNAL_SEGMENT_BYTES_CONFIG}
        )
        LogConfig(settings)
        broker = (given["cluster.id"], _number(given, "node.id", 0)) if "cluster.id" in given else None
        return SinkOptions(
            log_dir=Path(given["path"].removeprefix("file://")).absolute(),
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


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= INT_MAX:
        raise IllegalArgumentException(f"{name}={text} is no number from 0 to {INT_MAX}")
    return number
