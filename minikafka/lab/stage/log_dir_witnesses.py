"""The three witnesses of a whole log directory. Kafka's `LogManager` is in no jar of the lesson's Spark JVM: it runs in
a JVM of its own.
"""

import threading
from functools import partial
from typing import Any

from minikafka.common.at_hand import HAS_SPARK
from minikafka.jvm.kafka_jvm import KafkaJvm, KafkaUnavailableError
from minikafka.lab.stage.background import told_while_starting, while_the_reader_reads
from minikafka.lab.stage.recorded_answers import three_answers
from minikafka.lab.stage.workbench import scratch
from minikafka.log.manager.log_manager import LogManager
from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager
from minikafka.witness.log_dir.run import run_log_dir
from minikafka.witness.log_dir.workload import LogDirWorkload

_FIRST_QUESTION = "start\ncreate orders-0\nappend orders-0 [1x10]\ntick 30000\nstop\n"

_kafka: list[KafkaJvm] = []
_waking = threading.Lock()


@told_while_starting()
def log_manager_jvm() -> KafkaJvm | None:
    """The JVM in which Kafka's log manager runs; None where Kafka's jars are absent."""
    if not HAS_SPARK:
        return None
    with _waking:
        if not _kafka:
            try:
                _kafka.append(KafkaJvm.start())
            except KafkaUnavailableError:
                return None
        return _kafka[0]


def wake_witnesses() -> None:
    """Start Spark and Kafka's log manager, and let both answer a first question.

    It is done while the reader reads. Outside a notebook nothing happens: there the witnesses start when they are
    asked.
    """
    question = LogDirWorkload.parse(_FIRST_QUESTION)
    while_the_reader_reads(lambda: _by_spark(question), lambda: _by_kafka(question))


@told_while_starting()
def three_witnesses(workload: Any) -> tuple[Any, Any, Any]:
    """What minikafka, Spark and Apache Kafka say of a `LogDirWorkload` (`three_answers`)."""
    return three_answers(
        "a log directory",
        workload,
        lambda: by_minikafka(workload),
        lambda: _by_spark(workload),
        lambda: _by_kafka(workload),
    )


def by_minikafka(workload: Any) -> Any:
    """What minikafka's log manager makes of the workload."""
    return run_log_dir(workload, LogManager, scratch("disk"))


def _by_spark(workload: Any) -> Any:
    from minikafka.witness.log_dir.expect import log_dir_expected

    return log_dir_expected(workload)


def _by_kafka(workload: Any) -> Any:
    kafka = log_manager_jvm()
    return kafka and run_log_dir(workload, partial(KafkaLogManager, kafka), scratch("disk"), "kafka")
