"""Spark's JVM: the command that starts it, and the gateway through which PySpark talks to it.

PySpark would start it by `spark-submit`, a shell script and a second JVM that work out a command like the one here.
Writing it ourselves saves a second, and leaving out a jar saves another.
"""

import atexit
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from minikafka.common import working_directory
from minikafka.common.own_directory import own_directory
from minikafka.jvm.java_home import java_command
from minikafka.jvm.kafka_jars import spark_jars

if TYPE_CHECKING:
    from py4j.clientserver import ClientServer

_MAIN_CLASS = "org.apache.spark.api.python.PythonGatewayServer"

# A JVM that starts sooner instead of peaking later, with room for all that it compiles: with the usual room for such a
# JVM it throws code away and compiles it again.
_QUICK = ("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC")

# What Spark asks of every Java (JavaModuleOptions) but its vector module, which not every Java has.
_OPENED = (
    *(f"java.base/java.{name}" for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")),
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
SPARK_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)

# Spark starts its Python workers by `python -m`, which would look for each module in the working directory first.
WORKERS_SAFE_PATH = {"PYTHONSAFEPATH": "1"}

# When the machine learning library is on the class path, each new session registers its functions through Scala's
# reflection.
_LEFT_OUT = "spark-mllib_"

# Bytes that the path of a Unix socket may have (on macOS), and those of the name that Spark gives one: /.UUID.sock.
_LONGEST_SOCKET, _SOCKET_NAME = 103, 43


class SparkDidNotStartError(Exception):
    """Spark's JVM ended before it answered; the message holds the last lines that it wrote."""


def class_path(kafka_jars: list[str]) -> list[str]:
    """`kafka_jars` and, behind them, the jars of Spark that the session needs."""
    sparks = sorted(str(jar) for jar in spark_jars().glob("*.jar") if not jar.name.startswith(_LEFT_OUT))
    return [*kafka_jars, *sparks]


def unix_sockets() -> str:
    """The setting `spark.python.unix.domain.socket.enabled`: "true", unless Java's temporary directory has so long a
    name that no socket can be in it.

    Unix sockets spare each Python task some 40 ms: over TCP it waits for an acknowledgement.
    """
    return str(len(os.fsencode(own_directory())) + _SOCKET_NAME <= _LONGEST_SOCKET).lower()


def start(jars: list[str], java_options: list[str]) -> "ClientServer":
    """Start the JVM with `jars` as its class path; return PySpark's gateway to it, whose `proc` is the process.

    It ends when its standard input does, so at the latest with this process, also while it is starting. It has a
    process group of its own and does not receive the signals that a terminal or a notebook server sends to this one's.
    What it writes is read only if it fails; its temporary files go with this process. Spark's Python workers import
    from the working directory only if this process does. Raises SparkDidNotStartError.
    """
    from pyspark.java_gateway import launch_gateway
    from pyspark.serializers import UTF8Deserializer, read_int

    options = [*SPARK_OPTIONS, f"-Djava.io.tmpdir={own_directory()}", *java_options]
    command = [java_command(), *_QUICK, *options, "-cp", os.pathsep.join(jars), _MAIN_CLASS]
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryFile() as said:
        address = Path(directory) / "port-and-secret"
        environment = {
            **os.environ,
            "PYTHONHASHSEED": "0",  # all workers hash alike
            "SPARK_HOME": str(spark_jars().parent),
            **({} if working_directory.is_on_the_path() else WORKERS_SAFE_PATH),
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address),
        }
        with _begun(command, environment, said) as process:
            while not address.exists():
                if process.poll() is not None:
                    raise SparkDidNotStartError(f"Spark's JVM did not start.\n{_last_lines(said)}")
                time.sleep(0.01)
            with open(address, "rb") as file:
                os.environ["PYSPARK_GATEWAY_PORT"] = str(read_int(file))
                os.environ["PYSPARK_GATEWAY_SECRET"] = UTF8Deserializer().loads(file)
    try:
        gateway = launch_gateway()  # given a port, it launches nothing and connects
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    gateway.proc = process
    return gateway


@contextmanager
def _begun(command: list[str], environment: dict[str, str], said: IO[bytes]) -> Iterator["subprocess.Popen[bytes]"]:
    """Begin the process, and end it if the block fails, or if Python ends meanwhile, which ends a daemon thread in its
    midst.

    The directory to which Java is to write its address is then gone. Java's main thread fails at that, before it ever
    looks at its standard input, and the threads of the gateway keep the process alive. Raises SparkDidNotStartError
    once Python ends: another thread may try again when the first one's process has been ended.
    """
    with _beginning:
        if _python_ends:
            raise SparkDidNotStartError("Spark's JVM did not start: Python ends.")
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=said, stderr=said, process_group=0
        )
        _starting.add(process)
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    finally:
        _starting.discard(process)


_starting: set["subprocess.Popen[bytes]"] = set()
_beginning = threading.Lock()
_python_ends = False


@atexit.register
def _end_what_starts() -> None:
    global _python_ends
    with _beginning:
        _python_ends = True
        for process in tuple(_starting):
            process.kill()


def _last_lines(said: IO[bytes], count: int = 10) -> str:
    said.seek(0)
    return "\n".join(said.read().decode(errors="replace").splitlines()[-count:])
