"""The same workload done by minikafka and by Apache Kafka: equal tables of observations, equal bytes on disk.

`python -m minikafka.witness.log.differ --minutes 10` draws workloads for ten minutes and prints what differs, with
the command that repeats it; `--operations 1000000` ends after that many operations. When stopped by Ctrl-C or SIGTERM,
it says how far it got.
"""

import re
import shutil
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.witness.agreement import Agreement, agree
from minikafka.witness.directory_diff import DirectoryDiff, directory_diff
from minikafka.witness.drawn_comparisons import Judgement, compare_drawn_workloads
from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.batch import CODECS
from minikafka.witness.log.draw import draw_workload
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations

PROFILES = {
    "leader": {},
    "leader with codecs": {"codecs": CODECS},
    "leader that decompresses": {
        "codecs": CODECS,
        "producers": 2,
        "settings": {"compression.type": "uncompressed"},
    },
    "follower": {"follower": True, "epochs": True},
    "idempotent producers": {"producers": 3, "epochs": True},
    "many producers": {"producers": 30},
    "transactions": {"producers": 3, "transactions": True, "epochs": True},
    "transactions of a follower": {"producers": 3, "transactions": True, "follower": True, "epochs": True},
    "killed": {"producers": 3, "transactions": True, "epochs": True, "unclean": True, "weights": {"reopen": 8}},
    "killed follower": {"producers": 3, "transactions": True, "follower": True, "epochs": True, "unclean": True},
    "compaction": {"compaction": True, "codecs": CODECS},
    "compaction of transactions": {
        "compaction": True,
        "producers": 3,
        "transactions": True,
        "codecs": CODECS,
        "epochs": True,
    },
    "compaction of a follower": {
        "compaction": True,
        "producers": 3,
        "transactions": True,
        "follower": True,
        "epochs": True,
        "unclean": True,
    },
}
"""Kinds of workloads, each with the knobs of `minikafka.witness.log.draw.Drawer` that draw it."""

PARTITION = "topic-0"
_NOT_COMPARABLE = (
    (re.compile(rf"\S*/(?={PARTITION}\b)"), ""),
    (re.compile(r"lastModifiedTime=\d+"), "lastModifiedTime=…"),
    (re.compile(r"Optional\[(.*?\))\]"), r"\1"),
    (re.compile(r"(?<=in dir )\S*"), ""),
)
# Java's own messages for these are empty or name Java's variables; minikafka's name the file.
_WITHOUT_KAFKAS_WORDS = ("BufferOverflowException", "IndexOutOfBoundsException", "NullPointerException")


@dataclass(frozen=True)
class Comparison:
    """The outcome of one workload: `tables` compares the observations, `files` the two log directories after it, or
    after the first cleaning that left them different.
    """

    workload: Workload
    tables: Agreement
    files: DirectoryDiff

    @property
    def same(self) -> bool:
        """True when minikafka and Kafka cannot be told apart by this workload."""
        return self.tables.agreed and self.files.equal

    def __str__(self) -> str:
        return f"{self.tables}\n{self.files}\n{self.workload}"


def draw(profile: str, seed: int, size: int) -> Workload:
    """The workload of `size` operations that this profile draws from this seed."""
    return draw_workload(seed, size, rolls_beyond=True, **PROFILES[profile])


def compare(kafka: KafkaJvm, workload: Workload, log_factory=minikafka_log) -> Comparison:
    """Do the workload twice, in two fresh directories, and compare all that can be seen.

    `log_factory` opens minikafka's log (a different factory shows what a planted bug leads to).
    """
    home = Path(tempfile.mkdtemp(prefix="differential-"))
    factories = log_factory, kafka_log(kafka)
    directories = home / "minikafka" / PARTITION, home / "kafka" / PARTITION
    try:
        with ExitStack() as open_logs:
            runners = [Runner(f, d, workload) for f, d in zip(factories, directories, strict=True)]
            for runner in runners:
                open_logs.callback(runner.let_go)
            rows, files = _run_both(runners, workload)
        seen = [Observations.of(f.name, workload, row) for f, row in zip(factories, rows, strict=True)]
        tables = agree(*map(_with_comparable_messages, seen), ignore=())
        return Comparison(workload, tables, files or _compare_log_dirs(runners))
    finally:
        shutil.rmtree(home)


def _run_both(runners: list[Runner], workload: Workload) -> tuple[tuple[list, list], DirectoryDiff | None]:
    """What is observed of each log, and how their directories differed after a cleaning (None: they never did)."""
    rows, difference = ([], []), None
    for operation in workload:
        for runner, observations in zip(runners, rows, strict=True):
            observations.append(runner.apply(operation))
        if operation.kind == "clean" and difference is None:
            files = _compare_log_dirs(runners)
            difference = None if files.equal else files
    return rows, difference


def _compare_log_dirs(runners: list[Runner]) -> DirectoryDiff:
    """Compare what lies beside the partition: what the cleaner has noted about it."""
    return directory_diff(*(runner.directory.parent for runner in runners))


def _with_comparable_messages(table: Observations) -> Observations:
    return replace(table, rows=tuple({**row, "message": _comparable_message(row)} for row in table.rows))


def _comparable_message(row: dict) -> str:
    return "" if row["error"] in _WITHOUT_KAFKAS_WORDS else comparable(row["message"])


def comparable(message: str) -> str:
    """The message without what no workload determines (directories, modification times) and without Java's Optional."""
    for pattern, replacement in _NOT_COMPARABLE:
        message = pattern.sub(replacement, message)
    return message


def smallest(kafka: KafkaJvm, workload: Workload) -> Comparison:
    """The comparison for the smallest workload that still differs, found by leaving operations out."""
    return compare(kafka, workload.shrunk(lambda smaller: len(smaller) and not compare(kafka, smaller).same))


def main(arguments: list[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    module = "minikafka.witness.log.differ"
    return compare_drawn_workloads(module, __doc__, PROFILES, draw, _judge, size=60, arguments=arguments)


def _judge(kafka: KafkaJvm, workload: Workload) -> Judgement:
    same = compare(kafka, workload).same
    return Judgement(len(workload), None if same else smallest(kafka, workload))


if __name__ == "__main__":
    sys.exit(main())
