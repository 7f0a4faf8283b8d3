"""A table where Spark cannot be started: its rows can be collected, and no query can be asked."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn


class NoSparkError(Exception):
    """A query was asked where Spark cannot be started."""


class Row(tuple):
    """A row, as a tuple; its values are attributes as well, and can be had by the names of the columns."""

    _names: Sequence[str]

    def __new__(cls, names: Sequence[str], values: Iterable[Any]) -> "Row":
        row = super().__new__(cls, values)
        row._names = names
        return row

    def __getattr__(self, name: str) -> Any:
        try:
            return tuple.__getitem__(self, self._names.index(name))
        except ValueError:
            raise AttributeError(name) from None

    def __getitem__(self, place: Any) -> Any:
        return getattr(self, place) if isinstance(place, str) else super().__getitem__(place)

    def asDict(self) -> dict[str, Any]:  # noqa: N802  as Spark's row has it
        """The values by the names of the columns."""
        return dict(zip(self._names, self, strict=True))


class PlainTable:
    """Has of Spark's DataFrame `columns`, `collect` and `orderBy`. Whoever asks it a query gets a NoSparkError."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Iterable[Any]]):
        self.columns = list(columns)
        self._rows = [Row(self.columns, row) for row in rows]

    def collect(self) -> list[Row]:
        """The rows."""
        return list(self._rows)

    def orderBy(self, *names: str) -> "PlainTable":  # noqa: N802  as Spark has it
        """The table sorted by these columns; null comes first."""

        def key(row: Row) -> list[Any]:
            return [(row[name] is not None, row[name]) for name in names]

        return PlainTable(self.columns, sorted(self._rows, key=key))

    @property
    def sparkSession(self) -> Any:  # noqa: N802  as Spark has it
        """Has `sql`, which raises NoSparkError."""
        return _NoSession()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "schema":
            raise AttributeError(name)
        return no_spark


class _NoSession:
    @property
    def sql(self) -> Callable[..., NoReturn]:
        return no_spark


def no_spark(*_: Any, **__: Any) -> NoReturn:
    """Raises NoSparkError."""
    raise NoSparkError("Spark cannot be started here")


def columns_of(schema: str) -> list[str]:
    """The names of the columns in a schema such as `t BIGINT, ends ARRAY<BIGINT>`."""
    names, depth, begins = [], 0, True
    for word in schema.replace(",", " , ").split():
        if begins:
            names.append(word.strip("`"))
        begins = word == "," and not depth
        depth += word.count("<") + word.count("(") - word.count(">") - word.count(")")
    return names
