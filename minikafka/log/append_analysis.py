"""How `Log` examines incoming batches: first their bytes, then what they do to producers.

Nothing is changed here, except that a verification guard is forgotten once it has served its purpose.

Kafka: `UnifiedLog.analyzeAndValidateRecords`, `UnifiedLog.analyzeAndValidateProducerState`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from minikafka.common.errors import (
    CorruptRecordException,
    InvalidProducerEpochException,
    InvalidRecordException,
    InvalidTxnStateException,
    OffsetsOutOfOrderException,
    RecordTooLargeException,
)
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_append_info import ProducerAppendInfo
from minikafka.log.producer.producer_state_entry import BatchMetadata
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.log.producer.producer_updates import update_producers
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.batch import Batch
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record_batch import MAGIC_VALUE_V2, NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP

logger = logging.getLogger(__name__)

# Members of an Enum that each batch is compared with: before Python 3.12, to look one up takes longer than a call.
_CLIENT = AppendOrigin.CLIENT
_RAFT_LEADER = AppendOrigin.RAFT_LEADER
_REPLICATION = AppendOrigin.REPLICATION


def analyze_and_validate_records(
    records: MemoryRecords,
    topic_partition: TopicPartition,
    origin: AppendOrigin,
    *,
    leader_epoch: int,
    max_message_size: int | None,
    require_offsets_monotonic: bool,
    log_start_offset: int,
) -> LogAppendInfo:
    """Check each batch by itself (CRC, size) and sum up what the append needs to know about all of them.

    `max_message_size` is in bytes, inclusive; None accepts any size. A follower takes neither a batch of a later leader
    epoch than its own nor any that follows it, because the leader that it asked has been replaced.

    Raises `InvalidRecordException`, `OffsetsOutOfOrderException`, `RecordTooLargeException`, `CorruptRecordException`.
    Kafka: `UnifiedLog.analyzeAndValidateRecords`.
    """
    first_offset = last_offset = last_offset_of_first_batch = -1
    last_leader_epoch = NO_PARTITION_LEADER_EPOCH
    max_timestamp = NO_TIMESTAMP
    source_compression = CompressionType.NONE
    valid_bytes = 0
    is_monotonic = True
    read_first_batch = False
    skip_remaining_batches = False

    for batch in records.batches():
        partition_leader_epoch, base_offset = batch.partition_leader_epoch, batch.base_offset
        # 1. The metadata log's leader has set epoch and offsets itself.
        if origin is _RAFT_LEADER and partition_leader_epoch != leader_epoch:
            raise InvalidRecordException(
                f"Append from Raft leader did not set the batch epoch correctly, expected {leader_epoch} but the "
                f"batch has {partition_leader_epoch}"
            )

        # 2. A producer's offsets count from 0, since the leader assigns them. (Before magic 2 clients did not care.)
        if origin is _CLIENT and base_offset != 0 and batch.magic >= MAGIC_VALUE_V2:
            raise InvalidRecordException(
                f"The baseOffset of the record batch in the append to {topic_partition} should be 0, "
                f"but it is {base_offset}"
            )

        # 3. A follower skips batches of a later leader epoch than the one in which it asked.
        skip_remaining_batches |= (
            origin is _REPLICATION
            and partition_leader_epoch != NO_PARTITION_LEADER_EPOCH
            and partition_leader_epoch > leader_epoch
        )
        if skip_remaining_batches:
            logger.info(
                "Skipping batch %s from an origin of %s because its partition leader epoch %s is higher than the "
                "replica's current leader epoch %s",
                batch,
                origin.name,
                partition_leader_epoch,
                leader_epoch,
            )
        else:
            # 4. Since magic 2 the header has the first offset; before, only the last is known without decompression.
            batch_last_offset = batch.last_offset
            if not read_first_batch:
                if batch.magic >= MAGIC_VALUE_V2:
                    first_offset = base_offset
                last_offset_of_first_batch = batch_last_offset
                read_first_batch = True

            # 5. Last offsets must grow from batch to batch.
            if last_offset >= batch_last_offset:
                is_monotonic = False
            last_offset = batch_last_offset
            last_leader_epoch = partition_leader_epoch

            # 6. Check the size.
            size = batch.size_in_bytes
            if max_message_size is not None and size > max_message_size:
                raise RecordTooLargeException(
                    f"The record batch size in the append to {topic_partition} is {size} bytes which exceeds the "
                    f"maximum configured value of {max_message_size})."
                )

            # 7. Check the CRC.
            if not batch.is_valid():
                raise CorruptRecordException(
                    f"Record is corrupt (stored crc = {batch.checksum}) in topic partition {topic_partition}."
                )

            # 8. Note what the append needs to know about the batch.
            max_timestamp = max(max_timestamp, batch.max_timestamp)
            valid_bytes += size
            if batch.is_compressed:
                source_compression = batch.compression_type

        # 9. Offsets that are not reassigned must be in order.
        if require_offsets_monotonic and not is_monotonic:
            offsets = ",".join(str(record.offset) for record in records.records())
            raise OffsetsOutOfOrderException(f"Out of order offsets found in append to {topic_partition}: {offsets}")

    return LogAppendInfo(
        first_offset,
        last_offset,
        None if last_leader_epoch == NO_PARTITION_LEADER_EPOCH else last_leader_epoch,
        max_timestamp,
        NO_TIMESTAMP,
        log_start_offset,
        source_compression,
        valid_bytes,
        last_offset_of_first_batch,
    )


def trim_invalid_bytes(records: MemoryRecords, valid_bytes: int) -> MemoryRecords:
    """`records` without what follows the last valid batch. Kafka: `UnifiedLog.trimInvalidBytes`."""
    if valid_bytes == records.size_in_bytes:
        return records
    return MemoryRecords.readable_records(records.buffer[:valid_bytes])


@dataclass(slots=True)
class ProducerStateAnalysis:
    """What an append does to producers: their new states, the transactions it ends, or the batch it repeats.

    Kafka: `UnifiedLog.AnalyzeAndValidateProducerStateResult`.
    """

    updated_producers: dict[int, ProducerAppendInfo]
    completed_txns: list[CompletedTxn]
    maybe_duplicate: BatchMetadata | None


def analyze_and_validate_producer_state(
    producer_state_manager: ProducerStateManager,
    batches: Sequence[Batch],
    append_offset_metadata: LogOffsetMetadata,
    origin: AppendOrigin,
    request_verification_guard: VerificationGuard,
    transaction_version: int,
) -> ProducerStateAnalysis:
    """Check the batches that have a producer id against what is known about their producers.

    `append_offset_metadata` is where the first batch will be written; a transaction that begins here is remembered with
    its place. The first duplicate ends the walk.

    Raises `InvalidProducerEpochException`, `InvalidTxnStateException` and what `ProducerAppendInfo.append` raises.
    Kafka: `UnifiedLog.analyzeAndValidateProducerState`.
    """
    updated_producers: dict[int, ProducerAppendInfo] = {}
    completed_txns: list[CompletedTxn] = []
    _, segment_base_offset, relative_position_in_segment = append_offset_metadata

    for batch in batches:
        if batch.has_producer_id:
            # 1. Is it a retry? The log remembers the last five batches of each producer.
            if origin is _CLIENT:
                entry = producer_state_manager.last_entry(batch.producer_id)
                duplicate = None if entry is None else entry.find_duplicate_batch(batch)
                if duplicate is not None:
                    return ProducerStateAnalysis(updated_producers, completed_txns, duplicate)

            # 2. A transaction must be known to its coordinator before its first batch is written.
            if origin is _CLIENT or origin is AppendOrigin.COORDINATOR:
                _check_transaction_is_verified(producer_state_manager, batch, request_verification_guard)

            # 3. Note where the batch will lie, in case a transaction begins with it.
            first_offset_metadata = None
            if batch.is_transactional:
                first_offset_metadata = LogOffsetMetadata(
                    batch.base_offset, segment_base_offset, relative_position_in_segment
                )

            # 4. Check epoch and sequence. The producer's new state is collected here, and kept after the write.
            completed_txn = update_producers(
                producer_state_manager,
                batch,
                updated_producers,
                first_offset_metadata,
                origin,
                transaction_version,
            )
            if completed_txn is not None:
                completed_txns.append(completed_txn)
        relative_position_in_segment += batch.size_in_bytes
    return ProducerStateAnalysis(updated_producers, completed_txns, None)


def has_ongoing_transaction(
    producer_state_manager: ProducerStateManager, producer_id: int, producer_epoch: int
) -> bool:
    """True when the producer has a transaction open under this epoch. Kafka: `UnifiedLog.hasOngoingTransaction`."""
    entry = producer_state_manager.last_entry(producer_id)
    return entry is not None and entry.current_txn_first_offset is not None and entry.producer_epoch == producer_epoch


def verification_guard(producer_state_manager: ProducerStateManager, producer_id: int) -> VerificationGuard:
    """The guard that a producer's first batch must show, or the sentinel. Kafka: `UnifiedLog.verificationGuard`."""
    entry = producer_state_manager.verification_state_entry(producer_id)
    return VerificationGuard.SENTINEL if entry is None else entry.verification_guard


def _check_transaction_is_verified(
    producer_state_manager: ProducerStateManager, batch: Batch, request_verification_guard: VerificationGuard
) -> None:
    """Refuse a transactional batch outside an open transaction, unless it shows the guard of its verification.

    A guard is made when verification begins and is forgotten with the first batch that is written. Therefore an answer
    of the coordinator that comes late, after the transaction was aborted and its marker written, opens no transaction.
    """
    if not batch.is_transactional:
        return
    producer_id, producer_epoch = batch.producer_id, batch.producer_epoch
    if has_ongoing_transaction(producer_state_manager, producer_id, producer_epoch):
        return
    entry = producer_state_manager.last_entry(producer_id)
    if entry is not None and producer_epoch < entry.producer_epoch:
        raise InvalidProducerEpochException(
            f"Epoch of producer {producer_id} is {producer_epoch}, which is smaller than the last seen epoch "
            f"{entry.producer_epoch}"
        )
    if not producer_state_manager.producer_state_manager_config.transaction_verification_enabled:
        return
    if batch.is_control_batch:
        return
    if not verification_guard(producer_state_manager, producer_id).verify(request_verification_guard):
        raise InvalidTxnStateException("Record was not part of an ongoing transaction")
