"""What tells a segment's file on a disk from another one that later has its path.

It is one number, as the table of byte ranges has it: its upper half is the log's, its lower half the file's. A file is
known by its inode. A compaction puts another file in its place, in the same log. A log is known by the inode of its
directory, because a write replaces a directory as a whole, and by its topic's id, because a topic that is deleted and
made anew may get the inodes of the old one.
"""

import os

from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.common.at_hand import crc32c

_MOST = 1024
"""Bytes that are read of `partition.metadata`; it has 50."""


def log_mark(directory: str) -> int:
    """31 bits of the log that has the directory now. Raises OSError where there is no directory.

    A broker writes the topic's id before the first append, and never changes it.
    """
    inode = os.stat(directory).st_ino
    return crc32c(b"%d %b" % (inode, _topic_id(directory))) & 0x7FFF_FFFF


def file_identity(log: int, inode: int) -> int:
    """The identity of a file of the log with the mark `log`."""
    return log << 32 | crc32c(b"%d" % inode)


def are_of_one_log(one: int, other: int) -> bool:
    """Whether both are identities of files of the same log."""
    return one >> 32 == other >> 32


def _topic_id(directory: str) -> bytes:
    """The text of `partition.metadata`, b"" where there is none that can be read."""
    try:
        fd = os.open(os.path.join(directory, PARTITION_METADATA_FILE_NAME), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(fd, _MOST, 0)
    except OSError:
        return b""
    finally:
        os.close(fd)
