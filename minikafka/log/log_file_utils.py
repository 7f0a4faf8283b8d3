"""Names of the files in a partition's directory.

A file's name begins with a base offset of at least 20 digits, so that names sort as numbers do. The suffix of a state
(`.cleaned`, `.swap`, `.deleted`) is appended to the whole name. Kafka: `LogFileUtils`.
"""

from pathlib import Path

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.java.java_file_names import name_in_java
from minikafka.common.java.java_numbers import parse_long

LOG_FILE_SUFFIX = ".log"
INDEX_FILE_SUFFIX = ".index"
TIME_INDEX_FILE_SUFFIX = ".timeindex"
TXN_INDEX_FILE_SUFFIX = ".txnindex"
PRODUCER_SNAPSHOT_FILE_SUFFIX = ".snapshot"

DELETED_FILE_SUFFIX = ".deleted"
CLEANED_FILE_SUFFIX = ".cleaned"
SWAP_FILE_SUFFIX = ".swap"

DELETE_DIR_SUFFIX = "-delete"
FUTURE_DIR_SUFFIX = "-future"
STRAY_DIR_SUFFIX = "-stray"


def filename_prefix_from_offset(offset: int) -> str:
    """`offset` as it stands in names of files. Kafka: `LogFileUtils.filenamePrefixFromOffset`."""
    return f"{offset:020d}" if offset >= 0 else f"-{-offset:020d}"


def log_file(directory: Path, offset: int, suffix: str = "") -> Path:
    """The path of a segment's batches. Kafka: `LogFileUtils.logFile`."""
    return directory / (filename_prefix_from_offset(offset) + LOG_FILE_SUFFIX + suffix)


def offset_index_file(directory: Path, offset: int, suffix: str = "") -> Path:
    """The path of a segment's offset index. Kafka: `LogFileUtils.offsetIndexFile`."""
    return directory / (filename_prefix_from_offset(offset) + INDEX_FILE_SUFFIX + suffix)


def time_index_file(directory: Path, offset: int, suffix: str = "") -> Path:
    """The path of a segment's time index. Kafka: `LogFileUtils.timeIndexFile`."""
    return directory / (filename_prefix_from_offset(offset) + TIME_INDEX_FILE_SUFFIX + suffix)


def transaction_index_file(directory: Path, offset: int, suffix: str = "") -> Path:
    """The path of a segment's transaction index. Kafka: `LogFileUtils.transactionIndexFile`."""
    return directory / (filename_prefix_from_offset(offset) + TXN_INDEX_FILE_SUFFIX + suffix)


def producer_snapshot_file(directory: Path, offset: int) -> Path:
    """The path of the snapshot of producers before `offset`, exclusive. Kafka: `LogFileUtils.producerSnapshotFile`."""
    return directory / (filename_prefix_from_offset(offset) + PRODUCER_SNAPSHOT_FILE_SUFFIX)


def offset_from_file_name(name: str) -> int:
    """The number before the first dot of `name`.

    Raises NumberFormatException when that is no number, and IllegalArgumentException without a dot.
    Kafka: `LogFileUtils.offsetFromFileName`.
    """
    number, dot, _ = name.partition(".")
    if not dot:
        raise IllegalArgumentException(f"{name} has no dot after an offset")
    return parse_long(number)


def offset_from_file(file: Path) -> int:
    """The offset in a file's name. Kafka: `LogFileUtils.offsetFromFile`."""
    return offset_from_file_name(name_in_java(file.name))


def is_log_file(file: Path) -> bool:
    """True for the batches of a segment. Kafka: `LogFileUtils.isLogFile`."""
    return file.name.endswith(LOG_FILE_SUFFIX)


def is_index_file(file: Path) -> bool:
    """True for an index of any of the three kinds. Kafka: `LogFileUtils.isIndexFile`."""
    return file.name.endswith((INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX))


def replace_suffix(file: Path, old_suffix: str, new_suffix: str) -> Path:
    """`file` with `new_suffix` in place of `old_suffix`, with which its name must end.

    Raises IllegalArgumentException. Kafka: `Utils.replaceSuffix`.
    """
    if not file.name.endswith(old_suffix):
        raise IllegalArgumentException(f"Expected string to end with '{old_suffix}' but string is '{file}'")
    return file.with_name(file.name[: len(file.name) - len(old_suffix)] + new_suffix)
