"""The same workload done by minikafka's brokers and by Kafka's: equal answers, equal states, equal bytes on disk.

`python -m minikafka.witness.replicas.differ --minutes 10` draws workloads for ten minutes and prints what differs,
with the command that repeats it; `--operations 100000` ends after that many operations.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response
from minikafka.witness.directory_diff import NOT_DETERMINED, DirectoryDiff, directory_diff
from minikafka.witness.drawn_comparisons import Judgement, compare_drawn_workloads
from minikafka.witness.kafka.kafka_cluster import KafkaCluster
from minikafka.witness.log.batch import CODECS
from minikafka.witness.replicas.draw import draw_replica_workload
from minikafka.witness.replicas.minikafka_cluster import MinikafkaCluster
from minikafka.witness.replicas.run import Answer, ReplicaObservation, ReplicaRunner
from minikafka.witness.replicas.unique_ids import rename_without_unique_ids
from minikafka.witness.replicas.workload import ReplicaOperation, ReplicaWorkload
from minikafka.witness.unordered_lists import UNORDERED, sort_unordered

_OFTEN_DOWN = {"crash": 5, "stop": 2, "change": 8, "publish": 12}
_ASKED = {"delete_records": 8, "list_offsets": 8, "offset_for_leader_epoch": 8, "fetch": 30}
_PATIENT = {
    "replica.fetch.wait.max.ms": "500",
    "num.replica.fetchers": "2",
    "replica.fetch.max.bytes": "300",
    "replica.fetch.response.max.bytes": "700",
}

PROFILES: Mapping[str, Mapping] = {
    "brokers": {},
    "brokers that come and go": {"weights": _OFTEN_DOWN},
    "questions": {"weights": _ASKED, "producers": 2},
    "idempotent producers": {"producers": 3},
    "transactions": {"producers": 3, "transactions": True},
    "codecs": {"codecs": CODECS, "refused": 0.2},
    "two brokers": {"brokers": 2, "weights": {"change": 8}},
    "followers that wait": {"fixed": _PATIENT},
}
"""Kinds of workloads, each with the knobs of `minikafka.witness.replicas.draw.ReplicaDrawer` that draw it."""


@dataclass(frozen=True)
class Difference:
    """The first difference of two runs: after which operation (from 0), in what, and what each side has."""

    number: int
    operation: ReplicaOperation
    quantity: str
    minikafka: object
    kafka: object

    def __str__(self) -> str:
        return (
            f"after operation {self.number}, {self.operation}\n  {self.quantity}\n"
            f"    minikafka: {_in_words(self.minikafka)}\n    Kafka:     {_in_words(self.kafka)}"
        )


@dataclass(frozen=True)
class ReplicaComparison:
    """The outcome of one workload: the first difference of what was seen, and the two directories after it.

    `operations`: how many were done before that. `seen`: what was observed of Kafka after each of them.
    """

    workload: ReplicaWorkload
    operations: int
    difference: Difference | None
    files: DirectoryDiff | None
    seen: tuple[ReplicaObservation, ...]

    @property
    def same(self) -> bool:
        """True when minikafka and Kafka cannot be told apart by this workload."""
        return self.difference is None and (self.files is None or self.files.equal)

    def __str__(self) -> str:
        return f"{self.difference or 'everything that was seen is equal'}\n{self.files or ''}\n{self.workload}"


def draw(profile: str, seed: int, size: int) -> ReplicaWorkload:
    """The workload of about `size` operations that this profile draws from this seed."""
    return draw_replica_workload(seed, size, eligible_leader_replicas=True, **PROFILES[profile])


def compare(
    kafka: KafkaJvm, workload: ReplicaWorkload, make_cluster: Callable[..., object] = MinikafkaCluster
) -> ReplicaComparison:
    """Do the workload with both, operation by operation, until something differs; then compare the directories.

    `make_cluster` makes minikafka's brokers (another one shows what a planted bug leads to).
    """
    home = Path(tempfile.mkdtemp(prefix="replicas-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    ours, theirs = home / "minikafka", home / "kafka"
    runners = [
        ReplicaRunner(make_cluster(ours, workload.start_ms), ours, workload),
        ReplicaRunner(KafkaCluster(kafka, theirs, workload.start_ms), theirs, workload),
    ]
    difference, seen = None, []
    try:
        for number, operation in enumerate(workload):
            mine, kafkas = (runner.apply(operation) for runner in runners)
            seen.append(kafkas)
            if found := first_difference(mine, kafkas):
                difference = Difference(number, operation, *found)
                break
        files = None if difference else _compare_directories(ours, theirs)
    finally:
        for runner in runners:
            runner.let_go()
        shutil.rmtree(home)
    return ReplicaComparison(workload, len(seen), difference, files, tuple(seen))


def _compare_directories(ours: Path, theirs: Path) -> DirectoryDiff:
    """All files of all brokers. Unique ids in the names of logs' directories are left out."""
    for log_dir in (*ours.glob("*"), *theirs.glob("*")):
        rename_without_unique_ids(log_dir)
    return directory_diff(ours, theirs, excluded={".lock": NOT_DETERMINED[".lock"]})


def first_difference(mine: ReplicaObservation, kafkas: ReplicaObservation) -> tuple[str, object, object] | None:
    """The first quantity in which two observations differ, with both values; None when they are equal."""
    if mine.error != kafkas.error:
        return "error", f"{mine.error} {mine.message}", f"{kafkas.error} {kafkas.message}"
    return (
        _first_difference("answers", _comparable(mine.answers), _comparable(kafkas.answers))
        or _first_difference("asks the controller", mine.asked, kafkas.asked)
        or _first_difference("broker", mine.states, kafkas.states)
    )


def _first_difference(path: str, mine, kafkas) -> tuple[str, object, object] | None:
    if mine == kafkas:
        return None
    if isinstance(mine, Mapping) and isinstance(kafkas, Mapping):
        for key in [*mine, *(key for key in kafkas if key not in mine)]:
            inner = f"{path} {key}"
            if found := _first_difference(inner, mine.get(key, "nothing"), kafkas.get(key, "nothing")):
                return found
    return path, mine, kafkas


def _comparable(answers: Mapping[int, object]) -> dict[int, object]:
    """Answers without what nothing determines: the order of some lists, and which of the live brokers Kafka names as
    the controller.
    """
    return {ticket: _determined(answer) for ticket, answer in answers.items()}


def _determined(answer: object) -> object:
    if not isinstance(answer, Answer) or answer.api_key not in UNORDERED:
        return answer
    told = contents(answer)
    if answer.api_key is ApiKeys.METADATA:
        del told["controller_id"]
    return len(answer.data), told


def plain(value: object) -> object:
    """A message as mappings and lists, and records as bytes."""
    if isinstance(value, Message):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}  # type: ignore[arg-type]
    if isinstance(value, list):
        return [plain(each) for each in value]
    return bytes(value) if isinstance(value, memoryview) else value


def _in_words(value: object) -> str:
    return f"{contents(value)} as {value.data.hex()}" if isinstance(value, Answer) else str(value)


def contents(answer: object) -> Any:
    """What was answered: a response's fields by their names, or what an append came to.

    Lists whose order says nothing are sorted.
    """
    if isinstance(answer, Answer):
        body = parse_response(answer.api_key, answer.version, answer.data)[1]
        sort_unordered(answer.api_key, body)
        return plain(body)
    return dict(sorted(answer.items())) if isinstance(answer, dict) else answer  # an append has no order of answers


def smallest(kafka: KafkaJvm, comparison: ReplicaComparison) -> ReplicaComparison:
    """The comparison for the smallest workload that still differs, found by leaving operations out."""
    operations = list(comparison.workload.operations[: comparison.operations])
    best = comparison
    chunk = max(len(operations) // 2, 1)
    while chunk:
        start = len(operations) - chunk
        while start > -chunk:
            fewer = operations[: max(start, 0)] + operations[start + chunk :]
            if len(fewer) < len(operations):
                tried = compare(kafka, comparison.workload.with_operations(fewer))
                if not tried.same:
                    best, operations = tried, list(tried.workload.operations[: tried.operations])
            start -= chunk
        chunk //= 2
    return best


def main(arguments: list[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    module = "minikafka.witness.replicas.differ"
    return compare_drawn_workloads(module, __doc__, PROFILES, draw, _judge, size=80, arguments=arguments)


def _judge(kafka: KafkaJvm, workload: ReplicaWorkload) -> Judgement:
    comparison = compare(kafka, workload)
    return Judgement(comparison.operations, None if comparison.same else smallest(kafka, comparison))


if __name__ == "__main__":
    sys.exit(main())
