"""Log directories are found, loaded, kept and left as by Kafka's own log manager: the same bytes, the same refusals."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.cli import main
from minikafka.common.errors import IllegalStateException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.tools.recover.undo import UNDO
from tests.golden.places import GOLDEN

TOPIC_ID = "PpIMd8oaSBmIYZ7G-q3OmQ"
P = [TopicPartition("topic", number) for number in range(4)]
BATCHES = ("[3x100 pid=7 epoch=0 seq=0]", "[5x80]", *["[4x100]"] * 5)
ID = "0123456789abcdef0123456789abcdef"


def filled(managers, *partitions):
    """Started, and each partition's log filled with segments."""
    managers.start()
    for partition in partitions:
        managers.call("get_or_create_log", partition, is_new=True, topic_id=TOPIC_ID)
        managers.append(partition, *BATCHES)
    return managers


def test_a_directory_that_a_broker_left_is_loaded_kept_and_left(two_managers):
    managers = two_managers()
    managers.change(lambda directory: shutil.copytree(GOLDEN, directory / "a"))
    managers.start()
    for _ in range(7):
        managers.tick(60_000)
    managers.stop()


def test_new_logs_are_written_closed_and_found_again(two_managers):
    managers = filled(two_managers("a", "b"), *P)
    managers.tick(70_000)
    managers.stop()
    managers.start()
    managers.append(P[1], "[3x100]")
    managers.stop()


def test_logs_are_recovered_after_an_unclean_stop(two_managers):
    managers = filled(two_managers("a", "b"), *P)
    managers.tick(70_000)
    managers.append(P[0], *BATCHES[1:])
    managers.kill()
    managers.compare()
    managers.start()
    managers.tick(70_000)
    managers.stop()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 11, 12, 24, pytest.param(60, marks=pytest.mark.slow)])
def test_the_lines_of_the_checkpoints_stand_in_kafkas_order(two_managers, count):
    managers = two_managers()
    managers.start()
    for number in range(count):
        partition = TopicPartition("é" * (number % 3) + f"t{number % 5}", number // 5)
        managers.do(lambda one: one.manager.get_or_create_log(partition, is_new=True) and None)
        managers.do(lambda one: one.manager.truncate_fully_and_start_at(partition, 0, number + 1))
    managers.tick(60_000)
    managers.stop()


RECOVERY_POINTS, LOG_STARTS = "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"
DAMAGED = {
    "empty": b"",
    "another version": b"1\n0\n",
    "no version": b"x\n",
    "no count": b"0\nx\n",
    "a negative count": b"0\n-1\n",
    "a line too few": b"0\n2\ntopic 0 5\n",
    "two words": b"0\n1\ntopic 0\n",
    "no number": b"0\n1\ntopic zero 5\n",
    "not utf-8": b"0\n1\ntopic\xff 0 5\n",
    "an offset beyond the end": b"0\n1\ntopic 0 99999\n",
    "an offset within": b"0\n1\ntopic 0 9\n",
    "a partition that is not there": b"0\n1\nother 0 9\n",
    "a directory": None,
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("name", [RECOVERY_POINTS, LOG_STARTS])
@pytest.mark.parametrize("clean", [True, False])
def test_a_damaged_checkpoint_costs_what_it_costs_kafka(two_managers, name, damage, clean):
    managers = filled(two_managers("a", "b"), P[0], P[1])
    managers.stop() if clean else managers.kill()

    def spoil(directory):
        for file in directory.glob(f"*/{name}"):
            file.unlink()
            file.mkdir() if DAMAGED[damage] is None else file.write_bytes(DAMAGED[damage])

    managers.change(spoil)
    managers.start()
    managers.tick(60_000)
    managers.stop()


def test_a_start_takes_empty_checkpoints_as_none_and_an_empty_mark_as_a_mark(two_live_managers):
    """A kill leaves such files: a start makes missing checkpoints, a stop makes the mark, and both write them later.

    Of the epoch in the mark, only the controller is told; it is told -1 for none.
    """
    seen = []
    for checkpoint, mark in ((None, b'{"version":0,"brokerEpoch":-1}'), (b"", b"")):
        managers = filled(two_live_managers("a"), P[0], P[1])
        managers.do(
            lambda one: one.manager.get_log(P[1]).maybe_increment_log_start_offset(
                9, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
            )
        )
        managers.stop()
        before = managers.kafka.files()

        def spoil(directory):
            (directory / "a" / CLEAN_SHUTDOWN_FILE_NAME).write_bytes(mark)
            for name in (RECOVERY_POINTS, LOG_STARTS, "cleaner-offset-checkpoint"):
                (directory / "a" / name).unlink()
                if checkpoint is not None:
                    (directory / "a" / name).write_bytes(checkpoint)

        managers.change(spoil)
        managers.start()
        started = managers.kafka.state(), managers.kafka.files()
        managers.tick(60_000)
        managers.stop()
        seen.append((before, *started, managers.kafka.files()))
    assert seen[0] == seen[1]


def test_a_directory_of_no_partition_ends_the_start(two_managers):
    managers = filled(two_managers(), P[0])
    managers.stop()
    for name in ("foo", "lost+found", "topic-x", "topic-", "-0", "topic-0-delete", "topic-0.abc-future.log"):
        managers.change(lambda directory: (directory / "a" / name).mkdir())
        assert managers.fails(managers.start()) == "KafkaException"
        managers.kill()
        managers.change(lambda directory: (directory / "a" / name).rmdir())
    managers.start()


def test_what_is_no_directory_of_a_partition_is_passed_over(two_managers):
    managers = filled(two_managers(), P[0])
    managers.stop()

    def add(directory):
        for name in ("__cluster_metadata-0", "remote-log-index-cache"):
            (directory / "a" / name).mkdir()
        for name in ("foo", "topic-7", UNDO):
            (directory / "a" / name).write_text("a file")
        (directory / "a" / "topic-0" / UNDO).mkdir()
        shutil.copy(directory / "a" / "topic-0" / f"{0:020}.log", directory / "a" / "topic-0" / UNDO)

    managers.change(add)
    managers.start()
    managers.stop()


@pytest.mark.parametrize("suffix", ["", f".{ID}-future"])
def test_two_directories_of_one_partition_end_the_start(two_live_managers, suffix):
    """Which of them is loaded first is not determined in Kafka."""
    managers = filled(two_live_managers("a", "b"), P[0])
    managers.stop()
    managers.change(lambda directory: (directory / "a" / "topic-0").rename(directory / "a" / f"topic-0{suffix}"))
    managers.change(
        lambda directory: shutil.copytree(directory / "a" / f"topic-0{suffix}", directory / "b" / f"topic-0{suffix}")
    )
    for one in managers.both:
        with pytest.raises(IllegalStateException, match="Duplicate log directories .*found.*topic-0.*topic-0"):
            one.start()


@pytest.mark.parametrize("other", ["topic-00", "topic-+0", "topic-\u0660", f"topic-00.{ID}-delete", "topic--0"])
def test_names_that_differ_may_be_of_one_partition(two_live_managers, other):
    """Java reads these numbers as 0. The tools say beforehand what a start says."""
    managers = filled(two_live_managers(), P[0])
    managers.stop()
    managers.change(lambda directory: shutil.copytree(directory / "a" / "topic-0", directory / "a" / other))
    is_second = other in ("topic-00", "topic-+0", "topic-\u0660")
    log_dir = managers.both[0].directory / "a"
    told = {
        command: CliRunner().invoke(main, [*command.split(), str(log_dir)], catch_exceptions=False)
        for command in ("verify", "ls", "recover --dry-run")
    }
    for one in managers.both:
        if is_second:
            with pytest.raises(IllegalStateException, match="Duplicate log directories"):
                one.start()
        else:
            one.start()
    second, first = sorted([other, "topic-0"], reverse=True)
    found = f"a second directory of the partition of {first}"
    assert (f"{second}: {found}; at the next start: the broker does not start" in told["verify"].stdout) is is_second
    assert (found in told["ls"].stdout) is is_second
    assert ("Duplicate log directories found" in told["recover --dry-run"].stderr) is is_second


@pytest.mark.parametrize("suffix", ["delete", "stray", "future"])
@pytest.mark.parametrize("clean", [True, False])
def test_the_name_of_a_directory_says_what_becomes_of_its_log(two_managers, suffix, clean):
    managers = filled(two_managers("a", "b"), P[0], P[1])
    managers.stop() if clean else managers.kill()

    def rename(directory):
        (found,) = directory.glob("*/topic-0")
        found.rename(found.with_name(f"topic-0.{ID}-{suffix}"))

    managers.change(rename)
    managers.start()
    for _ in range(4):
        managers.tick(30_000)
    managers.stop()
    managers.start()
    managers.stop()


@pytest.mark.parametrize("inside", [False, True], ids=["the directory is a link", "a link is in the directory"])
def test_a_log_that_waits_for_its_deletion_takes_nothing_with_it_that_links_lead_to(two_live_managers, inside):
    managers = filled(two_live_managers(), P[0])
    managers.stop()

    def link(directory):
        (directory / "precious" / "below").mkdir(parents=True)
        for name in ("letter", "below/letter"):
            (directory / "precious" / name).write_text("dear")
        deleted = directory / "a" / f"topic-1.{ID}-delete"
        if inside:
            deleted.mkdir()
        (deleted / "below" if inside else deleted).symlink_to(directory / "precious")

    def what_is_left(one):
        return sorted(str(path.relative_to(one.directory)) for path in (one.directory / "precious").rglob("*"))

    managers.change(link)
    managers.start()
    for _ in range(4):
        managers.tick(30_000)
    ours, kafkas = map(what_is_left, managers.both)
    assert ours == kafkas and {"precious/letter", "precious/below/letter"} <= {*ours}
    assert not [path for one in managers.both for path in one.directory.glob("a/*-delete")]
    managers.stop()


@pytest.mark.slow
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_a_link_that_leads_nowhere_hides_no_log_and_no_file(two_managers, clean):
    managers = filled(two_managers(), *P)
    managers.tick(60_000)
    managers.stop() if clean else managers.kill()

    def link(directory):
        (directory / "file").write_text("")
        targets = {"circle": "{name}", "nothing": "nothing", "file": "../file/x", "name": "x" * 300}
        for number, target in enumerate(targets):
            for name in (f"a/link-{number}", f"a/topic-0/link-{number}", f"a/topic-0/{9000 + number:020}.snapshot"):
                (directory / name).symlink_to(target.format(name=Path(name).name))

    managers.change(link)
    managers.start()
    for partition in P:
        managers.append(partition, *BATCHES[1:])
    managers.stop()


def test_a_stray_log_is_put_aside(two_managers):
    managers = filled(two_managers("a", "b"), *P)
    managers.tick(60_000)
    managers.stop()
    managers.start(is_stray=lambda log: log.topic_partition.partition == 2)
    managers.tick(60_000)
    managers.stop()
    managers.start()
    managers.stop()


def test_a_log_that_cannot_be_loaded_is_missing_or_ends_the_start(two_managers):
    """An epoch file that makes no sense costs the log, and takes its log directory offline; others are loaded."""
    managers = filled(two_managers("a", "b"), *P)
    managers.stop()

    def spoil(directory):
        (directory / "a" / "topic-0" / "leader-epoch-checkpoint").write_bytes(b"x\n")

    managers.change(spoil)
    managers.start()
    managers.tick(60_000)
    managers.stop()


def test_a_snapshot_that_is_a_directory(two_managers):
    managers = filled(two_managers("a", "b"), *P)
    managers.kill()

    def spoil(directory):
        for file in (directory / "a" / "topic-0").glob("*.index"):
            file.unlink()
            file.mkdir()

    managers.change(spoil)
    managers.start()
    managers.kill()


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("clean", [True, False])
def test_the_number_of_threads_changes_nothing(two_managers, threads, clean):
    managers = two_managers("a", "b", recovery_threads_per_data_dir=threads)
    filled(managers, *P)
    managers.stop() if clean else managers.kill()
    managers.start(is_stray=lambda log: log.topic_partition.partition == 3)
    managers.tick(60_000)
    managers.stop()
