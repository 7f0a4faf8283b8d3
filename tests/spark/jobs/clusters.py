"""A standalone cluster and a Spark Connect server on loopback, started from PySpark's own jars.

Their Python is a virtual environment that has what minikafka needs, and not minikafka: it must travel with the job.
"""

import os
import re
import signal
import socket
import subprocess
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy

from minikafka.jvm.java_home import java_command
from minikafka.jvm.kafka_jars import spark_jars
from minikafka.spark.spark_jvm import SPARK_OPTIONS

PATIENCE_S = 60
_QUICK = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
SMALL = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "4",
}
"""Settings for a driver of the cluster: workers that start soon, and few tasks, as for a few rows."""
_MASTER = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)\n")
_UNTIL_INPUT_ENDS = '"$@" & read -r line; kill $!; wait $!'
"""A shell's script: the command ends when its standard input does, so at the latest with the tests' process."""


def python_without_minikafka(directory: Path) -> Path:
    """An interpreter with the packages of this one, but for those that an editable install adds."""
    venv.EnvBuilder(symlinks=True).create(directory)
    python = directory / "bin" / "python"
    (home,) = (directory / "lib").glob("python*/site-packages")
    packages = Path(numpy.__file__).parents[1]
    (home / "packages.pth").write_text(f"{packages}\n")  # whose own .pth files are not followed from there
    code = "import numpy, pyspark, pyarrow, crc32c\ntry: import minikafka\nexcept ImportError: print('without')"
    told = subprocess.run([python, "-c", code], cwd=directory, env=_environment(), capture_output=True, text=True)
    assert told.stdout == "without\n", told
    return python


@contextmanager
def standalone_cluster(directory: Path) -> Iterator[str]:
    """The URL of a master with two workers of one core each; they end with the block."""
    with ExitStack() as running:
        master = ("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0")
        said = running.enter_context(_java(directory / "master", *master, "--webui-port", "0"))
        _wait_until(lambda: _MASTER.search(said.read_text()), said)
        url = _MASTER.search(said.read_text())[1]
        for number in range(2):
            place = directory / f"worker-{number}"
            worker = ("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--port", "0", "--cores", "1")
            options = ("--memory", "600m", "--webui-port", "0", "--work-dir", str(place / "work"), url)
            running.enter_context(_java(place, *worker, *options))
        _wait_until(lambda: said.read_text().count("Registering worker") == 2, said)
        yield url


@contextmanager
def connect_server(directory: Path, python: Path) -> Iterator[str]:
    """The URL of a Spark Connect server with two cores; it ends with the block."""
    port = _free_port()
    settings = {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": SMALL["spark.sql.shuffle.partitions"],
    }
    properties = (f"-D{name}={setting}" for name, setting in settings.items())
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with _java(directory / "server", *properties, main, PYSPARK_PYTHON=str(python)) as said:
        _wait_until(lambda: _answers(port), said)
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def _java(directory: Path, *arguments: str, **environment: str) -> Iterator[Path]:
    """A JVM with Spark's classes, which works in `directory`; the file of what it says."""
    directory.mkdir(parents=True)
    said = directory / "said.txt"
    command = [java_command(), *_QUICK, *SPARK_OPTIONS, "-cp", f"{spark_jars()}/*", *arguments]
    with open(said, "wb") as file:
        process = subprocess.Popen(
            ["sh", "-c", _UNTIL_INPUT_ENDS, "sh", *command], cwd=directory, env=_environment(**environment),
            stdin=subprocess.PIPE, stdout=file, stderr=file, process_group=0,
        )  # fmt: skip
    try:
        yield said
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _environment(**more: str) -> dict[str, str]:
    """This process's, in which nothing leads to minikafka."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
    java_home = str(Path(java_command()).parents[1])
    of_spark = {
        "SPARK_HOME": str(spark_jars().parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": "2.13",  # Spark's shell scripts set it
    }
    return {**inherited, **of_spark, "JAVA_HOME": java_home, **more}


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def _wait_until(condition, said: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(said.read_text()[-3000:])
        time.sleep(0.05)
