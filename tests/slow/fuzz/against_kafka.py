"""Damaged directories in Kafka's hands and in minikafka's: the same after each load, the same lines of their dumps."""

import json
import random
import re
import shutil
from contextlib import suppress
from pathlib import Path

from minikafka.cli.recover import load_and_close
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.tools.failure import TOLD
from minikafka.tools.recover.offline_log import known_of
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.kafka_log import KafkaLog
from tests.slow.fuzz.mutations import Mutation
from tests.slow.fuzz.tool_runs import Fault, call
from tests.tools.kafkas_dump import KafkasDump

LOADS = 3
"""How often a directory is loaded, one load after the other."""
DUMPS = (
    ["--print-data-log"],
    ["--deep-iteration"],
    ["--deep-iteration", "--skip-record-metadata", "--print-data-log"],
    ["--verify-index-only"],
    ["--index-sanity-check"],
    ["--max-bytes", "700"],
    ["--max-message-size", "100"],
)
_CHECKPOINTS = "org.apache.kafka.storage.internals.checkpoint."
_STATE = ("log_start_offset", "log_end_offset", "high_watermark", "last_stable_offset", "recovery_point")


class AgainstKafka:
    """Compares what both make of damaged directories, in the JVM `kafka`."""

    def __init__(self, kafka: KafkaJvm):
        self._kafka = kafka
        self._dump = KafkasDump(kafka)

    def check(self, mutation: Mutation, home: Path) -> None:
        """Raises Fault for any difference."""
        if can_be_compared(mutation):
            self._compare_dumps(mutation)
            self._compare_loads(mutation, home)

    def _compare_loads(self, mutation: Mutation, home: Path) -> None:
        ours, theirs = (self._copy(mutation, home / name) for name in ("minikafka", "kafka"))
        known = self._known(mutation.partition)
        for number in range(1, LOADS + 1):
            told, state = self._ours(ours, mutation), self._theirs(theirs, mutation, known)
            if told != state:
                raise Fault(f"load {number}:\n minikafka: {told}\n Kafka:     {state}")
            difference = directory_diff(ours, theirs)
            if not difference.equal:
                raise Fault(f"load {number} ({state}):\n{difference}")

    def _copy(self, mutation: Mutation, home: Path) -> Path:
        target = home / mutation.partition.parent.name
        shutil.copytree(mutation.partition.parent, target, symlinks=True)
        return target / mutation.partition.name

    def _ours(self, directory: Path, mutation: Mutation) -> object:
        settings = [word for item in mutation.settings.items() for word in ("--config", "=".join(map(str, item)))]
        run = call("recover", str(directory), "--json", "--yes", "--now-ms", str(mutation.now_ms), *settings)
        if run.exit_code:
            self._load_without_the_tool(directory, mutation)
            return run.stderr.partition(":")[0]
        told = json.loads(run.stdout)
        return {name: told[name] for name in (*_STATE, "segments")}

    def _load_without_the_tool(self, directory: Path, mutation: Mutation) -> None:
        """Leave what a load leaves that fails: where one would fail, the tool changes nothing."""
        known = known_of(directory.parent, parse_topic_partition_name(directory))
        with suppress(*TOLD):
            load_and_close(directory, LogConfig(mutation.settings), ManualTime(mutation.now_ms), **known)

    def _theirs(self, directory: Path, mutation: Mutation, known: dict) -> object:
        clock = ManualTime(mutation.now_ms)
        scheduler = ManualScheduler(clock)
        try:
            log = KafkaLog.create(self._kafka, directory, mutation.settings, scheduler=scheduler, time=clock, **known)
            scheduler.run_due_tasks()
            state = {name: getattr(log, name) for name in _STATE}
            state["segments"] = [[segment.base_offset, segment.size] for segment in log.log_segments]
            with kafka_errors():
                log.close()
            scheduler.run_due_tasks()
        except Exception as failure:
            return type(failure).__name__
        return state

    def _known(self, partition: Path) -> dict:
        """What Kafka reads in the files beside the partition; a damaged checkpoint counts as empty there. The metadata
        log it loads as after a kill, whatever they say: `KafkaRaftLog.createLog`.
        """
        if partition.name == CLUSTER_METADATA_DIRECTORY:
            return {"log_start_offset": 0, "recovery_point": 0, "last_shutdown_clean": False}
        handler = self._kafka.find_class(_CHECKPOINTS + "CleanShutdownFileHandler")(str(partition.parent))
        return {
            "log_start_offset": self._checkpointed(partition, "log-start-offset-checkpoint"),
            "recovery_point": self._checkpointed(partition, "recovery-point-offset-checkpoint"),
            "last_shutdown_clean": handler.exists(),
        }

    def _checkpointed(self, partition: Path, name: str) -> int:
        file = partition.parent / name
        if not file.exists():
            return 0
        channel = self._kafka.log_class("LogDirFailureChannel")(1)
        try:
            with kafka_errors():
                read = self._kafka.find_class(_CHECKPOINTS + "OffsetCheckpointFile")(
                    self._kafka.file(file), channel
                ).read()
        except Exception:
            return 0
        return next((e.getValue() for e in read.entrySet() if e.getKey().toString() == partition.name), 0)

    def _compare_dumps(self, mutation: Mutation) -> None:
        draw = random.Random(mutation.seed)
        names = sorted(path for path in mutation.partition.glob("*.*") if path.is_file())
        files = [str(path) for path in names if not re.search(r"[,\n]", path.name)]
        for options in draw.sample(DUMPS, 2):
            left = files
            while left:
                left = self._compare_dump(left, options)

    def _compare_dump(self, files: list[str], options: list[str]) -> list[str]:
        """The files behind the one that ended both dumps."""
        arguments = ("--files", ",".join(files), *options)
        ours, theirs = call("dump-log", *arguments), self._dump(*arguments)
        expected = theirs.stdout.decode("utf-8", "surrogateescape")
        last = next((line[8:] for line in reversed(expected.split("\n")) if line.startswith("Dumping /")), "")
        for mine, its in ((ours.stdout, expected), (ours.exit_code != 0, theirs.failed)):
            if mine != its:
                raise Fault(f"dump-log {' '.join(options)} of {last}:\n{_first_difference(mine, its)}\n{ours.stderr}")
        err = ours.stderr.splitlines(keepends=True)
        if "".join(err[:-1] if theirs.failed else err) != theirs.stderr:
            raise Fault(f"dump-log {' '.join(options)} of {last} says\n{ours.stderr}\nnot\n{theirs.stderr}")
        return files[files.index(last) + 1 :] if theirs.failed and last in files else []


def can_be_compared(mutation: Mutation) -> bool:
    """False for what the two take differently on purpose: links and directories where files belong, strange names."""
    for path in mutation.partition.iterdir():
        if path.is_symlink() or path.is_dir() or not path.name.isascii():
            return False
    return True


def _first_difference(ours: object, theirs: object) -> str:
    if not isinstance(ours, str) or not isinstance(theirs, str):
        return f" minikafka: {ours}\n Kafka:     {theirs}"
    for mine, its in zip(ours.split("\n"), theirs.split("\n"), strict=False):
        if mine != its:
            return f" minikafka: {mine}\n Kafka:     {its}"
    return f" minikafka: {len(ours)} characters\n Kafka:     {len(theirs)} characters"
