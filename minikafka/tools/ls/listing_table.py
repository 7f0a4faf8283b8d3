"""The table of `minikafka ls`: as wide as the terminal, or plain and complete if there is none."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import click

from minikafka.tools.ls.partition_listing import CURRENT, PartitionListing
from minikafka.tools.printable import printable

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_GAP = 2
_LAST_SECOND = 253_402_300_799  # of the year 9999


class _Column(NamedTuple):
    """A column of the table: its head, the text of a cell, and how it is laid out.

    `dropped`: when columns do not fit, the one with the smallest number goes first; 0 always stays.
    """

    head: str
    text: Callable[[PartitionListing], str]
    left: bool = False
    dropped: int = 0


def print_listings(listings: list[PartitionListing], clean: bool) -> None:
    """Print the table, what is odd, and a line of totals."""
    if sys.stdout.isatty():
        _print_on_terminal(listings)
    else:
        for line in _plain_lines(listings):
            click.echo(line)
        return
    for listing in listings:
        for finding in listing.findings:
            click.echo(f"{click.style(printable(listing.directory), fg='yellow')}: {printable(finding)}")
    click.echo(_sums(listings, clean))


def _print_on_terminal(listings: list[PartitionListing]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    columns = _fitting(_terminal_columns(listings), listings, console.width)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column.head, justify="left" if column.left else "right", overflow="fold")
    for listing in listings:
        style = "yellow" if listing.findings else "dim" if listing.kind != CURRENT else ""
        table.add_row(*(Text(column.text(listing)) for column in columns), style=style)
    console.print(table)


def _plain_lines(listings: list[PartitionListing]) -> list[str]:
    """Every column, as wide as its widest cell; exact numbers; a dash where there is nothing."""
    columns = [
        _Column("topic", lambda each: printable(each.topic), left=True),
        _Column("partition", lambda each: str(each.partition)),
        _Column("kind", lambda each: each.kind, left=True),
        _Column("start", lambda each: _number(each.log_start_offset)),
        _Column("end", lambda each: _number(each.log_end_offset)),
        _Column("high-watermark", lambda each: _number(each.high_watermark)),
        _Column("segments", lambda each: str(each.segments)),
        _Column("bytes", lambda each: str(each.bytes)),
        _Column("first-time", lambda each: _time(each.first_timestamp, "T", "milliseconds"), left=True),
        _Column("last-time", lambda each: _time(each.last_timestamp, "T", "milliseconds"), left=True),
        _Column("cleaner-point", lambda each: _number(each.cleaner_point)),
        _Column("dirty-ratio", lambda each: _ratio(each.dirty_ratio)),
        _Column("findings", lambda each: printable("; ".join(each.findings)) or "-", left=True),
    ]
    rows = [[column.head for column in columns], *([column.text(each) for column in columns] for each in listings)]
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    lines = []
    for row in rows:
        cells = (
            cell.ljust(width) if column.left else cell.rjust(width) for column, cell, width in zip(columns, row, widths)
        )
        lines.append((" " * _GAP).join(cells).rstrip())
    return lines


def _terminal_columns(listings: list[PartitionListing]) -> list[_Column]:
    columns = [
        _Column("topic", lambda each: printable(each.topic), left=True),
        _Column("part", lambda each: str(each.partition)),
        _Column("kind", lambda each: "" if each.kind == CURRENT else each.kind, left=True),
        _Column("start", lambda each: _number(each.log_start_offset), dropped=5),
        _Column("end", lambda each: _number(each.log_end_offset)),
        _Column("HW", lambda each: _number(each.high_watermark), dropped=6),
        _Column("segs", lambda each: str(each.segments), dropped=3),
        _Column("size", lambda each: _size(each.bytes)),
        _Column("first", lambda each: _time(each.first_timestamp, " ", "minutes"), left=True, dropped=1),
        _Column("last", lambda each: _time(each.last_timestamp, " ", "minutes"), left=True, dropped=4),
        _Column("cleaned to", lambda each: _number(each.cleaner_point), dropped=2),
        _Column("dirty", lambda each: _ratio(each.dirty_ratio)),
        _Column("odd", lambda each: str(len(each.findings)) if each.findings else ""),
    ]
    # An empty column tells nothing.
    return [column for column in columns if any(column.text(each).strip("-") for each in listings)]


def _fitting(columns: list[_Column], listings: list[PartitionListing], width: int) -> list[_Column]:
    """The columns that fit side by side. If even those that always stay do not fit, the topic's name is folded."""
    going = sorted((column for column in columns if column.dropped), key=lambda column: column.dropped)
    while going and _width(columns, listings) > width:
        columns = [column for column in columns if column is not going[0]]
        del going[0]
    return columns


def _width(columns: list[_Column], listings: list[PartitionListing]) -> int:
    cells = (max([len(column.head), *(len(column.text(each)) for each in listings)]) for column in columns)
    return sum(cells) + _GAP * (len(columns) - 1)


def _sums(listings: list[PartitionListing], clean: bool) -> str:
    segments = sum(listing.segments for listing in listings)
    size = _size(sum(listing.bytes for listing in listings))
    stop = "the last stop was clean" if clean else "no mark of a clean stop: a broker is running, or was killed"
    return f"{_count(len(listings), 'partition')}, {_count(segments, 'segment')}, {size}; {stop}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _number(offset: int | None) -> str:
    return "-" if offset is None else str(offset)


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _size(size: float) -> str:
    """`size` bytes in the largest unit that leaves a number before the point."""
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            break
        size /= 1024
    return f"{size} B" if unit == "B" else f"{size:.1f} {unit}"


def _time(timestamp: int | None, separator: str, precision: str) -> str:
    """The time in UTC; a timestamp beyond the calendar as a number."""
    if timestamp is None:
        return "-"
    if not 0 <= timestamp // 1000 <= _LAST_SECOND:
        return str(timestamp)
    when = datetime.fromtimestamp(timestamp // 1000, UTC).replace(microsecond=timestamp % 1000 * 1000)
    return when.replace(tzinfo=None).isoformat(separator, precision)
