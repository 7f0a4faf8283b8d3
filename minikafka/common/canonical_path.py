"""A path without links, as Java knows it."""

import errno
import os
from pathlib import Path

_GOES_ON_AFTER = (errno.ENOENT, errno.ENOTDIR, errno.EACCES)


def canonical_path(path: Path) -> Path:
    """The absolute path without links, `.` and `..`; of what leads nowhere, or in a circle, the end stays as it is.

    Raises OSError where a directory on the way cannot be followed. Java: `File.getCanonicalPath`.
    """
    whole = os.path.join(os.getcwd(), path)
    try:
        return Path(os.path.realpath(whole, strict=True))
    except OSError:
        pass
    names = whole.split(os.sep)
    for count in range(len(names) - 1, 1, -1):
        try:
            found = os.path.realpath(os.sep.join(names[:count]), strict=True)
        except OSError as error:
            if error.errno not in _GOES_ON_AFTER:
                raise
        else:
            return Path(os.path.normpath(os.path.join(found, *names[count:])))
    return Path(os.path.normpath(whole))
