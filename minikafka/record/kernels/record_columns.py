"""A batch's records as columns of integers: offsets, timestamps, and where in the bytes each part lies."""

import functools
import gc
import importlib
import logging
import sys
import threading
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IllegalArgumentException, InvalidRecordException
from minikafka.common.java.java_utf8 import decode_utf8
from minikafka.record.format.record import Header, Record
from minikafka.record.format.sequence import increment_sequence
from minikafka.record.kernels import filter_kernel, kernel, writing_kernel
from minikafka.record.kernels.column import Column

if TYPE_CHECKING:  # numpy is imported when it is first needed
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

# Importing numba and loading the cached machine code takes as long as the plain kernel needs for so many records.
RECORDS_BEFORE_COMPILING = 200_000
_ROOM_FOR_COMPILER = 1 << 30  # bytes of address space

_plain_records = 0
_compiled: ModuleType | None = None  # `compiled_kernel`, once it is in use
_compiling = threading.Lock()
_compiles_behind = False


def use_compiled_kernel() -> bool:
    """Switch to the compiled kernel now; False where numba does not work, after which only another call tries again."""
    global _plain_records, _compiled
    with _compiling:
        if _compiled is None:
            _plain_records = -(2**62)
            try:
                import mmap

                # With less memory, some libraries of numpy and numba do not raise but end the process.
                mmap.mmap(-1, _ROOM_FOR_COMPILER).close()
                from minikafka.record.kernels import compiled_kernel

                if _compiles_behind:
                    compiled_kernel.load_decode()
            except Exception as error:
                # Whatever keeps numba from working, the plain kernel does the same work more slowly.
                remedy = "; pip install 'minikafka[fast]'" if getattr(error, "name", None) in ("numba", "numpy") else ""
                logger.warning("Records are decoded by the plain kernel, which is slower: %s%s", error, remedy)
                return False
            _compiled = compiled_kernel
    return True


def compile_behind() -> None:
    """From now on nobody waits for the compiled kernel: a thread of its own loads it, and the plain one goes on.

    For a process that may not stand still, as a server.
    """
    global _compiles_behind
    _compiles_behind = True


def compiled_functions(compiled_module: str) -> ModuleType | None:
    """The module of this full name, whose functions are compiled; None as long as the plain kernel is in use."""
    return None if _compiled is None else _imported(compiled_module)


# Python's own look-up takes a lock and three microseconds, for each batch.
_imported = functools.cache(importlib.import_module)


def filter_functions() -> ModuleType:
    """The functions of `filter_kernel`, by the kernel in use."""
    return compiled_functions("minikafka.record.kernels.compiled_filter_kernel") or filter_kernel


def compiled_kernel_for(records: int) -> ModuleType | None:
    """The module with the compiled kernel, if it is in use or would pay now that `records` more are to be written."""
    _maybe_compile(records)
    return _compiled


@contextmanager
def plain_kernel() -> Iterator[None]:
    """Inside the block the plain kernel does all the work, of every thread; behind it, the one that did it before.

    Who writes one of the kernel's functions anew sees it called: compiled functions call none but compiled ones.
    """
    global _plain_records, _compiled
    before = _plain_records, _compiled
    _plain_records, _compiled = -(2**62), None
    try:
        yield
    finally:
        _plain_records, _compiled = before


def kernel_in_use() -> str:
    """The name of the kernel that the next batch meets: "plain" or "compiled"."""
    return "plain" if _compiled is None else "compiled"


class _ColumnOf:
    """An attribute of `RecordColumns`: the part of `out` that holds the column of that number."""

    __slots__ = ("_number",)

    def __init__(self, number: int):
        self._number = number

    def __get__(self, columns: "RecordColumns", owner: type | None = None) -> Column:
        start = kernel.SUMMARY_SIZE + self._number * columns._capacity
        return columns._out[start : start + columns.count]


class RecordColumns:
    """The records of one batch, or of a run of batches (`BatchRun`), as columns with one integer for each record.

    - `offsets`, `timestamps`: absolute offsets; ms since 1970, -1 for none.
    - `key_start`, `key_end`, `value_start`, `value_end`: positions in `data`, ends exclusive; a null key or value
      has -1 as its end.
    - `headers_start`, `headers_count`: the position of the first header, and how many there are.
    - `record_start`, `record_end`: the positions of the whole record, its size prefix included.

    The plain kernel makes `memoryview`s of int64, the compiled one numpy arrays; `Column` is what both offer.
    `data` is the batch itself, or its decompressed records.
    `base_sequence` is the batch's, -1 without a producer id and for a run.
    `error` is the exception that a reader meets after the last of these records, None for a sound batch.
    """

    __slots__ = ("data", "count", "base_sequence", "error", "_out", "_capacity")

    def __init__(
        self, data: BytesLike, count: int, base_sequence: int, error: Exception | None, out: Column, capacity: int
    ):
        """Columns of `count` records, which the kernel has written to `out` with room for `capacity` records each."""
        self.data = data
        self.count = count
        self.base_sequence = base_sequence
        self.error = error
        self._out = out
        self._capacity = capacity

    offsets = _ColumnOf(0)
    timestamps = _ColumnOf(1)
    key_start = _ColumnOf(2)
    key_end = _ColumnOf(3)
    value_start = _ColumnOf(4)
    value_end = _ColumnOf(5)
    headers_start = _ColumnOf(6)
    headers_count = _ColumnOf(7)
    record_start = _ColumnOf(8)
    record_end = _ColumnOf(9)

    def __len__(self) -> int:
        return self.count

    def part(self, start: int, stop: int) -> "RecordColumns":
        """The columns of records `start` … `stop` (exclusive), which share these columns' numbers."""
        return RecordColumns(self.data, stop - start, self.base_sequence, None, self._out[start:], self._capacity)

    def key(self, index: int) -> bytes | None:
        """The key of record `index`, None when it is null."""
        end = self.key_end[index]
        return None if end < 0 else bytes(self.data[self.key_start[index] : end])

    def value(self, index: int) -> bytes | None:
        """The value of record `index`, None when it is null."""
        end = self.value_end[index]
        return None if end < 0 else bytes(self.data[self.value_start[index] : end])

    def headers(self, index: int) -> tuple[Header, ...]:
        """The headers of record `index`. Kafka: `DefaultRecord.readHeaders`."""
        count = int(self.headers_count[index])
        return _read_headers(self.data, int(self.headers_start[index]), count) if count else ()

    def header_positions(self, places: "NDArray[np.int64] | None") -> "NDArray[np.int64]":
        """Where the headers of the records at `places` (None: of all) lie in `data`, one behind the other.

        Four rows: start and end (exclusive) of each key, start and end of each value; -1 as the end of a null one.
        """
        import numpy as np

        starts, counts = np.asarray(self.headers_start), np.asarray(self.headers_count)
        if places is not None:
            starts, counts = starts[places], counts[places]
        capacity = int(counts.sum())
        compiled = _compiled
        if compiled is None:
            numbers = [0] * (4 * capacity)
            kernel.locate_headers(self.data, len(self.data), starts.tolist(), counts.tolist(), numbers, capacity)
            return np.array(numbers, np.int64).reshape(4, capacity)
        out: NDArray[np.int64] = compiled.room_for(4 * capacity)
        compiled.locate_headers(compiled.octets(self.data), len(self.data), starts, counts, out, capacity)
        return out.reshape(4, capacity)

    def sequence(self, index: int, base_offset: int) -> int:
        """The sequence number of record `index`, -1 without a producer id."""
        return _sequence(self.base_sequence, int(self.offsets[index]) - base_offset)

    def records(self, base_offset: int) -> Iterator[Record]:
        """The records one by one; raises `error`, if there is one, after the last sound record."""
        data = self.data
        columns = (
            self.offsets, self.timestamps, self.key_start, self.key_end, self.value_start, self.value_end,
            self.headers_start, self.headers_count, self.record_start, self.record_end,
        )  # fmt: skip
        for offset, timestamp, key, key_end, value, value_end, headers, count, start, end in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            yield Record(
                offset,
                timestamp,
                None if key_end < 0 else bytes(data[key:key_end]),
                None if value_end < 0 else bytes(data[value:value_end]),
                _read_headers(data, headers, count) if count else (),
                _sequence(self.base_sequence, offset - base_offset),
                end - start,
            )
        if self.error is not None:
            raise self.error


def decode_run(
    data: BytesLike, start: int, enough: int, apart: int = kernel.CODEC_OR_CONTROL
) -> tuple[RecordColumns, int]:
    """Decode the run of batches that begins at byte `start` of `data`.

    The run ends before a batch that is damaged or has one of the attribute bits `apart` (by default it ends before a
    compressed one and a control batch), or when it has `enough` records. Returns the columns and where the run ended.
    """
    compiled = _compiled
    if compiled is None:
        capacity, end = kernel.measure_run(data, start, len(data), enough, apart)
        compiled = compiled_kernel_for(capacity)
    if compiled is None:
        numbers = [0] * (kernel.SUMMARY_SIZE + kernel.COLUMNS * capacity)
        count, end = kernel.decode_run(data, start, end, numbers, capacity)
        return RecordColumns(data, count, -1, None, memoryview(array("q", numbers)), capacity), end
    octets = compiled.octets(data)
    capacity, end = compiled.measure_run(octets, start, len(data), enough, apart)
    out = compiled.room_for(kernel.SUMMARY_SIZE + kernel.COLUMNS * capacity)
    count, end = compiled.decode_run(octets, start, end, out, capacity)
    return RecordColumns(data, count, -1, None, out, capacity), end


def decode(
    data: BytesLike,
    start: int,
    index: int,
    stop: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_time: int | None,
    mode: int,
    capacity: int,
) -> tuple[int, Column]:
    """`kernel.decode` by the kernel in use; `append_time` is None for CreateTime, and columns are filled from 0 on.

    Returns the index after the last sound record, and the kernel's `out`.
    """
    has_append_time = 0 if append_time is None else 1
    compiled = _compiled or compiled_kernel_for(min(stop - index, (len(data) - start) // kernel.SMALLEST_RECORD))
    size = kernel.SUMMARY_SIZE + kernel.COLUMNS * capacity
    if compiled is None:
        numbers = [0] * size
        reached = kernel.decode(
            data, start, len(data), index, stop, count,
            base_offset, base_timestamp, append_time or 0, has_append_time, mode, numbers, capacity, -index,
        )  # fmt: skip
        return reached, memoryview(array("q", numbers))
    out = compiled.room_for(size)
    reached = compiled.decode(
        compiled.octets(data), start, len(data), index, stop, count,
        base_offset, base_timestamp, append_time or 0, has_append_time, mode, out, capacity, -index,
    )  # fmt: skip
    # A summary alone is read number by number. numpy is slow at that, and its numbers are not Python's integers.
    return reached, (out if capacity else out.tolist())


def encode(
    columns: RecordColumns, places: Column, base_offset: int, base_timestamp: int, last_offset: int
) -> memoryview | None:
    """The records at `places` (ascending) of `columns` as bytes of magic 2; see `writing_kernel.encode`.

    None where one of them must be read and written by itself.
    """
    starts, ends = columns.record_start, columns.record_end
    compiled = _compiled
    if compiled is None:
        chosen = places.tolist()
        most = sum(ends[place] - starts[place] + writing_kernel.MOST_GROWTH for place in chosen)
        plain_out = bytearray(most)
        end = writing_kernel.encode(
            columns.data, columns._out, columns._capacity, chosen, base_offset, base_timestamp, last_offset, plain_out
        )
        return None if end == writing_kernel.NOT_WRITTEN else memoryview(plain_out)[:end]
    import numpy as np

    places = np.asarray(places)
    sizes = np.asarray(ends) - np.asarray(starts)
    out = np.empty(int(sizes[places].sum()) + len(places) * writing_kernel.MOST_GROWTH, np.uint8)
    end = compiled.encode(
        compiled.octets(columns.data), np.asarray(columns._out), columns._capacity, places,
        base_offset, base_timestamp, last_offset, out,
    )  # fmt: skip
    return None if end == writing_kernel.NOT_WRITTEN else out.data[:end]


def skip_headers(data: BytesLike, position: int, end: int, count: int) -> tuple[int, int, int, int]:
    """`kernel.skip_headers` by the kernel in use."""
    compiled = _compiled
    if compiled is None:
        return kernel.skip_headers(data, position, end, count)
    skipped: tuple[int, int, int, int] = compiled.skip_headers(compiled.octets(data), position, end, count)
    return skipped


def _maybe_compile(records: int) -> None:
    """Count what the plain kernel has to do, and switch when the compiled one would pay."""
    global _plain_records
    _plain_records += records
    if _plain_records <= RECORDS_BEFORE_COMPILING:
        return
    if _compiles_behind:
        _plain_records = -(2**62)
        threading.Thread(target=_load_behind, name="compiled-kernel-loader", daemon=True).start()
    else:
        use_compiled_kernel()


def _load_behind() -> None:
    """Load the compiled kernel in this thread, and let the other ones have Python's lock ten times as often meanwhile.

    A server lets go of the lock at each call of the system, and waits for it behind that. The garbage collector would
    hold it while it looks at all that numba has made, which stays for ever: it neither does so now nor later.
    """
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(interval_s / 10)
    gc.disable()
    try:
        use_compiled_kernel()
    finally:
        gc.freeze()
        gc.enable()
        sys.setswitchinterval(interval_s)


def exception_of(status: int, detail: int, detail_2: int, mode: int, pending_error: Exception | None) -> Exception:
    """The exception that Kafka's reader throws for a status of the kernel other than OK.

    A broken stream shows where its data end: `pending_error` is what the decompressor met at the end of the data, if
    anything.
    """
    if pending_error is not None and status in _STREAM_ENDS:
        return pending_error
    if status == kernel.SIZE_TOO_LONG and mode == kernel.BUFFER:
        return IllegalArgumentException("Varint is too long, the most significant bit in the 5th byte is set")
    if status == kernel.BODY_BEYOND_END and mode == kernel.BUFFER:
        return InvalidRecordException(
            f"Invalid record size: expected {detail} bytes in record payload, but instead the buffer has only "
            f"{detail_2} remaining bytes."
        )
    return InvalidRecordException(_MESSAGES[status].format(detail, detail_2))


_STREAM_ENDS = {kernel.SIZE_MISSING, kernel.BODY_BEYOND_END, kernel.DATA_END}

_PREMATURE_EOF = "Incorrect declared batch size, premature EOF reached"
_MESSAGES = {
    kernel.SIZE_MISSING: _PREMATURE_EOF,
    kernel.SIZE_TOO_LONG: _PREMATURE_EOF,
    kernel.SIZE_NEGATIVE: _PREMATURE_EOF,
    kernel.BODY_BEYOND_END: (
        "Invalid record size: expected {} bytes in record payload, but the record payload reached EOF."
    ),
    kernel.MALFORMED: "Found invalid record structure",
    kernel.DATA_END: "Found invalid record structure",
    kernel.HEADER_COUNT_NEGATIVE: "Found invalid number of record headers {}",
    kernel.HEADER_COUNT_TOO_LARGE: (
        "Found invalid number of record headers. {} is larger than the remaining size of the buffer"
    ),
    kernel.HEADER_KEY_NEGATIVE: "Invalid negative header key size {}",
    kernel.BODY_SIZE_WRONG: "Invalid record size: expected to read {} bytes in record payload, but instead read {}",
    kernel.BYTES_REMAIN: "Incorrect declared batch size, records still remaining in file",
}


def _read_headers(data: BytesLike, position: int, count: int) -> tuple[Header, ...]:
    end = len(data)
    headers = []
    for _ in range(count):
        size, position = kernel.read_varint(data, position, end)
        key = decode_utf8(bytes(data[position : position + size]))
        position += size
        size, position = kernel.read_varint(data, position, end)
        value = None if size < 0 else bytes(data[position : position + size])
        position += max(size, 0)
        headers.append(Header(key, value))
    return tuple(headers)


def _sequence(base_sequence: int, offset_delta: int) -> int:
    return -1 if base_sequence < 0 else increment_sequence(base_sequence, offset_delta)
