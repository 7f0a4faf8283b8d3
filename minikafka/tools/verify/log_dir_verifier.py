"""What `minikafka verify` looks at beside partitions: which of them a directory holds, and a log directory's files."""

import os
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME, CleanShutdownFileHandler
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
from minikafka.common.errors import KafkaException, KafkaStorageException, RuntimeException
from minikafka.common.file_kind import kind_of
from minikafka.common.topic import CLUSTER_METADATA_TOPIC_NAME
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_lock import LogDirLock
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import FUTURE_DIR_SUFFIX
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.log.manager.log_dir_checkpoints import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.log.partition_files import require_regular
from minikafka.messages.cluster_metadata import FeatureLevelRecord
from minikafka.messages.framed_message import read_framed
from minikafka.metadata.metadata_version import METADATA_VERSION
from minikafka.record.files.file_records import FileRecords
from minikafka.tools.checkpoints import checkpointed_offsets, read_checkpoint
from minikafka.tools.dump_log.cluster_messages import METADATA_DIRECTORY
from minikafka.tools.dump_log.dump_log_segments import BOOTSTRAP_SNAPSHOT_NAME
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.interrupted_work import InterruptedWork, interrupted_work, is_mark
from minikafka.tools.log_dir_entries import (
    PUT_ASIDE,
    STRAY,
    duplicates,
    duplicates_beside,
    has_name_of_partition,
    is_mark_of_write,
    is_stray,
    may_be_partition,
    neither,
    second_directory,
)
from minikafka.tools.read_bounded import require_bounded
from minikafka.tools.recover.cluster_settings import ClusterSettings, cluster_settings_in, node_id_in
from minikafka.tools.verify.findings import NO_START, Fate, Finding, NextStart
from minikafka.tools.verify.partition_verifier import PartitionVerifier

_OFFLINE = Fate.OFFLINE, "the directory goes offline"
_CHECKPOINTS = {
    RECOVERY_POINT_CHECKPOINT_FILE: (Fate.WARNED_OF, "a warning is logged and every recovery point is taken as 0"),
    LOG_START_OFFSET_CHECKPOINT_FILE: (
        Fate.WARNED_OF,
        "a warning is logged and every log starts at its first segment",
    ),
    HIGH_WATERMARK_CHECKPOINT_FILE: (Fate.STAYS, "it stays, and the partitions take no records"),
    CLEANER_OFFSET_CHECKPOINT_FILE: (Fate.STAYS, "it stays, and the threads of the cleaner end"),
}
"""What becomes of an entry with a field that is not a number, and of a negative count.

Any other damage is an IOException in Kafka, which takes the directory offline.
"""


def is_looked_at(name: str) -> bool:
    """Whether a file of that name in a log directory, beside its partitions, is looked at."""
    return name in (*_CHECKPOINTS, META_PROPERTIES_NAME) or is_mark(name)


def partitions_of(directory: Path, report: Callable[[Finding], None], unread: Callable[[str], None]) -> list[Path]:
    """The partition directories that `directory` stands for: itself, or all those of a log directory.

    The files of a log directory itself are checked. Raises OSError, and IllegalArgumentException for neither of both.
    """
    if not directory.is_dir():
        raise FileNotFoundError(2, "no such directory", str(directory))
    if has_name_of_partition(directory) and _is_partition(directory):
        return [directory]
    _verify_log_dir(directory, report, unread)
    partitions, named, strays = [], [], []
    for name in sorted(os.listdir(directory)):
        path = directory / name
        try:
            if may_be_partition(path):
                named.append(path)
                if _is_partition(path):
                    partitions.append(path)
            elif is_stray(path):
                strays.append(path)
        except OSError as error:
            unread(describe(error))
    _report_second(duplicates(named), report)
    if (directory / METADATA_DIRECTORY).is_dir():
        _report_second(_moved_within(named), report)
    is_written = any(is_mark_of_write(path.name) for path in directory.iterdir())
    if not partitions and not is_written and not (directory / META_PROPERTIES_NAME).exists():
        raise neither(directory)
    for path in strays:
        report(Finding(path, None, None, STRAY, *NO_START))
    return partitions


def report_beside(partitions: Iterable[Path], report: Callable[[Finding], None], unread: Callable[[str], None]) -> None:
    """Report what lies beside these partition directories, which were given one by one, and concerns them: another
    directory of the same partition, and a mark of work that is half done.
    """
    partitions = list(partitions)
    _report_second(duplicates_beside(partitions), report)
    for log_dir in sorted({Path(os.path.abspath(partition)).parent for partition in partitions}):
        beside = [each for partition in partitions if (each := Path(os.path.abspath(partition))).parent == log_dir]
        found = interrupted_work(log_dir, unread)
        _report_interrupted((work for work in found if any(map(work.concerns, beside))), report)


def _report_second(found: dict[Path, Path], report: Callable[[Finding], None]) -> None:
    for path, first in found.items():
        report(Finding(path, None, None, second_directory(first), *NO_START))


def _moved_within(directories: Iterable[Path]) -> dict[Path, Path]:
    """Future logs beside the current ones, which belong into another log directory; each with the current one.

    Kafka: `LogManager.recoverAbandonedFutureLogs`, which takes such a log for the current one, and finds that there.
    """
    named = [(parse_topic_partition_name(each), each) for each in directories if not each.name.endswith(PUT_ASIDE)]
    current = {name: each for name, each in named if not each.name.endswith(FUTURE_DIR_SUFFIX)}
    return {each: current[name] for name, each in named if name in current and each is not current[name]}


def _report_interrupted(found: Iterable[InterruptedWork], report: Callable[[Finding], None]) -> None:
    for work in found:
        next_start = "it stays, and what stands there is taken as it stands"
        report(Finding(work.file, None, None, work.what, Fate.STAYS, next_start))


def _is_partition(directory: Path) -> bool:
    """True if it contains a file of a partition, or cannot be listed."""
    try:
        names = os.listdir(directory)
    except PermissionError:
        return True
    return any(name.endswith((".log", ".swap", ".deleted")) or name == "partition.metadata" for name in names)


def _verify_log_dir(log_dir: Path, report: Callable[[Finding], None], unread: Callable[[str], None]) -> None:
    for name, fate in _CHECKPOINTS.items():
        _verify_file(log_dir / name, read_checkpoint, fate, report, unread)
    _verify_files_of_a_start(log_dir, report, unread)
    _verify_marker(log_dir / CLEAN_SHUTDOWN_FILE_NAME, report)
    _report_interrupted(interrupted_work(log_dir, unread), report)


def _verify_files_of_a_start(log_dir: Path, report: Callable[[Finding], None], unread: Callable[[str], None]) -> None:
    """Those without which no broker starts. Kafka: `KafkaRaftServer.initializeLogDirs`."""
    _verify_file(log_dir / META_PROPERTIES_NAME, _read_meta_properties, NO_START, report, unread)
    if (log_dir / METADATA_DIRECTORY).is_dir():
        _verify_file(log_dir / BOOTSTRAP_SNAPSHOT_NAME, _read_bootstrap, NO_START, report, unread)


def _verify_marker(marker: Path, report: Callable[[Finding], None]) -> None:
    """Kafka asks only whether it is there, and deletes whatever it is. Kafka: `LogManager.loadLogs`."""
    if marker.is_symlink() or not marker.exists() or marker.is_file():
        return
    what = f"is {kind_of(marker)}, and stands for the mark of a clean stop"
    if marker.is_dir() and any(marker.iterdir()):
        fate, next_start = (
            Fate.OFFLINE,
            "it cannot be deleted (DirectoryNotEmptyException), and the directory goes offline",
        )
    else:
        fate, next_start = Fate.DELETED, "it is deleted, and nothing is recovered"
    report(Finding(marker, None, None, what, fate, next_start))


def _verify_file(
    file: Path,
    read: Callable[[Path], object],
    fate: tuple[Fate, str],
    report: Callable[[Finding], None],
    unread: Callable[[str], None],
) -> None:
    try:
        if os.path.lexists(file):
            read(file)
    except (OSError, MemoryError) as error:
        unread(describe(error))
    except KafkaStorageException as error:
        report(Finding(file, None, None, describe(error), *_OFFLINE))
    except (RuntimeError, ValueError) as error:
        report(Finding(file, None, None, describe(error), *fate))


def _read_meta_properties(file: Path) -> None:
    require_regular(file, follow_links=True)
    properties = MetaProperties.read(require_bounded(file))
    if properties.cluster_id is None and (file.parent / METADATA_DIRECTORY).is_dir():
        raise KafkaException("cluster.id was not found.")


def _read_bootstrap(file: Path) -> None:
    """Checksums are not compared. Kafka: `BootstrapDirectory.readFromBinaryFile`, `BootstrapMetadata.fromRecords`."""
    require_regular(file, follow_links=True)
    records = FileRecords.open(require_bounded(file), mutable=False)
    try:
        batches = [batch for batch in records.batches() if not batch.is_control_batch]
        messages = [read_framed("cluster-metadata", record.value)[2] for batch in batches for record in batch]
    finally:
        records.close_handlers()
    if not any(isinstance(each, FeatureLevelRecord) and each.name == METADATA_VERSION for each in messages):
        raise RuntimeException(f"No FeatureLevelRecord for {METADATA_VERSION} was found in {file}")


def what_ends_a_start(log_dir: Path, known: "LogDir") -> list[Finding]:
    """What stands in a log directory, beside its partitions, with which no broker starts there. Raises OSError."""
    metadata = log_dir / METADATA_DIRECTORY
    if not metadata.is_dir():
        return []
    found: list[Finding] = []
    _verify_files_of_a_start(log_dir, found.append, lambda line: None)
    next_start = known.next_start_of(metadata, LogConfig({}))
    PartitionVerifier(metadata, next_start, report=found.append, unread=lambda line: None).verify()
    return [finding for finding in found if finding.fate in (Fate.OFFLINE, Fate.LOAD_FAILS)]


class LogDir:
    """What the files of a log directory say about its partitions: how Kafka will load them.

    A damaged checkpoint counts as empty, as in Kafka. A metadata log that cannot be read says nothing about topics;
    what is wrong with it is found when it is verified itself.
    """

    def __init__(self, directory: Path):
        """Raises OSError when one of the files cannot be read, and KafkaException where a broker is running: what it is
        writing would look like damage.
        """
        LogDirLock(directory, shared=True, changes=False).release()
        self._clean = CleanShutdownFileHandler(directory).exists()
        self._recovery_points = checkpointed_offsets(directory / RECOVERY_POINT_CHECKPOINT_FILE)
        self._log_start_offsets = checkpointed_offsets(directory / LOG_START_OFFSET_CHECKPOINT_FILE)
        self._cluster = _cluster_settings(directory)
        self._node_id = _node_id_of(directory)
        self._noted = {
            RECOVERY_POINT_CHECKPOINT_FILE: self._recovery_points,
            HIGH_WATERMARK_CHECKPOINT_FILE: checkpointed_offsets(directory / HIGH_WATERMARK_CHECKPOINT_FILE),
            CLEANER_OFFSET_CHECKPOINT_FILE: checkpointed_offsets(directory / CLEANER_OFFSET_CHECKPOINT_FILE),
        }

    def noted_of(self, partition: Path) -> dict[str, int]:
        """What the checkpoints say of the partition, by their names, but for the log start offset.

        Nothing for a directory that is put aside, or is to become the partition's.
        """
        partition = Path(os.path.abspath(partition))
        if partition.name.endswith((*PUT_ASIDE, FUTURE_DIR_SUFFIX)):
            return {}
        of = parse_topic_partition_name(partition)
        return {name: offsets[of] for name, offsets in self._noted.items() if of in offsets}

    def next_start_of(self, partition: Path, config: LogConfig) -> NextStart:
        """How Kafka will load the partition; `config` has the settings of its topic that were given.

        Below them count those in the metadata log of the log directory. What neither names is the broker's, which
        stands in no file of the directory.
        """
        topic_partition = parse_topic_partition_name(Path(os.path.abspath(partition)))
        settings = {} if self._cluster is None else self._cluster.topics.get(topic_partition.topic, {})
        config = LogConfig.from_props(settings, config.props)
        is_metadata_log = topic_partition.topic == CLUSTER_METADATA_TOPIC_NAME  # Kafka: `KafkaRaftLog.createLog`
        return NextStart(
            self._clean and not is_metadata_log,
            0 if is_metadata_log else self._recovery_points.get(topic_partition, 0),
            0 if is_metadata_log else self._log_start_offsets.get(topic_partition, 0),
            config,
            time.time_ns() // 1_000_000,
            why_stray=self.why_stray(partition),
        )

    def why_stray(self, partition: Path) -> str | None:
        """Why a broker that starts here puts the partition's directory aside as a stray; None where it does not, or
        nobody knows. Kafka: `LogManager.addLog`.
        """
        if self._cluster is None or not self._node_id or partition.name.endswith(PUT_ASIDE):
            return None
        topic_partition = parse_topic_partition_name(Path(os.path.abspath(partition)))
        if topic_partition.topic == CLUSTER_METADATA_TOPIC_NAME:
            return None
        file = PartitionMetadataFile.new_file(partition)
        topic_id = None
        try:
            if os.path.lexists(file):
                require_regular(file, follow_links=True)
                topic_id = PartitionMetadataFile(file).read().topic_id
        except TOLD:  # the load fails
            return None
        return self._cluster.why_stray(topic_id, topic_partition.partition, self._node_id)


def _cluster_settings(log_dir: Path) -> ClusterSettings | None:
    """What its metadata log says; None where there is no such log, or it is damaged."""
    try:
        return cluster_settings_in(log_dir)
    except TOLD:
        return None


def _node_id_of(log_dir: Path) -> str:
    """The number of its broker, "" where nobody knows."""
    try:
        return node_id_in(log_dir)
    except TOLD:
        return ""


def allow_many_open_files() -> None:
    """Raise the limit of open files: a load holds every segment open, maybe more than the soft limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
