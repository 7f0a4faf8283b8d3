"""What the log remembers about one producer: its epoch, its last five batches and its open transaction."""

from collections import deque
from typing import NamedTuple

from minikafka.record.format.batch import Batch
from minikafka.record.format.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP, decrement_sequence

NUM_BATCHES_TO_RETAIN = 5


class BatchMetadata(NamedTuple):
    """One appended batch: last sequence and last offset (both inclusive), last minus first offset, max timestamp (ms).

    Kafka: `BatchMetadata`.
    """

    last_seq: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_seq(self) -> int:
        """The sequence of the first record. Kafka: `BatchMetadata.firstSeq`."""
        return decrement_sequence(self.last_seq, self.offset_delta)

    @property
    def first_offset(self) -> int:
        """The offset of the first record. Kafka: `BatchMetadata.firstOffset`."""
        return self.last_offset - self.offset_delta

    def __str__(self) -> str:
        return (
            f"BatchMetadata(firstSeq={self.first_seq}, lastSeq={self.last_seq}, firstOffset={self.first_offset}, "
            f"lastOffset={self.last_offset}, timestamp={self.timestamp})"
        )


class ProducerStateEntry:
    """One producer's state.

    - All remembered batches belong to the current epoch, oldest first. Five are enough, because a client has at most
      five requests in flight, so that a retry is always among them.
    - `current_txn_first_offset` is the offset at which the open transaction began, None without one.
    - `last_timestamp` (ms) belongs to the newest batch or marker and decides when the producer is forgotten.

    Kafka: `ProducerStateEntry`.
    """

    __slots__ = (
        "producer_id",
        "producer_epoch",
        "coordinator_epoch",
        "last_timestamp",
        "current_txn_first_offset",
        "batch_metadata",
    )

    def __init__(
        self,
        producer_id: int,
        *,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = -1,
        last_timestamp: int = NO_TIMESTAMP,
        current_txn_first_offset: int | None = None,
    ):
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.batch_metadata: deque[BatchMetadata] = deque(maxlen=NUM_BATCHES_TO_RETAIN)

    @classmethod
    def empty(cls, producer_id: int) -> "ProducerStateEntry":
        """The state of an unknown producer. Kafka: `ProducerStateEntry.empty`."""
        return cls(producer_id)

    @property
    def is_empty(self) -> bool:
        """True when no batch is remembered. Kafka: `ProducerStateEntry.isEmpty`."""
        return not self.batch_metadata

    @property
    def first_seq(self) -> int:
        """First sequence of the oldest remembered batch, -1 without one. Kafka: `ProducerStateEntry.firstSeq`."""
        return self.batch_metadata[0].first_seq if self.batch_metadata else NO_SEQUENCE

    @property
    def last_seq(self) -> int:
        """Last sequence of the newest remembered batch, -1 without one. Kafka: `ProducerStateEntry.lastSeq`."""
        return self.batch_metadata[-1].last_seq if self.batch_metadata else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """Last offset of the newest remembered batch, -1 without one. Kafka: `ProducerStateEntry.lastDataOffset`."""
        return self.batch_metadata[-1].last_offset if self.batch_metadata else -1

    @property
    def last_offset_delta(self) -> int:
        """Last minus first offset of the newest remembered batch, 0 without one.

        Kafka: `ProducerStateEntry.lastOffsetDelta`.
        """
        return self.batch_metadata[-1].offset_delta if self.batch_metadata else 0

    def with_producer_id(self, producer_id: int) -> "ProducerStateEntry":
        """A copy for `producer_id` without remembered batches. Kafka: `ProducerStateEntry.withProducerId`."""
        return ProducerStateEntry(
            producer_id,
            producer_epoch=self.producer_epoch,
            coordinator_epoch=self.coordinator_epoch,
            last_timestamp=self.last_timestamp,
            current_txn_first_offset=self.current_txn_first_offset,
        )

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Remember a batch; a new epoch forgets the earlier ones. Kafka: `ProducerStateEntry.addBatch`."""
        self._maybe_update_producer_epoch(producer_epoch)
        self.batch_metadata.append(batch)
        self.last_timestamp = batch.timestamp

    def update(self, next_entry: "ProducerStateEntry") -> None:
        """Take over everything from `next_entry`; its batches move here, behind those of the same epoch.

        Kafka: `ProducerStateEntry.update(ProducerStateEntry)`.
        """
        self._maybe_update_producer_epoch(next_entry.producer_epoch)
        self.batch_metadata.extend(next_entry.batch_metadata)
        next_entry.batch_metadata.clear()
        self.coordinator_epoch = next_entry.coordinator_epoch
        self.current_txn_first_offset = next_entry.current_txn_first_offset
        self.last_timestamp = next_entry.last_timestamp

    def end_transaction(self, producer_epoch: int, coordinator_epoch: int, last_timestamp: int) -> None:
        """Apply an end marker: no transaction is open any more, and a bumped epoch forgets the batches.

        Kafka: `ProducerStateEntry.update(short, int, long)`.
        """
        self._maybe_update_producer_epoch(producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = None
        self.last_timestamp = last_timestamp

    def find_duplicate_batch(self, batch: Batch) -> BatchMetadata | None:
        """The remembered batch with exactly the epoch, first and last sequence of `batch`, or None.

        Kafka: `ProducerStateEntry.findDuplicateBatch`.
        """
        if batch.producer_epoch != self.producer_epoch:
            return None
        last_seq = batch.last_sequence
        first_seq = batch.base_sequence
        for metadata in self.batch_metadata:
            if metadata.last_seq == last_seq and metadata.first_seq == first_seq:
                return metadata
        return None

    def _maybe_update_producer_epoch(self, producer_epoch: int) -> None:
        if self.producer_epoch != producer_epoch:
            self.batch_metadata.clear()
            self.producer_epoch = producer_epoch

    def __repr__(self) -> str:
        return (
            f"ProducerStateEntry(producerId={self.producer_id}, producerEpoch={self.producer_epoch}, "
            f"currentTxnFirstOffset={self.current_txn_first_offset}, coordinatorEpoch={self.coordinator_epoch}, "
            f"lastTimestamp={self.last_timestamp}, batchMetadata=[{', '.join(map(str, self.batch_metadata))}])"
        )
