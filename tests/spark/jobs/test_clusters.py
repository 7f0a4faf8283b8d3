"""Every job, and a write, come to the same on a standalone cluster and through Spark Connect, whose Python lacks
minikafka.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.spark.jobs.registry import JOBS
from tests.golden.places import GOLDEN
from tests.spark.drawn_log import NOW, draw_log
from tests.spark.jobs.clusters import SMALL, connect_server, python_without_minikafka, standalone_cluster
from tests.spark.jobs.each_job import SCRATCH, answer
from tests.spark.sink.test_killed import keys_in

COMMAND = [sys.executable, "-c", "from minikafka.cli import main; main()", "spark"]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def log_dirs(tmp_path_factory) -> list[Path]:
    """What a broker left with damage in it, and a copy of that with another log."""
    home = tmp_path_factory.mktemp("disks")
    log_dirs = [Path(shutil.copytree(GOLDEN, home / name)) for name in ("one", "two")]
    for number, log_dir in enumerate(log_dirs):
        draw_log(log_dir, 3)
        log = sorted((log_dir / "mixed-0").glob("*.log"))[number]
        log.write_bytes(log.read_bytes()[:70] + b"?" + log.read_bytes()[71:])
    return log_dirs


@pytest.fixture(scope="module")
def cases(log_dirs) -> dict[str, tuple[list[str], dict]]:
    """The paths and options of each job."""
    paths = {"replicas": list(map(str, log_dirs)), "lag": [str(ROOT / "notebooks" / "data" / "night" / "broker-1")]}
    options = {"export": {"to": SCRATCH}, "retention": {"now": NOW}, "lag": {"now": NOW}}
    return {name: (paths.get(name, [str(log_dirs[0])]), options.get(name, {})) for name in JOBS}


@pytest.fixture(scope="module")
def expected(spark, cases) -> dict[str, list[str]]:
    """What each job answers here."""
    return {name: answer(spark, name, *case) for name, case in cases.items()}


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    return python_without_minikafka(tmp_path_factory.mktemp("python") / "venv")


@pytest.fixture(scope="module", params=["standalone", "connect"])
def urls(request, python, tmp_path_factory):
    """The master's URL, or else the server's."""
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "standalone":
        with standalone_cluster(directory / "cluster") as url:
            yield url, "-"
    else:
        with connect_server(directory / "server", python) as url:
            yield "-", url


def run(command: list, python: Path, directory: Path) -> subprocess.CompletedProcess:
    """A command whose driver has minikafka, and whose workers' Python has not."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True, timeout=200)


@pytest.mark.slow
@pytest.mark.in_parts(4)
def test_each_job(urls, cases, expected, python, tmp_path):
    script = Path(__file__).with_name("each_job.py")
    done = run([sys.executable, script, *urls, json.dumps(cases)], python, tmp_path)
    told = dict(map(json.loads, done.stdout.splitlines()))
    assert done.returncode == 0, done.stderr[-3000:]
    assert {name: len(rows) for name, rows in told.items()} == {name: len(rows) for name, rows in expected.items()}
    assert told == expected and all(expected.values())


@pytest.mark.slow
@pytest.mark.in_parts(4)
def test_the_command(urls, log_dirs, python, tmp_path):
    master, remote = urls
    if master == "-":
        where, file = ["--json", "--remote", remote], None
    else:
        file = tmp_path / "x.json"
        settings = [f"--conf={name}={setting}" for name, setting in SMALL.items()]
        where = ["--out", file, "--master", master, *settings]
    done = run([*COMMAND, "verify", log_dirs[0], *where], python, tmp_path)
    printed, stored = done.stdout, file.read_text() if file else ""
    told = json.loads(CliRunner().invoke(main, ["verify", "--json", str(log_dirs[0])]).stdout)
    expected = [{("nextStart" if k == "next_start" else k): v for k, v in each.items()} for each in told["findings"]]
    expected += [{**note, "position": None, "fate": "note", "nextStart": None} for note in told["notes"]]
    rows = sorted(map(json.loads, (stored or printed).splitlines()), key=lambda row: row["fate"] == "note")
    assert (done.returncode, rows) == (1, expected)
    assert not (stored and printed)
    # A cluster that is still busy with the session before is told of in a line; nothing else is.
    assert [
        line for line in done.stderr.splitlines() if "has no worker with 512m of memory to spare yet" not in line
    ] == []
    assert expected


@pytest.mark.slow
@pytest.mark.in_parts(4)
def test_a_log_directory_is_written(urls, python, tmp_path):
    (where,) = (url for url in urls if url != "-")
    log_dir = tmp_path / "data"
    done = run([sys.executable, "-m", "tests.spark.sink.write_many", where, log_dir, "20000", "2"], python, tmp_path)
    refused = f"TopicExistsException: {log_dir}/many-0 has records; mode='overwrite' would"
    assert done.stdout.startswith(f"written\n{refused}"), done.stderr[-3000:]
    assert keys_in(log_dir) == list(range(20000))
    assert sorted(path.name for path in log_dir.iterdir() if path.is_dir()) == ["many-0", "many-1"]
