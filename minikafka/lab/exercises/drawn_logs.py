"""Directories that a log writes for a case: minikafka's, read by the data source, or Kafka's, asked by its own methods."""

from collections.abc import Iterable
from typing import Any

from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload


def after_lines(lines: Iterable[str], factory: Any = minikafka_log) -> Runner:
    """A log on which all operations have been done; its directory is `runner.directory`, its high watermark is written
    beside it. Raises AssertionError for an operation that fails.
    """
    from minikafka.lab.stage.file_readers import note_high_watermark
    from minikafka.lab.stage.workbench import scratch

    workload = Workload.parse("\n".join(lines))
    runner = Runner(factory, scratch("orders-0"), workload)
    for operation in workload:
        seen = runner.apply(operation)
        assert not seen.error, f"{operation}: {seen.error}: {seen.message}"
    note_high_watermark(runner)
    return runner


def read_from(lines: Iterable[str], columns: str, **options: object) -> list[tuple[Any, ...]]:
    """The rows that the data source reads of the log that minikafka writes: `columns` of a table, with commas."""
    from minikafka.lab.stage.source_by_hand import Query

    runner = after_lines(lines)
    runner.let_go()
    rows = Query(runner.directory, **options).rows()
    return [tuple(row[name] for name in columns.split(", ")) for row in rows]


def consumed(lines: Iterable[str], factory: Any) -> list[tuple[int, int, bytes | None, bytes | None]]:
    """Offset, timestamp in ms, key and value of each record that a consumer gets from the log."""
    from minikafka.lab.stage.readers import records_seen

    runner = after_lines(lines, factory)
    seen = records_seen(runner.log)
    found = [(record.offset, record.timestamp, _bytes(record.key), _bytes(record.value)) for record in seen]
    runner.let_go()
    return found


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)
