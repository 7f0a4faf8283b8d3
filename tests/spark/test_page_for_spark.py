"""The page for Spark's users: its code runs as it stands there, and its table has each option."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka import Compression, Log, MemoryRecords, SimpleRecord
from minikafka.spark.source.known_options import IGNORED_OPTIONS, SOURCE_OPTIONS
from tests.spark.jobs.clusters import SMALL, connect_server, standalone_cluster
from tests.spark.quick_java import QUICK_JAVA

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
READ, STREAM, WRITE, CLUSTER, CONNECT = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def there(tmp_path):
    """What makes the page's paths those of a log directory with ten records, and of an empty directory."""
    log_dir = tmp_path / "kafka"
    with Log.open(log_dir / "orders-0", {}) as log:
        made = [SimpleRecord(1_700_000_000_000, b"key", b"order %d" % number) for number in range(10)]
        log.append_as_leader(MemoryRecords.with_records(Compression.NONE, *made), leader_epoch=0)
    paths = {"/var/lib/kafka/data": str(log_dir), "/data/": f"{tmp_path}/", "/opt/minikafka/bin/python": sys.executable}

    def placed(code: str, **urls: str) -> str:
        for name, path in (paths | urls).items():
            code = code.replace(name, path)
        return code

    return placed


def run_alone(code: str) -> str:
    """What a Python process of its own prints that runs the code."""
    environment = {**os.environ, **QUICK_JAVA, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=220)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_table_has_each_option():
    table, ignored = PAGE.partition("## Options")[2].split("Ignored,")
    named = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)))
    assert {*named} == {*SOURCE_OPTIONS, "fs.…"} - {"path", "paths"}
    assert all(f"`{name}`" in ignored for name in IGNORED_OPTIONS)
    assert all(len(list(filter(None, block.splitlines()))) <= 10 for block in (READ, STREAM, WRITE, CLUSTER, CONNECT))


@pytest.mark.slow
def test_read_stream_and_write(spark, there, tmp_path, capsys):
    names: dict = {}
    exec(there(READ), names)
    assert "order 4" in capsys.readouterr().out
    exec(there(STREAM), names)
    assert spark.read.parquet(str(tmp_path / "orders")).count() == 10
    exec(there(WRITE), names)
    assert spark.read.format("minikafka").load(str(tmp_path / "log-dir")).count() == 1000


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize("where", ["standalone", "connect"])
def test_on_a_cluster_and_through_connect(there, tmp_path, where):
    if where == "connect":
        with connect_server(tmp_path / "server", Path(sys.executable)) as url:
            told = run_alone(there(CONNECT, **{"sc://server:15002": url}))
    else:
        with standalone_cluster(tmp_path / "cluster") as url:
            settings = "".join(f'.config("{name}", "{setting}")' for name, setting in SMALL.items())
            told = run_alone(there(CLUSTER, **{'"spark://master:7077")': f'"{url}"){settings}'}))
    assert "|orders|        0|   10|" in told
