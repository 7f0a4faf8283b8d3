"""Tables for the lessons *Append* and *Stored and safe*: the answers of several appends side by side, and the header
fields that the leader wrote.
"""

from html import escape
from typing import Any

from minikafka.lab.widgets import drawing

LEFT = 'style="text-align:left;vertical-align:top"'
"""Needed because JupyterLab aligns the cells of a table to the right."""


class Table:
    """Rows of words under `head`; shown as a table, printed as aligned text."""

    def __init__(self, head: list[str], rows: list[list[Any]]):
        self.head, self.rows = head, [[str(cell) for cell in row] for row in rows]

    def __str__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th {LEFT}>{escape(word)}</th>" for word in self.head)
        rows = "".join(f"<tr>{''.join(f'<td {LEFT}>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows)
        return drawing.page(f"<table><tr>{head}</tr>{rows}</table>")


def side_by_side(**infos: Any) -> Table:
    """The fields of several `LogAppendInfo`, one column each, named by the keyword (`_` shown as a space)."""
    first = next(iter(infos.values()))
    names = [*first.__slots__, "num_messages"]
    rows = [[name, *(_value(getattr(info, name)) for info in infos.values())] for name in names]
    return Table(["field", *(name.replace("_", " ") for name in infos)], rows)


def changed_fields(before: bytes, after: bytes) -> Table:
    """The fields of a batch that differ between its bytes `before` and `after` an append."""
    from minikafka.lab.widgets.microscope import fields_of

    old, new = ({field.name: field.value for field in fields_of(bytes(data))} for data in (before, after))
    rows = [[name, value, new.get(name, "gone")] for name, value in old.items() if new.get(name) != value]
    return Table(["field", "as sent", "as stored"], rows or [["no field", "", ""]])


def _value(value: Any) -> Any:
    return getattr(value, "name", value)
