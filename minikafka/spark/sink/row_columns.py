"""Rows as Spark hands them to a task, seen as the columns that the kernel writes; no byte of a value is copied."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minikafka.common.errors import IllegalArgumentException, InvalidTimestampException
from minikafka.record.format.batch_header import NO_TIMESTAMP
from minikafka.record.kernels.batch_encoder import headers_as_bytes
from minikafka.record.kernels.unbatched_records import UnbatchedHeaders, UnbatchedRecords


def records_of(rows: pa.RecordBatch, offsets: NDArray[np.int64], now: int) -> UnbatchedRecords:
    """The records that the rows are, with these offsets; `now` (ms) is the timestamp of those that have none.

    Raises IllegalArgumentException for a header without a key, InvalidTimestampException.
    """
    key, value = rows.column("key"), rows.column("value")
    return UnbatchedRecords(
        offsets,
        _milliseconds(rows.column("timestamp"), now),
        *bytes_and_edges(key),
        _nulls(key),
        *bytes_and_edges(value),
        _nulls(value),
        *_headers(rows.column("headers")),
    )


def bytes_and_edges(column: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """The bytes of a column, and where in them its values begin, and the last one ends."""
    column = column.cast(pa.binary())
    _, edges, data = column.buffers()
    ends = _integers(edges, column.offset, len(column) + 1)
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), ends


def _integers(buffer: pa.Buffer | None, first: int, count: int) -> NDArray[np.int32]:
    if buffer is None or not buffer.size:  # an empty column may have no edges at all
        return np.zeros(count, np.int32)
    return np.frombuffer(buffer, np.int32)[first : first + count]


def _nulls(column: pa.Array) -> NDArray[np.bool_]:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return np.asarray(column.is_null())


def _milliseconds(column: pa.Array, now: int) -> NDArray[np.int64]:
    microseconds = np.asarray(column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).fill_null(0))
    timestamps = microseconds // 1000
    if column.null_count:
        timestamps = np.where(_nulls(column), now, timestamps)
    if len(timestamps) and timestamps.min() < NO_TIMESTAMP:
        raise InvalidTimestampException(
            f"A record's timestamp is {timestamps.min()} ms; Kafka has none before 1970, but -1 for none at all"
        )
    return timestamps


def _headers(column: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]]:
    """The headers of all rows as bytes, where those of each begin, and how many each has."""
    edges = _integers(column.buffers()[1], column.offset, len(column) + 1)
    if edges[0] == edges[-1]:
        return np.empty(0, np.uint8), np.zeros(len(column) + 1, np.int64), np.zeros(len(column), np.int32)
    keys, values = column.values.field("key"), column.values.field("value")
    if any(each.slice(edges[0], edges[-1] - edges[0]).null_count for each in (column.values, keys)):
        raise IllegalArgumentException("A header has no key")
    headers = UnbatchedHeaders(edges, *bytes_and_edges(keys), *bytes_and_edges(values), _nulls(values))
    return *headers_as_bytes(headers), np.diff(edges)
