"""Runs every job on one session and prints the answers: `python each_job.py MASTER|- REMOTE|- CASES`.

CASES is JSON: a job's name, its paths and its options, in which SCRATCH stands for a directory that is new each time.
Printed is a line for each job: its name, and its sorted rows.
"""

import json
import sys
import tempfile

from minikafka.spark.jobs.job_session import job_session
from minikafka.spark.jobs.registry import JOBS
from minikafka.spark.jobs.result_output import json_lines
from tests.spark.jobs.clusters import SMALL

SCRATCH = "SCRATCH"


def answer(spark, name: str, paths: list[str], options: dict) -> list[str]:
    """The sorted rows of a job, as JSON."""
    source = {"minPartitions": "4", "mode": "DROPMALFORMED"}
    with tempfile.TemporaryDirectory() as scratch:
        options = {option: scratch if value == SCRATCH else value for option, value in options.items()}
        return sorted(json_lines(JOBS[name].answer(spark, paths, source, options).toArrow()))


if __name__ == "__main__":
    master, remote, cases = sys.argv[1:]
    remote_url = None if remote == "-" else remote
    spark = job_session(master, remote_url, SMALL if remote == "-" else {})
    try:
        for name, (paths, options) in json.loads(cases).items():
            print(json.dumps([name, answer(spark, name, paths, options)]), flush=True)
    finally:
        spark.stop()
