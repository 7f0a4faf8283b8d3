"""What lies at a path, asked before it is opened: a FIFO would make a reader wait for ever, a device has no end, and a
link leads elsewhere.
"""

import os
import stat
from pathlib import Path

REGULAR_FILE, DIRECTORY, LINK = "a file", "a directory", "a link"
_KINDS = {
    stat.S_IFREG: REGULAR_FILE,
    stat.S_IFDIR: DIRECTORY,
    stat.S_IFLNK: LINK,
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def kind_of(path: Path, *, follow_links: bool = False) -> str:
    """What `path` is, in two words; with `follow_links`, what it leads to. Raises OSError, FileNotFoundError too."""
    return _KINDS.get(stat.S_IFMT(os.stat(path, follow_symlinks=follow_links).st_mode), "something else")


def is_there(path: Path) -> bool:
    """Whether anything has the name, a link that leads nowhere too. Raises OSError where the machine cannot say, which
    `os.path.lexists` takes for a no.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def leads_to_file(entry: os.DirEntry[str]) -> bool:
    """True for a file, or a link to one; one bad link does not stop who lists a directory. Kafka: `File.isFile`."""
    return os.path.isfile(entry.path) if entry.is_symlink() else entry.is_file()


def leads_to_directory(entry: os.DirEntry[str]) -> bool:
    """True for a directory, or a link to one; False for a link that leads nowhere or in a circle.

    Kafka: `File.isDirectory`.
    """
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()
