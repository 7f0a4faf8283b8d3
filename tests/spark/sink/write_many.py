"""A driver of its own, for tests that kill it:
`python -m tests.spark.sink.write_many MASTER|sc://… LOG_DIR ROWS [TIMES]`.
"""

import sys

from minikafka.spark import write_log_dir
from minikafka.spark.jobs.job_session import job_session
from tests.spark.jobs.clusters import SMALL


def main(where: str, log_dir: str, rows: int, times: int = 1) -> None:
    """Write the topic `many`: numbers as keys, in two partitions, each with a value of some 100 bytes.

    A line tells how each time ended.
    """
    remote = where if where.startswith("sc://") else None
    spark = job_session(
        "" if remote else where,
        remote,
        ({} if remote else SMALL) | {"spark.sql.shuffle.partitions": "2"},
    )
    frame = spark.range(rows).selectExpr("CAST(id AS string) key", "repeat(md5(CAST(id AS string)), 3) value")
    for _ in range(times):
        try:
            write_log_dir(frame, log_dir, topic="many", partitions=2, settings={"segment.bytes": 8 << 20})
        except Exception as failure:
            print(f"{type(failure).__name__}: {failure}")
        else:
            print("written")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
