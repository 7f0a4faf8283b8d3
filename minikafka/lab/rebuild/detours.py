"""Detours: where the engine has two ways to do a thing, the one that goes through the method on trial.

Some work has a fast way beside the plain one: columns are turned into records without an object for each, and a header
takes its CRC along while it is written. While a learner's function stands in a method's place, such a short cut would
pass it by; so it is replaced by what the engine does where it cannot take the short cut. The compiled kernels are off
then, too (`record_columns.plain_kernel`).
"""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from minikafka.record.format import (
    batch_header,
    memory_records_builder,  # noqa: F401 it knows `encode` by its name, and must do so before that is replaced
    record_writer,
    varint,
)
from minikafka.record.format.record_batch import CRC_OFFSET, RecordBatch
from minikafka.record.kernels import record_columns, writing_kernel


def detours_of(method: Callable[..., Any]) -> list[tuple[FunctionType, Callable[..., Any]]]:
    """The functions of modules that do the work of `method` without calling it, each with what takes its place."""
    return _DETOURS.get(method, [])


def _write_varint(value: int, out: bytearray, position: int) -> int:
    """`writing_kernel.write_varint` by `varint.write_varint`."""
    written = bytearray()
    varint.write_varint(value, written)
    out[position : position + len(written)] = written
    return position + len(written)


def _encode(*_columns_and_places: Any) -> None:
    """`record_columns.encode`, as if each record had to be written by itself."""


@functools.wraps(batch_header.write_header)
def _write_header(buffer: Any, position: int, **fields: Any) -> None:
    """`batch_header.write_header`, with the CRC that the batch itself computes."""
    _write_header.__wrapped__(buffer, position, **fields)  # by any other name it would be this function by now
    with memoryview(buffer) as whole, whole[position : position + fields["size_in_bytes"]] as data:
        crc = RecordBatch(data).compute_checksum()
        data[CRC_OFFSET : CRC_OFFSET + 4] = (crc & 0xFFFFFFFF).to_bytes(4, "big")


_DETOURS: dict[Any, list[tuple[Any, Callable[..., Any]]]] = {
    varint.write_varint: [(writing_kernel.write_varint, _write_varint)],
    record_writer.write_record: [(record_columns.encode, _encode)],
    RecordBatch.compute_checksum: [(batch_header.write_header, _write_header)],
}
