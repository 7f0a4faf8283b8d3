"""The JVM with Kafka's classes: it starts fast, is silent, calls back, and is gone afterwards."""

import socket
import subprocess
import sys
import time

import pytest
from py4j.protocol import Py4JJavaError

from minikafka.common.errors import IllegalArgumentException
from minikafka.jvm.kafka_jvm import KafkaJvm, KafkaUnavailableError, kafka_jars
from minikafka.witness.kafka.kafka_errors import WitnessFailedError, kafka_errors
from minikafka.witness.kafka.kafka_tools import dump_log_segments

USE_KAFKA = """
from minikafka.jvm.kafka_jvm import KafkaJvm
kafka = KafkaJvm.start()

class Task:
    def run(self):
        print("called back", flush=True)
    class Java:
        implements = ["java.lang.Runnable"]

kafka.executor.submit(Task()).get()
kafka.find_class("java.lang.System").err.println("chatter")
print(kafka.gateway.java_process.pid)
"""


@pytest.mark.kafka
def test_python_ends_and_takes_the_jvm_along():
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", USE_KAFKA], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    called_back, pid = ended.stdout.split("\n")[:2]
    assert called_back == "called back" and ended.stderr == ""
    assert time.monotonic() - began < 20
    assert subprocess.run(["ps", "-p", pid], capture_output=True).returncode == 1


OPEN_MANY_FILES = """
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, hard))
many = [open("/dev/null") for _ in range(1100)]
"""


@pytest.mark.kafka
def test_java_calls_a_process_back_that_has_a_thousand_files_open():
    called = [sys.executable, "-c", OPEN_MANY_FILES + USE_KAFKA]
    ended = subprocess.run(called, capture_output=True, text=True, timeout=60)
    assert ended.stdout.startswith("called back\n"), ended.stderr
    assert ended.stderr == ""


class _Task:
    def run(self):
        """Never called."""

    class Java:
        implements = ["java.lang.Runnable"]


@pytest.mark.kafka
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_once_nobody_accepts_javas_calls_they_fail_at_once():
    kafka = KafkaJvm.start()
    accepting = kafka.gateway.get_callback_server()
    try:
        accepting.server_socket.shutdown(socket.SHUT_RDWR)  # `accept` fails, as when no further file can be opened
        accepting.thread.join(10)
        with pytest.raises(Py4JJavaError):
            kafka.executor.submit(_Task()).get()
    finally:
        kafka.close()


def test_a_second_jvm_can_be_closed_while_the_first_lives(kafka):
    second = KafkaJvm.start()
    process = second.gateway.java_process
    second.close()
    second.close()
    assert process.poll() is not None
    assert kafka.find_class("java.lang.Integer").valueOf("7") == 7


def test_an_exception_without_a_twin_keeps_its_name(kafka):
    with pytest.raises(Exception) as raised, kafka_errors():
        kafka.optional(None).get().anything()
    assert type(raised.value).__name__ == "NoSuchElementException" and str(raised.value) == "No value present"
    with pytest.raises(Exception) as raised, kafka_errors():
        kafka.find_class("java.util.Currency").getInstance("-")
    assert type(raised.value) is IllegalArgumentException
    with pytest.raises(Exception) as raised, kafka_errors():
        kafka.find_class("java.time.LocalDate").parse("-")
    assert type(raised.value).__name__ == "DateTimeParseException"
    assert raised.value.java_class == "java.time.format.DateTimeParseException"


def test_a_class_that_cannot_be_loaded_says_nothing_about_kafka(kafka):
    with (
        pytest.raises(
            WitnessFailedError, match="could not load something: java.lang.UnsatisfiedLinkError: no nothing"
        ) as failed,
        kafka_errors(),
    ):
        kafka.find_class("java.lang.System").loadLibrary("nothing")
    assert "restart the kernel and run the cells from the top" in str(failed.value)


@pytest.mark.kafka
def test_a_jvm_that_does_not_answer_says_nothing_about_kafka():
    second = KafkaJvm.start()
    optional = second.optional(None)
    second.close()
    with pytest.raises(WitnessFailedError, match="does not answer: .*restart the kernel and run"), kafka_errors():
        optional.isPresent()


def test_absent_jars_are_said_clearly(monkeypatch, tmp_path):
    monkeypatch.setenv("MINIKAFKA_KAFKA_JARS", str(tmp_path))
    with pytest.raises(KafkaUnavailableError, match="holds no jar"):
        kafka_jars()


def test_kafkas_tool_runs_as_a_process(kafka, tmp_path):
    log = tmp_path / f"{5:020}.log"
    log.write_bytes(b"")
    assert dump_log_segments("--files", str(log)) == (f"Dumping {log}\nLog starting offset: 5\n", "", 0)
    failed = dump_log_segments("--files", str(tmp_path / "x.log"))
    assert failed.exit_code == 1 and "NumberFormatException" in failed.stderr
