"""Many batches as few columns, which is how to read a whole segment fast."""

from collections.abc import Iterator

from minikafka.common.bytes_like import BytesLike
from minikafka.record.format.log_input_stream import batches
from minikafka.record.kernels.record_columns import RecordColumns, decode_run

# The columns of a run of so many records have 1.3 MB, which fits into a processor's cache.
RECORDS_A_RUN = 1 << 14


def column_scan(buffer: BytesLike, start: int = 0, end: int | None = None) -> Iterator[RecordColumns]:
    """The records between bytes `start` and `end` (exclusive) of `buffer`, in order, without those of control batches.

    Adjacent batches that are not compressed come as one `RecordColumns`, whose `data` is `buffer`; each batch that is
    compressed or of an older magic comes on its own. Nothing is copied, and no CRC is checked. An incomplete batch ends
    the scan; a damaged one raises what `batches` and `RecordBatch.columns` raise, after the sound ones before it.
    """
    view = memoryview(buffer)[:end]
    position = start
    while True:
        columns, run_end = decode_run(view, position, RECORDS_A_RUN)
        if run_end > position:
            position = run_end
            if columns.count:
                yield columns
            continue
        batch = next(batches(view, position), None)
        if batch is None:
            return
        position += batch.size_in_bytes
        if not batch.is_control_batch:
            columns = batch.columns()
            if columns.count:
                yield columns
