"""Three witnesses of a workload that damages files between a stop and a start.

Spark knows no files. It is told the workload without the damage, and so says what a start must restore.
"""

import re
from dataclasses import replace
from typing import Any

from minikafka.lab.stage.background import told_while_starting
from minikafka.lab.stage.recorded_answers import three_answers
from minikafka.lab.stage.workbench import by_kafka, scratch


@told_while_starting()
def three_witnesses(workload: Any) -> tuple[Any, Any, Any]:
    """What minikafka, Spark and Apache Kafka say of `workload` (`three_answers`).

    A value of Spark's is that of the undamaged log.
    """
    from minikafka.witness import minikafka_log, run

    return three_answers(
        "a damaged log",
        workload,
        lambda: run(workload, minikafka_log, scratch()),
        lambda: _by_spark(workload),
        lambda: by_kafka(workload),
    )


def _by_spark(workload: Any) -> Any:
    from minikafka.witness import Workload, spark_expected

    undamaged = Workload.parse(re.sub(r" damage=\S+", "", str(workload)))
    return replace(spark_expected(undamaged), workload=workload)
