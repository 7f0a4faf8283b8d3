"""Whether a directory is, lies in, or holds a broker's log directory: no broker starts where something else lies in
one, and so a log directory is made beside others, and not around them.
"""

import os
import re
from pathlib import Path

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME
from minikafka.common.errors import IllegalArgumentException
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX
from minikafka.tools.checkpoints import NOTED

_OWN_FILES = {META_PROPERTIES_NAME, *NOTED}
_PARTITION = re.compile(r".+-[0-9]+", re.ASCII)
_LOG_FILE = re.compile(r"[0-9]{20}\.log", re.ASCII)


def require_outside_log_dirs(path: str | os.PathLike[str]) -> None:
    """Raises IllegalArgumentException where `path` is, or lies in, a log directory. It need not exist."""
    whole = Path(path).resolve()
    for directory in (whole, *whole.parents):
        if _is_log_dir(directory):
            raise IllegalArgumentException(
                f"{path} is, or lies in, the log directory {directory}, in which nothing else may lie: name another "
                "directory"
            )


def require_no_log_dirs_in(path: str | os.PathLike[str]) -> None:
    """Raises IllegalArgumentException where one of the directories in `path` is a log directory. It need not exist.

    What a write has staged, or put aside, looks like one.
    """
    for name in sorted(_names_in(Path(path))):
        if not name.endswith(DELETE_DIR_SUFFIX) and _is_log_dir(Path(path, name)):
            raise IllegalArgumentException(
                f"{path} holds the log directory {Path(path, name)}, around which nothing else may be made: name"
                " another directory"
            )


def _is_log_dir(directory: Path) -> bool:
    """It has one of a log directory's own files, or a partition's directory with a segment in it.

    What cannot be listed is none: this process could not write into it, and may well write below it.
    """
    names = _names_in(directory)
    return not _OWN_FILES.isdisjoint(names) or any(
        any(map(_LOG_FILE.fullmatch, _names_in(directory / name))) for name in names if _PARTITION.fullmatch(name)
    )


def _names_in(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
