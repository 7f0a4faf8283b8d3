"""The same call on a standalone cluster, and through Spark Connect, whose workers do not have minikafka."""

import os
import subprocess
import sys

import pytest

from tests.spark_jobs.clusters import connect_server, python_without_minikafka, standalone_cluster
from tests.spark_sink.test_killed import keys_in

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["cluster", "connect"])
def test_a_log_directory_is_written(tmp_path, kind):
    python = python_without_minikafka(tmp_path / "python")
    environment = {**os.environ, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    log_dir = tmp_path / "data"
    home = tmp_path / kind
    with standalone_cluster(home) if kind == "cluster" else connect_server(home, python) as where:
        command = [sys.executable, "-m", "tests.spark_sink.write_many", where, str(log_dir), "20000"]
        for expected in ("written\n", f"TopicExistsException: {log_dir}/many-0 has records; mode='overwrite' would"):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
            assert done.stdout.startswith(expected), done.stderr[-3000:]
    assert keys_in(log_dir) == list(range(20000))
    assert sorted(path.name for path in log_dir.iterdir() if path.is_dir()) == ["many-0", "many-1"]
