"""How one append changes the state of producers: each batch is checked, and its changes are collected.

Kafka: `UnifiedLog.updateProducers`.
"""

from collections.abc import Collection

from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_append_info import ProducerAppendInfo
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.record.format.batch import Batch


def update_producers(
    producer_state_manager: ProducerStateManager,
    batch: Batch,
    producers: dict[int, ProducerAppendInfo],
    first_offset_metadata: LogOffsetMetadata | None,
    origin: AppendOrigin,
    transaction_version: int,
) -> CompletedTxn | None:
    """Check `batch`, which has a producer id, and collect its changes in `producers`.

    Returns the transaction that it ends, if it is a marker of an open one. Raises what `ProducerAppendInfo.append`
    raises. Kafka: `UnifiedLog.updateProducers`.
    """
    producer_id = batch.producer_id
    append_info = producers.get(producer_id)
    if append_info is None:
        append_info = producers[producer_id] = producer_state_manager.prepare_update(producer_id, origin)
    completed_txn = append_info.append(batch, first_offset_metadata, transaction_version)
    # The transaction has a first offset now, or it is over, so its verification has done its work. The exception is a
    # marker of transactions v2 with the epoch that waits for verification: that belongs to the next transaction.
    if batch.is_transactional:
        entry = producer_state_manager.verification_state_entry(producer_id)
        is_v2_next_transaction_started = (
            entry is not None
            and entry.supports_epoch_bump
            and batch.is_control_batch
            and batch.producer_epoch == entry.epoch
        )
        if not is_v2_next_transaction_started:
            producer_state_manager.clear_verification_state_entry(producer_id)
    return completed_txn


def in_kafkas_order(producers: dict[int, ProducerAppendInfo]) -> Collection[ProducerAppendInfo]:
    """The values in the order of Kafka's HashMap, which decides the order of entries in a snapshot."""
    if len(producers) <= 1:
        return producers.values()
    ordered: JavaHashMap[int, ProducerAppendInfo] = JavaHashMap()
    for producer_id in producers:
        ordered.compute_if_absent(producer_id, producers.__getitem__)
    return [append_info for _, append_info in ordered.items()]
