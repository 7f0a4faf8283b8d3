"""Compiles and runs `LogBench.scala`: the same work done by Kafka's own `UnifiedLog` inside a JVM."""

import subprocess
from collections import defaultdict
from pathlib import Path

from minikafka.spark.java_home import java_command
from minikafka.spark.kafka_jars import kafka_classpath
from minikafka.spark.scala_compiler import compiled_classes

SOURCE = Path(__file__).with_name("LogBench.scala")


def compile_peer() -> list[str]:
    """Compile it unless that was done before; returns the class path to run with."""
    kafka = kafka_classpath()
    return [str(compiled_classes(SOURCE, kafka)), *kafka]


def run_peer(class_path: list[str], *arguments: object) -> dict[str, list[float]]:
    """Run LogBench; returns the seconds of each round for each measurement, by name."""
    command = [java_command(), "-Xmx2g", "-cp", ":".join(class_path), "LogBench", *map(str, arguments)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds = defaultdict(list)
    for line in printed.splitlines():
        name, value, *_ = line.split()
        seconds[name].append(float(value))
    return seconds
