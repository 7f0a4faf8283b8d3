"""Three witnesses of a workload that damages files between a stop and a start.

Spark knows no files. It is told the workload without the damage, and so says what a start must restore.
"""

import re
from dataclasses import replace
from typing import Any

from minikafka.lab.stage.background import told_while_starting
from minikafka.lab.stage.workbench import kafka_witness, scratch


@told_while_starting()
def three_witnesses(workload: Any) -> tuple[Any, Any, Any]:
    """What minikafka, Spark and Apache Kafka say of `workload`; the third is None where Kafka's jars are absent.

    A value of Spark's is that of the undamaged log.
    """
    from minikafka.witness import Workload, minikafka_log, run, spark_expected

    undamaged = Workload.parse(re.sub(r" damage=\S+", "", str(workload)))
    kafka = kafka_witness()
    ours = run(workload, minikafka_log, scratch())
    theirs = None if kafka is None else run(workload, kafka, scratch())
    return ours, replace(spark_expected(undamaged), workload=workload), theirs
