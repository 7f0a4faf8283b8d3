"""Names of logs' directories without the id that is made up each time: `t-0.ID-delete`, which two brokers can share."""

import re
from pathlib import Path

_UNIQUE_ID = re.compile(r"\.[0-9a-f]{32}-")


def without_unique_id(name: str) -> str:
    """The name of a directory with `ID` in the place of its unique id, if it has one."""
    return _UNIQUE_ID.sub(".ID-", name)


def rename_without_unique_ids(log_dir: Path) -> None:
    """Let the directories in `log_dir`, whose files nobody uses any more, have names without unique ids.

    Where several would have the same name, they are numbered by what they hold, so that chance says nothing.
    """
    alike: dict[str, list[Path]] = {}
    for path in log_dir.iterdir():
        if (name := without_unique_id(path.name)) != path.name:
            alike.setdefault(name, []).append(path)
    for name, paths in alike.items():
        paths.sort(key=lambda path: [(file.name, file.read_bytes()) for file in sorted(path.iterdir())])
        for number, path in enumerate(paths):
            path.rename(path.with_name(f"{name}{number or ''}"))
