"""Which part of the tests a run of `make test` takes: each takes the next of twenty, so that twenty have taken all.

Whose turn it is stands in minikafka's cache. `python -m tests.parts` prints it; with `--passed 7` it notes that a run
of part 7 has passed. A run that fails is followed by the same part again. Where nothing is kept from run to
run, as on a machine that is new each time, the day decides: then two runs on one day take the same part.
"""

import argparse
import time
from contextlib import suppress
from pathlib import Path

from minikafka.jvm.cache import cache_dir

PARTS = 20
_SECONDS_OF_A_DAY = 86_400


def next_part(file: Path) -> int:
    """The part that stands in `file`; today's where there is none."""
    try:
        return int(file.read_text(encoding="utf-8")) % PARTS
    except (OSError, ValueError):
        return int(time.time()) // _SECONDS_OF_A_DAY % PARTS


def note_passed(file: Path, part: str) -> None:
    """A run of `part` has passed: if it was its turn, the next one follows. Any other part, and "all", change nothing.

    Where the cache cannot be written, nothing is noted.
    """
    due = next_part(file)
    if part == str(due):
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{(due + 1) % PARTS}\n", encoding="utf-8")


def main() -> None:
    """Print the part whose turn it is, or note that one has passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.parts", description="The next part of the tests.")
    parser.add_argument("--passed", metavar="PART", help="note that a run of this part has passed")
    passed = parser.parse_args().passed
    file = cache_dir() / "next-part-of-the-tests"
    if passed is None:
        print(next_part(file))
    else:
        note_passed(file, passed)


if __name__ == "__main__":
    main()
