"""What the other tests of this folder ask Kafka about, in short and without a JVM; what is expected was seen there."""

import shutil
import sys
import threading
from time import monotonic, sleep

import pytest

from minikafka.common.errors import (
    ClosedChannelException,
    IllegalStateException,
    InconsistentTopicIdException,
    KafkaException,
    KafkaStorageException,
)
from minikafka.common.java.scala_hash_map import (
    in_order_of_a_map_grown,
    in_order_of_a_map_made_at_once,
    in_order_of_an_immutable_map,
)
from minikafka.common.job_pool import JobPool
from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.time import SystemTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.config_repository import MapConfigRepository
from minikafka.log.manager.log_manager import LogManager
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.log.batch import Batch
from minikafka.witness.log_dir.one_log_manager import OneLogManager
from tests.two_logs import SMALL

P = [TopicPartition("topic", number) for number in range(4)]
IDS = ["PpIMd8oaSBmIYZ7G-q3OmQ", "QpIMd8oaSBmIYZ7G-q3OmQ"]


@pytest.fixture
def one(tmp_path):
    """A manager on two log directories, started."""
    one = OneLogManager(LogManager, tmp_path, ("a", "b"), SMALL)
    one.start()
    yield one
    one.kill()


def fill(one, *partitions):
    for partition in partitions:
        one.manager.get_or_create_log(partition, is_new=True, topic_id=IDS[0])
        one.append(partition, *["[4x100]"] * 7)


def text(one, name):
    return (one.directory / name).read_text()


def test_a_clean_stop_leaves_markers_and_checkpoints_and_no_locks(one):
    fill(one, *P)
    one.stop(broker_epoch=3)
    assert text(one, "a/recovery-point-offset-checkpoint") == "0\n2\ntopic 2 28\ntopic 0 28\n"
    assert text(one, "b/log-start-offset-checkpoint") == "0\n0\n"
    assert text(one, "b/.kafka_cleanshutdown") == '{"version":0,"brokerEpoch":3}'
    assert not list(one.directory.glob("*/.lock"))
    one.start()
    assert not list(one.directory.glob("*/.kafka_cleanshutdown"))
    assert [log.log_end_offset for log in one.manager.all_logs] == [28] * 4


def test_tasks_run_at_their_times(one):
    fill(one, P[0])
    names = ["retention", "flusher", "recovery-point-checkpoint", "log-start-offset-checkpoint", "delete-logs"]
    tasks = [name.replace("kafka-", "").replace("log-", "", 1) for name in one.scheduler.pending if "kafka-" in name]
    assert tasks == [name.replace("log-", "", 1) for name in names]
    assert text(one, "a/recovery-point-offset-checkpoint") == ""
    one.time.sleep(29_999)
    assert text(one, "a/recovery-point-offset-checkpoint") == ""
    one.time.sleep(1)
    assert text(one, "a/recovery-point-offset-checkpoint") == "0\n1\ntopic 0 24\n"
    assert text(one, "b/recovery-point-offset-checkpoint") == "0\n0\n"


def test_retention_leaves_compacted_logs_to_the_cleaner(one):
    one.topic_configs = {"topic": {"retention.bytes": 600}, "other": {"retention.bytes": 600}}
    other = TopicPartition("other", 0)
    fill(one, P[0], other)
    one.manager.update_topic_config("other", {"retention.bytes": 600, "cleanup.policy": "compact"})
    one.manager.update_topic_config("topic", one.topic_configs["topic"])
    one.time.sleep(30_000)
    assert one.manager.get_log(P[0]).log_start_offset == 20
    assert one.manager.get_log(other).log_start_offset == 0


def test_a_deleted_log_is_renamed_then_gone(one):
    fill(one, P[0], P[1])
    one.manager.async_delete(P[0])
    assert one.manager.get_log(P[0]) is None
    assert text(one, "a/recovery-point-offset-checkpoint") == "0\n0\n"
    one.time.sleep(59_999)
    assert len(list(one.directory.glob("a/topic-0.*-delete"))) == 1
    one.time.sleep(60_000)
    assert not list(one.directory.glob("a/topic-0*"))
    assert one.manager.async_delete(P[0]) is None


def test_a_stray_log_is_put_aside(one):
    fill(one, P[0], P[1])
    one.stop()
    one.start(is_stray=lambda log: log.topic_partition == P[0])
    one.time.sleep(500_000)
    assert len(list(one.directory.glob("a/topic-0.*-stray"))) == 1
    assert [log.topic_partition for log in one.manager.all_logs] == [P[1]]


def test_a_log_moves(one):
    fill(one, P[0])
    with pytest.raises(IllegalStateException, match="without having a preferred log directory"):
        one.manager.get_or_create_log(P[0], is_future=True)
    one.manager.abort_and_pause_cleaning(P[0])
    one.manager.maybe_update_preferred_log_dir(P[0], one.log_dirs[1])
    future = one.manager.get_or_create_log(P[0], is_future=True)
    assert future.is_future and future.parent_dir == one.log_dirs[1]
    one.append(P[0], "[4x100]", is_future=True)
    one.manager.replace_current_with_future_log(P[0])
    assert one.manager.get_log(P[0]).dir == one.log_dirs[1] / "topic-0"
    with pytest.raises(KafkaStorageException, match="The future replica for topic-0 is offline"):
        one.manager.replace_current_with_future_log(P[0])


def test_topic_ids_are_compared(one):
    fill(one, P[0])
    with pytest.raises(InconsistentTopicIdException):
        one.manager.get_or_create_log(P[0], topic_id=IDS[1])


def test_two_directories_of_one_partition(one):
    fill(one, P[0])
    one.stop()
    shutil.copytree(one.log_dirs[0] / "topic-0", one.log_dirs[1] / "topic-0")
    with pytest.raises(IllegalStateException, match="Duplicate log directories for topic-0"):
        one.start()


def test_a_directory_fails(one):
    fill(one, *P)
    one.manager.handle_log_dir_failure(one.log_dirs[0])
    assert [log.topic_partition for log in one.manager.all_logs] == [P[1], P[3]]
    with pytest.raises(KafkaStorageException, match="log directories .*/a are offline"):
        one.manager.get_or_create_log(P[0])
    assert one.manager.get_or_create_log(P[0], is_new=True).dir == one.log_dirs[1] / "topic-0"
    manager, one.manager = one.manager, None
    with pytest.raises(ClosedChannelException):
        manager.shutdown()
    assert not list(one.directory.glob("a/.kafka_cleanshutdown"))
    assert list(one.directory.glob("b/.kafka_cleanshutdown"))


def test_truncation_writes_recovery_points_of_what_was_cut(one):
    fill(one, P[0], P[1])
    one.time.sleep(30_000)
    one.manager.truncate_to({P[0]: 9, P[1]: 99})
    assert text(one, "a/recovery-point-offset-checkpoint") == "0\n1\ntopic 0 9\n"
    assert text(one, "b/recovery-point-offset-checkpoint") == "0\n1\ntopic 1 24\n"
    one.manager.truncate_fully_and_start_at(P[1], 5)
    assert text(one, "b/recovery-point-offset-checkpoint") == "0\n1\ntopic 1 5\n"


def test_dirty_logs_are_flushed(tmp_path):
    one = OneLogManager(LogManager, tmp_path, ("a",), SMALL, flush_check_ms=10_000)
    one.topic_configs = {"topic": {"flush.ms": 35_000}}
    one.start()
    fill(one, P[0])
    one.time.sleep(30_000)
    assert one.manager.get_log(P[0]).recovery_point == 24  # by the roll's own flush, just now
    one.time.sleep(34_999)
    assert one.manager.get_log(P[0]).recovery_point == 24
    one.time.sleep(5_001)
    assert one.manager.get_log(P[0]).recovery_point == 28
    one.kill()


def test_a_second_manager_is_kept_out(one):
    with pytest.raises(KafkaException, match="A Kafka instance in another process or thread is using this directory"):
        one.make(one.log_dirs)


def test_with_a_deleted_log_goes_how_far_it_was_clean(one):
    """Else the records of a topic that is made anew would count as clean up to there."""
    fill(one, *P)
    for partition in P[:3]:
        one.note_cleaned(partition, 7)
    directory = one.manager.get_log(P[0]).dir.parent
    one.manager.async_delete(P[0])
    kept = (directory / "cleaner-offset-checkpoint").read_text()
    assert kept == "0\n1\ntopic 2 7\n"


def test_a_start_that_fails_leaves_no_thread_behind(one, monkeypatch):
    fill(one, *P)
    one.kill()
    monkeypatch.setattr(LogManager, "_add_log", lambda *_: sys.exit("interrupted"))
    with pytest.raises(SystemExit, match="interrupted"):
        one.start(recovery_threads_per_data_dir=2)
    assert not [thread for thread in threading.enumerate() if "log-recovery-" in thread.name]
    one.kill()


@pytest.mark.parametrize("threads", [1, 3])
def test_jobs_give_their_results_in_order(threads):
    pool = JobPool(threads, "test-")
    results = [pool.submit(lambda number=number: number * number) for number in range(9)]
    failing = pool.submit(lambda: 1 // 0)
    assert [result() for result in results] == [number * number for number in range(9)]
    with pytest.raises(ZeroDivisionError):
        failing()
    pool.shutdown()


def test_orders_of_scalas_maps():
    """As Scala 2.13 printed them."""
    keys = [f"/dev/shm/x/disk-{number}" for number in range(8)]
    assert "".join(key[-1] for key in in_order_of_an_immutable_map(keys)) == "40631725"
    assert "".join(key[-1] for key in in_order_of_an_immutable_map(keys[:5])) == "14023"
    assert in_order_of_an_immutable_map(keys[:4]) == keys[:4]
    partitions = [TopicPartition(topic, number) for topic in ("a", "bc", "zebra") for number in range(5)]
    at_once = " ".join(map(str, in_order_of_a_map_made_at_once(partitions)))
    grown = " ".join(map(str, in_order_of_a_map_grown(partitions)))
    assert sorted(at_once.split()) == sorted(grown.split())
    assert in_order_of_a_map_grown(partitions[:1]) == partitions[:1]


def test_new_defaults_leave_what_a_topic_sets_itself(one):
    one.topic_configs["topic"] = {"retention.ms": 5}
    fill(one, P[0])
    fill(one, TopicPartition("other", 0))
    one.manager.configs.initializing_log(P[1])
    one.manager.update_default_config(LogConfig({**SMALL, "retention.ms": 7, "flush.ms": 9}))
    settings = [(log.config.retention_ms, log.config.flush_ms) for log in one.manager.all_logs]
    assert settings == [(5, 9), (7, 9)]
    log = one.manager.get_or_create_log(P[1], is_new=True)
    log.update_config(LogConfig(SMALL))  # as if it had been opened before
    one.manager.configs.finished_initializing_log(P[1], log)
    assert (log.config.retention_ms, log.config.flush_ms) == (5, 9)


def test_the_broker_epoch_is_what_all_markers_agree_on(one):
    fill(one, P[0])
    one.stop(broker_epoch=5)

    def epoch():
        manager = one.make(one.log_dirs)
        try:
            return manager.read_broker_epoch_from_clean_shutdown_files()
        finally:
            manager.let_go()

    assert epoch() == 5
    (one.log_dirs[1] / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":6}')
    assert epoch() is None
    (one.log_dirs[1] / ".kafka_cleanshutdown").unlink()
    assert epoch() is None


def test_moves_that_were_interrupted_are_ended(tmp_path):
    one = OneLogManager(LogManager, tmp_path, ("a", "b"), SMALL)
    for log_dir, directory_id in zip(one.log_dirs, IDS, strict=True):
        log_dir.mkdir()
        (log_dir / "meta.properties").write_text(
            f"version=1\ncluster.id=c\nnode.id=1\ndirectory.id={directory_id}\n", encoding="utf-8"
        )
    one.start()
    fill(one, P[0])
    one.manager.maybe_update_preferred_log_dir(P[0], one.log_dirs[1])
    one.manager.get_or_create_log(P[0], is_future=True, topic_id=IDS[0])
    one.stop()
    one.start()
    one.manager.recover_abandoned_future_logs(lambda topic_id, partition: IDS[0])
    assert one.manager.get_log(P[0]).dir == one.log_dirs[0] / "topic-0"
    one.manager.recover_abandoned_future_logs(lambda topic_id, partition: IDS[1])
    assert one.manager.get_log(P[0]).dir == one.log_dirs[1] / "topic-0"
    assert not one.manager.future_logs
    one.kill()


@pytest.mark.slow
def test_with_threads_and_the_machines_clock(tmp_path, caplog):
    """All tasks run again and again while logs are written, deleted and made: nothing goes wrong, no directory fails.

    (Warnings there may be, as in Kafka: of files that are not flushed as their log was deleted meanwhile. A task fails,
    in Kafka too, if it still holds a log when `file.delete.delay.ms` have passed since the deletion; half a second is
    longer than a busy machine makes it wait.)
    """
    scheduler = KafkaScheduler(threads=3)
    scheduler.startup()
    every = dict.fromkeys(
        (
            "initial_task_delay_ms",
            "retention_check_ms",
            "flush_check_ms",
            "flush_recovery_offset_checkpoint_ms",
            "flush_start_offset_checkpoint_ms",
        ),
        5,
    )
    config = {**SMALL, "retention.bytes": 2000, "flush.ms": 1, "file.delete.delay.ms": 500}
    manager = LogManager(
        [tmp_path / "a", tmp_path / "b"],
        config_repository=MapConfigRepository({"compacted": {"cleanup.policy": "compact"}}),
        initial_default_config=LogConfig(config),
        scheduler=scheduler,
        time=SystemTime(),
        cleaner_config=CleanerConfig(backoff_ms=5, io_buffer_size=100_000),
        recovery_threads_per_data_dir=2,
        **every,
    )
    with caplog.at_level("ERROR", "minikafka"):
        manager.startup(["compacted"])
        for number in range(40):
            for topic in ("plain", "compacted"):
                log = manager.get_or_create_log(TopicPartition(topic, number % 7), is_new=True)
                batch = Batch.parse("[4x100 keys=2]").encode(SystemTime().milliseconds())
                log.append_as_leader(MemoryRecords.readable_records(bytearray(batch)), 0)
                log.update_high_watermark(log.log_end_offset)
            if number % 10 == 9:
                manager.async_delete(TopicPartition("plain", number % 7))
            sleep(0.01)
        deadline = monotonic() + 30
        while list(tmp_path.glob("*/*-delete")) and monotonic() < deadline:
            sleep(0.05)
        scheduler.shutdown()
        manager.shutdown()
    assert not caplog.records
    assert len(list(tmp_path.glob("*/.kafka_cleanshutdown"))) == 2
    assert not list(tmp_path.glob("*/*-delete"))


def test_a_partition_that_was_put_aside_twice_can_be_loaded_again_after_a_kill(one, monkeypatch):
    create, kept = Log.create, []  # a log that nobody knows any more would let its files go by itself, at some time
    monkeypatch.setattr(Log, "create", lambda *given, **named: kept.append(create(*given, **named)) or kept[-1])
    for _ in range(3):
        one.manager.get_or_create_log(P[0], is_new=True)
        one.kill()
        one.start(is_stray=lambda log: log.topic_id is None)
    assert len([path for disk in "ab" for path in (one.directory / disk).glob("topic-0.*-stray")]) == 3
    assert list(one.manager.stray_logs) == [P[0]]
