"""What a lesson needs to wreck a log and load it again: kills, cuts, flipped bytes, and loads by minikafka and by
Kafka.

Nothing here touches a directory that a lesson did not make: all work is done on copies.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from minikafka.common import file_ops
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.lab.stage.background import told_while_starting
from minikafka.lab.stage.beside_kafkas_files import beside_kafkas_files
from minikafka.lab.stage.workbench import NOON, kafka_witness, scratch
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.directory_diff import FilesOf

SMALL = {"internal.segment.bytes": 300, "index.interval.bytes": 60, "segment.index.bytes": 1200}
"""Settings with which a dozen records fill several segments, and index files stay short."""


def kill(log: Any) -> Path:
    """End the process that holds `log`, as kill -9 does: nothing is written, nothing closed. Returns its directory."""
    log.scheduler.shutdown()
    log.close_handlers()
    return Path(log.dir)


def another(directory: str | Path) -> Path:
    """A copy of a partition's directory."""
    target = scratch(Path(directory).name)
    shutil.copytree(directory, target)
    return target


def load(
    directory: str | Path,
    settings: Mapping[str, Any] | None = None,
    *,
    clean: bool = False,
    recovery_point: int = 0,
    log_start: int = 0,
) -> Any:
    """Load the `Log` in `directory` as after an unclean stop (or a clean one), with these checkpoints; run what
    is due.
    """
    time = ManualTime(NOON)
    scheduler = ManualScheduler(time)
    log = Log.create(
        Path(directory),
        LogConfig(dict(settings or {})),
        log_start,
        recovery_point,
        scheduler=scheduler,
        time=time,
        last_shutdown_clean=clean,
    )
    scheduler.run_due_tasks()
    return log


def stopped_at_each_rename(log: Any, action: Callable[[], Any]) -> list[Path]:
    """The directories that a crash leaves which stops `action` on `log` before its first rename and after each.

    The log is killed when the action is over.
    """
    home, before, stops = Path(log.dir), [another(log.dir)], []

    def note(operation: str, path: Path) -> None:
        if Path(path).parent != home:
            return
        if operation == "rename":
            stops.append(another(home))
        elif not stops:
            before[:] = [another(home)]

    with file_ops.observe(note):
        action()
    kill(log)
    return before + stops


def cut(directory: Path, name: str, size: int) -> Path:
    """Cut the file whose name ends in `name` to `size` bytes, as a power cut might. Returns `directory`."""
    with open(named(directory, name), "r+b") as file:
        file.truncate(size)
    return directory


def flip(directory: Path, name: str, position: int) -> Path:
    """Flip one bit at byte `position` of the file whose name ends in `name`. Returns `directory`."""
    with open(named(directory, name), "r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))
    return directory


def remove(directory: Path, *names: str) -> Path:
    """Delete the files whose names end in one of `names`. Returns `directory`."""
    for name in names:
        named(directory, name).unlink()
    return directory


def far_apart(gap: int) -> Path:
    """A directory with one segment that begins at 0 and holds two records, at the offsets 0 and `gap`."""
    directory = scratch()
    directory.mkdir(parents=True)
    one = SimpleRecord(NOON, None, b"record")
    batches = [
        MemoryRecords.with_records(Compression.NONE, one, initial_offset=o, partition_leader_epoch=0) for o in (0, gap)
    ]
    file = directory / f"{0:020}.log"
    file.write_bytes(b"".join(bytes(batch.buffer) for batch in batches))
    os.utime(file, (NOON / 1000, NOON / 1000))
    return directory


def entries_of(log: Any) -> list[tuple[int, int, int]]:
    """Base offset, entries of the offset index and entries of the time index, for each segment of `log`."""
    return [
        (segment.base_offset, segment.offset_index.entries, segment.time_index.entries) for segment in log.log_segments
    ]


def named(directory: Path, ending: str) -> Path:
    """The one file of `directory` whose name ends in `ending`. Raises ValueError when there is none, or more than
    one.
    """
    found = [file for file in Path(directory).iterdir() if file.name.endswith(ending.removeprefix("…"))]
    if len(found) != 1:
        raise ValueError(f"{len(found)} files end in {ending}: {', '.join(sorted(file.name for file in found))}")
    return found[0]


def sizes(directory: str | Path, ending: str = "") -> dict[str, int]:
    """Name without leading zeros, and size in bytes, of each file whose name ends in `ending`."""
    files = sorted(Path(directory).iterdir())
    return {short(file.name): file.stat().st_size for file in files if file.name.endswith(ending)}


def short(name: str) -> str:
    """`00000000000000000012.log` as `…012.log`; other names as they are."""
    return f"…{int(name[:20]):03d}{name[20:]}" if name[:20].isdigit() else name


@told_while_starting()
def loaded_by_both(
    directory: str | Path,
    settings: Mapping[str, Any] | None = None,
    damage: Callable[[Path], Any] = lambda copy: None,
    **checkpoints: Any,
) -> Any:
    """Load and close two copies of `directory`, one with minikafka and one with Apache Kafka, and compare them byte by
    byte.

    `damage(copy)` is done to both before; `checkpoints` as in `load`. Where Kafka cannot be started, its files are
    those that it left when the lesson was built; `equal` is None where there are none.
    """
    ours, theirs = another(directory), another(directory)
    for copy in (ours, theirs):
        damage(copy)
    question = f"a load\nsettings {dict(settings or {})}, checkpoints {checkpoints}\n{_told(theirs)}"
    load(ours, settings, **checkpoints).close()
    return beside_kafkas_files(ours, question, lambda: _loaded_by_kafka(theirs, settings, checkpoints))


def _told(directory: Path) -> str:
    files, digest = FilesOf(directory), hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return f"{len(files)} files, sha256 {digest.hexdigest()}"


def _loaded_by_kafka(
    directory: Path, settings: Mapping[str, Any] | None, checkpoints: Mapping[str, Any]
) -> Path | None:
    kafka = kafka_witness()
    if kafka is None:
        return None
    time = ManualTime(NOON)
    scheduler = ManualScheduler(time)
    log = kafka(
        directory,
        {name: str(value) for name, value in (settings or {}).items()},
        log_start_offset=checkpoints.get("log_start", 0),
        recovery_point=checkpoints.get("recovery_point", 0),
        scheduler=scheduler,
        time=time,
        last_shutdown_clean=checkpoints.get("clean", False),
    )
    scheduler.run_due_tasks()
    log.close()
    return directory
