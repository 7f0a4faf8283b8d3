"""A temporary directory of this process, which goes when the process ends, however it ends."""

import atexit
import shutil
import tempfile
import threading
from functools import partial
from pathlib import Path

from minikafka.common.locked_directory import new_locked_directory, remove_those_of_the_dead

_PREFIX = "minikafka-own-"
_remove = partial(shutil.rmtree, ignore_errors=True)
_directory: Path | None = None
_making = threading.Lock()


def own_directory() -> Path:
    """This process's directory under `tempfile.gettempdir()`, made when there is none. Raises OSError.

    It goes when Python ends. A process that is killed cannot remove its own: the next one that asks does.
    """
    global _directory
    with _making:
        if _directory is None or not _directory.is_dir():  # what tidies a machine up may have taken it
            temporary = Path(tempfile.gettempdir())
            remove_those_of_the_dead(temporary, _PREFIX, _remove)
            _directory, _ = new_locked_directory(temporary, _PREFIX)  # locked until the process ends
            atexit.register(_remove, _directory)
        return _directory
