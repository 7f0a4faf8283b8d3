"""What a job answers, printed as a table or as JSON, or written to a file."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from minikafka.common.draft_file import draft_of, remove_left_drafts
from minikafka.common.errors import IllegalArgumentException
from minikafka.tools.printable import printable

_KINDS = (".json", ".csv", ".parquet")
_GAP = 2
_LATEST_US = int(datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp() + 1) * 1_000_000 - 1
_NARROWEST = 16
"""Characters: a longer cell may stand on several lines that are no shorter."""


def require_writable(file: Path, *, overwrite: bool) -> None:
    """Raises IllegalArgumentException for a file whose ending says no format, OSError where `write` could not write."""
    if file.suffix not in _KINDS:
        raise IllegalArgumentException(f"{file} ends with none of {', '.join(_KINDS)}, which say the format")
    if not file.parent.is_dir():
        raise FileNotFoundError(2, "no such directory", str(file.parent))
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied", str(file.parent))
    if not overwrite and os.path.lexists(file):
        raise FileExistsError(17, "it is there already; --overwrite would replace it", str(file))


def write(answer: pa.Table, file: Path) -> None:
    """Write the rows in the format that the file's name ends with; the file is there whole or not at all."""
    with draft_of(file) as draft:
        _WRITERS[file.suffix](answer, draft)
        draft.flush()
        os.fsync(draft.fileno())
    remove_left_drafts(file.parent)


def print_json(answer: pa.Table) -> None:
    """One JSON object for each row."""
    for line in json_lines(answer):
        click.echo(line)


def print_table(answer: pa.Table) -> None:
    """As wide as the terminal; where there is none, plain columns with two blanks between them."""
    heads = answer.column_names
    rows = [[_text(cell) for cell in row.values()] for row in _rows(answer)]
    left = [not _is_number(kind) for kind in answer.schema.types]
    if sys.stdout.isatty():
        _print_on_terminal(heads, rows, left)
        return
    widths = [max(map(len, cells)) for cells in zip(heads, *rows)]
    for row in (heads, *rows):
        cells = (
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, left, strict=True)
        )
        click.echo((" " * _GAP).join(cells).rstrip())


def json_lines(answer: pa.Table) -> Iterator[str]:
    """The rows as JSON; times as ISO 8601 in UTC, bytes as hexadecimal digits."""
    for row in _rows(answer):
        yield json.dumps(row, default=_json)


def _rows(answer: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows; a map, whose entries have no order of their own, as a dict by key."""
    maps = [field.name for field in answer.schema if pa.types.is_map(field.type)]
    for batch in answer.to_batches(max_chunksize=10_000):
        for row in _with_late_times(batch).to_pylist():
            for name in maps:
                row[name] = None if row[name] is None else dict(sorted(row[name]))
            yield row


def _with_late_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Python's times end with the year 9999: a column with a later one, of a record stamped in microseconds, say, has
    texts instead.
    """
    for number, field in enumerate(batch.schema):
        if _has_late_times(batch.column(number)):
            texts = [None if text is None else f"{text}+00:00" for text in _moments(batch.column(number), "ms")]
            batch = batch.set_column(number, field.name, pa.array(texts, pa.string()))
    return batch


def _has_late_times(column: pa.Array | pa.ChunkedArray) -> bool:
    if not pa.types.is_timestamp(column.type):
        return False
    return bool(pc.any(pc.greater(column.cast(pa.timestamp("us")).cast(pa.int64()), _LATEST_US)).as_py())


def _moments(column: pa.Array | pa.ChunkedArray, unit: str) -> list[str | None]:
    """Times as ISO 8601 in UTC, without its sign, and None for null."""
    moments = column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
    return [None if np.isnat(each) else np.datetime_as_string(each, unit) for each in moments]


def _print_on_terminal(heads: list[str], rows: list[list[str]], left: list[bool]) -> None:
    """A table, with long cells on several lines; where that is too narrow to read, a line for each cell."""
    from rich.console import Console

    console = Console()
    widths = [max(len(head), *(min(len(cell), _NARROWEST) for cell in cells)) for head, *cells in zip(heads, *rows)]
    if sum(widths) + _GAP * len(widths) > console.width:
        _print_blocks(heads, rows, console.width)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for head, width, is_left in zip(heads, widths, left, strict=True):
        table.add_column(head, justify="left" if is_left else "right", overflow="fold", min_width=width)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _print_blocks(heads: list[str], rows: list[list[str]], width: int) -> None:
    """Each row as lines of a name and a cell, of at most `width` characters, with an empty line behind it."""
    indent = max(map(len, heads)) + _GAP
    room = max(1, width - indent)
    for row in rows:
        for head, cell in zip(heads, row, strict=True):
            first, *others = [cell[at : at + room] for at in range(0, len(cell), room)] or [""]
            click.echo(head.ljust(indent) + first)
            for part in others:
                click.echo(" " * indent + part)
        click.echo()


def _text(cell: Any) -> str:
    """A cell on one line; what is not printable could move the cursor."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        text = cell
    elif isinstance(cell, float):
        text = _rounded_number(cell)
    elif isinstance(cell, datetime):
        text = cell.replace(tzinfo=None).isoformat("T", "milliseconds")
    else:
        text = json.dumps(_rounded(cell), default=_json)
    return printable(text)


def _rounded(value: Any) -> Any:
    """The same with short numbers, however deep they stand."""
    if isinstance(value, float):
        return float(_rounded_number(value))
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def _rounded_number(number: float) -> str:
    return f"{number:.4g}" if abs(number) < 1e4 else f"{number:.0f}"


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _write_json(answer: pa.Table, file: Any) -> None:
    for line in json_lines(answer):
        file.write(line.encode() + b"\n")


def _write_csv(answer: pa.Table, file: Any) -> None:
    """Nested columns become JSON, as CSV has none, and bytes become hexadecimal digits.

    A column with a time behind the year 9999 has the texts that `csv` makes of times; its own years end with 32767.
    """
    from pyarrow import csv

    for number, field in enumerate(answer.schema):
        if _has_late_times(answer.column(number)):
            moments = _moments(answer.column(number), "us")
            texts = [None if text is None else f"{text.replace('T', ' ')}Z" for text in moments]
            answer = answer.set_column(number, field.name, pa.array(texts, pa.string()))
            continue
        told: Callable[[Any], str] | None = None
        if pa.types.is_nested(field.type):
            told = partial(json.dumps, default=_json)
        elif pa.types.is_binary(field.type):
            told = bytes.hex
        if told is not None:
            cells = (row[field.name] for row in _rows(answer.select([field.name])))
            texts = [None if cell is None else told(cell) for cell in cells]
            answer = answer.set_column(number, field.name, pa.array(texts, pa.string()))
    csv.write_csv(answer, file)


def _write_parquet(answer: pa.Table, file: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(answer, file)


_WRITERS = {".json": _write_json, ".csv": _write_csv, ".parquet": _write_parquet}
