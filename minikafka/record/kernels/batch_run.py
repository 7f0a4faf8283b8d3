"""Neighbouring batches that can be handled together."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from minikafka.common.bytes_like import BytesLike
from minikafka.record.format.batch_header import HEADER, LOG_OVERHEAD, NO_PRODUCER_ID
from minikafka.record.format.log_input_stream import batches
from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.kernels.kernel import CODEC_OR_CONTROL, TRANSACTION_OR_HORIZON
from minikafka.record.kernels.record_columns import RecordColumns, decode_run
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch

# The columns of a run of so many records have 1.3 MB, which fits into a processor's cache.
RECORDS_A_RUN = 1 << 14
_APART = CODEC_OR_CONTROL | TRANSACTION_OR_HORIZON


class BatchRun:
    """Sound data batches of magic 2 that are not compressed, belong to no transaction and have no delete horizon.

    - `columns`: the records of all of them.
    - `positions`: where each batch begins and, as the last item, where the run ends (bytes).
    - `firsts`: the place in `columns` of each batch's first record and, as the last item, the number of records.
    - `headers`: the fields of each batch's header, in the order of `batch_header.HEADER`.
    """

    __slots__ = ("columns", "positions", "firsts", "headers", "_view")

    def __init__(self, view: memoryview, start: int, end: int, columns: RecordColumns):
        self._view = view
        self.columns = columns
        self.positions = [start]
        self.headers = []
        while start < end:
            header = HEADER.unpack_from(view, start)
            self.headers.append(header)
            start += LOG_OVERHEAD + header[1]
            self.positions.append(start)
        self.firsts = list(accumulate((header[12] for header in self.headers), initial=0))

    def __len__(self) -> int:
        """How many batches there are."""
        return len(self.headers)

    @property
    def size_in_bytes(self) -> int:
        """The bytes of all batches."""
        return self.positions[-1] - self.positions[0]

    def data(self, start: int, stop: int) -> memoryview:
        """The bytes of batches `start` … `stop` (exclusive)."""
        return self._view[self.positions[start] : self.positions[stop]]

    def batch(self, number: int) -> RecordBatch:
        """Batch `number`, counted from 0."""
        return RecordBatch(self.data(number, number + 1))

    @property
    def last_offset(self) -> int:
        """The last offset of the last batch, inclusive."""
        return self.last_offset_of(len(self) - 1)

    def last_offset_of(self, number: int) -> int:
        """The last offset of batch `number`, inclusive."""
        header = self.headers[number]
        return int(header[0] + header[6])

    def last_offset_before(self, place: int) -> int | None:
        """The last offset of the batch before the one that has the record at `place`, None if that is the first."""
        number = bisect_right(self.firsts, place) - 1
        return self.last_offset_of(number - 1) if number else None

    def max_timestamp(self, number: int) -> int:
        """The largest timestamp of batch `number`, in ms; -1 for none."""
        return int(self.headers[number][8])

    def has_producer_id(self, number: int) -> bool:
        """Whether batch `number` comes from an idempotent producer."""
        return bool(self.headers[number][9] > NO_PRODUCER_ID)


def batch_runs(buffer: BytesLike) -> Iterator[BatchRun | RecordBatch | LegacyRecordBatch]:
    """The complete batches of `buffer` in their order, as many as possible in runs, the others by themselves.

    Raises CorruptRecordException where `batches` does.
    """
    view = memoryview(buffer)
    position = 0
    while True:
        columns, run_end = decode_run(view, position, RECORDS_A_RUN, _APART)
        if run_end > position:
            yield BatchRun(view, position, run_end, columns)
            position = run_end
            continue
        batch = next(batches(view, position), None)
        if batch is None:
            return
        yield batch
        position += batch.size_in_bytes
