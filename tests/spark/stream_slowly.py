"""A driver of its own, for tests that kill it: `python -m tests.spark.stream_slowly LOG_DIR CHECKPOINT OUT`."""

import sys

from minikafka.spark import register
from minikafka.spark.jobs.job_session import job_session
from tests.spark.jobs.clusters import SMALL


def main(log_dir: str, checkpoint: str, out: str) -> None:
    """Append the offsets of the records to Parquet files, a few records a micro-batch."""
    spark = job_session("local[2]", None, SMALL)
    register(spark)
    stream = spark.readStream.format("minikafka").option("startingOffsets", "earliest")
    offsets = stream.option("maxOffsetsPerTrigger", 5).load(log_dir).selectExpr("offset")
    written = offsets.writeStream.trigger(availableNow=True).option("checkpointLocation", checkpoint)
    written.start(out, format="parquet").awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
