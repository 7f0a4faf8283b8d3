"""The threads of the log cleaner: turns as tasks of a scheduler, aborting, shutting down, other settings."""

import threading

import pytest

from minikafka.common.errors import ConfigException, CorruptRecordException, KafkaStorageException
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import KafkaScheduler, ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.cleaner.cleaner import Cleaner
from minikafka.log.cleaner.cleaner_config import CONFIG, CleanerConfig
from minikafka.log.cleaner.log_cleaner import LogCleaner
from minikafka.log.cleaner.log_cleaning_state import LogCleaningPaused, LogCleaningState
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

SETTINGS = {"cleanup.policy": "compact", "internal.segment.bytes": 400, "min.cleanable.dirty.ratio": 0.1}
ONE_THREAD = CleanerConfig(io_buffer_size=2000, backoff_ms=15_000)
TURN = "kafka-log-cleaner-thread-0"


class CleanedLogs:
    """Two logs in a log directory, with a clock and a scheduler that are led by hand, and their cleaner."""

    def __init__(self, log_dir, config=ONE_THREAD, scheduler=None):
        self.log_dir = log_dir
        self.time = ManualTime(1_000_000)
        self.background = ManualScheduler(self.time)
        self.scheduler = scheduler or self.background
        self.channel = LogDirFailureChannel(10)
        self.logs = {}
        for name in ("a-0", "b-0"):
            log = Log.create(
                log_dir / name,
                LogConfig(SETTINGS),
                scheduler=self.background,
                time=self.time,
                log_dir_failure_channel=self.channel,
            )
            self.logs[log.topic_partition] = log
        self.a, self.b = self.logs
        self.cleaner = LogCleaner(
            config,
            [log_dir],
            self.logs,
            scheduler=self.scheduler,
            time=self.time,
            log_dir_failure_channel=self.channel,
        )
        self.manager = self.cleaner.cleaner_manager

    def fill(self, partition, batches=8):
        log = self.logs[partition]
        for number in range(batches):
            records = [SimpleRecord(5, b"key-%d" % i, b"%080d" % number) for i in range(2)]
            log.append_as_leader(MemoryRecords.with_records(Compression.NONE, *records), 0)
        log.roll()
        log.update_high_watermark(log.log_end_offset)

    @property
    def waiting(self):
        """Turns that the scheduler is to run."""
        return [name for name in self.background.pending if name.startswith("kafka-log-cleaner")]

    def text(self):
        return (self.log_dir / "cleaner-offset-checkpoint").read_text()


@pytest.fixture
def cleaned(tmp_path):
    return CleanedLogs(tmp_path)


def test_turns_follow_at_once_as_long_as_there_is_work_then_after_the_backoff(cleaned):
    cleaned.fill(cleaned.a)
    cleaned.fill(cleaned.b)
    cleaned.cleaner.startup()
    assert cleaned.waiting == [TURN] and cleaned.text() == ""
    cleaned.background.run_due_tasks()  # each cleaning is followed by a turn that is due at once
    assert cleaned.text() == "0\n2\na 0 16\nb 0 16\n"
    cleaned.fill(cleaned.a)
    cleaned.time.sleep(14_999)
    assert cleaned.text() == "0\n2\na 0 16\nb 0 16\n"
    cleaned.time.sleep(1)
    assert cleaned.text() == "0\n2\na 0 32\nb 0 16\n"
    cleaned.cleaner.shutdown()
    assert cleaned.waiting == []
    assert cleaned.cleaner.await_cleaned(cleaned.a, 32) and not cleaned.cleaner.await_cleaned(
        cleaned.a, 33, max_wait_ms=0
    )


def test_a_log_of_which_a_cleaning_fails_is_left_alone(cleaned):
    cleaned.fill(cleaned.a)
    cleaned.fill(cleaned.b)
    segment = min((cleaned.log_dir / "a-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[16] = 7  # the magic
    segment.write_bytes(data)
    cleaned.cleaner.startup()
    cleaned.background.run_due_tasks()
    cleaned.time.sleep(15_000)
    assert cleaned.manager.uncleanable_partitions(cleaned.log_dir) == {cleaned.a}
    assert cleaned.text() == "0\n2\na 0 0\nb 0 16\n"
    del cleaned.logs[cleaned.a]
    cleaned.time.sleep(15_000)
    assert cleaned.manager.uncleanable_partitions(cleaned.log_dir) == set()


def test_a_failing_disk_takes_the_directory_offline(cleaned, monkeypatch):
    cleaned.fill(cleaned.a)

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Cleaner, "clean", fail)
    cleaned.cleaner.startup()
    cleaned.background.run_due_tasks()
    assert cleaned.channel.has_offline_log_dir(cleaned.log_dir)
    assert cleaned.manager.cleaning_state(cleaned.a) is None


@pytest.mark.parametrize("error", [KafkaStorageException("offline"), CorruptRecordException("damage")])
def test_only_unknown_failures_make_a_partition_uncleanable(cleaned, monkeypatch, error):
    cleaned.fill(cleaned.a)

    def fail(*_):
        raise error

    monkeypatch.setattr(Cleaner, "clean", fail)
    thread = one_turn(cleaned)
    is_damage = isinstance(error, CorruptRecordException)
    assert cleaned.manager.uncleanable_partitions(cleaned.log_dir) == ({cleaned.a} if is_damage else set())
    assert thread.last_stats.bytes_read == 0


def one_turn(cleaned):
    cleaned.cleaner.startup()
    (thread,) = cleaned.cleaner.cleaners
    thread.do_work()
    return thread


def test_a_thread_that_cannot_choose_dies(cleaned):
    (cleaned.log_dir / "cleaner-offset-checkpoint").write_text("0\n1\na 0 x\n")
    cleaned.cleaner.startup()
    cleaned.time.sleep(100_000)
    assert cleaned.cleaner.dead_thread_count == 1 and cleaned.waiting == []
    (cleaned.log_dir / "cleaner-offset-checkpoint").write_text("")
    cleaned.cleaner.reconfigure(ONE_THREAD)
    assert cleaned.cleaner.dead_thread_count == 0 and cleaned.waiting == [TURN]


def test_threads_share_memory_and_buffers(tmp_path):
    cleaned = CleanedLogs(tmp_path, CleanerConfig(num_threads=3, dedupe_buffer_size=7201, io_buffer_size=6000))
    cleaned.cleaner.startup()
    assert [thread.cleaner.offset_map.slots for thread in cleaned.cleaner.cleaners] == [100] * 3
    assert cleaned.waiting == [f"kafka-log-cleaner-thread-{i}" for i in range(3)]
    cleaned.cleaner.reconfigure(CleanerConfig(num_threads=2, max_io_bytes_per_second=77.0))
    assert len(cleaned.cleaner.cleaners) == 2 and cleaned.cleaner.throttler.desired_rate_per_sec == 77


@pytest.mark.parametrize(("threads", "refused"), [(0, "at least 1"), (1, "half"), (2, ""), (8, ""), (9, "double")])
def test_the_number_of_threads_changes_by_at_most_a_factor_of_two(tmp_path, threads, refused):
    cleaned = CleanedLogs(tmp_path, CleanerConfig(num_threads=4))
    if refused:
        with pytest.raises(ConfigException, match=refused):
            cleaned.cleaner.validate_reconfiguration(CleanerConfig(num_threads=threads))
    else:
        cleaned.cleaner.validate_reconfiguration(CleanerConfig(num_threads=threads))


def test_without_threads_nothing_is_cleaned(tmp_path):
    cleaned = CleanedLogs(tmp_path, CleanerConfig(num_threads=0))
    cleaned.fill(cleaned.a)
    cleaned.cleaner.startup()
    cleaned.time.sleep(100_000)
    assert cleaned.text() == ""


class Gate:
    """Holds a cleaning where it looks whether it is to go on, so that others can act in the meantime."""

    def __init__(self, cleaned, monkeypatch):
        self.reached, self.opened = threading.Event(), threading.Event()
        original = Cleaner.clean_segments

        def held(*args):
            self.reached.set()
            assert self.opened.wait(10)
            return original(*args)

        monkeypatch.setattr(Cleaner, "clean_segments", held)
        cleaned.cleaner.startup()
        assert self.reached.wait(10)


@pytest.fixture
def threaded(tmp_path):
    scheduler = KafkaScheduler(2)
    cleaned = CleanedLogs(tmp_path, CleanerConfig(io_buffer_size=2000, backoff_ms=10), scheduler)
    scheduler.startup()
    cleaned.fill(cleaned.a)
    yield cleaned
    cleaned.cleaner.shutdown()
    scheduler.shutdown()


def test_a_scheduler_with_threads_cleans_in_the_background(threaded):
    threaded.cleaner.startup()
    assert threaded.cleaner.await_cleaned(threaded.a, 16, max_wait_ms=10_000)


def test_whoever_aborts_a_cleaning_waits_for_its_end(threaded, monkeypatch):
    gate = Gate(threaded, monkeypatch)
    waiting = threading.Thread(target=threaded.cleaner.abort_and_pause_cleaning, args=[threaded.a])
    waiting.start()
    while threaded.manager.cleaning_state(threaded.a) is not LogCleaningState.ABORTED:
        assert waiting.is_alive()
    gate.opened.set()
    waiting.join(10)
    assert threaded.manager.cleaning_state(threaded.a) == LogCleaningPaused(1)
    assert threaded.text() == ""  # what was aborted is not noted
    assert not list(threaded.log_dir.rglob("*.cleaned"))
    threaded.cleaner.resume_cleaning([threaded.a])
    assert threaded.cleaner.await_cleaned(threaded.a, 16, max_wait_ms=10_000)


def test_shutdown_cuts_a_cleaning_short(threaded, monkeypatch):
    gate = Gate(threaded, monkeypatch)
    ending = threading.Thread(target=threaded.cleaner.shutdown)
    ending.start()
    while threaded.cleaner.cleaners and threaded.cleaner.cleaners[0].is_running:
        pass
    gate.opened.set()
    ending.join(10)
    assert threaded.text() == "0\n1\na 0 0\n"
    assert list(threaded.log_dir.rglob("*.cleaned"))  # the next load removes them
    assert len(threaded.logs[threaded.a].log_segments) > 2
    assert threaded.cleaner.dead_thread_count == 0


def test_the_settings_are_kafkas(kafka):
    """Names, defaults and limits, but for those of a topic, which the definition in Kafka holds as well."""
    theirs = kafka.log_class("CleanerConfig").CONFIG_DEF.configKeys()
    for key in CONFIG.config_keys.values():
        if key.name == "message.max.bytes":
            continue
        their_key = theirs[key.name]
        get = lambda field: their_key.getClass().getField(field).get(their_key)  # noqa: E731
        assert get("defaultValue") == key.default, key.name
        assert get("type").toString() == key.type.name
    with pytest.raises(ConfigException, match="log.cleaner.threads"):
        CleanerConfig.of({"log.cleaner.threads": "-1"})
    config = CleanerConfig.of({"log.cleaner.dedupe.buffer.size": "5000000000", "log.cleaner.enable": "false"})
    assert (config.dedupe_buffer_size, config.enable_cleaner, config.max_message_size) == (5 * 10**9, False, 1048588)
