"""The tasks in the background do at each time what Kafka's own do at it."""

import pytest

from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.log.manager.high_watermark_checkpoints import HighWatermarkCheckpoints

P = [TopicPartition("topic", number) for number in range(3)]
SEGMENTS = ["[4x100]"] * 7
NO_CLEANER = CleanerConfig(enable_cleaner=False)


def started(managers, *partitions, topic_config=None):
    for one in managers.both:
        one.topic_configs = {"topic": topic_config or {}}
    managers.start()
    for partition in partitions:
        managers.call("get_or_create_log", partition, is_new=True)
        managers.append(partition, *SEGMENTS)
    return managers


@pytest.mark.parametrize("cleaner_config", [CleanerConfig(num_threads=0), NO_CLEANER], ids=["cleaner", "no cleaner"])
@pytest.mark.parametrize(
    "topic_config",
    [
        {"retention.ms": 200_000},
        {"retention.bytes": 1200},
        {"retention.bytes": 0},
        {"retention.ms": 0},
        {"retention.bytes": 1000, "cleanup.policy": "compact"},
        {"retention.bytes": 1000, "cleanup.policy": "compact,delete"},
        {"retention.bytes": 1000, "cleanup.policy": ""},
    ],
    ids=str,
)
def test_retention(two_managers, topic_config, cleaner_config):
    managers = two_managers(cleaner_config=cleaner_config)
    started(managers, P[0], topic_config={"cleanup.policy": "delete"})
    managers.call("update_topic_config", "topic", topic_config)
    for _ in range(6):
        managers.tick(60_000)
    managers.stop()


def test_retention_below_the_log_start(two_managers):
    managers = started(two_managers(), P[0], P[1])
    managers.do(lambda one: raise_log_start(one, P[0], 10))
    for _ in range(7):
        managers.tick(60_000)
    managers.stop()
    managers.start()
    managers.stop()


def raise_log_start(one, partition, offset):
    log = one.manager.get_log(partition)
    log.maybe_increment_log_start_offset(offset, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)


def test_nothing_above_the_high_watermark_is_deleted(two_managers):
    managers = started(two_managers(), P[0], topic_config={"retention.bytes": 600})
    managers.tick(1000)
    managers.stop()
    managers.start()  # the high watermark begins at the log start
    managers.tick(400_000)
    managers.do(lambda one: one.manager.get_log(P[0]).update_high_watermark(9) and None)
    managers.tick(400_000)


@pytest.mark.parametrize("flush_ms", [0, 1, 45_000, 10_000_000])
def test_dirty_logs_are_flushed(two_managers, flush_ms):
    managers = started(two_managers(flush_check_ms=10_000), P[0], topic_config={"flush.ms": flush_ms})
    for _ in range(8):
        managers.tick(10_000)
        managers.append(P[0], "[1x10]")
    managers.stop()


@pytest.mark.slow
def test_recovery_points_and_log_starts_are_checkpointed(two_managers):
    managers = started(
        two_managers(
            "a",
            "b",
            initial_task_delay_ms=5_000,
            flush_recovery_offset_checkpoint_ms=20_000,
            flush_start_offset_checkpoint_ms=30_000,
        ),
        *P,
    )
    managers.do(lambda one: raise_log_start(one, P[0], 9))
    for _ in range(14):
        managers.tick(5_000)
        managers.append(P[1], "[4x100]")


@pytest.mark.parametrize("delay_ms", [0, 1, 20_000, 20_999, 21_000, 21_001, 60_000])
def test_deleted_logs_go_after_their_delay(two_managers, delay_ms):
    managers = started(two_managers("a", "b", config={"file.delete.delay.ms": delay_ms}), *P)
    managers.tick(10_000)
    managers.call("async_delete", P[0])
    managers.tick(7_000)
    managers.call("async_delete", P[1], checkpoint=False)
    for _ in range(20):
        managers.tick(7_000)
    managers.stop()


def test_what_was_not_deleted_in_time_waits_again_after_the_next_start(two_managers):
    managers = started(two_managers("a"), *P)
    managers.call("async_delete", P[0])
    managers.tick(50_000)
    managers.stop()
    managers.start()
    for _ in range(5):
        managers.tick(20_000)
    managers.stop()


def test_the_cleaner_works_on_what_the_manager_has(two_managers):
    """minikafka's alone: when Kafka's threads take their turns is not determined."""
    managers = two_managers(cleaner_config=CleanerConfig(backoff_ms=1000, io_buffer_size=100_000))
    one = managers.minikafka
    one.topic_configs = {"topic": {"cleanup.policy": "compact"}}
    one.start()
    one.manager.get_or_create_log(P[0], is_new=True)
    one.append(P[0], *["[5x60 keys=2]"] * 9)
    size = one.manager.get_log(P[0]).size
    one.time.sleep(1000)
    assert one.manager.get_log(P[0]).size < size
    assert (one.log_dirs[0] / "cleaner-offset-checkpoint").read_text().startswith("0\n1\ntopic 0 ")
    one.stop()
    assert not [name for name in one.scheduler.pending if "cleaner" in name]


def test_high_watermarks_are_checkpointed_and_found_again(two_managers):
    managers = two_managers("a", "b")
    one = managers.minikafka
    one.start()
    for partition in P:
        one.manager.get_or_create_log(partition, is_new=True)
        one.append(partition, *SEGMENTS)
    checkpoints = HighWatermarkCheckpoints(one.log_dirs, one.manager.log_dir_failure_channel)
    checkpoints.start(one.scheduler, lambda: one.manager.all_logs)
    one.time.sleep(0)
    texts = [(log_dir / "replication-offset-checkpoint").read_text() for log_dir in one.log_dirs]
    assert texts == ["0\n2\ntopic 0 28\ntopic 2 28\n", "0\n1\ntopic 1 28\n"]

    def checkpointed():
        return checkpoints.lazily().fetch(one.manager.get_log(P[1]).parent_dir, P[1])

    one.append(P[1], "[4x100]")
    one.time.sleep(4_999)
    assert checkpointed() == 28
    one.time.sleep(1)
    assert checkpointed() == 32
    one.stop()
    one.start()
    assert one.manager.get_log(P[1]).high_watermark == 0
    assert checkpointed() == 32
    checkpoints.handle_failure(one.log_dirs[1])
    checkpoints.checkpoint_high_watermarks(one.manager.all_logs)
    assert texts[1].replace("28", "32") == (one.log_dirs[1] / "replication-offset-checkpoint").read_text()
