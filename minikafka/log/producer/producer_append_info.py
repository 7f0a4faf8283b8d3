"""The checks that a producer's batches must pass before they are appended, and the changes that they bring."""

import logging

from minikafka.common.errors import (
    IllegalArgumentException,
    InvalidProducerEpochException,
    InvalidTxnStateException,
    OutOfOrderSequenceException,
    TransactionCoordinatorFencedException,
)
from minikafka.common.java.java_numbers import INT_MAX, SHORT_MAX
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_state_entry import BatchMetadata, ProducerStateEntry
from minikafka.log.producer.verification_state_entry import VerificationStateEntry
from minikafka.record.format.batch import Batch
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE

logger = logging.getLogger(__name__)

TV_UNKNOWN = -1
"""The transaction version of an append that does not state one. Kafka: `TransactionVersion.TV_UNKNOWN`."""


class TxnMetadata:
    """A transaction, open or ended.

    `first_offset` is where it began, with its place if that is known. `last_offset` is the offset of its marker
    (inclusive), None while it is open. Kafka: `TxnMetadata`.
    """

    __slots__ = ("producer_id", "first_offset", "last_offset")

    def __init__(self, producer_id: int, first_offset: LogOffsetMetadata, last_offset: int | None = None):
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset = last_offset

    def __repr__(self) -> str:
        return (
            f"TxnMetadata(producerId={self.producer_id}, firstOffset={self.first_offset}, "
            f"lastOffset={self.last_offset})"
        )


class ProducerAppendInfo:
    """Collects what one append changes in one producer's state, until `ProducerStateManager.update` makes it visible.

    `current_entry` is the state so far and is not changed here. `origin` decides what is checked: sequences and epochs
    for clients, epochs for coordinators, nothing for replication, since the leader has checked already.
    `verification_state_entry` is None unless the producer's transaction waits for verification.

    Kafka: `ProducerAppendInfo`.
    """

    __slots__ = (
        "producer_id",
        "started_transactions",
        "_topic_partition",
        "_current_entry",
        "_updated_entry",
        "_origin",
        "_verification_state_entry",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        producer_id: int,
        current_entry: ProducerStateEntry,
        origin: AppendOrigin,
        verification_state_entry: VerificationStateEntry | None,
    ):
        self.producer_id = producer_id
        self.started_transactions: list[TxnMetadata] = []
        self._topic_partition = topic_partition
        self._current_entry = current_entry
        self._updated_entry = current_entry.with_producer_id(producer_id)
        self._origin = origin
        self._verification_state_entry = verification_state_entry

    def append(
        self,
        batch: Batch,
        first_offset_metadata: LogOffsetMetadata | None = None,
        transaction_version: int = TV_UNKNOWN,
    ) -> CompletedTxn | None:
        """Check `batch` and remember it; returns the transaction that it ends, if it is a marker of an open one.

        `first_offset_metadata` is the batch's place in the log if that is known. An empty control batch, which is what
        compaction leaves of a marker, changes nothing. Raises what `append_data_batch` and `append_end_txn_marker`
        raise. Kafka: `ProducerAppendInfo.append`.
        """
        if not batch.is_control_batch:
            if first_offset_metadata is None:
                first_offset_metadata = LogOffsetMetadata(batch.base_offset)
            self.append_data_batch(
                first_offset_metadata,
                epoch=batch.producer_epoch,
                first_seq=batch.base_sequence,
                last_seq=batch.last_sequence,
                last_timestamp=batch.max_timestamp,
                last_offset=batch.last_offset,
                is_transactional=batch.is_transactional,
            )
            return None
        record = next(iter(batch), None)
        if record is None:
            return None
        marker = EndTransactionMarker.deserialize(record)
        return self.append_end_txn_marker(
            marker,
            producer_epoch=batch.producer_epoch,
            offset=batch.base_offset,
            timestamp=record.timestamp,
            transaction_version=transaction_version,
        )

    def append_data_batch(
        self,
        first_offset_metadata: LogOffsetMetadata,
        *,
        epoch: int,
        first_seq: int,
        last_seq: int,
        last_timestamp: int,
        last_offset: int,
        is_transactional: bool,
    ) -> None:
        """Check a batch of data and remember it. The first transactional batch opens a transaction.

        Raises `InvalidProducerEpochException` (older epoch), `OutOfOrderSequenceException` (sequence is not the next
        one), `InvalidTxnStateException` (not transactional while a transaction is open).
        Kafka: `ProducerAppendInfo.appendDataBatch`.
        """
        entry = self._updated_entry
        first_offset = first_offset_metadata.message_offset
        self._check_producer_epoch(epoch, first_offset, TV_UNKNOWN)
        if self._origin is AppendOrigin.CLIENT:
            self._check_sequence(epoch, first_seq, first_offset)
        entry.add_batch(epoch, BatchMetadata(last_seq, last_offset, last_offset - first_offset, last_timestamp))

        if entry.current_txn_first_offset is not None and not is_transactional:
            raise InvalidTxnStateException(
                f"Expected transactional write from producer {self.producer_id} at offset {first_offset_metadata} "
                f"in partition {self._topic_partition}"
            )
        if entry.current_txn_first_offset is None and is_transactional:
            entry.current_txn_first_offset = first_offset
            self.started_transactions.append(TxnMetadata(self.producer_id, first_offset_metadata))

    def append_end_txn_marker(
        self,
        marker: EndTransactionMarker,
        *,
        producer_epoch: int,
        offset: int,
        timestamp: int,
        transaction_version: int,
    ) -> CompletedTxn | None:
        """Check an end marker and end the open transaction; returns that, or None when none is open.

        Raises `IllegalArgumentException` (no transaction version given, which only replication may leave out, since the
        leader has made the strict check), `InvalidProducerEpochException`, and
        `TransactionCoordinatorFencedException` (marker of an older coordinator).
        Kafka: `ProducerAppendInfo.appendEndTxnMarker`.
        """
        if transaction_version == TV_UNKNOWN:
            if self._origin is not AppendOrigin.REPLICATION:
                raise IllegalArgumentException(
                    "transactionVersion must be explicitly specified, "
                    f"cannot use default value TV_UNKNOWN for origin {self._origin.name}"
                )
            transaction_version = 0
        self._check_producer_epoch(producer_epoch, offset, transaction_version)
        self._check_coordinator_epoch(marker, offset)

        entry = self._updated_entry
        completed = None
        if entry.current_txn_first_offset is not None:
            is_aborted = marker.control_type is ControlRecordType.ABORT
            completed = CompletedTxn(self.producer_id, entry.current_txn_first_offset, offset, is_aborted)
        entry.end_transaction(producer_epoch, marker.coordinator_epoch, timestamp)
        return completed

    def to_entry(self) -> ProducerStateEntry:
        """The producer's state after this append, with the batches of this append only.

        Kafka: `ProducerAppendInfo.toEntry`.
        """
        return self._updated_entry

    def _check_producer_epoch(self, producer_epoch: int, offset: int, transaction_version: int) -> None:
        """Refuse an older epoch; a marker of transactions v2 must bring a newer one.

        Under v2 the coordinator bumps the epoch with each marker, so a marker with the known epoch comes late and could
        end the wrong transaction. It is accepted when no transaction is open, because then it only repeats a marker
        whose answer was lost, and at epoch 32767, which cannot be bumped.
        """
        current = self._updated_entry.producer_epoch
        if producer_epoch > current or (producer_epoch == current and transaction_version < 2):
            return
        if transaction_version >= 2 and producer_epoch == current:
            if self._updated_entry.current_txn_first_offset is None or producer_epoch == SHORT_MAX:
                logger.info(
                    "Producer %s repeats the transaction marker of epoch %s: its transaction is over, the marker is "
                    "written again",
                    self.producer_id,
                    producer_epoch,
                )
                return
        message = (
            f"Epoch of producer {self.producer_id} at offset {offset} in {self._topic_partition} is {producer_epoch}, "
            f"which is {'<=' if transaction_version >= 2 else '<'} the last seen epoch {current} "
            f"(TV{transaction_version})"
        )
        if self._origin is not AppendOrigin.REPLICATION:
            raise InvalidProducerEpochException(message)
        logger.warning(message)

    def _check_sequence(self, producer_epoch: int, first_seq: int, offset: int) -> None:
        """Refuse a batch that does not continue where the producer's last batch ended."""
        self._check_sequence_against_verification(first_seq, offset)
        current, updated = self._current_entry, self._updated_entry
        if producer_epoch != updated.producer_epoch:
            if first_seq != 0 and updated.producer_epoch != NO_PRODUCER_EPOCH:
                raise OutOfOrderSequenceException(
                    f"Invalid sequence number for new epoch of producer {self.producer_id}at offset {offset} in "
                    f"partition {self._topic_partition}: {producer_epoch} (request epoch), {first_seq} (seq. number), "
                    f"{updated.producer_epoch} (current producer epoch)"
                )
            return
        if not updated.is_empty:
            current_last_seq = updated.last_seq
        elif producer_epoch == current.producer_epoch:
            current_last_seq = current.last_seq
        else:
            current_last_seq = NO_SEQUENCE
        # When nothing is known about the producer (its records were deleted, say), any sequence may begin.
        if current.producer_epoch != NO_PRODUCER_EPOCH and not _in_sequence(current_last_seq, first_seq):
            raise OutOfOrderSequenceException(
                f"Out of order sequence number for producer {self.producer_id} at offset {offset} in partition "
                f"{self._topic_partition}: {first_seq} (incoming seq. number), "
                f"{current_last_seq} (current end sequence number)"
            )

    def _check_sequence_against_verification(self, first_seq: int, offset: int) -> None:
        verification = self._verification_state_entry
        if verification is None:
            return
        if verification.supports_epoch_bump and first_seq != 0 and self._current_entry.is_empty:
            raise OutOfOrderSequenceException(
                f"Invalid sequence number for producer {self.producer_id} at offset {offset} in partition "
                f"{self._topic_partition}: {first_seq} (incoming seq. number). Expected sequence 0 for transactions v2 "
                "idempotent producer with no existing state."
            )
        if first_seq > verification.lowest_sequence:
            raise OutOfOrderSequenceException(
                f"Out of order sequence number for producer {self.producer_id} at offset {offset} in partition "
                f"{self._topic_partition}: {first_seq} (incoming seq. number), "
                f"{verification.lowest_sequence} (earliest seen sequence)"
            )

    def _check_coordinator_epoch(self, marker: EndTransactionMarker, offset: int) -> None:
        """Refuse the marker of a coordinator that has been replaced; replication only logs it."""
        known = self._updated_entry.coordinator_epoch
        if known <= marker.coordinator_epoch:
            return
        message = (
            f"Invalid coordinator epoch for producerId {self.producer_id} at offset {offset} in partition "
            f"{self._topic_partition}: {marker.coordinator_epoch} (zombie), {known} (current)"
        )
        if self._origin is not AppendOrigin.REPLICATION:
            raise TransactionCoordinatorFencedException(message)
        logger.info(message)

    def __repr__(self) -> str:
        entry = self._updated_entry
        return (
            f"ProducerAppendInfo(producerId={self.producer_id}, producerEpoch={entry.producer_epoch}, "
            f"firstSequence={entry.first_seq}, lastSequence={entry.last_seq}, "
            f"currentTxnFirstOffset={entry.current_txn_first_offset}, coordinatorEpoch={entry.coordinator_epoch}, "
            f"lastTimestamp={entry.last_timestamp}, startedTransactions={self.started_transactions})"
        )


def _in_sequence(last_seq: int, next_seq: int) -> bool:
    return next_seq == last_seq + 1 or (next_seq == 0 and last_seq == INT_MAX)
