"""One `.snapshot` file: its place, and how it is read, written and deleted.

On disk: an int16 version (1), the CRC-32C of everything behind it (uint32), an int32 number of entries, and 46 bytes
for each producer, in the order of Java's HashMap:

    int64 producer id | int16 epoch | int32 last sequence | int64 last offset | int32 offset delta | int64 timestamp |
    int32 coordinator epoch | int64 first offset of the open transaction        (each -1 where there is none)
"""

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from struct import Struct

from minikafka.common import file_ops
from minikafka.common.at_hand import crc32c
from minikafka.common.bounded_file import MAX_ARRAY_SIZE, require_size
from minikafka.common.errors import CorruptSnapshotException
from minikafka.common.file_kind import leads_to_file
from minikafka.common.sorted_map import SortedMap
from minikafka.log.log_file_utils import DELETED_FILE_SUFFIX, PRODUCER_SNAPSHOT_FILE_SUFFIX, offset_from_file
from minikafka.log.producer.producer_state_entry import BatchMetadata, ProducerStateEntry

logger = logging.getLogger(__name__)

SNAPSHOT_VERSION = 1
_HEADER = Struct(">hIi")
_CRC_START = 6
_CHUNK = 1 << 20
_ENTRY = Struct(">qhiqiqiq")


class SnapshotFile:
    """The producer snapshot at `offset`: the state of all producers before that offset, in `file`.

    Kafka: `SnapshotFile`.
    """

    __slots__ = ("file", "offset")

    def __init__(self, file: Path, offset: int | None = None):
        self.file = file
        self.offset = offset_from_file(file) if offset is None else offset

    def delete_if_exists(self) -> bool:
        """Delete the file; False if there was none. Kafka: `SnapshotFile.deleteIfExists`."""
        deleted = file_ops.delete_if_exists(self.file)
        if deleted:
            logger.info("Deleted producer state snapshot %s", self.file)
        else:
            logger.info("Failed to delete producer state snapshot %s because it does not exist.", self.file)
        return deleted

    def update_parent_dir(self, parent_dir: Path) -> None:
        """Note that the partition's directory was renamed. Kafka: `SnapshotFile.updateParentDir`."""
        self.file = parent_dir / self.file.name

    def rename_to_delete(self) -> None:
        """Append `.deleted` to the file's name. Raises `FileNotFoundError`. Kafka: `SnapshotFile.renameToDelete`."""
        renamed = self.file.with_name(self.file.name + DELETED_FILE_SUFFIX)
        try:
            file_ops.atomic_move_with_fallback(self.file, renamed, need_flush_parent_dir=False)
        finally:
            self.file = renamed

    def __repr__(self) -> str:
        return f"SnapshotFile(offset={self.offset}, file={self.file})"


def read_snapshot(file: Path) -> list[ProducerStateEntry]:
    """The entries of a snapshot file, in the file's order.

    Raises `CorruptSnapshotException` for an unknown version, missing bytes or a wrong CRC, `OSError` when the file
    cannot be read, and `MemoryError` for more bytes than a Java array can have. Bytes after the last entry are ignored
    if the CRC covers them. Entries are read into memory only once the CRC is known to be right.
    Kafka: `ProducerStateManager.readSnapshot`.
    """
    with open(file, "rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        require_size(file, size, MAX_ARRAY_SIZE)
        header = opened.read(_HEADER.size)
        count = _announced_entries(header, size)
        stored_crc, computed_crc = _HEADER.unpack(header)[1], crc32c(header[_CRC_START:])
        while chunk := opened.read(_CHUNK):
            computed_crc = crc32c(chunk, computed_crc)
        if stored_crc != computed_crc:
            raise CorruptSnapshotException(
                f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {stored_crc}. Computed crc: {computed_crc}"
            )
        opened.seek(_HEADER.size)
        return [_entry(opened.read(_ENTRY.size)) for _ in range(count)]


def _announced_entries(header: bytes, size: int) -> int:
    """How many entries the header of a file of `size` bytes announces. Raises `CorruptSnapshotException`."""
    version = int.from_bytes(header[:2], "big", signed=True)
    if len(header) >= 2 and version != SNAPSHOT_VERSION:
        raise CorruptSnapshotException(
            f"Snapshot failed schema validation: Snapshot contained an unknown file version {version}"
        )
    if len(header) < _HEADER.size:
        raise CorruptSnapshotException("Snapshot failed schema validation: null")
    count: int = _HEADER.unpack(header)[2]
    remaining = size - _HEADER.size
    if count < 0:
        raise CorruptSnapshotException(
            "Snapshot failed schema validation: non-nullable field producerEntries was serialized as null"
        )
    if count > remaining:
        raise CorruptSnapshotException(
            f"Snapshot failed schema validation: Tried to allocate a collection of size {count}, "
            f"but there are only {remaining} bytes remaining."
        )
    if count * _ENTRY.size > remaining:
        raise CorruptSnapshotException("Snapshot failed schema validation: null")
    return count


def _entry(data: bytes) -> ProducerStateEntry:
    if len(data) < _ENTRY.size:  # the file was cut while it was read
        raise CorruptSnapshotException("Snapshot failed schema validation: null")
    producer_id, epoch, last_seq, last_offset, offset_delta, timestamp, coordinator_epoch, txn_first_offset = (
        _ENTRY.unpack(data)
    )
    current_txn_first_offset = txn_first_offset if txn_first_offset >= 0 else None
    entry = ProducerStateEntry(
        producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp=timestamp,
        current_txn_first_offset=current_txn_first_offset,
    )
    if last_offset >= 0:
        entry.add_batch(epoch, BatchMetadata(last_seq, last_offset, offset_delta, timestamp))
    return entry


def write_snapshot(file: Path, entries: Iterable[ProducerStateEntry], *, sync: bool) -> None:
    """Write a snapshot of `entries` in their order; `sync` forces it to the device.

    An existing file is overwritten without being truncated first: as in Kafka, a longer one keeps its tail, and then
    its CRC is wrong. Kafka: `ProducerStateManager.writeSnapshot`.
    """
    packed = [
        _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_seq,
            entry.last_data_offset,
            entry.last_offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
        )
        for entry in entries
    ]
    body = len(packed).to_bytes(4, "big") + b"".join(packed)
    header = SNAPSHOT_VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big")
    fd = file_ops.open_file(file)
    try:
        file_ops.write(fd, header + body, 0)
        if sync:
            file_ops.fsync(fd)
    finally:
        os.close(fd)


def list_snapshot_files(directory: Path) -> list[SnapshotFile]:
    """The snapshot files of a directory, in no particular order; none if the directory is missing.

    Raises `NumberFormatException` for a `.snapshot` file whose name is no offset.
    Kafka: `ProducerStateManager.listSnapshotFiles`.
    """
    if not directory.is_dir():
        return []
    with os.scandir(directory) as entries:
        return [
            SnapshotFile(directory / entry.name)
            for entry in entries
            if entry.name.endswith(PRODUCER_SNAPSHOT_FILE_SUFFIX) and leads_to_file(entry)
        ]


def load_snapshots(directory: Path) -> SortedMap[SnapshotFile]:
    """The snapshot files of a directory by offset; what is raised is what `list_snapshot_files` raises.

    Kafka: `ProducerStateManager.loadSnapshots`.
    """
    snapshots: SortedMap[SnapshotFile] = SortedMap()
    for snapshot in list_snapshot_files(directory):
        snapshots[snapshot.offset] = snapshot
    return snapshots
