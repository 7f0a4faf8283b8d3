"""`make fuzz-tools`: damaged directories through `verify`, `ls`, `dump-log`, `recover` and `clean`, as users call them,
and through Spark's data source.

Of each directory is demanded that

- a tool ends with a code that it promises, within its time and memory, and says an error on one line, by a name of
  Kafka's or Java's;
- what only reads changes nothing: no byte, no name, no time of change of a file;
- a recovery of the same directory does and says the same twice, `--dry-run` foretells it, and a directory that was
  recovered is recovered again to the same state;
- a share of them is given to Kafka, too, which must make the same of each, and print the same.

    python -m tests.slow.fuzz.fuzz_tools --directories 5000 --seed 1      what `make fuzz-tools` runs
    python -m tests.slow.fuzz.fuzz_tools --directories 1 --seed 4711      one of them again
    python -m tests.slow.fuzz.fuzz_tools --directories 1 --seed 4711 --only 0,2     only two of its damages

A directory that fails is made smaller (fewer damages) and kept in `test-results/fuzz-tools/<seed>`.
"""

import argparse
import json
import multiprocessing
import os
import queue
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from minikafka.checkpoint.leader_epoch_checkpoint_file import LEADER_EPOCH_CHECKPOINT_FILENAME
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.jvm.kafka_jvm import KafkaJvm, KafkaUnavailableError, kafka_jars
from minikafka.log.log_file_utils import PRODUCER_SNAPSHOT_FILE_SUFFIX, SWAP_FILE_SUFFIX
from tests.slow.fuzz.against_kafka import AgainstKafka
from tests.slow.fuzz.mutations import Mutation, mutate
from tests.slow.fuzz.origins import Origins
from tests.slow.fuzz.tool_runs import (
    FOREIGN,
    Fault,
    Run,
    Tree,
    call,
    call_in_a_process,
    difference,
    tree,
    warnings_collected,
    well_said,
)

SUBPROCESS_EVERY = 100
"""One directory in so many goes through the command in a process of its own, too."""
TABLES_EVERY = 4
"""One directory in so many is read as tables, too."""
DUMPS = 3
"""With so many of the options, drawn, a directory is dumped."""
KAFKA_EVERY = 5
"""One directory in so many is given to Kafka, too."""
KEPT = Path("test-results/fuzz-tools")

DUMP_OPTIONS = (
    [],
    ["--deep-iteration"],
    ["--print-data-log"],
    ["--print-data-log", "--skip-record-metadata"],
    ["--index-sanity-check"],
    ["--verify-index-only"],
    ["--max-bytes", "300"],
    ["--max-message-size", "100"],
    ["--offsets-decoder"],
    ["--cluster-metadata-decoder", "--skip-record-metadata"],
)
_STATE_OF_A_LOG = ("log_start_offset", "log_end_offset", "last_stable_offset", "segments")


class Directory:
    """One damaged directory and its way through the tools."""

    def __init__(self, mutation: Mutation, home: Path):
        self._mutation = mutation
        self._partition = mutation.partition
        self._log_dir = mutation.partition.parent
        self._home = home
        self._options = ["--json", "--now-ms", str(mutation.now_ms)]
        for name, value in mutation.settings.items():
            self._options += ["--config", f"{name}={value}"]

    def check(self) -> None:
        """Raises Fault."""
        self._without_change(self._verify)
        self._without_change(self._list)
        self._without_change(self._dump)
        if self._mutation.seed % TABLES_EVERY == 0:
            self._without_change(self._tables)
        foretold = self._without_change(self._dry_run)
        self._recover(foretold)
        self._recover_log_dir(foretold)
        self._clean()

    def check_commands(self) -> None:
        """The commands in processes of their own, also where no other bytes than ASCII can be printed."""
        partition = str(self._partition)
        for locale in ("C.UTF-8", "C"):
            for arguments in (["verify", partition], ["recover", partition, "--dry-run", *self._options]):
                run = call_in_a_process(*arguments, locale=locale)
                if FOREIGN.search(run.stderr) or run.exit_code not in (0, 1, 2):
                    raise Fault(f"{' '.join(arguments)} as a command: exit code {run.exit_code}\n{run.stderr}")
                if run.exit_code != call(*arguments).exit_code:
                    raise Fault(f"{' '.join(arguments)} ends otherwise as a command: {run.exit_code}\n{run.stderr}")

    def _without_change(self, work):
        before = tree(self._log_dir, times=True)
        result = work()
        changes = difference(before, tree(self._log_dir, times=True))
        if changes:
            raise Fault(f"{work.__name__.strip('_')} changed the directory:\n" + "\n".join(changes))
        return result

    def _verify(self) -> None:
        text = well_said(call("verify", str(self._partition)), (0, 1, 2), lines_at=2)
        for directory in (self._partition, self._log_dir):
            run = call("verify", "--json", str(directory))
            told = parsed(run)
            promised = 2 if told["unread"] else 1 if told["findings"] else 0
            if run.exit_code != promised or (directory == self._partition and run.exit_code != text.exit_code):
                raise Fault(f"verify --json ends with {run.exit_code}, verify with {text.exit_code}: {told}")
            for finding in told["findings"]:
                if FOREIGN.search(finding["what"] + "\n" + finding["next_start"]) or "\n" in finding["what"]:
                    raise Fault(f"verify finds {finding}")

    def _list(self) -> None:
        for directory in (self._partition, self._log_dir):
            run = call("ls", "--json", str(directory))
            if run.stdout and run.exit_code != (1 if parsed(run)["unread"] else 0):
                raise Fault(f"ls ends with {run.exit_code}: {run.stdout}")
            well_said(run, (0, 1))
            well_said(call("ls", str(directory)), (run.exit_code,))

    def _dump(self) -> None:
        # The comma parts the names of files.
        files = [str(path) for path in sorted(self._partition.iterdir()) if path.is_file() and "," not in path.name]
        if files:
            for options in random.Random(self._mutation.seed).sample(DUMP_OPTIONS, DUMPS):
                self._dump_files(files, options)

    def _dump_files(self, files: list[str], options: list[str]) -> None:
        """All files in one run; behind each that ends the run, the others in the next."""
        while files:
            run = call("dump-log", "--files", ",".join(files), *options)
            if run.exit_code == 0:
                if FOREIGN.search(run.stderr):
                    raise Fault(f"dump-log says\n{run.stderr}")
                return
            last = Run(run.arguments, run.exit_code, run.stdout, run.stderr.splitlines(keepends=True)[-1])
            well_said(last, (1,))
            begun = [line[8:] for line in run.stdout.split("\n") if line.startswith("Dumping /")]
            files = files[files.index(begun[-1]) + 1 :] if begun and begun[-1] in files else files[1:]

    def _tables(self) -> None:
        """Spark's data source in this process: the records and every table, in each mode."""
        from tests.spark.attack import demand_well_told

        is_metadata = self._partition.name.startswith("__cluster")  # which is read only when it is named itself
        demand_well_told(self._partition if is_metadata else self._log_dir)

    def _dry_run(self) -> Run:
        return well_said(call("recover", str(self._partition), "--dry-run", *self._options), (0, 1))

    def _recover(self, foretold: Run) -> None:
        copies = [self._copy("one"), self._copy("other")]
        runs = [well_said(call("recover", str(copy), "--yes", *self._options), (0, 1)) for copy in copies]
        said = [run.said(copy, copy.parent) for run, copy in zip(runs, copies, strict=True)]
        if said[0] != said[1]:
            raise Fault(f"two recoveries of the same directory say\n{said[0]}\n{said[1]}")
        changes = difference(*(tree(copy.parent) for copy in copies))
        if changes:
            raise Fault("two recoveries of the same directory leave\n" + "\n".join(changes))
        code, out, err = foretold.said(self._partition, self._log_dir)
        dry = code, out, re.sub(rf"[^\s=(]*/minikafka-recover-\w+(/{re.escape(self._partition.name)})?", "DIR", err)
        if dry != said[0]:
            raise Fault(f"a dry run and the recovery say\n{dry}\n{said[0]}")
        self._recover_again(copies[0], runs[0])

    def _recover_again(self, recovered: Path, first: Run) -> None:
        """What has been recovered is recovered to the same state, and from the second time on no byte changes."""
        has_leftovers = any(path.name.endswith(SWAP_FILE_SUFFIX) for path in recovered.iterdir())
        second = well_said(call("recover", str(recovered), "--yes", *self._options), (0, 1))
        # A `.swap.swap` is a `.swap` after the first load: the second completes it, or fails on it, as Kafka's does.
        if first.exit_code or has_leftovers:
            return
        if second.exit_code:
            raise Fault(f"a recovered directory cannot be recovered again:\n{second.stderr}")
        states = [parsed(run) for run in (first, second)]
        for name in _STATE_OF_A_LOG:
            if states[0][name] != states[1][name]:
                raise Fault(f"{name} after a recovery {states[0][name]}, after another {states[1][name]}")
        self._list_recovered(recovered, states[1])
        after_second = _left(recovered, states[1])
        third = well_said(call("recover", str(recovered), "--yes", *self._options), (0, 1))
        changes = difference(after_second, _left(recovered, states[1]))
        if third.exit_code or changes or any(parsed(third)[name] != states[1][name] for name in _STATE_OF_A_LOG):
            raise Fault("a third recovery changes what the second left:\n" + "\n".join([third.stderr, *changes]))

    def _recover_log_dir(self, foretold: Run) -> None:
        """The partition is loaded with its log directory as it is by itself; if that fails, nothing is changed."""
        copy = self._copy("all").parent
        before = tree(copy, times=True)
        run = well_said(call("recover", str(copy), *self._options), (0, 1))
        changes = difference(before, tree(copy, times=True)) if run.exit_code else []
        if changes:
            raise Fault("a recovery of the log directory that failed changed it:\n" + "\n".join(changes))
        if run.exit_code == 0:
            if self._partition.name == CLUSTER_METADATA_DIRECTORY:  # which no log manager loads
                if parsed(run)["partitions"]:
                    raise Fault(f"the metadata log is loaded with its log directory:\n{run}")
            elif foretold.exit_code or parsed(run)["partitions"] != [parsed(foretold)]:
                raise Fault(f"with its log directory the partition is\n{run}\nand by itself\n{foretold}")

    def _clean(self) -> None:
        """A round is as a dry run foretells it; one that fails leaves everything as it was."""
        options = [*self._options, "--config", "cleanup.policy=compact", "--map-memory", "65536"]

        def dry_run() -> Run:
            return well_said(call("clean", str(self._partition), "--dry-run", *options), (0, 1))

        foretold = self._without_change(dry_run)
        copy = self._copy("cleaned")
        before = tree(copy.parent, times=True)
        run = well_said(call("clean", str(copy), *options), (0, 1))
        if (run.exit_code, run.stdout) != (foretold.exit_code, foretold.stdout):
            raise Fault(f"a dry run and the cleaning say\n{foretold}\n{run}")
        changes = difference(before, tree(copy.parent, times=True)) if run.exit_code else []
        if changes:
            raise Fault("a cleaning that failed changed the directory:\n" + "\n".join(changes))

    def _list_recovered(self, recovered: Path, state: dict) -> None:
        """A directory in which `verify` finds nothing is listed as it was loaded."""
        if call("verify", str(recovered)).exit_code:
            return
        (listed,) = parsed(call("ls", "--json", str(recovered)))["partitions"]
        if listed["log_end_offset"] != state["log_end_offset"] or listed["segments"] != len(state["segments"]):
            raise Fault(f"ls lists a recovered directory as\n{listed}\nand recover as\n{state}")

    def _copy(self, name: str) -> Path:
        target = self._home / name / self._log_dir.name
        shutil.copytree(self._log_dir, target, symlinks=True)
        return target / self._partition.name


def parsed(run: Run) -> dict:
    """The JSON object that a run printed."""
    try:
        return json.loads(run.stdout)
    except ValueError:
        what = f"{' '.join(run.arguments)} (exit code {run.exit_code}) prints no JSON"
        raise Fault(f"{what}:\n{run.stdout}{run.stderr}") from None


def _left(recovered: Path, state: dict) -> Tree:
    """What a recovery left, but for what comes and goes with each load of a log without a record, in Kafka's hands too:

    the snapshots (a load deletes those up to the log's start, and writes some where there are none) and its last epoch.
    """
    found = tree(recovered.parent)
    if state["log_start_offset"] == state["log_end_offset"]:
        found.pop(f"{recovered.name}/{LEADER_EPOCH_CHECKPOINT_FILENAME}", None)
        found = {name: file for name, file in found.items() if not name.endswith(PRODUCER_SNAPSHOT_FILE_SUFFIX)}
    return found


# ---- one directory, and many


class Fuzzer:
    """Makes damaged directories below `scratch`, one after the other, and takes each through the tools."""

    def __init__(self, scratch: Path, kafka: KafkaJvm | None = None, kafka_every: int = KAFKA_EVERY):
        self._scratch = scratch
        self._against_kafka = kafka and AgainstKafka(kafka)
        self._kafka_every = kafka_every
        self._origins = Origins(scratch / "origins")

    def fault_of(self, seed: int, only: Collection[int] | None = None) -> tuple[Mutation, str]:
        """The directory of this seed, and what was wrong with it ("" for nothing)."""
        with self.directory(seed, only) as (mutation, home):
            try:
                directory = Directory(mutation, home)
                directory.check()
                if seed % SUBPROCESS_EVERY == 0:
                    directory.check_commands()
                if self._against_kafka and seed % self._kafka_every == 0:
                    self._against_kafka.check(mutation, home)
            except Fault as fault:
                return mutation, str(fault)
            except Exception:
                return mutation, f"the harness failed:\n{traceback.format_exc()}"
            return mutation, ""

    @contextmanager
    def directory(self, seed: int, only: Collection[int] | None = None) -> Iterator[tuple[Mutation, Path]]:
        """The damaged directory of a seed, and a place for copies of it."""
        home = self._scratch / "case"
        shutil.rmtree(home, ignore_errors=True)
        try:
            yield mutate(seed, self._origins, home / "log dir", only), home
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def told_of(self, seed: int, only: Collection[int] | None = None) -> str:
        """What fell, made small, and the command that repeats it; "" for nothing. The directory is kept."""
        first = self.fault_of(seed, only)[1]
        if not first:
            return ""
        needed, mutation, fault = self.smallest(seed, only)
        fault = fault or f"{first.rstrip()}\n(It did not happen again.)"
        kept = KEPT / str(seed)
        shutil.rmtree(kept, ignore_errors=True)
        mutate(seed, self._origins, kept, needed)
        numbers = ",".join(map(str, needed))
        again = f"python -m tests.slow.fuzz.fuzz_tools --directories 1 --seed {seed} --only {numbers}"
        return f"\n{again}    ({kept})\n{mutation}\n{fault.rstrip()}"

    def smallest(self, seed: int, only: Collection[int] | None = None) -> tuple[list[int], Mutation, str]:
        """As few damages as still lead to a fault: their numbers, the directory, the fault."""
        mutation, fault = self.fault_of(seed, only)
        needed = [n for n in range(len(mutation.damages)) if only is None or n in only]
        for number in list(needed):
            fewer = [n for n in needed if n != number]
            smaller, other_fault = self.fault_of(seed, fewer)
            if other_fault:
                needed, mutation, fault = fewer, smaller, other_fault
        return needed, mutation, fault


@contextmanager
def fuzzer(kafka: KafkaJvm | None = None, kafka_every: int = KAFKA_EVERY) -> Iterator[Fuzzer]:
    """A Fuzzer with a place in memory, where the system offers that."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = tempfile.TemporaryDirectory(prefix="fuzz-tools-", dir=os.environ.get("TMPDIR", memory))
    with warnings_collected(), scratch as name:
        yield Fuzzer(Path(name), kafka, kafka_every)


def _work(number: int, seeds: list[int], options, at, results) -> None:
    """One process' share: puts what was told of each seed; `at[number]` is the seed that it has in hand."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kafka = KafkaJvm.start() if options.kafka else None
    with fuzzer(kafka, options.kafka) as fuzz:
        for seed in seeds:
            at[number] = seed
            results.put(fuzz.told_of(seed, options.only))


def main(arguments: list[str] | None = None) -> int:
    """Take so many directories through the tools; exit code 1 when any fell."""
    parser = argparse.ArgumentParser(prog="python -m tests.slow.fuzz.fuzz_tools", description=__doc__.split("\n")[0])
    parser.add_argument("--directories", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="the first seed; each directory has the next")
    parser.add_argument("--only", type=_numbers, help="numbers of the damages to do, with commas between them")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kafka", type=int, default=KAFKA_EVERY, help="give Kafka one directory in so many; 0: none")
    options = parser.parse_args(arguments)
    try:
        kafka_jars()
    except KafkaUnavailableError as unavailable:
        print(f"Kafka is not asked: {unavailable}", flush=True)
        options.kafka = 0
    return 1 if _fuzz(options) else 0


def _numbers(text: str) -> set[int]:
    return {int(number) for number in text.split(",") if number}


def _fuzz(options) -> int:
    """Share the directories among processes and print what they tell; returns how many fell."""
    seeds = list(range(options.seed, options.seed + options.directories))
    processes = min(options.processes, len(seeds))
    context = multiprocessing.get_context("spawn")
    results, at, begun, fallen = context.Queue(), context.Array("q", processes), time.monotonic(), 0
    workers = [
        context.Process(target=_work, args=(n, seeds[n::processes], options, at, results)) for n in range(processes)
    ]
    for worker in workers:
        worker.start()
    for done in range(1, len(seeds) + 1):
        if told := _next(results, workers, at):
            fallen += 1
            print(told, flush=True)
        if done % 50 == 0 or done == len(seeds):
            print(f"{done} of {len(seeds)} directories, {fallen} fell, {time.monotonic() - begun:.0f} s", flush=True)
    for worker in workers:
        worker.join()
    return fallen


def _next(results, workers, at) -> str:
    """What is told next. Raises RuntimeError when a process died."""
    while True:
        try:
            return results.get(timeout=5)
        except queue.Empty:
            for worker, seed in zip(workers, at, strict=True):
                if worker.exitcode:
                    raise RuntimeError(f"a process died of seed {seed}: exit code {worker.exitcode}") from None


if __name__ == "__main__":
    sys.exit(main())
