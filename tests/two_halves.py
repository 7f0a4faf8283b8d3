"""Run pytest twice at the same time, on half the files each (see `file_seconds`): python -m tests.two_halves OPTIONS

What the first one prints stands behind what the second one prints. The exit code is 0 if both have passed.
"""

import shutil
import subprocess
import sys
import tempfile


def main(options: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", *options, "--half"]
    with tempfile.TemporaryFile() as told:
        # No shell's background process: that would ignore SIGINT, and so would all that its tests start.
        first = subprocess.Popen([*command, "1", "tests"], stdout=told, stderr=told)
        second = subprocess.Popen([*command, "2", "tests"])
        codes = [_end_of(second), _end_of(first)]
        told.seek(0)
        shutil.copyfileobj(told, sys.stdout.buffer)
    return max(map(abs, codes))


def _end_of(process: subprocess.Popen) -> int:
    """The exit code; a terminal's interrupt reaches the process itself, which may still say where it was."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
