"""Compiles and runs `LogBench.scala` and `ReplicaBench.scala`: the same work, done by Kafka's own classes in a JVM."""

import subprocess
from collections import defaultdict
from importlib.resources import as_file, files
from pathlib import Path

from minikafka.jvm.java_home import java_command
from minikafka.jvm.kafka_jars import kafka_classpath
from minikafka.jvm.scala_compiler import compiled_classes

LOG_BENCH = Path(__file__).with_name("LogBench.scala")
REPLICA_BENCH = Path(__file__).with_name("ReplicaBench.scala")


def compile_peer() -> list[str]:
    """Compile LogBench unless that was done before; returns the class path to run with."""
    kafka = kafka_classpath()
    return [str(compiled_classes(LOG_BENCH, kafka)), *kafka]


def compile_replica_peer() -> list[str]:
    """Compile ReplicaBench, with the brokers of the witness; returns the class path to run with."""
    kafka = kafka_classpath()
    with as_file(files("minikafka.witness.kafka") / "KafkaReplicas.scala") as source:
        brokers = [str(compiled_classes(source, kafka)), *kafka]
    return [str(compiled_classes(REPLICA_BENCH, brokers)), *brokers]


def run_peer(class_path: list[str], *arguments: object, main: str = "LogBench") -> dict[str, list[float]]:
    """Run the class `main`; returns the seconds of each round for each measurement, by name."""
    command = [java_command(), "-Xmx2g", "-cp", ":".join(class_path), main, *map(str, arguments)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds = defaultdict(list)
    for line in printed.splitlines():
        name, value, *_ = line.split()
        seconds[name].append(float(value))
    return seconds
