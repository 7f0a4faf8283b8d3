"""A record that is longer than the window on its stream, checked without being kept."""

from collections.abc import Callable

from minikafka.common.bytes_like import BytesLike
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.record.files.stream_window import WINDOW_SIZE, StreamWindow
from minikafka.record.kernels import kernel
from minikafka.record.kernels.record_columns import skip_headers


class LongRecord:
    """Finds what `kernel.decode` finds of a record, while the record passes by in pieces.

    The checks and their order are the kernel's. In mode STREAM, a body that the stream does not hold is reported before
    any other fault, because Kafka cuts the body out first. `timestamp_delta`, `offset_delta` and `has_key` are the
    record's.
    """

    __slots__ = ("timestamp_delta", "offset_delta", "has_key", "_window", "_mode", "_left")

    def __init__(self, window: StreamWindow, mode: int):
        """The record begins where `window` stands; its size is known to be sound."""
        self.timestamp_delta = self.offset_delta = 0
        self.has_key = False
        self._window = window
        self._mode = mode
        self._left = LONG_MAX

    def skip(self) -> tuple[int, int, int]:
        """Go to the record's end; returns the status and its two details, which mean what they mean in the kernel."""
        size = self._varint()
        if self._mode == kernel.STREAM:
            self._left = size
        fault = (kernel.OK, 0, 0)
        try:
            self._skip_fields()
        except _Fault as found:
            fault = found.fault
        if self._mode == kernel.PARTIAL:
            return fault
        read = size - self._left
        missing = self._left - self._window.skip(self._left)
        if missing:
            return kernel.BODY_BEYOND_END, size, size - missing
        if fault[0] == kernel.OK and read != size:
            return kernel.BODY_SIZE_WRONG, size, read
        return fault

    def _skip_fields(self) -> None:
        self._skip(1)
        self.timestamp_delta = self._number(kernel.read_varlong)
        self.offset_delta = self._varint()
        key_size = self._varint()
        self.has_key = key_size >= 0
        self._skip(max(0, key_size))
        self._skip(max(0, self._varint()))
        header_count = self._varint()
        if header_count < 0:
            raise _Fault(kernel.HEADER_COUNT_NEGATIVE, header_count, 0)
        if self._mode != kernel.PARTIAL and header_count > self._left:
            raise _Fault(kernel.HEADER_COUNT_TOO_LARGE, header_count, 0)
        self._skip_headers(header_count)

    def _skip_headers(self, count: int) -> None:
        window = self._window
        while count:
            window.fill(WINDOW_SIZE)
            end = min(len(window.data), window.position + self._left)
            done, position, fault, detail = skip_headers(window.data, window.position, end, count)
            self._skip(position - window.position)
            count -= done
            if fault == kernel.OK:
                return
            if fault == kernel.HEADER_KEY_NEGATIVE:
                raise _Fault(fault, detail, 0)
            if fault == kernel.TOO_LONG or end < len(window.data) or window.ended:
                raise self._malformed(fault)
            if done == 0:  # one header alone is longer than the window
                self._skip(self._varint())
                self._skip(max(0, self._varint()))
                count -= 1

    def _varint(self) -> int:
        return self._number(kernel.read_varint)

    def _number(self, read: Callable[[BytesLike, int, int], tuple[int, int]]) -> int:
        window = self._window
        window.fill(10)
        end = min(len(window.data), window.position + self._left)
        number, position = read(window.data, window.position, end)
        if position < 0:
            raise self._malformed(position)
        self._skip(position - window.position)
        return number

    def _skip(self, size: int) -> None:
        if size > self._left:
            raise self._malformed(kernel.UNDERFLOW)
        skipped = self._window.skip(size)
        self._left -= skipped
        if skipped < size:
            raise self._malformed(kernel.UNDERFLOW)

    def _malformed(self, fault: int) -> "_Fault":
        at_end = self._mode == kernel.PARTIAL and fault == kernel.UNDERFLOW
        return _Fault(kernel.DATA_END if at_end else kernel.MALFORMED, 0, 0)


class _Fault(Exception):
    """`fault`: status, detail and second detail, as in the kernel's `out`."""

    def __init__(self, status: int, detail: int, detail_2: int):
        super().__init__(status, detail, detail_2)
        self.fault = (status, detail, detail_2)
