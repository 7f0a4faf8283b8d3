"""The simulated disk forgets what was not synced, and nothing else."""

import random

import pytest

from minikafka.common import file_ops
from tests.slow.crash.disk_effects import Scenario, path_of, read_scenarios, relative
from tests.slow.crash.simulated_disk import SimulatedDisk


@pytest.fixture
def log_dir(tmp_path):
    (tmp_path / "topic-0").mkdir()
    (tmp_path / "topic-0" / "old").write_bytes(b"old")
    return tmp_path


def left_after(log_dir, step, **cut):
    """All disk states that a power cut may leave after `step`, as far as 200 draws find them."""
    disk = SimulatedDisk(log_dir)
    with file_ops.observe(disk.effect):
        step(log_dir / "topic-0")
    disk_states = [disk.cut(random.Random(seed), **cut) for seed in range(200)]
    assert disk.synced() in disk_states
    return disk_states


def write(path, data, *, sync):
    fd = file_ops.open_file(path)
    file_ops.write(fd, data, 0)
    if sync:
        file_ops.fsync(fd)


def test_what_was_there_stays(log_dir):
    assert left_after(log_dir, lambda directory: None, in_order=False) == [{"topic-0/old": b"old"}] * 200


def test_a_synced_file_may_have_no_name(log_dir):
    disk_states = left_after(log_dir, lambda directory: write(directory / "new", b"new", sync=True), in_order=True)
    assert {disk_state.get("topic-0/new") for disk_state in disk_states} == {None, b"new"}


def test_a_synced_name_may_have_no_bytes(log_dir):
    def step(directory):
        write(directory / "new", b"new", sync=False)
        file_ops.flush_dir(directory)

    left = {disk_state["topic-0/new"] for disk_state in left_after(log_dir, step, in_order=False)}
    assert left == {b"", b"n", b"ne", b"new", bytes(3)}


def test_a_rename_has_both_halves_or_none(log_dir):
    def step(directory):
        file_ops.rename(directory / "old", directory / "old.deleted")
        file_ops.delete_if_exists(directory / "old.deleted")

    disk_states = left_after(log_dir, step, in_order=True)
    assert {tuple(disk_state) for disk_state in disk_states} == {("topic-0/old",), ("topic-0/old.deleted",), ()}


@pytest.mark.parametrize("in_order", [True, False])
def test_a_later_name_is_there_without_an_earlier_one_in_no_order_only(log_dir, in_order):
    def step(directory):
        write(directory / "a", b"", sync=True)
        write(directory / "b", b"", sync=True)

    left = {frozenset(disk_state) - {"topic-0/old"} for disk_state in left_after(log_dir, step, in_order=in_order)}
    both = frozenset(("topic-0/a", "topic-0/b"))
    assert left >= {frozenset(), frozenset(["topic-0/a"]), both}
    assert (frozenset(["topic-0/b"]) in left) != in_order


def test_effects_told_in_words_are_those_that_were_seen(log_dir):
    disk, directory = SimulatedDisk(log_dir), log_dir / "topic-0"
    (directory / "old").rename(directory / "00000000000000000007.log")
    (directory / "new").write_bytes(b"new")
    disk.effects(["create new", "write new", "fsync new", "rename old 7.log", "flush_dir .", "write 7.log"], directory)
    assert disk.synced() == {"topic-0/new": b"new", "topic-0/00000000000000000007.log": b"old"}


@pytest.mark.parametrize(
    "name", ["00000000000000000012.log", "-00000000000000000001.log.deleted", "partition.metadata"]
)
def test_names_in_effects_say_which_file_it_is(tmp_path, name):
    assert path_of(relative(tmp_path / name, tmp_path), tmp_path) == tmp_path / name


def test_scenarios_are_read_as_they_are_written():
    scenarios = [Scenario("one", {"a": "1"}, [("flush", ["fsync 0.log"]), ("tick 0", [])]), Scenario("two")]
    assert read_scenarios("# head\n\n" + "\n".join(map(str, scenarios))) == scenarios
