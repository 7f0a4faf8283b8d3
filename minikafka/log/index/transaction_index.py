"""The aborted transactions of a segment."""

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from minikafka.common import file_ops
from minikafka.common.bounded_file import require_size
from minikafka.common.errors import (
    ClosedChannelException,
    CorruptIndexException,
    IllegalArgumentException,
    KafkaException,
)
from minikafka.log.fetch_data_info import AbortedTransaction
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.record.files.file_channel import FileChannel

_ENTRY = Struct(">bBqqqq")
TOTAL_SIZE = _ENTRY.size
"""Bytes of an entry. Kafka: `AbortedTxn.TOTAL_SIZE`."""
CURRENT_VERSION = 0
"""The only version of an entry. Kafka: `AbortedTxn.CURRENT_VERSION`."""
_CHUNK = 4096 * TOTAL_SIZE
_LARGEST_LIST = 2**21 * TOTAL_SIZE


class AbortedTxn(NamedTuple):
    """An aborted transaction: first offset, marker's offset (both inclusive), and the last stable offset after it.

    On disk it has 34 bytes: int16 version 0, then the other fields as int64. Only the first byte of the version is
    read; the second one stays as it is when a cleaner copies the entry. Kafka: `AbortedTxn`.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    version: int = CURRENT_VERSION
    second_byte: int = 0

    @staticmethod
    def of(completed_txn: CompletedTxn, last_stable_offset: int) -> "AbortedTxn":
        """The entry of `completed_txn`. Kafka: `AbortedTxn(CompletedTxn, long)`."""
        producer_id, first_offset, last_offset, _ = completed_txn
        return AbortedTxn(producer_id, first_offset, last_offset, last_stable_offset)

    @property
    def as_aborted_transaction(self) -> AbortedTransaction:
        """The two fields that a consumer gets. Kafka: `AbortedTxn.asAbortedTransaction`."""
        return AbortedTransaction(self.producer_id, self.first_offset)

    def encode(self) -> bytes:
        """The entry's 34 bytes."""
        return _ENTRY.pack(self.version, self.second_byte, *self[:4])

    def __str__(self) -> str:
        return (
            f"AbortedTxn(version={self.version}, producerId={self.producer_id}, firstOffset={self.first_offset},"
            f" lastOffset={self.last_offset}, lastStableOffset={self.last_stable_offset})"
        )


class TxnIndexSearchResult(NamedTuple):
    """Aborted transactions; `is_complete` when no later segment can have more. Kafka: `TxnIndexSearchResult`."""

    aborted_transactions: list[AbortedTxn]
    is_complete: bool


class TransactionIndex:
    """The `.txnindex` file of a segment: the transactions whose abort markers lie in it, in the order of the markers.

    The first entry makes the file, which grows with each entry and is never preallocated or trimmed. An entry torn by a
    crash is ignored. A new entry must have a larger last offset than the one before, but an entry from before the file
    was opened is not compared.

    Kafka: `TransactionIndex`.
    """

    def __init__(self, start_offset: int, file: Path, *, writable: bool = True):
        """Without `writable` the file is opened for reading, which needs no permission to write."""
        self._start_offset = start_offset
        self._writable = writable
        self.file = file
        self._channel: FileChannel | None = None
        self._end = 0
        self._last_offset: int | None = None
        if file.exists():
            self._open()

    def update_parent_dir(self, parent_dir: Path) -> None:
        """Note that the partition's directory was renamed. Kafka: `TransactionIndex.updateParentDir`."""
        self.file = parent_dir / self.file.name

    def append(self, aborted_txn: AbortedTxn) -> None:
        """Add an entry. Raises IllegalArgumentException unless its last offset is larger than the one before.

        Kafka: `TransactionIndex.append`.
        """
        if self._last_offset is not None and self._last_offset >= aborted_txn.last_offset:
            raise IllegalArgumentException(
                f"The last offset of appended transactions must increase sequentially, but {aborted_txn.last_offset}"
                f" is not greater than current last offset {self._last_offset} of index {self.file.absolute()}"
            )
        self._last_offset = aborted_txn.last_offset
        channel = self._open() if self._channel is None else self._channel
        self._end += channel.write(aborted_txn.encode(), self._end)

    def flush(self) -> None:
        """Force the entries to the device. Kafka: `TransactionIndex.flush`."""
        if (channel := self._channel) is not None:
            channel.force()

    def reset(self) -> None:
        """Remove all entries; an existing file stays and is empty. Kafka: `TransactionIndex.reset`."""
        if self._channel is not None:
            self._truncate(self._channel, 0)
        self._last_offset = None

    def close(self) -> None:
        """Close the file, which then seems to be empty. Kafka: `TransactionIndex.close`."""
        channel, self._channel, self._end = self._channel, None, 0
        if channel is not None:
            channel.close()

    def delete_if_exists(self) -> bool:
        """Close and delete the file; False if there was none. Kafka: `TransactionIndex.deleteIfExists`."""
        self.close()
        return file_ops.delete_if_exists(self.file)

    def rename_to(self, file: Path) -> None:
        """Rename the file if there is one. Raises OSError. Kafka: `TransactionIndex.renameTo`."""
        try:
            if self.file.exists():
                file_ops.atomic_move_with_fallback(self.file, file, need_flush_parent_dir=False)
        finally:
            self.file = file

    def truncate_to(self, offset: int) -> None:
        """Remove the first entry whose last offset is ≥ `offset`, and all later ones. Kafka: `truncateTo`."""
        channel = self._channel
        if channel is None:
            return
        new_last_offset = None
        for number, aborted_txn in enumerate(self._entries()):
            if aborted_txn.last_offset >= offset:
                self._truncate(channel, number * TOTAL_SIZE)
                self._last_offset = new_last_offset
                return
            new_last_offset = aborted_txn.last_offset

    def all_aborted_txns(self) -> list[AbortedTxn]:
        """All entries. Raises KafkaException for a version above 0, MemoryError for more than two million entries.

        Kafka: `TransactionIndex.allAbortedTxns`.
        """
        require_size(self.file, self._end, _LARGEST_LIST)
        return list(self._entries())

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> TxnIndexSearchResult:
        """The transactions that overlap [`fetch_offset`, `upper_bound_offset`).

        The result is complete when an entry's last stable offset is at or above the bound: all transactions that begin
        below the bound are decided then, so no later entry can overlap. Kafka: `TransactionIndex.collectAbortedTxns`.
        """
        found = []
        for aborted_txn in self._entries():
            # 1. Note a transaction that has records between both offsets.
            if aborted_txn.last_offset >= fetch_offset and aborted_txn.first_offset < upper_bound_offset:
                found.append(aborted_txn)
            # 2. Was every transaction that begins below the bound decided then? No later entry can overlap: stop.
            if aborted_txn.last_stable_offset >= upper_bound_offset:
                return TxnIndexSearchResult(found, is_complete=True)
        # 3. This index has no more entries: the next segment's may have some.
        return TxnIndexSearchResult(found, is_complete=False)

    def sanity_check(self) -> None:
        """Raises CorruptIndexException for an entry that ends before the segment begins. Kafka: `sanityCheck`."""
        for aborted_txn in self._entries():
            if aborted_txn.last_offset < self._start_offset:
                raise CorruptIndexException(
                    f"Last offset of aborted transaction {aborted_txn} in index {self.file.absolute()} is less than"
                    f" start offset {self._start_offset}"
                )

    @property
    def is_empty(self) -> bool:
        """True without a whole entry. Kafka: `TransactionIndex.isEmpty`."""
        return self._end < TOTAL_SIZE

    def _open(self) -> FileChannel:
        fd = file_ops.open_file(self.file) if self._writable else os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
        channel = FileChannel(fd)
        self._channel, self._end = channel, channel.size
        return channel

    def _truncate(self, channel: FileChannel, size: int) -> None:
        channel.truncate(size)
        self._end = size

    def _entries(self) -> Iterator[AbortedTxn]:
        channel = self._channel
        if channel is None:
            return
        end = self._end
        for start in range(0, end, _CHUNK):
            try:
                data = channel.read(start, min(_CHUNK, end - start))
            except (OSError, ClosedChannelException) as error:
                raise KafkaException(f"Failed to read from the transaction index {self.file.absolute()}") from error
            for position in range(0, len(data) - TOTAL_SIZE + 1, TOTAL_SIZE):
                version, second_byte, producer_id, first, last, last_stable = _ENTRY.unpack_from(data, position)
                if version > CURRENT_VERSION:
                    raise KafkaException(
                        f"Unexpected aborted transaction version {version} in transaction index {self.file.absolute()},"
                        f" current version is {CURRENT_VERSION}"
                    )
                yield AbortedTxn(producer_id, first, last, last_stable, version, second_byte)
