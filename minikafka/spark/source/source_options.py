"""The options of the data source, with the names of Spark's Kafka connector wherever that has the same one."""

import json
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from minikafka.common.errors import IllegalArgumentException, NumberFormatException
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.java.java_numbers import INT_MAX, LONG_MAX, parse_long
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.source.damage import Mode, OnDamage
from minikafka.spark.source.json_option import numbers_of
from minikafka.spark.source.known_options import require_source_options
from minikafka.spark.source.subscription import Subscription

LATEST = -1
EARLIEST = -2
_MEGABYTE = 1 << 20
_TIMESTAMPS_FORM = '{"topicA": {"0": 1700000000000, "1": 1700000000000}}'
_DURATION = re.compile(r"([0-9]+)(us|ms|s|m|min|h|d)?", re.ASCII)
_MS = {"us": 0.001, None: 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


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

    def offset_of(self, partition: TopicPartition) -> int:
        """The offset that is asked for, EARLIEST or LATEST, where no timestamp decides."""
        return self.offsets.get(partition, self.default)

    def require_partitions(self, there: Collection[TopicPartition], option: str) -> None:
        """Raises IllegalArgumentException unless the numbers that decide name all partitions that are `there`, and no
        others, as Spark's Kafka connector wants it.
        """
        named = self.timestamps or self.offsets
        if self.timestamp is not None or not named:
            return
        option = f"{option}OffsetsByTimestamp" if self.timestamps else f"{option}Offsets"
        for partition in sorted(named.keys() - set(there)):
            raise IllegalArgumentException(f"{option} names {partition}, which the query does not read or is not there")
        for partition in sorted(set(there) - named.keys()):
            raise IllegalArgumentException(
                f"{option} does not name {partition}: it names all partitions of a query or none"
                + ("" if self.timestamps else " (-2 is earliest, -1 latest)")
            )


class SourceOptions(NamedTuple):
    """What a query asks for; `data_source` describes each option. `max_trigger_delay` is in ms."""

    paths: list[str]
    subscription: Subscription
    table: str
    starting: Border
    ending: Border
    latest_if_no_offset: bool
    isolation: IsolationLevel
    to_log_end: bool
    copies: str
    on_damage: OnDamage
    check_crcs: bool
    include_headers: bool
    include_batches: bool
    max_bytes_per_task: int
    min_partitions: int
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay: int
    push_filters: bool
    storage_settings: dict[str, str]

    @staticmethod
    def of(options: Mapping[str, str], *, start: int = EARLIEST) -> "SourceOptions":
        """The options of a query, which starts at `start` unless they say where.

        Raises IllegalArgumentException for one that is unknown or has no meaning.
        """
        require_source_options(options)
        given = {name.lower(): text for name, text in options.items()}
        return _options(given, _border(given, "starting", start), _border(given, "ending", LATEST))

    @staticmethod
    def of_batch(options: Mapping[str, str]) -> "SourceOptions":
        """As `of`, of a batch query, which cannot start at the end or end at the start."""
        found = SourceOptions.of(options)
        starting, ending = found.starting, found.ending
        if LATEST in (starting.default, *starting.offsets.values()):
            raise IllegalArgumentException("startingOffsets cannot be latest (-1) in a batch query")
        if EARLIEST in (ending.default, *ending.offsets.values()):
            raise IllegalArgumentException("endingOffsets cannot be earliest (-2)")
        return found

    @staticmethod
    def of_stream(options: Mapping[str, str]) -> "SourceOptions":
        """As `of`, of a stream, which starts at `latest` unless they say where; it has no end."""
        for name in options:
            if name.lower().startswith("ending"):
                raise IllegalArgumentException(f"{name} is for batch queries: a stream has no end")
        return SourceOptions.of(options, start=LATEST)


def _options(given: Mapping[str, str], starting: Border, ending: Border) -> SourceOptions:
    most, least = (_positive(given, f"{name}OffsetsPerTrigger") for name in ("max", "min"))
    if most is not None and least is not None and least > most:
        raise IllegalArgumentException(f"minOffsetsPerTrigger={least} is more than maxOffsetsPerTrigger={most}")
    return SourceOptions(
        paths=_paths(given),
        subscription=Subscription.of(given),
        table=given.get("table", "records"),
        starting=starting,
        ending=ending,
        latest_if_no_offset=_choice(given, "startingOffsetsByTimestampStrategy", ("error", "latest")) == "latest",
        isolation=_isolation(given),
        to_log_end=_choice(given, "bounds", ("high_watermark", "log_end")) == "log_end",
        copies=_choice(given, "copies", ("all", "furthest", "refuse")),
        on_damage=_on_damage(given),
        check_crcs=_flag(given, "checkCrcs", default=True),
        include_headers=_flag(given, "includeHeaders"),
        include_batches=_flag(given, "includeBatches"),
        max_bytes_per_task=_positive(given, "maxBytesPerTask") or 128 * _MEGABYTE,
        min_partitions=_positive(given, "minPartitions", largest=INT_MAX) or 1,
        max_records_per_partition=_positive(given, "maxRecordsPerPartition"),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay=_milliseconds(given, "maxTriggerDelay", "15m"),
        push_filters=_flag(given, "pushFilters"),
        storage_settings={name.removeprefix("fs."): text for name, text in given.items() if name.startswith("fs.")},
    )


def _paths(given: Mapping[str, str]) -> list[str]:
    """What Spark makes of `load(path)` and `load([path, …])`."""
    paths: list[str] = []
    if "paths" in given:
        try:
            paths = json.loads(given["paths"])
        except (ValueError, RecursionError):
            paths = [0]  # type: ignore[list-item]
        if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
            raise IllegalArgumentException("paths is no JSON list of paths: load([path, …]) makes it")
    if "path" in given:
        paths.append(given["path"])
    if not paths:
        raise IllegalArgumentException("no path is given: load(path) names what is to be read")
    return paths


def _border(given: Mapping[str, str], name: str, default: int) -> Border:
    timestamp = _timestamp(given, f"{name}Timestamp")
    option = f"{name}OffsetsByTimestamp"
    by_timestamp = given.get(option.lower())
    timestamps = {} if by_timestamp is None else numbers_of(option, by_timestamp, _TIMESTAMPS_FORM)
    for partition, number in timestamps.items():
        if number < 0:
            raise IllegalArgumentException(f"{option} has {number} for {partition}, which is no time")
    option = f"{name}Offsets"
    text = given.get(option.lower(), "").strip()
    words = {"earliest": EARLIEST, "latest": LATEST}
    if option.lower() not in given:
        return Border(default, {}, timestamp, timestamps)
    if text.lower() in words:
        return Border(words[text.lower()], {}, timestamp, timestamps)
    offsets = numbers_of(option, text)
    for partition, number in offsets.items():
        if number < EARLIEST:
            raise IllegalArgumentException(f"{option} has {number} for {partition}: -2 is earliest, -1 is latest")
    if not offsets:
        raise IllegalArgumentException(f"{option}={text} names no partition")
    return Border(default, offsets, timestamp, timestamps)


def _isolation(given: Mapping[str, str]) -> IsolationLevel:
    levels = set()
    for option in ("isolation.level", "kafka.isolation.level"):
        if option not in given:
            continue
        try:
            levels.add(IsolationLevel[given[option].upper()])
        except KeyError:
            raise IllegalArgumentException(
                f"{option}={given[option]} is neither read_committed nor read_uncommitted"
            ) from None
    if len(levels) > 1:
        raise IllegalArgumentException("isolation.level and kafka.isolation.level contradict each other")
    return levels.pop() if levels else IsolationLevel.READ_UNCOMMITTED


def _on_damage(given: Mapping[str, str]) -> OnDamage:
    on_damage = OnDamage.of(Mode.of(given.get("mode", Mode.FAILFAST.value)))
    return on_damage._replace(fails_on_loss=_flag(given, "failOnDataLoss", default=on_damage.fails_on_loss))


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, str]) -> str:
    """The chosen one of two words, the first one if nothing is said."""
    text = given.get(name.lower(), choices[0])
    if text.lower() not in choices:
        raise IllegalArgumentException(f"{name}={text} is neither {choices[0]} nor {choices[1]}")
    return text.lower()


def _flag(given: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    text = given.get(name.lower(), str(default))
    if text.lower() not in ("true", "false"):
        raise IllegalArgumentException(f"{name}={text} is neither true nor false")
    return text.lower() == "true"


def _positive(given: Mapping[str, str], name: str, *, largest: int = LONG_MAX) -> int | None:
    """A number from 1 to `largest`, None for none."""
    text = given.get(name.lower())
    if text is None:
        return None
    number = _long(text)
    if number is None or not 1 <= number <= largest:
        raise IllegalArgumentException(f"{name}={text} is no number from 1 to {largest}")
    return number


def _timestamp(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name.lower())
    if text is None:
        return None
    number = _long(text.strip())
    if number is None or number < 0:
        raise IllegalArgumentException(f"{name}={text} is no time in ms since 1970")
    return number


def _milliseconds(given: Mapping[str, str], name: str, default: str) -> int:
    """A time as Spark writes it: `500ms`, `15m`; a number alone is one of ms."""
    text = given.get(name.lower(), default)
    matched = _DURATION.fullmatch(text.strip().lower())
    number = _long(matched[1]) if matched else None
    if matched is None or number is None:
        raise IllegalArgumentException(f"{name}={text} is no time such as 500ms, 5s, 15m, 2h or 1d")
    return int(number * _MS[matched[2]])


def _long(text: str) -> int | None:
    try:
        return parse_long(text)
    except NumberFormatException:
        return None
