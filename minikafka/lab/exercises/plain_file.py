"""Files in a folder that may be from somebody else, such as a working copy that was handed on.

There a link leads to what is not the learner's, a FIFO lets a reader wait for ever, and a file may have any size. So
nothing is read but a regular file of a sensible size, and nothing is ever written through what is there already.
"""

import json
import os
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.at_hand import IN_A_BROWSER
from minikafka.common.draft_file import draft_of
from minikafka.common.errors import IOException
from minikafka.common.file_kind import LINK, REGULAR_FILE, kind_of


def read_plain_file(file: Path, most_bytes: int, *, follow_links: bool = False, within: Path | None = None) -> bytes:
    """The bytes of a regular file. Raises IOException, in one line, for anything else, for a link unless `follow_links`,
    for more than `most_bytes`, and for a file that is not in `within`, a real path, or that path itself: a directory
    above it may have become a link since somebody looked. Raises FileNotFoundError; OSError.
    """
    kind = kind_of(file, follow_links=follow_links)  # asked before it is opened: to open a device may do something
    if kind != REGULAR_FILE:
        raise IOException(f"{file} is {LINK if kind == LINK else 'no regular file'}")
    flags = os.O_RDONLY | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    if not IN_A_BROWSER:  # there a file that is opened without waiting is written back when it is closed
        flags |= os.O_NONBLOCK
    with open(os.open(file, flags), "rb") as opened:
        if within is not None and not file_ops.path_of(opened.fileno()).is_relative_to(within):
            raise IOException(f"{file} is reached by a link that leads out of {within}")
        data = opened.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise IOException(f"{file} has more than {most_bytes} bytes")
    return data


def json_bytes(value: object) -> bytes:
    """The bytes of a JSON file as Jupyter writes one. Half a character, as a browser may keep one, gets JSON's own
    escape.
    """
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def replace_plain_file(file: Path, content: bytes) -> None:
    """Put a new file with `content` in the place of `file`, as a whole: a stop in between leaves the old one.

    What had the name goes, and of a link only the link. Raises OSError, for a directory of that name for instance.
    """
    if IN_A_BROWSER:  # what is written reaches its storage when the file is closed
        draft = file.with_name(f".minikafka-draft{file.suffix}")
        draft.write_bytes(content)
        draft.replace(file)
        return
    with draft_of(file) as draft:
        draft.write(content)


def put_new_file(file: Path, content: bytes) -> None:
    """Put a new file with `content` where nothing is, as a whole. Raises FileExistsError where something has this name,
    even since a moment ago; OSError.
    """
    with draft_of(file, is_new=True) as draft:
        draft.write(content)
