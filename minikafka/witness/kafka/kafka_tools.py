"""Runs Kafka's own command line tools, each in a JVM of its own, as `bin/kafka-run-class.sh` does."""

import os
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from minikafka.jvm.kafka_jvm import java_path, kafka_jars

DUMP_LOG_SEGMENTS = "org.apache.kafka.tools.DumpLogSegments"
STORAGE_TOOL = "kafka.tools.StorageTool"
_NO_BINDING = "SLF4J: "


class ToolRun(NamedTuple):
    """What a tool printed (as UTF-8 text) and its exit code. `stderr` leaves out the lines of the logging library."""

    stdout: str
    stderr: str
    exit_code: int


def run_tool(main_class: str, *arguments: str, timeout_s: float = 60, stdin: bytes = b"") -> ToolRun:
    """Run the `main` of one of Kafka's classes, with UTF-8 as its encoding; `stdin` is all that it can read there.

    Raises KafkaUnavailableError without jars or Java, subprocess.TimeoutExpired after `timeout_s` seconds.
    """
    finished = subprocess.run(
        tool_command(main_class, *arguments),
        input=stdin,
        capture_output=True,
        timeout=timeout_s,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    stderr = finished.stderr.decode("utf-8", "replace").splitlines(keepends=True)
    told = "".join(line for line in stderr if not line.startswith(_NO_BINDING))
    return ToolRun(finished.stdout.decode("utf-8", "replace"), told, finished.returncode)


def dump_log_segments(*arguments: str) -> ToolRun:
    """Run Kafka's DumpLogSegments: `dump_log_segments("--files", path, "--print-data-log")`."""
    return run_tool(DUMP_LOG_SEGMENTS, *arguments)


def tool_command(main_class: str, *arguments: str, java_options: Sequence[str] = ()) -> list[str]:
    """The command that runs `main_class` in a small JVM."""
    options = [
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Dfile.encoding=UTF-8",
        "-Dstdout.encoding=UTF-8",
    ]
    classpath = os.pathsep.join(map(str, kafka_jars()))
    return [java_path(), *options, *java_options, "-cp", classpath, main_class, *map(str, arguments)]
