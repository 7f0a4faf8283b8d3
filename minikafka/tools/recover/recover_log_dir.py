"""A whole log directory, loaded as a broker's start would load it, and left as a broker's clean stop leaves it.

Whatever may stop that is looked for first, in every partition: links, files that cannot be opened, too few descriptors,
too little room; then each partition's load is rehearsed (`Rehearsal`). If one of them would fail, nothing is changed,
because the broker would not start either, or would go on without the directory.

Kafka: `LogManager.startup`, `LogManager.shutdown`.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple, cast

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME, CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.common import file_ops
from minikafka.common.config_def import ConfigDef, ConfigKey, Range, Type
from minikafka.common.errors import (
    IllegalArgumentException,
    IllegalStateException,
    IOException,
    KafkaStorageException,
    RuntimeException,
)
from minikafka.common.file_lock import FileLock
from minikafka.common.java.java_numbers import parse_int
from minikafka.common.java.java_properties import read_properties_file
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.directory_lock import DirectoryLock
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_lock import LOCK_FILE_NAME
from minikafka.log.log_dir_name import parse_topic_partition_name, partition_directories
from minikafka.log.log_file_utils import FUTURE_DIR_SUFFIX
from minikafka.log.manager.broker_settings import log_settings
from minikafka.log.manager.config_repository import MapConfigRepository
from minikafka.log.manager.log_manager import LogManager
from minikafka.log.partition_files import require_regular
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig
from minikafka.metadata.kafka_config import require_valid
from minikafka.metadata.kafka_config_def import kafka_config_def
from minikafka.tools.broker_user import as_readable_as_segments, require_files_for_owner
from minikafka.tools.checkpoints import checkpointed_offsets, read_checkpoint, require_storable
from minikafka.tools.failure import describe, naming, nearest
from minikafka.tools.log_dir_entries import PUT_ASIDE, duplicates
from minikafka.tools.progress_bar import progress_bar
from minikafka.tools.recover.before_recovery import (
    SPARE_DESCRIPTORS,
    Needs,
    needs_of,
    require_address_space,
    require_descriptors,
    require_files,
    require_replaceable,
    require_room,
)
from minikafka.tools.recover.cluster_settings import cluster_settings_in, meta_properties_in, node_id_in
from minikafka.tools.recover.log_state import state_of
from minikafka.tools.recover.offline_log import (
    expected_of,
    locked,
    require_no_link,
    require_no_remote_tier,
    warn_of_unknown_names,
)
from minikafka.tools.recover.undo import CHECKPOINTS, require_nothing_to_undo_there, take_back, undoable
from minikafka.tools.scratch_directory import scratch_directory
from minikafka.tools.verify.findings import NextStart
from minikafka.tools.verify.metadata_snapshots import require_snapshots
from minikafka.tools.verify.rehearsal import Outcome, Rehearsal

_ADDRESSES_OF_A_THREAD = 144 << 20
"""Bytes of its stack and of what glibc reserves for its allocations."""
_THREADS_SETTING, _EXPIRATION_SETTING = "num.recovery.threads.per.data.dir", "producer.id.expiration.ms"
_TIERED_SETTING = "remote.log.storage.system.enable"
_OF_LOADING = ConfigDef(
    [
        ConfigKey(_THREADS_SETTING, Type.INT, 2, Range(1)),
        ConfigKey(_EXPIRATION_SETTING, Type.INT, 86_400_000, Range(1)),
        ConfigKey(_TIERED_SETTING, Type.BOOLEAN, False),
    ]
)
"""What a broker's file says of loading logs, beside the settings of topics. Kafka: `AbstractKafkaConfig.CONFIG_DEF`."""
_OFFLINE = ("KafkaStorageException", "IOException", "NoSuchFileException", "FileNotFoundException")
"""Names of failures after which Kafka goes on without the log directory; any other one ends its start."""


class Settings(NamedTuple):
    """Settings of the logs: `default` for topics without their own, `topics` by name; how many `threads` load them;
    how long `producers` are remembered, None for Kafka's default; whether there may be a remote tier.
    """

    default: dict[str, object]
    topics: dict[str, dict[str, object]]
    threads: int
    producers: ProducerStateManagerConfig | None = None
    may_be_tiered: bool = True

    def config_of(self, topic: str) -> LogConfig:
        """Raises ConfigException."""
        return LogConfig.from_props(self.default, self.topics.get(topic, {}))


class Refusal(NamedTuple):
    """An obstacle: the name of a directory or a checkpoint, and the exception, "Name: message"."""

    name: str
    error: str


class Recovered(NamedTuple):
    """What became of a log directory: the partitions' states, and the obstacles because of which nothing was done.

    `put_aside`: directories that are also loaded, of logs that are being moved or wait for their deletion. `offline`:
    obstacles that would make Kafka go on without the log directory. `refused`: obstacles that would end its start.
    """

    partitions: list[dict[str, object]]
    put_aside: list[str]
    offline: list[Refusal]
    refused: list[Refusal]


def settings_of(
    log_dir: Path,
    broker_config: Path | None,
    topic_configs: Mapping[str, Mapping[str, object]],
    overrides: Mapping[str, object],
    threads: int | None,
) -> Settings:
    """The settings of the logs in a log directory.

    For a topic: the given ones, then those in the metadata log, if that is in the directory. For all topics:
    `overrides`, then those of the broker in the newest snapshot of the metadata log, then those in its file, then
    Kafka's defaults. What the metadata log says of the broker behind that snapshot comes into force when its logs are
    loaded. Kafka: `BrokerMetadataPublisher.onMetadataUpdate`.

    Raises OSError, RuntimeException for the file of another broker, IllegalArgumentException for one that is no
    broker's, what `require_valid` raises for one with which Kafka would not start, and what `cluster_settings_in`
    raises.
    """
    broker: dict[str, str] = {}
    if broker_config is not None:
        require_regular(broker_config, follow_links=True)
        with naming(broker_config):
            broker = read_properties_file(broker_config)
            _require_own_broker(log_dir, broker)
        if not broker.keys() & kafka_config_def().config_keys.keys():
            raise IllegalArgumentException(
                f"{broker_config} has no setting of a broker: --broker-config takes its server.properties"
            )
        with naming(broker_config):
            require_valid(broker)
    topics: dict[str, dict[str, object]] = {}
    if (cluster := cluster_settings_in(log_dir)) is not None:
        topics = {topic: dict(settings) for topic, settings in cluster.topics.items()}
        broker |= cluster.brokers_at_load.get("", {}) | cluster.brokers_at_load.get(node_id_in(log_dir), {})
    for topic, given in topic_configs.items():
        topics[topic] = {**topics.get(topic, {}), **given}
    of_loading = _OF_LOADING.parse(broker)
    threads = threads or cast(int, of_loading[_THREADS_SETTING])
    producers = ProducerStateManagerConfig(producer_id_expiration_ms=cast(int, of_loading[_EXPIRATION_SETTING]))
    may_be_tiered = broker_config is None or cast(bool, of_loading[_TIERED_SETTING])
    return Settings({**log_settings(broker), **overrides}, topics, threads, producers, may_be_tiered)


def recover_log_dir(
    log_dir: Path, settings: Settings, now_ms: int, clean: bool | None, *, follow_links: bool, dry_run: bool
) -> Recovered:
    """Load all logs of the directory, or of a copy that is then deleted, and close them as a clean stop does.

    `clean`: how the last stop was, None for what the marker says. Raises OSError for what the machine refuses,
    KafkaException for a directory in use or one without a partition's name, IllegalStateException for two logs of a
    partition.
    """
    with ExitStack() as until_the_end:
        if not dry_run:
            until_the_end.enter_context(DirectoryLock(log_dir))
        with locked(log_dir, in_place=not dry_run):  # the manager locks what it loads itself
            if (mark := _mark_that_stays(log_dir)) is not None:
                return Recovered([], [], [mark], [])
            directories = _partition_directories(log_dir)
            for other in sorted({directory.resolve().parent for directory in directories} - {log_dir.resolve()}):
                # Links may lead into the log directory of a broker that is running.
                until_the_end.enter_context(locked(other, in_place=not dry_run))
            for directory in directories:
                if not follow_links:
                    require_no_link(directory)
                if settings.may_be_tiered:
                    require_no_remote_tier(directory, settings.config_of(parse_topic_partition_name(directory).topic))
                if not dry_run:
                    require_files_for_owner(directory)
                    require_nothing_to_undo_there(directory)
            if not dry_run and directories:
                until_the_end.enter_context(as_readable_as_segments(directories[0]))
            if not dry_run:
                take_back(log_dir, directories, follow_links=follow_links)
            require_descriptors(log_dir, SPARE_DESCRIPTORS)  # a rehearsal without any could not even clear up
            _require_own_files(log_dir, follow_links=follow_links)
            files = {}
            for directory in directories:
                with DirectoryLock(directory):  # the log locks what it loads itself
                    files[directory] = require_files(directory, follow_links=follow_links, in_place=not dry_run)
                if not dry_run:
                    require_room(directory, 0)
            if clean is None:
                clean = CleanShutdownFileHandler(log_dir).exists()
            outcomes = _rehearsed(log_dir, files, settings, now_ms, clean, in_place=not dry_run)
        offline, refused = _failures(outcomes)
        refused += _of_snapshots(log_dir)
        offline += _damaged_checkpoints(log_dir)
        if offline or refused:
            return Recovered([], [], offline, refused)
        place = until_the_end.enter_context(_place(log_dir, files, dry_run=dry_run))
        expected = {directory: expected_of(outcome, _to_be_noted(outcome)) for directory, outcome in outcomes.items()}
        with (
            _managed(place, settings, now_ms) as manager,
            nullcontext() if dry_run else undoable(log_dir, files, expected, takes_mark=False),
        ):
            _set_mark(place, clean)
            return _start_and_stop(manager, place, directories)


def _require_own_broker(log_dir: Path, settings: Mapping[str, str]) -> None:
    """Raises RuntimeException if the log directory is that of a broker with another id.

    Kafka: `MetaPropertiesEnsemble.verify`.
    """
    given, stored = settings.get("node.id", settings.get("broker.id", "")).strip(), node_id_in(log_dir)
    if given and stored and stored != str(parse_int(given)):
        raise RuntimeException(
            f"Stored node id {stored} doesn't match previous node id {given} in {log_dir}. If you moved your data, "
            "make sure your configured node id matches."
        )


def _require_own_files(log_dir: Path, *, follow_links: bool) -> None:
    """Try the files that belong to no partition: those that a start reads, and those that a stop writes.

    The mark of a clean stop may be anything, as a start deletes it; but a stop would write through a link. Raises
    OSError, and what `_meta_properties` raises.
    """
    meta_properties_in(log_dir)
    for name in (RECOVERY_POINT_CHECKPOINT_FILE, LOG_START_OFFSET_CHECKPOINT_FILE):
        require_replaceable(log_dir / name, follow_links=follow_links)
    marker = log_dir / CLEAN_SHUTDOWN_FILE_NAME
    if marker.is_symlink():
        require_regular(marker, follow_links=follow_links)


def _mark_that_stays(log_dir: Path) -> Refusal | None:
    """A mark of a clean stop that no start can delete, a directory that is not empty: Kafka goes on without the log
    directory. Raises OSError.
    """
    marker = log_dir / CLEAN_SHUTDOWN_FILE_NAME
    if marker.is_symlink() or not marker.is_dir() or not any(marker.iterdir()):
        return None
    return Refusal(marker.name, f"DirectoryNotEmptyException: {marker}")


def _partition_directories(log_dir: Path) -> list[Path]:
    """The directories that a start loads. Raises OSError, KafkaException, IllegalStateException."""
    directories = []
    for directory, partition in partition_directories(log_dir, stop_at_os_errors=True):
        require_storable(partition)
        directories.append(directory)
    for directory, first in duplicates(directories).items():
        raise IllegalStateException(
            f"Duplicate log directories found: {directory} is a second one, beside {first.name}"
        )
    return directories


def _damaged_checkpoints(log_dir: Path) -> list[Refusal]:
    """The checkpoints that would take the directory offline. Raises OSError for one that cannot be read."""
    refusals = []
    for name in (RECOVERY_POINT_CHECKPOINT_FILE, LOG_START_OFFSET_CHECKPOINT_FILE):
        if (log_dir / name).exists():
            try:
                read_checkpoint(log_dir / name)
            except KafkaStorageException as error:
                refusals.append(Refusal(name, describe(error)))
            except ValueError:
                pass  # a field is not a number: Kafka treats the file as empty
    return refusals


def _rehearsed(
    log_dir: Path,
    files: Mapping[Path, list[Path]],
    settings: Settings,
    now_ms: int,
    last_stop_clean: bool,
    *,
    in_place: bool,
) -> dict[Path, Outcome]:
    """What a start would make of each partition. Raises OSError if the machine refuses what one of them needs, or all
    together.
    """
    recovery_points = checkpointed_offsets(log_dir / RECOVERY_POINT_CHECKPOINT_FILE)
    log_start_offsets = checkpointed_offsets(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE)
    outcomes, needs = {}, []
    total = sum(file.stat().st_size for of_one in files.values() for file in of_one)
    with progress_bar("check", total) as advance:
        for directory, of_one in files.items():
            partition = parse_topic_partition_name(directory)
            config, recovery_point = settings.config_of(partition.topic), recovery_points.get(partition, 0)
            needs.append(
                needs_of(
                    of_one,
                    config,
                    recovery_point=recovery_point,
                    last_shutdown_clean=last_stop_clean,
                    in_place=in_place,
                    read=False,
                )
            )
            next_start = NextStart(
                *(last_stop_clean, recovery_point, log_start_offsets.get(partition, 0), config, now_ms),
                producers=settings.producers,
            )
            with naming(directory):
                outcomes[directory] = Rehearsal(directory, of_one, next_start).run()
            advance(sum(file.stat().st_size for file in of_one))
    of_all = Needs.of_all(needs)
    require_room(log_dir if in_place else Path(tempfile.gettempdir()), of_all.room, of_all.longest)
    require_descriptors(log_dir, of_all.descriptors + SPARE_DESCRIPTORS)
    indexes = sum(2 * each.longest for each in needs)
    require_address_space(log_dir, indexes + settings.threads * _ADDRESSES_OF_A_THREAD)
    return outcomes


def _to_be_noted(outcome: Outcome) -> dict[str, int]:
    """The offsets of the partition that a stop writes into the checkpoints."""
    offsets = {
        RECOVERY_POINT_CHECKPOINT_FILE: outcome.log_end_offset,
        LOG_START_OFFSET_CHECKPOINT_FILE: outcome.log_start_offset,
    }
    return {name: offset for name, offset in offsets.items() if offset is not None}


def _failures(outcomes: Mapping[Path, Outcome]) -> tuple[list[Refusal], list[Refusal]]:
    """Which loads would fail: those that would take the log directory offline, and those that would end the start."""
    offline, refused = [], []
    for directory, outcome in outcomes.items():
        if outcome.error is not None:
            refusal = Refusal(directory.name, f"{outcome.error}: {outcome.message}")
            (offline if outcome.error in _OFFLINE else refused).append(refusal)
    return offline, refused


def _of_snapshots(log_dir: Path) -> Iterator[Refusal]:
    """That the start ends at the snapshots beside the metadata log, which no log manager loads."""
    metadata = log_dir / CLUSTER_METADATA_DIRECTORY
    if metadata.is_dir():
        try:
            require_snapshots(metadata)
        except (RuntimeError, ValueError, IndexError) as error:
            yield Refusal(metadata.name, describe(error))


@contextmanager
def _place(log_dir: Path, files: Mapping[Path, list[Path]], *, dry_run: bool) -> Iterator[Path]:
    """The log directory, or a copy of what a start reads of it. Raises IOException when there is no room for a copy."""
    if not dry_run:
        yield log_dir
        return
    with ExitStack() as until_the_end:
        scratch = until_the_end.enter_context(scratch_directory("minikafka-recover-"))
        own = [path for path in log_dir.iterdir() if path.is_file() and not path.is_symlink()]
        size = sum(file.stat().st_size for of_one in (own, *files.values()) for file in of_one)
        free = shutil.disk_usage(scratch).free
        if size > free:
            raise IOException(
                f"No space left on device: a copy of {log_dir} takes {size} bytes, {tempfile.gettempdir()} has {free};"
                " TMPDIR may name another place"
            )
        copy = scratch / log_dir.name
        for directory, of_one in {log_dir: own, **files}.items():
            target = copy if directory == log_dir else copy / directory.name
            target.mkdir()
            for file in of_one:
                with naming(file):
                    shutil.copy2(file, target / file.name)
        yield copy


def _set_mark(place: Path, clean: bool) -> None:
    """Let the mark say how the last stop was: that was told, or a copy lacks a mark that is no file."""
    marker = CleanShutdownFileHandler(place)
    if not clean:
        marker.delete()
    elif not marker.exists():
        marker.write()


@contextmanager
def _managed(place: Path, settings: Settings, now_ms: int) -> Iterator[LogManager]:
    """A manager that has locked the log directory, and made those of its checkpoints that were missing, empty.

    If it cannot be made, or the block fails, the checkpoints that are still empty are deleted, and the manager lets go
    of the directory; a `.lock` that was not there goes, too. Raises KafkaException.
    """
    lock_file = place / LOCK_FILE_NAME
    had_lock_file = os.path.lexists(lock_file)
    missing = [place / name for name in CHECKPOINTS if not os.path.lexists(place / name)]
    manager = None
    try:
        manager = _manager(place, settings, now_ms)
        yield manager
    except BaseException:
        for file in missing:
            with suppress(OSError):  # what has failed is to be told, not this
                if file.stat().st_size == 0:
                    file_ops.delete_if_exists(file)
        if manager is not None:
            manager.let_go()
        if not had_lock_file and os.path.lexists(lock_file):
            with suppress(OSError):
                if (lock := FileLock.taken(lock_file)) is not None:  # else it is somebody else's by now
                    lock.destroy()
        raise


def _manager(place: Path, settings: Settings, now_ms: int) -> LogManager:
    clock = ManualTime(now_ms)
    return LogManager(
        [place],
        config_repository=MapConfigRepository(settings.topics),
        initial_default_config=LogConfig(settings.default),
        scheduler=ManualScheduler(clock),
        time=clock,
        cleaner_config=CleanerConfig(num_threads=0),  # makes its checkpoint, and cleans nothing
        recovery_threads_per_data_dir=settings.threads,
        producer_state_manager_config=settings.producers,
        stop_at_os_errors=True,
    )


def _start_and_stop(manager: LogManager, place: Path, directories: list[Path]) -> Recovered:
    scheduler = manager.scheduler
    topics = sorted({parse_topic_partition_name(directory).topic for directory in directories})
    with progress_bar("load", sum(_log_bytes(place / each.name) for each in directories)) as advance:

        def loaded(log) -> bool:
            advance(log.size)
            return False  # no partition counts as stray

        manager.startup(topics, loaded)
    scheduler.run_due_tasks()
    if manager.log_dir_failure_channel.has_offline_log_dir(place):
        raise IOException(f"{place} went offline while it was loaded")
    logs = sorted(manager.current_logs.values(), key=lambda log: log.topic_partition)
    states = [state_of(log) for log in logs]
    put_aside = sorted(each.name for each in directories if each.name.endswith((*PUT_ASIDE, FUTURE_DIR_SUFFIX)))
    scheduler.shutdown()
    manager.shutdown()
    if manager.log_dir_failure_channel.has_offline_log_dir(place):
        raise IOException(f"{place} went offline while it was closed")
    marker = CleanShutdownFileHandler(place)
    if marker.read() is None:  # a manager only logs that, and may leave an empty mark, which counts as one
        raise IOException(f"{marker.clean_shutdown_file} could not be written")
    return Recovered(states, put_aside, [], [])


def _log_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.glob("*.log"))


def topic_configs_of(given: tuple[str, ...], log_dir: Path) -> dict[str, dict[str, object]]:
    """Settings given as topic:name=value; warns of a name that Kafka does not have.

    Raises ConfigException for a value that no topic can have, IllegalArgumentException for what is no setting and for a
    topic without a partition in the log directory, and what `partition_directories` raises.
    """
    topics: dict[str, dict[str, object]] = {}
    for text in given:
        topic, colon, setting = text.partition(":")
        name, equals, value = setting.partition("=")
        if not (topic and colon and equals):
            raise IllegalArgumentException(f"--topic-config takes a setting as topic:name=value, not {text!r}")
        topics.setdefault(topic, {})[name] = value
    there = {each.topic for _, each in partition_directories(log_dir, stop_at_os_errors=True)} if topics else set()
    for topic, settings in topics.items():
        if topic not in there:
            raise IllegalArgumentException(
                f"--topic-config: there is no topic {topic} in {log_dir}{nearest(topic, there)}"
            )
        warn_of_unknown_names(settings)
        LogConfig(settings)
    return topics
