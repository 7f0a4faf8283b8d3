"""Filters of a query that spare reading: those on topic, partition, offset and timestamp."""

import operator
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.source.partition_bounds import PartitionBounds
from minikafka.spark.source.record_rows import RowFilter

Comparison = EqualTo | In | GreaterThan | GreaterThanOrEqual | LessThan | LessThanOrEqual

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class PushedFilters:
    """What the filters leave to be read. Spark applies every filter once more, so it may be too much."""

    def __init__(self, filters: Sequence[Filter] = ()):
        self._tests: dict[str, list[Comparison]] = {"topic": [], "partition": []}
        self._first_offset: int | None = None
        self._last_offset: int | None = None
        self._first_ms: int | None = None
        self._last_ms: int | None = None
        for each in filters:
            self._add(each)

    def lets_through(self, topic_partition: TopicPartition) -> bool:
        """Whether any record of the partition is wanted."""
        return all(
            _COMPARISONS[type(each)](value, each.value)
            for name, value in (("topic", topic_partition.topic), ("partition", topic_partition.partition))
            for each in self._tests[name]
        )

    def narrowed(self, bounds: PartitionBounds) -> PartitionBounds:
        """`bounds` without the offsets that are not wanted."""
        start, end = bounds.start, bounds.end
        if self._first_offset is not None:
            start = max(start, self._first_offset)
        if self._last_offset is not None and self._last_offset + 1 < end:
            return bounds._replace(start=start, end=self._last_offset + 1, whole=False)
        return bounds._replace(start=start)

    @property
    def row_filter(self) -> RowFilter:
        """The timestamps that are wanted."""
        return RowFilter(self._first_ms, self._last_ms)

    def _add(self, each: Filter) -> None:
        if not isinstance(each, (EqualTo, In, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)):
            return
        name = ".".join(each.attribute)
        if name in self._tests:
            self._tests[name].append(each)
        elif isinstance(each, In):
            numbers = [number for number in map(_number, each.value) if number is not None]
            if numbers and len(numbers) == len(each.value):
                self._at_least(name, min(numbers))
                self._at_most(name, max(numbers))
        elif (number := _number(each.value)) is not None:
            if isinstance(each, (EqualTo, GreaterThan, GreaterThanOrEqual)):
                self._at_least(name, number)
            if isinstance(each, (EqualTo, LessThan, LessThanOrEqual)):
                self._at_most(name, number)

    def _at_least(self, name: str, number: int) -> None:
        if name == "offset":
            self._first_offset = number if self._first_offset is None else max(self._first_offset, number)
        elif name == "timestamp":
            self._first_ms = number if self._first_ms is None else max(self._first_ms, number)

    def _at_most(self, name: str, number: int) -> None:
        if name == "offset":
            self._last_offset = number if self._last_offset is None else min(self._last_offset, number)
        elif name == "timestamp":
            self._last_ms = number if self._last_ms is None else min(self._last_ms, number)


def _number(value: object) -> int | None:
    """An offset, or a timestamp in ms rounded down, which no record between two milliseconds can have."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        return (value - _EPOCH) // _MILLISECOND
    return value if isinstance(value, int) else None


_COMPARISONS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    In: lambda value, values: value in values,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}
