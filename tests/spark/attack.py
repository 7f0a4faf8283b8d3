"""What the data source owes to whoever lets it read a damaged or hostile directory, in each mode and for each table."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from minikafka.common import errors
from minikafka.spark.source.tables import TABLES
from tests.slow.fuzz.tool_runs import FOREIGN, Fault
from tests.spark.rows import batches_of

WAYS: tuple[dict[str, str], ...] = (
    {"bounds": "log_end", "includeHeaders": "true", "includeBatches": "true"},
    {"isolation.level": "read_committed"},
    {"maxBytesPerTask": "300", "checkCrcs": "false"},
    {"startingTimestamp": "1700000000000", "startingOffsetsByTimestampStrategy": "latest"},
    *({"table": table} for table in TABLES),
)
"""How a directory is read: records in some ways, and every table."""

_NAMES = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
_TOLD = re.compile(r"(?P<file>.*), position (?P<position>\d+): (?P<name>\w+): .*", re.DOTALL)


def demand_well_told(path: Path, ways: Iterable[dict[str, str]] = WAYS) -> None:
    """Read `path` in these ways and every mode. Raises Fault unless

    - PERMISSIVE gives rows (of the metadata where there are any), and says of each damage a file, a position and an
      exception by a name of Kafka's or Java's;
    - DROPMALFORMED gives the same rows without those of damages;
    - FAILFAST gives the same rows where there is no damage, and otherwise raises what names one.
    """
    for way in ways:
        for fault in _faults(path, way):
            raise Fault(f"{way}: {fault}")


def _faults(path: Path, way: dict[str, str]) -> Iterator[str]:
    told = _read(path, way, "PERMISSIVE")
    if way == {"table": "metadata"} and "has no metadata log" in str(told):
        return  # a directory without one is refused, damaged or not
    if isinstance(told, Exception):
        yield f"PERMISSIVE raised {type(told).__name__}: {told}"
        return
    damages = [row["_corrupt"] for row in told if row["_corrupt"] is not None]
    for damage in damages:
        text = f"{damage['file']}, position {damage['position']}: {damage['exception']}"
        if objection := _objection(text, path):
            yield f"{objection}: {text}"
    sound = [{name: value for name, value in row.items() if name != "_corrupt"} for row in told if not row["_corrupt"]]
    dropped = _read(path, way, "DROPMALFORMED")
    if isinstance(dropped, Exception):
        yield f"DROPMALFORMED raised {type(dropped).__name__}: {dropped}"
    elif _counted(dropped) != _counted(sound):
        yield f"DROPMALFORMED has {len(dropped)} rows, PERMISSIVE {len(sound)} sound ones"
    fast = _read(path, way, "FAILFAST")
    if isinstance(fast, Exception):
        if objection := _objection(str(fast), path):
            yield f"FAILFAST: {objection}: {fast}"
        if not damages:
            yield f"FAILFAST raised {fast}, which PERMISSIVE does not tell"
    elif damages:
        yield f"FAILFAST does not tell {damages}"
    elif _counted(fast) != _counted(sound):
        yield f"FAILFAST has {len(fast)} rows, PERMISSIVE {len(sound)}"


def _read(path: Path, way: dict[str, str], mode: str) -> list[dict] | Exception:
    try:
        return numbered_rows(path, **way, mode=mode)
    except tuple(getattr(errors, name) for name in _NAMES) as told:
        return told


def numbered_rows(path: Path, **options: str) -> list[dict]:
    """The rows of a query, with microseconds in the place of timestamps, some of which are beyond Python's."""
    tasks = batches_of(path, (), None, options)
    return [row for batches in tasks for batch in batches for row in _with_numbers(batch).to_pylist()]


def _with_numbers(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _counted(found: list[dict]) -> Counter:
    return Counter(map(repr, found))


def _objection(text: str, path: Path) -> str:
    told = _TOLD.fullmatch(text)
    if told is None:
        return "no file, position and exception"
    if not told["file"].startswith(str(path)):
        return "no file of the directory"
    if told["name"] not in _NAMES or FOREIGN.search(text):
        return "no name of Kafka's"
    return ""
