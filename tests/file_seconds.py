"""How long each file of tests takes, so that two processes are busy to the end.

`seconds_of_files.txt` has a line for each file: its path, its seconds in `make test` and in `make quick` (`-`: nothing
of it runs there). `make test` begins with the longest files. `make quick` cuts the files into two halves of equal
length, and each of its two processes collects its own half alone. `make times` renews the table.
"""

from collections import defaultdict
from pathlib import Path

TABLE = Path(__file__).with_name("seconds_of_files.txt")
_ROOT = TABLE.parents[1]
_OF_A_NEW_FILE = 1.0  # s


def seconds_of_files(*, quick: bool) -> dict[str, float]:
    """Seconds by path, from the root on, of the files that the table knows in that kind of run."""
    return {path: float(of[quick]) for path, *of in _rows() if of[quick] != "-"}


def note(measured: dict[str, float], *, quick: bool) -> None:
    """Write what a run of all tests took: other files are gone, or nothing of them runs there."""
    rows = {path: ["-", "-"] for path in measured} | {path: of for path, *of in _rows()}
    for path, of in rows.items():
        of[quick] = f"{measured[path]:.1f}" if path in measured else "-"
    kept = {path: of for path, of in sorted(rows.items()) if (_ROOT / path).exists()}
    TABLE.write_text("".join(f"{path} {' '.join(of)}\n" for path, of in kept.items()), encoding="utf-8")


def half(number: int, paths: list[str], *, quick: bool) -> set[str]:
    """Half 1 or 2 of the paths: the longest first, each to the half that has less."""
    seconds = seconds_of_files(quick=quick)
    halves, lengths = (set(), set()), [0.0, 0.0]
    for path in sorted(paths, key=lambda path: (-seconds.get(path, _OF_A_NEW_FILE), path)):
        shorter = lengths.index(min(lengths))
        halves[shorter].add(path)
        lengths[shorter] += seconds.get(path, _OF_A_NEW_FILE)
    return halves[number - 1]


def longest_first(items: list) -> list:
    """pytest's items, the longest file first; a file's stay together in their order."""
    seconds = seconds_of_files(quick=False)
    by_file = defaultdict(list)
    for item in items:
        by_file[item.nodeid.partition("::")[0]].append(item)
    files = sorted(by_file, key=lambda path: -seconds.get(path, _OF_A_NEW_FILE))
    return [item for path in files for item in by_file[path]]


def _rows() -> list[list[str]]:
    return [line.split() for line in TABLE.read_text(encoding="utf-8").splitlines()]
