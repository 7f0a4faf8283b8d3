"""Loads the classes of Spark and Kafka that the witnesses use, so that `minikafka.jvm.class_archive` can archive
them.

`python -m minikafka.witness.class_training ARCHIVE` runs in a process of its own, because the archive is written when
its JVM ends.
"""

import sys
import tempfile
from pathlib import Path

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.spark.session import start, why_kafka_is_absent
from minikafka.witness import Workload, run, spark_expected
from minikafka.witness.kafka.kafka_log import kafka_log

# What is asked while Java notes which classes it loads.
_WORKLOADS = (
    "append_as_leader [3x10]\nfetch 1 leo\ncount hw leo\nupdate_high_watermark leo\ndelete_old_segments",
    "append_as_leader [3x10]\nmaybe_increment_high_watermark leo\nconsume start read_committed=true",
    "append_as_leader [3x10]\ntruncate_to 1\nreopen clean=false\nmaybe_increment_log_start_offset 0",
)


def main() -> None:
    """Start Spark, let it load what the witnesses need, end it, and wait for the archive."""
    spark = start(f"-XX:ArchiveClassesAtExit={sys.argv[1]}")
    gateway = spark.sparkContext._gateway
    kafka = None if why_kafka_is_absent() else kafka_log(KafkaJvm(gateway))
    with tempfile.TemporaryDirectory() as directory:
        for number, text in enumerate(_WORKLOADS):
            workload = Workload.parse(text)
            spark_expected(workload, spark)
            if kafka:
                run(workload, kafka, Path(directory) / f"topic-{number}")
    spark.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main()
