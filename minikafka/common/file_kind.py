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
