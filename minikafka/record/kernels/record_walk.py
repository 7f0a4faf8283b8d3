"""A walk over the records of one batch of magic 2, in bounded memory however much the batch decompresses to."""

from collections.abc import Callable, Iterable, Iterator

from minikafka.record.files.stream_window import WINDOW_SIZE, StreamWindow
from minikafka.record.format.long_record import LongRecord
from minikafka.record.format.record import Record
from minikafka.record.kernels import kernel, record_columns
from minikafka.record.kernels.column import Column
from minikafka.record.kernels.record_columns import RecordColumns, exception_of

RECORDS_A_PAGE = 1 << 14
"""How many records stand in columns at a time."""

# The statuses that may only mean that the window ends, not the stream.
_ENDS_OF_WINDOW = {kernel.SIZE_MISSING, kernel.BODY_BEYOND_END, kernel.DATA_END}


class RecordsSummary:
    """What the validator needs to know of a batch's records, found without an object for each (`RecordBatch.summary`).

    - `count`: how many records there are.
    - `consecutive`: True when the offset deltas are 0, 1, 2, ….
    - `first_null_key`: the index of the first record without a key, -1 when all have one.
    - `min_timestamp`, `max_timestamp`: ms; without meaning when there are no records.
    - `index_of_max_timestamp`: the first record that has the largest timestamp, -1 when there are no records.
    """

    __slots__ = (
        "count", "consecutive", "first_null_key", "min_timestamp", "max_timestamp", "index_of_max_timestamp",
    )  # fmt: skip

    def __init__(self, count: int, out: Iterable[int]):
        """The summary of `count` records that `kernel.decode` has written to `out`."""
        self.count = count
        (
            _,
            _,
            _,
            consecutive,
            self.first_null_key,
            self.min_timestamp,
            self.max_timestamp,
            self.index_of_max_timestamp,
            _,
        ) = out
        self.consecutive = consecutive == 1

    def add(self, later: "RecordsSummary") -> None:
        """Add the summary of the records after these; its `count` and indexes count from the first record of all."""
        self.count = later.count
        self.consecutive = self.consecutive and later.consecutive
        if self.first_null_key < 0:
            self.first_null_key = later.first_null_key
        self.min_timestamp = min(self.min_timestamp, later.min_timestamp)
        if later.max_timestamp > self.max_timestamp or self.index_of_max_timestamp < 0:
            self.max_timestamp = later.max_timestamp
            self.index_of_max_timestamp = later.index_of_max_timestamp


class RecordWalk:
    """A way through the records of one batch, from the first to the last or to the damage.

    - `open_window(max_bytes)` opens the batch's bytes anew for each walk. No more than `WINDOW_SIZE` bytes of a stream
      are at hand at a time, which is all of an ordinary batch.
    - `mode` is the kernel's; `append_time` (ms) is None for CreateTime.
    - A walk never goes back. To find damage before the first records are handed out, walk to the end first.
    """

    __slots__ = ("_open_window", "_count", "_base_offset", "_base_timestamp", "_append_time", "_base_sequence", "_mode")

    def __init__(
        self,
        open_window: Callable[[int | None], StreamWindow],
        count: int,
        base_offset: int,
        base_timestamp: int,
        append_time: int | None,
        base_sequence: int,
        mode: int,
    ):
        self._open_window = open_window
        self._count = count
        self._base_offset = base_offset
        self._base_timestamp = base_timestamp
        self._append_time = append_time
        self._base_sequence = base_sequence
        self._mode = mode

    def summary(self, max_bytes: int | None = None) -> RecordsSummary:
        """Check all records and keep none, in bounded memory; raises for the first bad one.

        Raises RecordTooLargeException where the stream turns out to be longer than `max_bytes` (None: no limit).
        """
        window = self._open_window(max_bytes)
        if not window.ended:
            window.fill(WINDOW_SIZE)
        index, out = self._decode(window, 0, self._count, 0)
        summary = RecordsSummary(index, out)
        while self._goes_on(window, out):
            if window.available < WINDOW_SIZE:
                window.fill(WINDOW_SIZE)
            else:
                summary.add(self._over_long_record(window, index))
                index += 1
            index, out = self._decode(window, index, self._count, 0)
            summary.add(RecordsSummary(index, out))
        error = self._error_at_end(window, out)
        if error is not None:
            raise error
        return summary

    def pages(self, max_bytes: int) -> Iterator[RecordColumns]:
        """The records as columns, `RECORDS_A_PAGE` at a time; the last page has the `error` that a reader meets next.

        Raises RecordTooLargeException where the stream turns out to be longer than `max_bytes`.
        """
        window = self._open_window(max_bytes)
        window.fill(WINDOW_SIZE)
        index, is_last = 0, False
        while not is_last:
            first, data = index, window.data
            stop = min(self._count, first + RECORDS_A_PAGE)
            # A record has 7 bytes at least, so a false count cannot make us reserve more room than the data can fill.
            capacity = max(1, min(stop - first, window.available // kernel.SMALLEST_RECORD + 1))
            index, out = self._decode(window, first, stop, capacity)
            goes_on = self._goes_on(window, out)
            is_last = not goes_on and (index == self._count or out[kernel.STATUS] != kernel.OK)
            if index > first or is_last:
                error = self._error_at_end(window, out) if is_last else None
                yield RecordColumns(data, index - first, self._base_sequence, error, out, capacity)
            if goes_on:
                window.fill(max(WINDOW_SIZE, 2 * window.available))

    def records(self, max_bytes: int) -> Iterator[Record]:
        """The records one by one; after the last sound one, raises for what is wrong with the next."""
        for columns in self.pages(max_bytes):
            yield from columns.records(self._base_offset)

    def columns(self, max_bytes: int) -> RecordColumns:
        """All records at once, decompressed as a whole; raises RecordTooLargeException as `pages` does."""
        window = self._open_window(max_bytes)
        window.fill(max_bytes + 1)
        capacity = max(1, min(self._count, window.available // kernel.SMALLEST_RECORD + 1))
        index, out = self._decode(window, 0, self._count, capacity)
        error = self._error_at_end(window, out)
        return RecordColumns(window.data, index, self._base_sequence, error, out, capacity)

    def _decode(self, window: StreamWindow, index: int, stop: int, capacity: int) -> tuple[int, Column]:
        """Decode the records `index` … `stop` (exclusive) as far as they are at hand, and move the window past them.

        Returns the index after the last sound record, and the kernel's `out`.
        """
        index, out = record_columns.decode(
            window.data, window.position, index, stop, self._count,
            self._base_offset, self._base_timestamp, self._append_time, self._mode, capacity,
        )  # fmt: skip
        window.position = int(out[kernel.END])
        if self._mode != kernel.BUFFER and out[kernel.STATUS] == kernel.OK and index == self._count:
            # The kernel saw that nothing is left at hand. Does the stream end as well?
            window.fill(1)
            if window.available:
                out[kernel.STATUS] = kernel.BYTES_REMAIN
                index -= 1
        return index, out

    def _goes_on(self, window: StreamWindow, out: Column) -> bool:
        """True when the walk came to the end of what is at hand, but not of the stream."""
        return not window.ended and out[kernel.STATUS] in _ENDS_OF_WINDOW

    def _over_long_record(self, window: StreamWindow, index: int) -> RecordsSummary:
        """The summary of record `index`, which is longer than the window; moves the window past it."""
        record = LongRecord(window, self._mode)
        status, detail, detail_2 = record.skip()
        if status != kernel.OK:
            raise exception_of(status, detail, detail_2, self._mode, window.error)
        timestamp = self._append_time
        if timestamp is None:
            timestamp = kernel.wrapping_add(self._base_timestamp, record.timestamp_delta)
        out = [0] * kernel.SUMMARY_SIZE
        out[kernel.CONSECUTIVE] = int(record.offset_delta == index)
        out[kernel.FIRST_NULL_KEY] = -1 if record.has_key else index
        out[kernel.MIN_TIMESTAMP] = out[kernel.MAX_TIMESTAMP] = timestamp
        out[kernel.INDEX_OF_MAX_TIMESTAMP] = index
        return RecordsSummary(index + 1, out)

    def _error_at_end(self, window: StreamWindow, out: Column) -> Exception | None:
        """What a reader meets after the last sound record, None for a sound batch."""
        status = out[kernel.STATUS]
        if status == kernel.OK:
            return window.error
        return exception_of(int(status), int(out[kernel.DETAIL]), int(out[kernel.DETAIL_2]), self._mode, window.error)
