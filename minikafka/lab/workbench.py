"""What a lesson needs on its table: a fresh log, a copy of a real broker's directory, records to append.

Every log here has a clock and a scheduler that stand still until they are told to move (`log.time`, `log.scheduler`), so a lesson gives
the same numbers each time it runs.
"""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime

NOON = 1_700_000_000_000
"""Where the clock of every lesson starts, in ms since 1970."""


def fresh_log(settings: dict[str, Any] | None = None, *, name: str = "lesson-0", start_ms: int = NOON) -> Any:
    """An empty `Log` in a new directory with these topic settings (Kafka's names)."""
    return open_log(_new_directory() / name, settings, start_ms=start_ms)


def copied_log(directory: str | Path, settings: dict[str, Any] | None = None, *, start_ms: int = NOON) -> Any:
    """A `Log` on a copy of `directory`, so that the original stays as the broker left it."""
    source = Path(directory)
    target = _new_directory() / source.name
    shutil.copytree(source, target)
    return open_log(target, settings, start_ms=start_ms)


def open_log(directory: str | Path, settings: dict[str, Any] | None = None, *, start_ms: int = NOON) -> Any:
    """Open the cleanly closed `Log` in `directory`, which is made when missing."""
    from minikafka.log.log import Log
    from minikafka.log.log_config import LogConfig

    time = ManualTime(start_ms)
    Path(directory).mkdir(parents=True, exist_ok=True)
    return Log.create(Path(directory), LogConfig(settings or {}), 0, 0, ManualScheduler(time), time)


def records(count: int = 1, size: int = 10, *, timestamp: int = NOON, first: int = 0) -> Any:
    """One batch of `count` records with values of `size` bytes; the values number the records from `first` on."""
    from minikafka.record.compression import Compression
    from minikafka.record.memory_records import MemoryRecords
    from minikafka.record.record import SimpleRecord

    values = [f"{first + i}".encode().rjust(size, b".") for i in range(count)]
    return MemoryRecords.with_records(Compression.NONE, *[SimpleRecord(timestamp, None, value) for value in values])


def files_of(log: Any) -> list[str]:
    """The names of the files in the log's directory, sorted."""
    return sorted(path.name for path in Path(log.dir).iterdir())


def _new_directory() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="minikafka-lesson-"))
    atexit.register(shutil.rmtree, directory, True)
    return directory
