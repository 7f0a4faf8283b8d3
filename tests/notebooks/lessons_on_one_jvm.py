"""Lessons that run one after another, each in a process of its own, and all on one JVM with Spark and Kafka.

A notebook's own kernel spends most of its time on Python's imports, on starting Java, and on Java's first slow seconds.
Here each lesson runs in a copy (`fork`) of a process that has imported everything; it connects to the JVM that is there
and makes a Spark session of its own in it. Nothing that a lesson leaves in Python or in the session reaches the next.
"""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import IO, Any

_SECONDS_OF_A_LESSON = 200
_IMPORTED = (
    *("nbformat", "ipykernel.inprocess.manager", "ipywidgets", "pandas", "pyarrow", "pyspark.sql", "pyspark.sql.types"),
    *("minikafka.lab.stage.workbench", "minikafka.lab.widgets.drawing", "minikafka.witness.log.expect"),
)
"""Modules that most lessons need, and that take long to import."""


class LessonsOnOneJvm:
    """The process that runs them; a context manager. `temporary` holds what lessons write."""

    def __init__(self, directory: Path, temporary: Path):
        self._command = [sys.executable, "-m", __name__]
        root = str(Path(__file__).parents[2])
        self._how: dict[str, Any] = {
            "cwd": directory,
            "env": {**os.environ, "PYTHONPATH": root, "TMPDIR": str(temporary)},
        }

    def __enter__(self) -> "LessonsOnOneJvm":
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(self._command, text=True, **streams, **self._how)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def outputs(self, notebook: Path) -> list[list[dict[str, Any]]]:
        """What the code cells of `notebook` put out when they run."""
        assert self._process.stdin and self._process.stdout
        print(notebook, file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline() or '"the process that runs lessons has ended"')
        assert isinstance(answer, list), answer
        return answer


def _serve() -> None:
    """Answers each path on standard input with a line of JSON: the outputs, or in words what went wrong."""
    for name in _IMPORTED:
        import_module(name)
    from minikafka.spark import spark_jvm

    connect = _started_jvm()
    for line in sys.stdin:
        reading, writing = os.pipe()
        if (process := os.fork()) == 0:
            os.close(reading)
            signal.alarm(_SECONDS_OF_A_LESSON)
            spark_jvm.start = connect
            with open(writing, "w") as told:
                _run(Path(line.strip()), told)
            os._exit(0)
        os.close(writing)
        with open(reading) as told:
            answer = told.read()
        _, status = os.waitpid(process, 0)
        print(answer or json.dumps(f"the lesson's process ended: {os.waitstatus_to_exitcode(status)}"), flush=True)


def _started_jvm() -> Any:
    """Start Spark's JVM as a session does; gives what connects to it, to stand in the place of `spark_jvm.start`."""
    from pyspark.java_gateway import launch_gateway

    from minikafka.jvm.class_archive import java_option
    from minikafka.jvm.java_home import java_home
    from minikafka.spark import spark_jvm
    from minikafka.spark.session import jars_for_spark

    jars = jars_for_spark()
    option = java_option(java_home(), jars)
    gateway = spark_jvm.start(jars, [option] if option else [])
    at, process = gateway.java_parameters, gateway.proc
    gateway.close()

    def connect(*_: object) -> Any:
        os.environ.update(PYSPARK_GATEWAY_PORT=str(at.port), PYSPARK_GATEWAY_SECRET=at.auth_token)
        try:
            connected = launch_gateway()
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
        connected.proc = process
        return connected

    return connect


def _run(notebook: Path, told: IO[str]) -> None:
    """Run the cells in a kernel within this process."""
    import nbformat
    from ipykernel.inprocess.manager import InProcessKernelManager
    from pyspark import SparkContext

    os.chdir(notebook.parent)
    manager = InProcessKernelManager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    all_outputs = []
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            client.execute(cell.source)
            messages = client.iopub_channel.get_msgs()
            outputs = [each for each in messages if each["header"]["msg_type"] in _OUTPUTS]
            all_outputs.append([nbformat.v4.output_from_msg(each) for each in outputs])
    json.dump(all_outputs, told)
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()


_OUTPUTS = {"stream", "display_data", "execute_result", "error"}

if __name__ == "__main__":
    _serve()
