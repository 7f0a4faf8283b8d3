"""A temporary directory that is removed even when a signal arrives while it is being removed."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_directory(prefix: str) -> Iterator[Path]:
    """A new directory under `tempfile.gettempdir()`, gone with all it holds after the `with` block. Raises OSError.

    `tempfile.TemporaryDirectory` would leave what it has not yet removed when an interruption comes at that moment.
    """
    scratch = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield scratch
    finally:
        try:
            shutil.rmtree(scratch)
        except BaseException:  # an interrupted rmtree may also raise OSError
            shutil.rmtree(scratch, ignore_errors=True)
            raise
