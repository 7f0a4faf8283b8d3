"""The options of the data source, with the names of Spark's Kafka connector wherever that has the same one."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.java_numbers import LONG_MAX, LONG_MIN
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.source.damage import Mode

LATEST = -1
EARLIEST = -2
_MEGABYTE = 1 << 20


class Border(NamedTuple):
    """Where a query starts or ends, as asked for.

    An offset, EARLIEST or LATEST for each partition of `offsets`, `default` for the others. Timestamps (ms) come first:
    that of `timestamps`, then `timestamp`, None for none; the border is then the first offset whose record is no
    earlier.
    """

    default: int
    offsets: dict[TopicPartition, int]
    timestamp: int | None = None
    timestamps: dict[TopicPartition, int] = {}

    def timestamp_of(self, partition: TopicPartition) -> int | None:
        """The timestamp in ms that decides for the partition, None when offsets do."""
        return self.timestamp if self.timestamp is not None else self.timestamps.get(partition)


class SourceOptions(NamedTuple):
    """What a query asks for; `data_source` describes each option."""

    paths: list[str]
    topics: frozenset[str] | None
    table: str
    starting: Border
    ending: Border
    latest_if_no_offset: bool
    isolation: IsolationLevel
    to_log_end: bool
    mode: Mode
    check_crcs: bool
    include_headers: bool
    include_batches: bool
    max_bytes_per_task: int
    min_partitions: int
    max_offsets_per_trigger: int | None
    push_filters: bool
    storage_settings: dict[str, str]

    @staticmethod
    def of(options: Mapping[str, str], *, start: int = EARLIEST) -> "SourceOptions":
        """The options of a query, which starts at `start` unless they say where.

        Raises IllegalArgumentException for one that has no meaning.
        """
        given = {name.lower(): text for name, text in options.items()}
        paths = json.loads(given["paths"]) if "paths" in given else []
        if "path" in given:
            paths.append(given["path"])
        if not paths:
            raise IllegalArgumentException("no path is given: load(path) names what is to be read")
        bounds = given.get("bounds", "high_watermark")
        if bounds not in ("high_watermark", "log_end"):
            raise IllegalArgumentException(f"bounds={bounds} is neither high_watermark nor log_end")
        strategy = given.get("startingoffsetsbytimestampstrategy", "error")
        if strategy not in ("error", "latest"):
            raise IllegalArgumentException(f"startingOffsetsByTimestampStrategy={strategy} is neither error nor latest")
        topics = given.get("subscribe")
        isolation = given.get("isolation.level", given.get("kafka.isolation.level", "read_uncommitted"))
        limit = _number(given, "maxoffsetspertrigger", None)
        return SourceOptions(
            paths=paths,
            topics=None if topics is None else frozenset(topic.strip() for topic in topics.split(",")),
            table=given.get("table", "records"),
            starting=_border(given, "starting", start),
            ending=_border(given, "ending", LATEST),
            latest_if_no_offset=strategy == "latest",
            isolation=_isolation(isolation),
            to_log_end=bounds == "log_end",
            mode=Mode.of(given.get("mode", Mode.FAILFAST.value)),
            check_crcs=_flag(given, "checkcrcs", default=True),
            include_headers=_flag(given, "includeheaders"),
            include_batches=_flag(given, "includebatches"),
            max_bytes_per_task=_number(given, "maxbytespertask", 128 * _MEGABYTE) or 1,
            min_partitions=_number(given, "minpartitions", 1) or 1,
            max_offsets_per_trigger=limit,
            push_filters=_flag(given, "pushfilters"),
            storage_settings={name.removeprefix("fs."): text for name, text in given.items() if name.startswith("fs.")},
        )


def offsets_of(text: str, option: str) -> dict[TopicPartition, int]:
    """The numbers in JSON of the form `{"topic": {"0": 23}}`; raises IllegalArgumentException."""
    try:
        return {
            TopicPartition(topic, int(partition)): _long(number)
            for topic, partitions in json.loads(text).items()
            for partition, number in partitions.items()
        }
    except (ValueError, TypeError, AttributeError):
        raise IllegalArgumentException(
            f'{option}={text} is not of the form {{"topicA": {{"0": 23, "1": -1}}, "topicB": {{"0": -2}}}}'
        ) from None


def _long(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not LONG_MIN <= number <= LONG_MAX:
        raise ValueError(number)
    return number


def _border(given: Mapping[str, str], name: str, default: int) -> Border:
    timestamp = _number(given, f"{name}timestamp", None)
    by_timestamp = given.get(f"{name}offsetsbytimestamp")
    timestamps = {} if by_timestamp is None else offsets_of(by_timestamp, f"{name}OffsetsByTimestamp")
    option = f"{name}Offsets"
    text = given.get(option.lower())
    words = {"earliest": EARLIEST, "latest": LATEST}
    if text is None:
        return Border(default, {}, timestamp, timestamps)
    if text.lower() in words:
        border = Border(words[text.lower()], {}, timestamp, timestamps)
    else:
        border = Border(default, offsets_of(text, option), timestamp, timestamps)
    if name == "ending" and EARLIEST in (border.default, *border.offsets.values()):
        raise IllegalArgumentException("endingOffsets cannot be earliest (-2)")
    return border


def _isolation(name: str) -> IsolationLevel:
    try:
        return IsolationLevel[name.upper()]
    except KeyError:
        raise IllegalArgumentException(
            f"isolation.level={name} is neither read_committed nor read_uncommitted"
        ) from None


def _flag(given: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise IllegalArgumentException(f"{name}={text} is neither true nor false")
    return text == "true"


def _number(given: Mapping[str, str], name: str, default: int | None) -> int | None:
    if name not in given:
        return default
    try:
        number = int(given[name])
    except ValueError:
        number = -1
    if number < 0:
        raise IllegalArgumentException(f"{name}={given[name]} is no number of 0 or more")
    return number
