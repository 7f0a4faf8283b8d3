"""`minikafka spark`: what it says before Spark starts, how answers are printed and stored, and exit codes."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import click
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

from minikafka.cli import main
from minikafka.cli.spark import _require_readable
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.spark.jobs.registry import JOBS
from minikafka.spark.jobs.result_output import json_lines, print_table, require_writable, write
from minikafka.spark.jobs.spark_failures import reason
from minikafka.spark.source.log_segments_on_disk import find_partitions
from tests.golden.places import GOLDEN

COMMAND = [sys.executable, "-c", "from minikafka.cli import main; main()", "spark"]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def answer() -> pa.Table:
    return pa.table({
        "topic": ["a", "b\nc"],
        "records": pa.array([12, None], pa.int64()),
        "when": pa.array([datetime(2023, 11, 14, 22, 13, 20, 5000, UTC), None], pa.timestamp("us", "UTC")),
        "offsets": pa.array([[1, 2], None], pa.list_(pa.int64())),
        "key": pa.array([b"\xff\x00", None], pa.binary()),
        "codecs": pa.array([[("zstd", 1), ("none", 2)], None], pa.map_(pa.string(), pa.int64())),
    })  # fmt: skip


# ---- before Spark starts


def refused(*arguments: str, code: int = 1) -> str:
    result = CliRunner().invoke(main, ["spark", *arguments])
    assert result.exit_code == code, result.output
    (line,) = result.stderr.splitlines()[-1:]
    return line


def test_help_names_each_job():
    told = CliRunner().invoke(main, ["spark", "--help"]).stdout
    assert all(f"  {name} " in told for name in JOBS)
    for name in JOBS:
        told = CliRunner().invoke(main, ["spark", name, "--help"], catch_exceptions=False)
        assert told.exit_code == 0 and "--master URL" in told.stdout


@pytest.mark.slow
def test_help_needs_no_spark():
    code = "import sys; from minikafka.cli import main\ntry: main(['spark', '--help'])\nexcept SystemExit: pass\n"
    code += "assert not {'pyspark', 'pyarrow', 'numpy'} & set(sys.modules), 'heavy'"
    subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env={**os.environ, "PYTHONPATH": ROOT}
    )


def test_a_path_that_is_no_log(tmp_path):
    assert refused("transactions", f"{tmp_path}/none").endswith(f"{tmp_path}/none does not exist")
    assert "neither a log directory nor" in refused("transactions", str(tmp_path))


def test_options_without_meaning(tmp_path):
    assert "--option x: K=V is expected" in refused("transactions", str(GOLDEN), "--option", "x", code=2)
    assert "mode=ODD is none of" in refused("transactions", str(GOLDEN), "--option", "mode=ODD")
    assert "No such command 'nothing'" in refused("nothing", str(GOLDEN), code=2)


@pytest.mark.parametrize("job", sorted(JOBS))
def test_options_of_the_source_are_checked_as_there(job):
    more = ["--to", "x"] if job == "export" else []
    for where in ([], ["--remote", "sc://127.0.0.1:1"]):
        told = refused(job, str(GOLDEN), *more, *where, "--option", "subscribed=x", code=2 if job == "verify" else 1)
        assert told.endswith("There is no option 'subscribed'; the nearest is subscribe")
    assert "--option table: the command chooses it" in refused(
        job, str(GOLDEN), *more, "--option", "table=index", code=2
    )


@pytest.mark.parametrize("option", ["startingTimestamp=5", "bounds=log_end", "mode=PERMISSIVE"])
def test_verify_takes_no_option_that_it_would_ignore(option):
    told = refused("verify", str(GOLDEN), "--option", option, code=2)
    assert told.endswith(
        f"--option {option.partition('=')[0]}: verify looks at partitions as a whole, whatever it says"
    )


def test_a_topic_that_is_not_there():
    told = refused("profile", str(GOLDEN), "--option", "subscribe=mixd")
    assert told.startswith("UnknownTopicOrPartitionException: There is no topic mixd") and told.endswith("is mixed")
    for job, code in (("profile", 1), ("verify", 2)):
        told = refused(job, str(GOLDEN), "--option", 'assign={"mixed": [0, 7]}', code=code)
        assert told == f"UnknownTopicOrPartitionException: There is no partition mixed-7 in {GOLDEN}"
        told = refused(job, str(GOLDEN), "--option", "subscribe=mixd", code=code)
        assert told.startswith("UnknownTopicOrPartitionException: There is no topic mixd")


NIGHT = ROOT / "notebooks" / "data" / "night"


@pytest.mark.parametrize("job", ["profile", "transactions", "export"])
def test_two_copies_of_a_partition_are_refused(job, tmp_path):
    more = ["--to", f"{tmp_path}/out"] if job == "export" else []
    told = refused(job, f"{NIGHT}/broker-1", f"{NIGHT}/broker-2", *more)
    assert told.startswith(
        f"IllegalArgumentException: orders-0 is in {NIGHT}/broker-1/orders-0 and in {NIGHT}/broker-2/orders-0: "
    )


def test_a_directory_to_which_a_link_leads_is_one_copy(tmp_path):
    link = tmp_path / "A-link"
    link.symlink_to(GOLDEN)
    once = find_partitions([str(GOLDEN)])
    assert [each.segments for each in find_partitions([str(GOLDEN), str(GOLDEN)])] == [each.segments for each in once]
    found = find_partitions([str(link), str(GOLDEN)])
    assert [each.topic_partition for each in found] == [each.topic_partition for each in once]
    # Two segments of a partition, each named by another path, are chosen in the one directory.
    segments = [segment.path for segment in next(each for each in once if len(each.segments) > 1).segments[:2]]
    aliased = [segments[0], segments[1].replace(str(GOLDEN), str(link))]
    [partition] = find_partitions(aliased)
    assert [segment.base_offset for segment in partition.chosen] == [int(Path(each).stem) for each in segments]


def test_copies_of_what_is_not_asked_for_are_not_refused(tmp_path):
    for topics in ("clicks,payments", "orders"):
        paths = [f"{NIGHT}/broker-1", f"{NIGHT}/broker-2"][: 1 if topics == "orders" else 2]
        source = {"subscribe": topics}
        _require_readable(JOBS["profile"], tuple(paths), source, None)
    _require_readable(JOBS["replicas"], (f"{NIGHT}/broker-1", f"{NIGHT}/broker-2"), {}, None)
    _require_readable(JOBS["profile"], (f"{NIGHT}/broker-1", f"{NIGHT}/broker-2"), {"copies": "all"}, None)


def test_a_directory_without_a_metadata_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty" / CLUSTER_METADATA_DIRECTORY).mkdir(parents=True)
    (tmp_path / "a-file").touch()
    for name in (str(GOLDEN), ".", "empty", f"empty/{CLUSTER_METADATA_DIRECTORY}", "a-file"):
        told = refused("retention", str(GOLDEN), "--metadata", name)
        assert told.startswith(
            f"IllegalArgumentException: {os.path.abspath(name)} has no metadata log ({CLUSTER_METADATA_DIRECTORY})"
        )
    assert refused("retention", str(GOLDEN), "--metadata", "none").endswith(f"{tmp_path}/none does not exist")


def test_a_wrong_path_is_no_row_of_verify(tmp_path):
    assert f"{tmp_path}/none" in refused("verify", str(GOLDEN), f"{tmp_path}/none", code=2)


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "there.csv").touch()
    assert "ends with none of .json, .csv, .parquet" in refused(
        "transactions", str(GOLDEN), "--out", f"{tmp_path}/x.txt"
    )
    assert "--overwrite would replace it" in refused("transactions", str(GOLDEN), "--out", f"{tmp_path}/there.csv")
    assert "none" in refused("transactions", str(GOLDEN), "--out", f"{tmp_path}/none/x.csv")


@pytest.mark.parametrize("where", [("--master", "spark://127.0.0.1:1"), ("--remote", "sc://127.0.0.1:1/;token=x")])
def test_where_nobody_answers(where):
    assert refused("transactions", str(GOLDEN), *where) == f"IOException: Connection refused: {where[1]}"


def test_the_reason_of_a_failure():
    python = (
        "[PYTHON_EXCEPTION] Job aborted:\nTraceback (most recent call last):\n  File x\n"
        "minikafka.common.errors.CorruptRecordException: /log/0.log, position 3: CorruptRecordException: odd\n\n"
        "\tat org.apache.spark\n"
    )
    assert reason(python) == "CorruptRecordException: /log/0.log, position 3: CorruptRecordException: odd"
    java = "An error occurred while calling o37.x.\n: a.SparkException: Exception thrown in awaitResult:\n\tat b\n"
    assert reason(f"{java}Caused by: java.io.IOException: no room\n\tat c") == "IOException: no room"
    assert reason("[NO_COLUMN] none\nand more") == "[NO_COLUMN] none"
    assert reason("") == "Spark gave no reason"


# ---- what is printed and stored


def test_a_table(answer, capsys):
    print_table(answer)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["topic", "records", "when", "offsets", "key", "codecs"]
    assert rows[0].split("  ")[0] == "a" and "2023-11-14T22:13:20.005" in rows[0] and '"ff00"' in rows[0]
    assert rows[1].startswith("b\ufffdc") and rows[1].split()[1:] == ["-"] * 5
    print_table(answer.slice(0, 0))
    assert capsys.readouterr().out.split() == head.split()


@pytest.mark.parametrize("width", [40, 60, 200])
def test_a_table_fits_the_terminal(answer, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    wide = answer.append_column("more", pa.array(["many words " * 30, "few"])).append_column(
        "share", pa.array([{"zstd": 1 / 3}, None])
    )
    print_table(wide)
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    assert text.count("many") == text.count("words") == 30 or width == 200
    assert "0.3333}" in text and "0.33333" not in text
    assert ("topic    a" in lines[0]) == (width < 200)


def test_lines_of_json(answer):
    assert '{"none": 2, "zstd": 1}' in next(json_lines(answer))
    first, second = map(json.loads, json_lines(answer))
    when = "2023-11-14T22:13:20.005+00:00"
    assert first == {
        "topic": "a",
        "records": 12,
        "when": when,
        "offsets": [1, 2],
        "key": "ff00",
        "codecs": {"none": 2, "zstd": 1},
    }
    assert second == {"topic": "b\nc", **dict.fromkeys(("records", "when", "offsets", "key", "codecs"))}


def test_files(answer, tmp_path):
    write(answer, tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet").equals(answer)
    write(answer, tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text().splitlines() == list(json_lines(answer))
    write(answer, tmp_path / "x.csv")
    stored = csv.read_csv(tmp_path / "x.csv")
    assert stored.column("offsets").to_pylist() == ["[1, 2]", ""]
    assert stored.column("codecs").to_pylist() == ['{"none": 2, "zstd": 1}', ""]
    assert sorted(os.listdir(tmp_path)) == ["x.csv", "x.json", "x.parquet"]
    with pytest.raises(FileExistsError):
        require_writable(tmp_path / "x.csv", overwrite=False)
    require_writable(tmp_path / "x.csv", overwrite=True)
    with pytest.raises(IllegalArgumentException):
        require_writable(tmp_path / "x", overwrite=True)


def test_a_time_behind_the_years_of_python_and_of_csv_is_the_same_in_each_file(tmp_path):
    late = pa.timestamp("us", "UTC")
    times = pa.array([1_700_000_000_000_000, None, 1_700_000_000_000_000_000, 253_402_300_800_000_000], late)
    answer = pa.table({"newest": times, "oldest": pa.array([1_700_000_000_000_000] * 4, late)})
    write(answer, tmp_path / "x.csv")
    rows = [line.replace('"', "").split(",") for line in (tmp_path / "x.csv").read_text().splitlines()[1:]]
    told = ["2023-11-14 22:13:20.000000Z", "", "55840-11-08 22:13:20.000000Z", "10000-01-01 00:00:00.000000Z"]
    assert rows == [[newest, told[0]] for newest in told]
    as_json = [json.loads(line)["newest"] or "" for line in json_lines(answer)]
    assert [text[:-6] for text in as_json] == [text.replace(" ", "T")[:-4] for text in told]


def test_a_file_is_whole_or_not_there(answer, tmp_path, monkeypatch):
    monkeypatch.setattr("minikafka.spark.jobs.result_output.json_lines", lambda answer: iter(["{}", None]))
    with pytest.raises(AttributeError):
        write(answer, tmp_path / "x.json")
    assert os.listdir(tmp_path) == []


def test_what_is_left_of_a_file_whose_writer_was_killed_goes_with_the_next(answer, tmp_path):
    (tmp_path / f".minikafka-{'a' * 16}.tmp").write_text("half")
    write(answer, tmp_path / "x.json")
    assert os.listdir(tmp_path) == ["x.json"]


# ---- with Spark


def run(*arguments: object, **streams) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*COMMAND, *map(str, arguments), "--master", "local[2]"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run(command, env=environment, text=True, timeout=200, **streams)


@pytest.mark.slow
def test_damage_is_told_in_one_line(tmp_path, on_the_session):
    log = tmp_path / "mixed-0" / f"{0:020d}.log"
    log.parent.mkdir()
    log.write_bytes((GOLDEN / "mixed-0" / log.name).read_bytes()[:70] + b"?" * 100)
    done = on_the_session("transactions", tmp_path)
    assert (done.exit_code, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "CorruptRecordException" in line and str(log) in line


@pytest.mark.slow
def test_lag_says_that_there_are_no_commits_to_be_found(on_the_session):
    done = on_the_session("lag", GOLDEN)
    assert done.exit_code == 0 and done.stdout.split()[:3] == ["group", "topic", "partition"]
    assert done.stderr == f"There is no topic __consumer_offsets in {GOLDEN}, so lag knows of nothing\n"


@pytest.mark.slow
def test_verify_says_how_many_partitions_are_sound(on_the_session):
    done = on_the_session("verify", GOLDEN)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "1 partition sound\n", "")


@pytest.mark.in_parts(4)
@pytest.mark.slow
def test_a_reader_that_has_enough():
    reading, writing = os.pipe()
    os.close(reading)
    done = run("transactions", GOLDEN, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")
