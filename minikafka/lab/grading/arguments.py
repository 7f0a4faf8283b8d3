"""The arguments of exercises as plain values, and back: what a case gives to a function that runs elsewhere."""

from pathlib import Path
from typing import Any

from minikafka.log.log_file_utils import INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX

_MADE_ANEW = (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX)  # by the log that is opened on the other side; mostly zeros


def sent(argument: Any) -> tuple[Any, ...]:
    """An argument as a plain value: its kind, and what makes it.

    A DataFrame is its rows and its schema; a `Log` its directory's files, its settings and its high watermark; the
    question whether something is a member of a tuple is that tuple. Raises TypeError for what cannot be sent.
    """
    from minikafka.log.log import Log

    if hasattr(argument, "collect") and hasattr(argument, "schema"):
        return "frame", [tuple(row) for row in argument.collect()], argument.schema.json()
    if isinstance(argument, Log):
        argument.flush(force_flush_active_segment=True)
        kept = (path for path in Path(argument.dir).iterdir() if path.suffix not in _MADE_ANEW)
        files = {path.name: path.read_bytes() for path in kept if path.is_file()}
        settings = {name: value for name, value in argument.config.values.items() if value is not None}
        return "log", Path(argument.dir).name, files, settings, argument.high_watermark
    if callable(argument) and isinstance(members := getattr(argument, "__self__", None), tuple):
        return "is member", members
    return "value", argument


def received(told: tuple[Any, ...]) -> Any:
    """The argument that `sent` told."""
    match told:
        case "frame", rows, schema:
            return _frame(rows, schema)
        case "log", name, files, settings, high_watermark:
            from minikafka.lab.stage.workbench import open_log, scratch

            directory = scratch(name)
            directory.mkdir()
            for file, data in files.items():
                (directory / file).write_bytes(data)
            log = open_log(directory, settings)
            log.update_high_watermark(high_watermark)
            return log
        case "is member", members:
            return members.__contains__
        case "value", value:
            return value
    raise TypeError(f"{told!r} tells of no argument")


def _frame(rows: list[Any], schema: str) -> Any:
    """A DataFrame of these rows, with the schema that its JSON tells."""
    import json

    from pyspark.sql.types import StructType

    from minikafka.lab.exercises.witnessed import frame

    fields = StructType.fromJson(json.loads(schema)).fields
    return frame(rows, ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in fields))
