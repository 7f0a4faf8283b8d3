"""Damage to a log's files, as words of a workload: what each does, and what is no damage."""

import pytest

from minikafka.witness import Workload, WorkloadError, minikafka_log, run
from minikafka.witness.log.file_damage import damage

TWO_SEGMENTS = "append_as_leader [2x10]\nroll leo\nappend_as_leader [2x10]\n"


@pytest.fixture
def directory(tmp_path):
    for base in (0, 7):
        (tmp_path / f"{base:020}.log").write_bytes(bytes([base] * 10))
    (tmp_path / f"{7:020}.index").write_bytes(b"index")
    return tmp_path


def files(directory):
    return {file.name.lstrip("0") or file.name: file.read_bytes() for file in directory.iterdir()}


@pytest.mark.parametrize(
    ("words", "name", "left"),
    [
        ("cut:-1.log:4", "7.log", b"\7" * 6),
        ("cut:1.log:400", "7.log", b""),
        ("flip:0.log:-1", ".log", b"\0" * 9 + b"\1"),
        ("copy:1.index:0.index.swap", ".index.swap", b"index"),
        ("rename:1.index:@9.index", "9.index", b"index"),
    ],
)
def test_a_file_is_damaged(directory, words, name, left):
    damage(directory, words)
    assert files(directory)[name] == left


@pytest.mark.parametrize("words", ["remove:5.log", "cut:-3.log:1", "copy:0.index:1.index", "flip:0.log:10"])
def test_where_there_is_nothing_to_damage_nothing_happens(directory, words):
    before = files(directory)
    damage(directory, words)
    assert files(directory) == before


def test_a_removed_file_is_gone(directory):
    damage(directory, "remove:1.index")
    assert "7.index" not in files(directory)


@pytest.mark.parametrize("words", ["cut:0.log", "cut:0.log:all", "burn:0.log", "remove:0.log:1", "copy:0.log"])
def test_other_words_are_refused_with_the_number_of_their_line(words):
    with pytest.raises(WorkloadError, match=f"line 1: '{words}' is no damage"):
        Workload.parse(f"reopen damage={words}")


def test_a_workload_damages_and_loads(tmp_path):
    workload = Workload.parse(TWO_SEGMENTS + "reopen clean=false damage=cut:-1.log:1,remove:0.index\n")
    assert Workload.parse(str(workload)) == workload
    seen = run(workload, minikafka_log, tmp_path / "topic-0")
    assert seen.value(3, "log_end_offset") == 2
    assert seen.value(3, "segments") == ((0, 95), (2, 0))
