"""The lessons' way: Kafka's own log inside the JVM of the notebook's Spark session."""

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

from minikafka.common.errors import IllegalArgumentException
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.log.differ import compare
from minikafka.witness.log.workload import Workload

WORKLOAD = Workload(
    (
        *["append_as_leader [3x100 pid=7 epoch=0 seq=0]", "append_as_leader [3x100 pid=7 epoch=0 seq=3 txn]"] * 3,
        *["append_as_leader [2x50]"] * 6,
        "update_high_watermark leo",
        "tick 1000",
        "read start isolation=high_watermark",
        "truncate_to leo-3",
        "reopen",
        "reopen clean=false",
    ),
    {"internal.segment.bytes": 800, "index.interval.bytes": 100},
)


@pytest.mark.spark
def test_the_log_in_sparks_jvm_is_the_same_kafka(spark, kafka):
    in_spark = KafkaJvm(spark._sc._gateway)
    assert in_spark.find_class("java.lang.System").getProperty("java.class.path") != kafka.find_class(
        "java.lang.System"
    ).getProperty("java.class.path")
    assert compare(in_spark, WORKLOAD).same
    in_spark.close()
    assert spark.range(3).count() == 3  # a JVM that was not started here is not ended here
    assert compare(KafkaJvm(spark._sc._gateway), WORKLOAD).same


@pytest.mark.spark
def test_pyspark_makes_its_own_of_sparks_exceptions_and_of_no_others(spark, kafka):
    spark.newSession()  # each new session has PySpark put its hook into py4j again
    in_spark = KafkaJvm(spark._sc._gateway)
    for jvm in (in_spark, kafka):
        with pytest.raises(IllegalArgumentException), kafka_errors():
            jvm.find_class("java.util.Currency").getInstance("-")
    with pytest.raises(Py4JJavaError):
        kafka.find_class("java.util.Currency").getInstance("-")
    with pytest.raises(AnalysisException):
        spark.sql("SELECT missing")


@pytest.mark.spark
def test_a_refusal_in_sparks_jvm_reads_as_minikafkas(spark):
    refused = Workload.parse("append_as_leader [3x10]\nmaybe_increment_high_watermark 7\nread 9")
    assert compare(KafkaJvm(spark._sc._gateway), refused).same
