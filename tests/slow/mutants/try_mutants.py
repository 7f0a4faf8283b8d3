"""Do the tests notice when the code is wrong? `make mutants` changes it in small ways and runs the quick tests.

Each mutant is one change to one module, made in a copy of this tree. It is killed when a test of its room's folder
fails (or hangs), and survives otherwise: then a test is missing, or the change means nothing (`equivalent.txt`).
All mutants of `named.toml` are tried, and as many generated ones of each room as asked for, drawn from a seed.

A library was no help: those that keep to `ast` run all tests for each mutant, or rewrite every function so that a
test of how the source reads fails before the first mutant.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.slow.mutants.mutations import Mutant, mutants

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
TESTS = {
    "common": ["tests/common"],
    "record": ["tests/record"],
    "log": ["tests/log", "tests/scripts"],
    "checkpoint": ["tests/checkpoint"],
    "metadata": ["tests/metadata"],
    "messages": ["tests/messages", "tests/tools/test_record_decoders.py"],
    "network": ["tests/network", "tests/broker/test_every_api.py"],
    "cluster": ["tests/cluster"],
    "server": ["tests/server"],
    "broker": ["tests/broker", "tests/server"],
    "tools": ["tests/tools"],
    "witness": ["tests/witness"],
    "spark": ["tests/spark"],
    "lab": ["tests/lab", "tests/lessons"],
}
"""The rooms, and where the tests of each are."""
WITH_SPARK = {"witness": ["tests/witness/test_expected.py"], "spark": TESTS["spark"]}
"""Where the tests are that need a Spark session."""
OF_SPARK = ("dataframes", "expect", "fold", "queries", "views")
"""Modules of `witness` that nothing but Spark runs; so do all of the room `spark`."""
AT_RANDOM = ("draw",)
"""Modules whose every change draws something else at random, and nothing worse."""
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "my-lessons", "test-results"
)


class Trial(NamedTuple):
    """A mutant to try, under what it is reported, and whether the tests that notice it need Spark."""

    mutant: Mutant
    title: str
    named: bool
    spark: bool

    @property
    def room(self) -> str:
        """The folder of the module, and of its tests."""
        return self.mutant.path.split("/")[1]


def source_of(path: str) -> str:
    """The text of a module of this tree."""
    return (ROOT / path).read_text(encoding="utf-8")


def named() -> list[Trial]:
    """The mutants of `named.toml`. Raises ValueError when one's text is not there, or more than once."""
    trials = []
    for entry in tomllib.loads((HERE / "named.toml").read_text(encoding="utf-8"))["mutant"]:
        source = source_of(entry["file"])
        if source.count(entry["old"]) != 1:
            raise ValueError(f"{entry['name']}: its text stands {source.count(entry['old'])} times in {entry['file']}")
        start = len(source[: source.index(entry["old"])].encode())
        mutant = Mutant(entry["file"], start, entry["old"], entry["new"])
        trials.append(Trial(mutant, entry["name"], True, entry.get("spark", False)))
    return trials


def equivalent() -> list[str]:
    """The keys of mutants that change nothing that can be seen, as `equivalent.txt` lists them."""
    lines = (HERE / "equivalent.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def generated(room: str, count: int, seed: int) -> list[Trial]:
    """`count` mutants of the modules of a room, drawn from all of them."""
    known, found = set(equivalent()), []
    for file in sorted((ROOT / "minikafka" / room).rglob("*.py")):
        if file.stem in AT_RANDOM:
            continue
        path = file.relative_to(ROOT).as_posix()
        source = source_of(path)
        for mutant in mutants(path, source):
            if (key := mutant.key(source)) not in known:
                title = key.replace(path, f"{path}:{mutant.line(source)}", 1)
                found.append(Trial(mutant, title, False, room == "spark" or file.stem in OF_SPARK))
    return random.Random(f"{room} {seed}").sample(found, min(count, len(found)))


class Tree:
    """A copy of this tree, in which mutants are tried one after the other."""

    def __init__(self, home: Path):
        self.root = home
        shutil.copytree(ROOT, home, ignore=NOT_COPIED)
        # A change of the same length within a second must not meet what was compiled before it.
        source_alone = {"PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
        self.environment = {**os.environ, "PYTHONPATH": str(home), **source_alone}
        self.said = home.with_suffix(".out")  # what the last run of the tests printed
        self.clock = 10**9  # dates of changed modules: never the same twice, so that no compiled module is out of date

    def passes(self, room: str, spark: bool, limit_s: float | None = None) -> bool:
        """Run the quick tests of a room; False when one fails or `limit_s` is over."""
        tests = [*WITH_SPARK[room], "--with-spark", "-m", "not slow"] if spark else TESTS[room]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-qx",
            "-p",
            "tests.slow.mutants.quick_tests",
            "-p",
            "no:cacheprovider",
            *tests,
        ]
        with (
            open(self.said, "wb") as said,
            subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as run,
        ):
            try:
                return run.wait(limit_s) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                if run.poll() is None:
                    os.killpg(run.pid, signal.SIGKILL)

    def survives(self, trial: Trial, limit_s: float) -> bool:
        """True when the tests pass although the mutant is there."""
        file = self.root / trial.mutant.path
        file.write_text(trial.mutant.source(source_of(trial.mutant.path)), encoding="utf-8")
        self.clock += 10
        os.utime(file, (self.clock, self.clock))
        try:
            return self.passes(trial.room, trial.spark, limit_s)
        finally:
            shutil.copy2(ROOT / trial.mutant.path, file)


def try_all(trials: list[Trial], home: Path) -> list[Trial]:
    """Try the mutants, two at a time; print what comes of each, and return those that survive."""
    trees = SimpleQueue()
    for number in range(2):
        trees.put(Tree(home / str(number)))
    limits = {}
    for kind in sorted({(trial.room, trial.spark) for trial in trials}):
        started, tree = time.monotonic(), trees.get()
        if not tree.passes(*kind):
            last = tree.said.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise SystemExit(f"{last}\nthe tests of {kind[0]} fail without a mutant")
        trees.put(tree)
        limits[kind] = 30 + 5 * (time.monotonic() - started)

    def one(trial: Trial) -> bool:
        tree = trees.get()
        try:
            survived = tree.survives(trial, limits[trial.room, trial.spark])
        finally:
            trees.put(tree)
        print("SURVIVED" if survived else "killed  ", trial.title, flush=True)
        return survived

    with ThreadPoolExecutor(2) as two_at_a_time:
        return [trial for trial, survived in zip(trials, two_at_a_time.map(one, trials)) if survived]


def main(arguments: list[str] | None = None) -> int:
    """Print each mutant's end and each room's score; exit code 1 when a named mutant survives."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20, help="generated mutants of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", choices=TESTS, action="append", help="this room only")
    options = parser.parse_args(arguments)
    rooms = options.room or list(TESTS)
    trials = [trial for trial in named() if trial.room in rooms]
    for room in rooms:
        trials += generated(room, options.count, options.seed)
    with tempfile.TemporaryDirectory(prefix="mutants-") as home:
        survivors = try_all(trials, Path(home))
    for room in rooms:
        tried = sum(trial.room == room for trial in trials)
        left = sum(trial.room == room for trial in survivors)
        if tried:
            print(f"{room:10} {tried - left} of {tried} killed ({100 * (tried - left) // tried} %)")
    return 1 if any(trial.named for trial in survivors) else 0


if __name__ == "__main__":
    sys.exit(main())
