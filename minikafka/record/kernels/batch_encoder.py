"""Makes batches of columns of records, without an object for each record."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.batch_header import RECORD_BATCH_OVERHEAD, write_header
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record_batch import (
    CURRENT_MAGIC_VALUE,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
)
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels import record_columns, writing_kernel
from minikafka.record.kernels.column import Column
from minikafka.record.kernels.unbatched_records import UnbatchedHeaders, UnbatchedRecords

if TYPE_CHECKING:  # numpy is imported when it is first needed
    import numpy as np
    from numpy.typing import NDArray

_MAX_RECORD_OVERHEAD = 21  # bytes: sizes, attributes and deltas of a record at their longest

Columns = TypeVar("Columns", UnbatchedRecords, UnbatchedHeaders)


class BatchEncoder:
    """Takes records as numpy arrays, piece by piece, and gives batches of magic 2.

    - A batch takes records as long as a producer with this `batch.size` would: until the next one, before compression,
      would not fit. A record that is larger has a batch for itself.
    - Where the pieces begin and end makes no difference.
    - Offsets may have gaps, as after compaction. A batch begins at the offset of its first record and ends at that of
      its last.
    - With LogAppendTime, the timestamps are the times of the append, of which a batch has one only: where the timestamp
      changes, a new batch begins.

    Kafka: `ProducerBatch.tryAppend`, `MemoryRecordsBuilder`; `LogValidator`, for offsets, epoch and timestamp type.
    """

    def __init__(
        self,
        *,
        batch_size: int,
        compression: Compression,
        timestamp_type: TimestampType,
        partition_leader_epoch: int,
    ):
        """`batch_size` is in bytes."""
        self._batch_size = batch_size
        self._compression = compression
        self._timestamp_type = timestamp_type
        self._partition_leader_epoch = partition_leader_epoch
        # The batch that is being filled: its header's place and its records.
        self._out = bytearray(max(batch_size, RECORD_BATCH_OVERHEAD))
        self._position = RECORD_BATCH_OVERHEAD
        self._room = 0
        self._count = 0
        self._base_offset = 0
        self._base_timestamp = 0
        self._last_offset = 0
        self._max_timestamp = NO_TIMESTAMP

    def add(self, records: UnbatchedRecords) -> Iterator[MemoryRecords]:
        """Take the records; gives the batches that are full by then.

        The bytes of a batch are overwritten once the next is asked for.
        """
        count = len(records.offsets)
        compiled = record_columns.compiled_kernel_for(count)
        columns = _plain(records) if compiled is None else records
        write_rows = writing_kernel.write_rows if compiled is None else compiled.write_rows
        same_timestamp = int(self._timestamp_type is TimestampType.LOG_APPEND_TIME)
        row = 0
        while row < count:
            if not self._count:
                self._begin(records, row)
            out = self._out if compiled is None else compiled.octets(self._out)
            reached, self._position = write_rows(
                columns, row, count, self._base_offset, self._base_timestamp, same_timestamp, self._room, out,
                self._position,
            )  # fmt: skip
            if reached > row:
                self._count += reached - row
                self._last_offset = int(records.offsets[reached - 1])
                self._max_timestamp = max(self._max_timestamp, int(max(records.timestamps[row:reached])))
                row = reached
            if row < count:
                yield self._finished()

    def finish(self) -> Iterator[MemoryRecords]:
        """The last batch, unless it is empty."""
        if self._count:
            yield self._finished()

    def _begin(self, records: UnbatchedRecords, row: int) -> None:
        """Begin a batch with that row. Kafka: `RecordAccumulator.append`, `AbstractRecords.estimateSizeInBytes`."""
        most = RECORD_BATCH_OVERHEAD + _MAX_RECORD_OVERHEAD
        most += writing_kernel.size_of_nullable(*_ends(records.key_edges, records.key_nulls, row))
        most += writing_kernel.size_of_nullable(*_ends(records.value_edges, records.value_nulls, row))
        most += writing_kernel.size_of_varint(int(records.headers_counts[row]))
        most += int(records.headers_edges[row + 1] - records.headers_edges[row])
        self._room = max(self._batch_size, most)
        if len(self._out) < self._room:
            self._out = bytearray(self._room)
        self._position = RECORD_BATCH_OVERHEAD
        self._base_offset, self._base_timestamp = int(records.offsets[row]), int(records.timestamps[row])
        self._max_timestamp = NO_TIMESTAMP

    def _finished(self) -> MemoryRecords:
        batch = memoryview(self._out)[: self._position]
        if self._compression.type is not CompressionType.NONE:
            compressed = self._compression.compress(batch[RECORD_BATCH_OVERHEAD:], CURRENT_MAGIC_VALUE)
            batch = memoryview(bytearray(RECORD_BATCH_OVERHEAD) + compressed)
        write_header(
            batch,
            0,
            base_offset=self._base_offset,
            last_offset_delta=self._last_offset - self._base_offset,
            size_in_bytes=len(batch),
            magic=CURRENT_MAGIC_VALUE,
            compression_type=self._compression.type,
            timestamp_type=self._timestamp_type,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
            base_sequence=NO_SEQUENCE,
            is_transactional=False,
            is_control_batch=False,
            is_delete_horizon_set=False,
            partition_leader_epoch=self._partition_leader_epoch,
            num_records=self._count,
        )
        self._count = 0
        return MemoryRecords(batch)


def headers_as_bytes(headers: UnbatchedHeaders) -> "tuple[NDArray[np.uint8], NDArray[np.int64]]":
    """`headers_data` and `headers_edges` of `UnbatchedRecords` with these headers."""
    import numpy as np

    rows, count = len(headers.edges) - 1, len(headers.value_nulls)
    compiled = record_columns.compiled_kernel_for(count)
    # Each key and value has its size before it.
    most = len(headers.key_data) + len(headers.value_data) + count * 2 * _LONGEST_VARINT
    out, edges = bytearray(most), np.empty(rows + 1, np.int64)
    if compiled is None:
        writing_kernel.write_headers_of_rows(_plain(headers), out, edges)
    else:
        compiled.write_headers_of_rows(headers, compiled.octets(out), edges)
    return np.frombuffer(out, np.uint8), edges


_LONGEST_VARINT = 5  # bytes of a size


def _plain(columns: Columns) -> Columns:
    """The columns as the plain kernel takes them: with Python's integers, which numpy's would slow down."""
    import numpy as np

    arrays: list[Any] = [np.asarray(column) for column in columns]
    return type(columns)(*(array.data if array.dtype == np.uint8 else array.tolist() for array in arrays))


def _ends(edges: Column, nulls: Column, row: int) -> tuple[int, int]:
    return int(edges[row]), -1 if nulls[row] else int(edges[row + 1])
