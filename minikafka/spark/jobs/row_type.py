"""A row that workers make, as a NamedTuple: its columns for Spark, and rows of it as an Arrow batch."""

from collections.abc import Sequence
from typing import Any, NamedTuple, get_args, get_type_hints

import pyarrow as pa

_KINDS: dict[Any, tuple[str, pa.DataType]] = {
    bool: ("boolean", pa.bool_()),
    bytes: ("binary", pa.binary()),
    float: ("double", pa.float64()),
    int: ("bigint", pa.int64()),
    str: ("string", pa.string()),
    list[int]: ("array<bigint>", pa.list_(pa.int64())),
}


def schema_of_rows(row_type: type[NamedTuple]) -> str:
    """The columns, as Spark writes a schema; a number is a bigint, and every column may be null."""
    return ", ".join(f"{name} {_kind(hint)[0]}" for name, hint in get_type_hints(row_type).items())


def batch_of_rows(row_type: type[NamedTuple], rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """The rows, each a `row_type`, as a batch with the columns of `schema_of_rows`."""
    fields = [(name, _kind(hint)[1]) for name, hint in get_type_hints(row_type).items()]
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    arrays = [pa.array(column, kind) for column, (_, kind) in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _kind(hint: Any) -> tuple[str, pa.DataType]:
    """Of `int`, or of `int | None`."""
    if hint in _KINDS:
        return _KINDS[hint]
    return next(_KINDS[each] for each in get_args(hint) if each in _KINDS)
