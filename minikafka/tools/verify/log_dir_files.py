"""What `minikafka verify` asks of the files in a log directory that belong to no partition."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.common.errors import KafkaException, KafkaStorageException, RuntimeException
from minikafka.common.file_kind import kind_of
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.log.partition_files import require_regular
from minikafka.messages.cluster_metadata import FeatureLevelRecord
from minikafka.messages.framed_message import read_framed
from minikafka.metadata.metadata_version import METADATA_VERSION
from minikafka.record.files.file_records import FileRecords
from minikafka.tools.checkpoints import read_checkpoint
from minikafka.tools.dump_log.dump_log_segments import BOOTSTRAP_SNAPSHOT_NAME
from minikafka.tools.failure import describe
from minikafka.tools.interrupted_work import InterruptedWork, interrupted_work, is_mark
from minikafka.tools.read_bounded import require_bounded
from minikafka.tools.verify.findings import NO_START, Fate, Finding

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


def verify_files_of_log_dir(log_dir: Path, report: Callable[[Finding], None], unread: Callable[[str], None]) -> None:
    """Report what is wrong with the files of a log directory; `unread` is told of what cannot be read."""
    for name, fate in _CHECKPOINTS.items():
        _verify_file(log_dir / name, read_checkpoint, fate, report, unread)
    verify_files_of_a_start(log_dir, report, unread)
    _verify_marker(log_dir / CLEAN_SHUTDOWN_FILE_NAME, report)
    report_interrupted(interrupted_work(log_dir, unread), report)


def verify_files_of_a_start(log_dir: Path, report: Callable[[Finding], None], unread: Callable[[str], None]) -> None:
    """Report what is wrong with those without which no broker starts. Kafka: `KafkaRaftServer.initializeLogDirs`."""
    _verify_file(log_dir / META_PROPERTIES_NAME, _read_meta_properties, NO_START, report, unread)
    if (log_dir / CLUSTER_METADATA_DIRECTORY).is_dir():
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
    if properties.cluster_id is None and (file.parent / CLUSTER_METADATA_DIRECTORY).is_dir():
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


def report_interrupted(found: Iterable[InterruptedWork], report: Callable[[Finding], None]) -> None:
    """Report marks of work that is half done."""
    for work in found:
        next_start = "it stays, and what stands there is taken as it stands"
        report(Finding(work.file, None, None, work.what, Fate.STAYS, next_start))
