"""Files that a run leaves for the next one, in a directory into which anybody may put others.

What the next run finds decides what it moves and deletes. A fifo would make it wait for ever, a link would lead it
elsewhere, and a file that names paths elsewhere would make it move what is not its own. So a run looks first, and
neither opens nor believes what no run leaves. `export` and `write_log_dir` do all of this here.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from minikafka.common import file_ops
from minikafka.common.errors import KafkaException, KafkaStorageException
from minikafka.common.file_kind import DIRECTORY, REGULAR_FILE, kind_of
from minikafka.common.file_lock import FileLock

_T = TypeVar("_T")
_MOST_BYTES = 256 << 20
"""Room for the names of a million files and what is said of each. A larger file is neither read nor written."""
_LOCK_PATIENCE_S = 3
_ONE_LOOK_S = 0.05
_TRIES = 20
_PAUSE_S = 0.1


def is_regular_file(path: Path) -> bool:
    """Whether there is a plain file, and no link to one. Raises OSError."""
    return _is(path, REGULAR_FILE)


def is_directory(path: Path) -> bool:
    """Whether there is a directory, and no link to one. Raises OSError."""
    return _is(path, DIRECTORY)


def refuse_other_than_file(path: Path) -> None:
    """Raises KafkaStorageException for what has the name of a run's file and is none, or is a link; OSError."""
    if os.path.lexists(path) and not is_regular_file(path):
        raise KafkaStorageException(f"{path} is in the way: it is {kind_of(path)}, not a file that belongs there")


def refuse_other_than_directory(path: Path) -> None:
    """Raises KafkaStorageException for what has the name of a run's directory and is none, or is a link; OSError."""
    if os.path.lexists(path) and not is_directory(path):
        raise KafkaStorageException(f"{path} is in the way: it is {kind_of(path)}, not a directory")


@contextmanager
def opened_below(root: Path, directory: Path) -> Iterator[int]:
    """A descriptor of a directory below `root`, for renames that lead nowhere else, whoever replaces it meanwhile.

    Raises KafkaStorageException where it, or one between it and `root`, is no directory, or is a link; OSError.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor, path = os.open(root, flags), root
    try:
        for name in directory.relative_to(root).parts:
            path = path / name
            refuse_other_than_directory(path)
            try:
                below = os.open(name, flags | os.O_NOFOLLOW, dir_fd=descriptor)
            except OSError as error:
                error.filename = str(path)
                raise
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def read_json(file: Path, understand: Callable[[Any], _T], broken: Callable[[str], KafkaException]) -> _T | None:
    """What `understand` makes of the file's content; None if the file is missing.

    Raises what `broken` makes of a reason, where the file is no plain one, is no JSON, or `understand` raises
    ValueError, KafkaException, TypeError, LookupError or AttributeError: it need not ask for each field whether it is
    there. Raises OSError.
    """
    try:
        if kind_of(file) != REGULAR_FILE:
            raise broken("it is no regular file")
        if (size := file.lstat().st_size) > _MOST_BYTES:
            raise broken(f"it has {size} bytes")
        data = file.read_bytes()
    except FileNotFoundError:  # also when the run that left it has just ended
        return None
    try:
        return understand(json.loads(data))
    except (ValueError, KafkaException) as error:
        raise broken(str(error).partition("\n")[0]) from None
    except (TypeError, LookupError, AttributeError, RecursionError):
        raise broken("it has other fields") from None


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write the file, or replace it in one step.

    Raises KafkaStorageException for more than `read_json` reads, and where something else has the name of the draft of
    the file; OSError.
    """
    data = json.dumps(content).encode()
    if len(data) > _MOST_BYTES:
        raise KafkaStorageException(f"{file} would have {len(data)} bytes, more than the {_MOST_BYTES} that are read")
    refuse_other_than_file(file.with_name(f"{file.name}.tmp"))  # which is written first
    file_ops.replace_file(file, data)


def require_types(*pairs: tuple[object, type]) -> None:
    """Raises ValueError for a value that is not exactly of the type beside it."""
    for value, kind in pairs:
        if type(value) is not kind:
            raise ValueError(f"{value!r} is no {kind.__name__}")


def delete_staged(path: Path) -> None:
    """Delete a directory in which a task that was told to end may still be making files. Raises OSError."""
    for tries_left in reversed(range(_TRIES)):
        try:
            file_ops.delete_directory(path)
            return
        except OSError:
            if not tries_left:
                raise
            time.sleep(_PAUSE_S)


@contextmanager
def locked(file: Path, holder: str) -> Iterator[None]:
    """Hold the lock on a file, for which other runs that hold it for a moment are waited for.

    Raises KafkaException, which names the `holder`, when somebody holds it for longer; KafkaStorageException for a lock
    that would be elsewhere; OSError.
    """
    refuse_other_than_file(file)
    lock = FileLock(file)
    until = time.monotonic() + _LOCK_PATIENCE_S
    try:
        while not lock.try_lock():
            if time.monotonic() > until:
                raise KafkaException(f"{file} is held: {holder}")
            time.sleep(_ONE_LOOK_S)
        yield
    finally:
        lock.unlock_and_close()


def _is(path: Path, kind: str) -> bool:
    try:
        return kind_of(path) == kind
    except FileNotFoundError:
        return False
