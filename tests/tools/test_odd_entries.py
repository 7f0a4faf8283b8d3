"""What the tools say of entries that no broker made: names that are not UTF-8, and a mark of a clean stop that is no
file.
"""

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.java.java_file_names import escaped_name, is_found_by_java, name_in_java
from minikafka.spark.source.local_storage import LocalStorage
from tests.golden.places import GOLDEN

NAME = os.fsdecode(b"\xff.log")
DIRECTORY = os.fsdecode(b"t\xff-0")


@pytest.fixture
def log_dir(tmp_path) -> Path:
    shutil.copytree(GOLDEN, tmp_path / "d")
    return tmp_path / "d"


@pytest.fixture
def odd(log_dir) -> Path:
    """A log directory with a file and a directory whose names are not UTF-8."""
    (log_dir / "mixed-0" / NAME).write_bytes(b"x")
    shutil.copytree(log_dir / "mixed-0", log_dir / DIRECTORY)
    return log_dir


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)


def test_what_java_makes_of_a_name():
    assert is_found_by_java("\u00e4.log") and not is_found_by_java(NAME)
    assert (name_in_java(NAME), escaped_name(NAME), escaped_name("\u00e4")) == ("\ufffd.log", "\\xff.log", "\u00e4")


PASSED_OVER = ("d: {}the name of t\\xff-0 is not UTF-8", "mixed-0: {}the name of \\xff.log is not UTF-8")


def test_names_that_are_not_utf_8_are_passed_over(odd):
    for command in (["ls"], ["recover", "--dry-run"], ["recover", "--yes"]):
        done = run(*command, odd)
        assert done.exit_code == 0, done.output
        for line in PASSED_OVER:
            assert f"{line.format('')}: Kafka passes over it\n" in done.stderr
        assert "t\ufffd" not in done.stdout
    assert (odd / DIRECTORY / NAME).read_bytes() == b"x"
    done = run("clean", "--dry-run", "--config", "cleanup.policy=compact", odd / "mixed-0")
    assert PASSED_OVER[1].format("") in done.stderr and "NumberFormatException" not in done.stderr
    done = run("dump-log", "--files", odd / "mixed-0")
    assert done.exit_code == 0 and PASSED_OVER[1].format("") in done.stderr


def test_verify_finds_what_kafka_passes_over(odd):
    assert run("verify", GOLDEN).exit_code == 0
    done = run("verify", odd)
    assert done.exit_code == 1, done.output
    for line in PASSED_OVER:
        assert f"{line.format('')}: Kafka passes over it; at the next start: it stays\n" in done.stdout
    found = json.loads(run("verify", odd, "--json").stdout)["findings"]
    assert [each["fate"] for each in found] == ["stays", "stays"]


def test_a_snapshot_is_found_by_its_bytes(log_dir):
    (log_dir / "mixed-0" / os.fsdecode(b"\xff.snapshot")).write_bytes(b"x")
    done = run("recover", "--dry-run", log_dir)
    assert done.exit_code == 1 and 'NumberFormatException: For input string: "\ufffd"' in done.stderr
    assert "the load fails with NumberFormatException" in run("verify", log_dir, "--json").stdout


def test_a_query_passes_over_them(odd):
    assert [entry.name for entry in LocalStorage().entries(str(odd)) if "t" in entry.name and "-0" in entry.name] == []


MARKS = {"an empty directory": Path.mkdir, "a FIFO": os.mkfifo}


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_that_is_no_file_is_deleted(log_dir, mark):
    marker = log_dir / ".kafka_cleanshutdown"
    marker.unlink(missing_ok=True)
    MARKS[mark](marker)
    done = run("verify", log_dir)
    assert done.exit_code == 1
    assert (
        f"{marker}: is {mark.removeprefix('an empty ').replace('directory', 'a directory')}, and stands" in done.stdout
    )
    assert "it is deleted, and nothing is recovered" in done.stdout and "does not start" not in done.stdout
    assert "does not start" not in run("ls", log_dir).output


def test_a_mark_that_is_a_full_directory_takes_the_log_directory_offline(log_dir):
    (log_dir / ".kafka_cleanshutdown").unlink(missing_ok=True)
    (log_dir / ".kafka_cleanshutdown" / "x").mkdir(parents=True)
    assert "DirectoryNotEmptyException" in run("verify", log_dir).stdout
