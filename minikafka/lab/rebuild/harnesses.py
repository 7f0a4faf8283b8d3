"""Where a learner's function is tried: on one log, on a log directory, on brokers that replicate, on the sockets of a
broker, or on a fetch session. Each harness knows its workloads.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from minikafka.lab.rebuild.learners_code import LearnersError
from minikafka.lab.stage.log_dir_witnesses import log_manager_jvm
from minikafka.lab.stage.workbench import brief_scratch, kafka_witness
from minikafka.lab.stepper.stepper import without_directories
from minikafka.lab.widgets.offset_ruler import Offsets
from minikafka.log.manager.log_manager import LogManager
from minikafka.witness.connections.draw import draw_connection_workload
from minikafka.witness.connections.minikafka_server import MinikafkaServer
from minikafka.witness.connections.run import ConnectionRunner
from minikafka.witness.connections.workload import ConnectionWorkload
from minikafka.witness.directory_diff import FilesOf
from minikafka.witness.kafka.kafka_cluster import KafkaCluster
from minikafka.witness.kafka.kafka_errors import WitnessFailedError
from minikafka.witness.kafka.kafka_fetch_sessions import KafkaFetchSessions
from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager
from minikafka.witness.kafka.kafka_socket_server import KafkaSocketServer
from minikafka.witness.log.draw import draw_workload
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from minikafka.witness.log_dir.draw import SMALL_INDEXES, draw_log_dir_workload
from minikafka.witness.log_dir.run import LogDirRunner
from minikafka.witness.log_dir.workload import LogDirWorkload
from minikafka.witness.observation import Observation, Observations
from minikafka.witness.replicas.differ import contents
from minikafka.witness.replicas.draw import draw_replica_workload
from minikafka.witness.replicas.minikafka_cluster import MinikafkaCluster
from minikafka.witness.replicas.run import ReplicaRunner
from minikafka.witness.replicas.unique_ids import rename_without_unique_ids, without_unique_id
from minikafka.witness.replicas.workload import ReplicaWorkload
from minikafka.witness.sessions.draw import draw_session_workload
from minikafka.witness.sessions.minikafka_sessions import MinikafkaSessions
from minikafka.witness.sessions.run import SessionRunner
from minikafka.witness.sessions.workload import SessionWorkload
from minikafka.witness.spoken import say

KAFKA, ENGINE = "Apache Kafka", "minikafka's own method"


@dataclass(frozen=True)
class Outcome:
    """What was seen after each operation of a workload, and the files that it left: their content by path."""

    table: Observations
    files: Mapping[str, bytes]

    def equals(self, other: "Outcome") -> bool:
        """Whether nothing tells them apart: what was observed, and every byte of the files.

        Messages of errors are left out: some name the time at which a file was changed.
        """
        ours, theirs = ([{**row, "message": ""} for row in each.table.rows] for each in (self, other))
        return ours == theirs and self.files == other.files


class Harness(ABC):
    """What a workload is about. Its workloads have operations to iterate over, a length, a text, and
    `with_operations`; equal texts are equal workloads.

    `tries`: how often a workload that shows a difference may be done again to find a smaller one.
    """

    tries = 40

    @abstractmethod
    def read(self, text: str) -> Any:
        """The workload that `text` tells."""

    @abstractmethod
    def draw(self, seed: int, operations: int, knobs: Mapping[str, Any]) -> Any:
        """A workload of about so many operations, drawn from `seed`."""

    @abstractmethod
    def done(self, workload: Any, judge: str) -> tuple[Outcome, list[Offsets | None]]:
        """Do a workload in a new directory, gone afterwards, by Kafka (KAFKA) or minikafka (ENGINE).

        Also where the offsets of minikafka's log were after each operation, None where there is no one log.
        Raises LearnersError, which then says what was being done.
        """


class OneLog(Harness):
    """One log, as `minikafka.witness.log.run` drives it: a `Workload`."""

    _SMALL_INDEXES = "config segment.index.bytes=1200\n"
    """So that comparing the files of many small logs takes no longer than writing them."""

    def read(self, text: str) -> Workload:
        return Workload.parse(self._SMALL_INDEXES + text)

    def draw(self, seed: int, operations: int, knobs: Mapping[str, Any]) -> Workload:
        return draw_workload(seed, operations, **knobs)

    def done(self, workload: Workload, judge: str) -> tuple[Outcome, list[Offsets | None]]:
        factory: Any = kafka_witness() if judge == KAFKA else minikafka_log
        rows: list[Observation] = []
        moments: list[Offsets | None] = []
        with brief_scratch("topic-0") as directory:
            try:
                runner = Runner(factory, directory, workload)
            except Exception as failure:
                if judge == KAFKA:
                    raise
                raise LearnersError(
                    say(
                        "With your function in place a new, empty log does not open: {error}: {message}",
                        error=type(failure).__name__,
                        message=without_directories(str(failure)),
                    ),
                    "\n".join(getattr(failure, "__notes__", ())),
                ) from failure
            try:
                for operation in workload:
                    rows.append(runner.apply(operation))
                    moments.append(Offsets.of(runner.log) if judge == ENGINE and runner.log is not None else None)
            except LearnersError as stopped:
                stopped.moment = moments[-1] if moments else None
                stopped.doing = str(operation)
                raise
            finally:
                runner.let_go()
            return Outcome(Observations.of(judge, workload, rows), dict(FilesOf(directory.parent))), moments


class LogDirectory(Harness):
    """One log directory, as `minikafka.witness.log_dir.run` drives it: a `LogDirWorkload`."""

    tries = 25

    def read(self, text: str) -> Any:
        workload = LogDirWorkload.parse(text)
        return replace(workload, default={**SMALL_INDEXES, **workload.default})

    def draw(self, seed: int, operations: int, knobs: Mapping[str, Any]) -> Any:
        return draw_log_dir_workload(seed, operations, **knobs)

    def done(self, workload: Any, judge: str) -> tuple[Outcome, list[Offsets | None]]:
        make: Any = partial(KafkaLogManager, log_manager_jvm()) if judge == KAFKA else LogManager
        rows: list[dict[str, Any]] = []
        with brief_scratch("disk") as directory:
            runner = LogDirRunner(workload, make, directory)
            try:
                for operation in workload:
                    error = ""
                    try:
                        seen = runner.apply(operation)
                    except WitnessFailedError:
                        raise
                    except Exception as failure:
                        error, seen = type(failure).__name__, runner.observe()
                    names = (without_unique_id(path.name) for path in directory.iterdir() if path.is_dir())
                    rows.append({"error": error, "directories": tuple(sorted(names)), **seen})
            except LearnersError as stopped:
                stopped.doing = str(operation)
                raise
            finally:
                runner.let_go()
            rename_without_unique_ids(directory)
            files = dict(FilesOf(directory.parent))
        return Outcome(Observations(judge, workload, tuple(rows)), files), [None] * len(rows)


class Brokers(Harness):
    """A few brokers that replicate, as `minikafka.witness.replicas.run` drives them: a `ReplicaWorkload`."""

    tries = 25

    def read(self, text: str) -> Any:
        return ReplicaWorkload.parse(text)

    def draw(self, seed: int, operations: int, knobs: Mapping[str, Any]) -> Any:
        return draw_replica_workload(seed, operations, **knobs)

    def done(self, workload: Any, judge: str) -> tuple[Outcome, list[Offsets | None]]:
        make = partial(KafkaCluster, log_manager_jvm()) if judge == KAFKA else MinikafkaCluster
        rows: list[dict[str, Any]] = []
        with brief_scratch("brokers") as directory:
            runner = ReplicaRunner(make(directory, workload.start_ms), directory, workload)
            try:
                for operation in workload:
                    rows.append(_flat(runner.apply(operation)))
            except LearnersError as stopped:
                stopped.doing = str(operation)
                raise
            finally:
                runner.let_go()
            for log_dir in sorted(directory.glob("*")):
                rename_without_unique_ids(log_dir)
            files = dict(FilesOf(directory.parent))
        return Outcome(Observations(judge, workload, tuple(rows)), files), [None] * len(rows)


class Connections(Harness):
    """The sockets of a broker, as `minikafka.witness.connections.run` drives them: a `ConnectionWorkload`."""

    tries = 60

    def read(self, text: str) -> Any:
        return ConnectionWorkload.parse(text)

    def draw(self, seed: int, operations: int, knobs: Mapping[str, Any]) -> Any:
        return draw_connection_workload(seed, operations, **knobs)

    def done(self, workload: Any, judge: str) -> tuple[Outcome, list[Offsets | None]]:
        runner = ConnectionRunner(KafkaSocketServer(log_manager_jvm()) if judge == KAFKA else MinikafkaServer())
        try:
            return _outcome_of(workload, runner, judge)
        finally:
            runner.let_go()


class Sessions(Harness):
    """A fetch session, as `minikafka.witness.sessions.run` drives it: a `SessionWorkload`."""

    tries = 100

    def read(self, text: str) -> Any:
        return SessionWorkload.parse(text)

    def draw(self, seed: int, operations: int, knobs: Mapping[str, Any]) -> Any:
        return draw_session_workload(seed, operations, **knobs)

    def done(self, workload: Any, judge: str) -> tuple[Outcome, list[Offsets | None]]:
        runner = SessionRunner(KafkaFetchSessions(log_manager_jvm()) if judge == KAFKA else MinikafkaSessions())
        return _outcome_of(workload, runner, judge)


def _outcome_of(workload: Any, runner: Any, judge: str) -> tuple[Outcome, list[Offsets | None]]:
    """What `runner`, which leaves no files, does of a workload: see `Harness.done`."""
    rows: list[dict[str, Any]] = []
    try:
        for operation in workload:
            rows.append(runner.apply(operation))
    except LearnersError as stopped:
        stopped.doing = str(operation)
        raise
    return Outcome(Observations(judge, workload, tuple(rows)), {}), [None] * len(rows)


def _flat(observed: Any) -> dict[str, Any]:
    """What was seen of brokers, as a row of a table: answers in words, and each broker's partitions."""
    row: dict[str, Any] = {"error": observed.error, "answered": tuple(observed.answers)}
    for ticket, answer in observed.answers.items():
        row |= _parts(f"answer {ticket}", contents(answer))
    row |= {f"broker {broker} asks the controller": asked for broker, asked in observed.asked.items()}
    for broker, state in observed.states.items():
        row[f"broker {broker} has waiting"] = tuple(state["waiting"])
        row[f"broker {broker} knows"] = tuple(sorted(state["partitions"]))
        for partition, known in state["partitions"].items():
            row |= _parts(f"broker {broker}, {partition}", _by_name(known))
    return row


_LOG = ("log_start", "high_watermark", "last_stable_offset", "log_end", "epochs")
_FETCHING = ("fetcher", "leader", "offset", "lag", "leader_epoch", "state", "last_epoch")
_REPLICA = (
    "log_end_and_place",
    "log_start",
    "leader_end_at_fetch",
    "last_fetch_ms",
    "last_caught_up_ms",
    "broker_epoch",
)


def _by_name(known: Mapping[str, Any]) -> dict[str, Any]:
    """What a broker knows of a partition, with a name for each of what the witnesses tell in a row."""
    named: dict[str, Any] = dict(known)
    for key, names in (("log", _LOG), ("fetch", _FETCHING)):
        if named.get(key) is not None:
            named[key] = dict(zip(names, named[key], strict=True))
    replicas = named.get("replicas", {})
    return named | {"replicas": {key: dict(zip(_REPLICA, each, strict=True)) for key, each in replicas.items()}}


def _parts(name: str, value: Any) -> dict[str, Any]:
    """A value, and where others lie within it each of them by its way, as `answer 7: responses[0].error_code`: a
    difference is then one of a number, not of a page.

    What has others within tells which: a part that only one side has is not compared.
    """
    if isinstance(value, Mapping):
        within = {str(key): each for key, each in value.items()}
        ways = {key: f"{name}.{key}" if ": " in name else f"{name}: {key}" for key in within}
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        within = {str(number): each for number, each in enumerate(value)}
        ways = {key: f"{name}[{key}]" for key in within}
    else:
        return {name: str(value)}
    row: dict[str, Any] = {name: tuple(sorted(within))}
    for key, each in within.items():
        row |= _parts(ways[key], each)
    return row


ONE_LOG: Harness = OneLog()
LOG_DIRECTORY: Harness = LogDirectory()
BROKERS: Harness = Brokers()
CONNECTIONS: Harness = Connections()
SESSIONS: Harness = Sessions()
