"""What tells a log from what it was before: whether anybody has used it since."""

import hashlib
from pathlib import Path

from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX, SWAP_FILE_SUFFIX

_OF_RECORDS_OR_ID = (LOG_FILE_SUFFIX, LOG_FILE_SUFFIX + SWAP_FILE_SUFFIX, PARTITION_METADATA_FILE_NAME)


def state_of(partition_dir: Path) -> str:
    """A digest of the names, sizes and times of change of the files with the log's records and with the topic's id.

    A start and a stop of a broker between which no record came or went leave it the same, and so does a rename of the
    directory. Raises OSError.
    """
    told = hashlib.sha256()
    for file in sorted(partition_dir.iterdir()):
        if file.name.endswith(_OF_RECORDS_OR_ID):
            status = file.lstat()
            told.update(f"{file.name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return told.hexdigest()
