"""The answer to a query as a table that reads well on a page and as text."""

from datetime import datetime
from html import escape
from typing import Any

from minikafka.lab.stage.background import told_while_starting
from minikafka.lab.widgets import drawing


class Answer:
    """The rows of a DataFrame: `rows` has tuples, `columns` the names. Bytes are shown as text, timestamps as a time of
    the day in UTC.
    """

    def __init__(self, columns: list[str], rows: list[tuple[Any, ...]]):
        self.columns, self.rows = columns, rows

    def __str__(self) -> str:
        cells = [self.columns, *([_shown(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        right = [_is_number(values) for values in zip(*self.rows, strict=True)] or [False] * len(widths)
        lines = [
            "  ".join(
                f"{word:>{width}}" if number else f"{word:{width}}" for word, width, number in zip(row, widths, right)
            )
            for row in cells
        ]
        return "\n".join(line.rstrip() for line in lines) + ("" if self.rows else "\n(no rows)")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        right = [_is_number(values) for values in zip(*self.rows, strict=True)] or [False] * len(self.columns)
        style = [f' style="text-align:{"right" if number else "left"}"' for number in right]
        head = "".join(f"<th{how}>{escape(name)}</th>" for name, how in zip(self.columns, style))
        body = "".join(
            "<tr>" + "".join(f"<td{how}>{escape(_shown(value))}</td>" for value, how in zip(row, style)) + "</tr>"
            for row in self.rows
        )
        none = "" if self.rows else '<div class="mk-faint">no rows</div>'
        return drawing.page(f'<div style="overflow-x:auto"><table><tr>{head}</tr>{body}</table></div>{none}')


@told_while_starting()
def answer(frame: Any) -> Answer:
    """Run the query of a DataFrame, and show all of its rows."""
    return Answer(list(frame.columns), [tuple(row) for row in frame.collect()])


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}"
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _is_number(values: tuple[Any, ...]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)
