"""Before a producer's transaction reaches a partition: does its coordinator know of it?"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from minikafka.cluster.partition import Partition
from minikafka.common.error_codes import Errors
from minikafka.common.errors import NotEnoughReplicasException
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.server.add_partitions_to_txn_manager import AddPartitionsToTxnManager, TransactionSupportedOperation
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.log_append_result import LogAppendResult

# A coordinator that cannot answer now. Old clients do not try again at these errors, but do so at NOT_ENOUGH_REPLICAS.
_COORDINATOR_AWAY = (
    Errors.NETWORK_EXCEPTION,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
)


class VerifiedPartitions(NamedTuple):
    """What is known of a transaction's partitions before the append.

    `errors`: of the partitions that must not be appended to. `guards`: what the log wants to see with the first batch.
    """

    errors: Mapping[TopicPartition, Errors]
    guards: Mapping[TopicPartition, VerificationGuard]


class TransactionalAppend(NamedTuple):
    """What a produce request wants to append, as far as its transaction is concerned.

    - `base_sequences`: the partitions, and the first sequence number that is to be appended to each.
    - `transactional_id`: None for an idempotent producer without transactions.
    - `operation`: whether the request itself adds the partitions to the transaction.
    """

    base_sequences: Mapping[TopicPartition, int]
    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    operation: TransactionSupportedOperation


class Partitions(Protocol):
    """Where partitions are found. Kafka: `ReplicaManager`."""

    def get_partition_or_exception(self, topic_partition: TopicPartition) -> Partition:
        """The partition of that name. Kafka: `ReplicaManager.getPartitionOrException`."""


class TransactionVerification:
    """Asks the transaction coordinator about partitions whose first transactional batch has come.

    A partition in which the transaction is open already is not asked for again. Where there is no coordinator to ask
    (None), or the setting `transaction.partition.verification.enable` is off, nobody is asked; a log that was told to
    verify then refuses the batch.

    Simpler than Kafka: the answer goes on in the thread that brings it, not in one of the request handlers.

    Kafka: `ReplicaManager.handleProduceAppend`, `ReplicaManager.maybeSendPartitionsToTransactionCoordinator`.
    """

    def __init__(
        self,
        partitions: Partitions,
        config: BrokerConfig,
        time: Time,
        scheduler: Scheduler,
        manager: AddPartitionsToTxnManager | None,
    ):
        self._partitions = partitions
        self._config = config
        self._time = time
        self._scheduler = scheduler
        self._manager = manager

    def verify(self, append: TransactionalAppend, callback: Callable[[VerifiedPartitions], object]) -> None:
        """Call `callback(verified)` once, now or when the coordinator has answered.

        If the request itself adds partitions to the transaction, a coordinator that is still busy with the previous
        transaction is asked again every `add.partitions.to.txn.retry.backoff.ms`, until
        `add.partitions.to.txn.retry.backoff.max.ms` have passed: the producer would take longer to come again.

        Kafka: `ReplicaManager.handleProduceAppend`, from the place where it wraps its callback.
        """
        if not append.operation.supports_epoch_bump:
            self._ask(append, callback)
            return
        start_ms = self._time.milliseconds()
        timeout_ms = min(self._config.add_partitions_to_txn_retry_backoff_max_ms, self._config.request_timeout_ms)

        def maybe_ask_again(verified: VerifiedPartitions) -> None:
            over = self._time.milliseconds() - start_ms >= timeout_ms
            if over or Errors.CONCURRENT_TRANSACTIONS not in verified.errors.values():
                callback(verified)
            else:
                backoff_ms = self._config.add_partitions_to_txn_retry_backoff_ms
                self._scheduler.schedule_once(
                    "retry-add-partitions-to-txn", lambda: self._ask(append, maybe_ask_again), backoff_ms
                )

        self._ask(append, maybe_ask_again)

    def _ask(self, append: TransactionalAppend, callback: Callable[[VerifiedPartitions], object]) -> None:
        """Kafka: `ReplicaManager.maybeSendPartitionsToTransactionCoordinator`."""
        base_sequences, transactional_id, producer_id, producer_epoch, operation = append
        # 1. Nobody to ask, or nothing to be asked.
        verifies = operation.supports_epoch_bump or self._config.transaction_partition_verification_enable
        if transactional_id is None or self._manager is None or not verifies:
            callback(VerifiedPartitions({}, {}))
            return
        # 2. Which partitions see the transaction for the first time? Their logs hand out guards.
        errors: dict[TopicPartition, Errors] = {}
        guards: dict[TopicPartition, VerificationGuard] = {}
        for topic_partition, base_sequence in base_sequences.items():
            try:
                guard = self._partitions.get_partition_or_exception(
                    topic_partition
                ).maybe_start_transaction_verification(
                    producer_id,
                    sequence=base_sequence,
                    epoch=producer_epoch,
                    supports_epoch_bump=operation.supports_epoch_bump,
                )
            except Exception as error:
                errors[topic_partition] = Errors.for_exception(error)
                continue
            if guard is not VerificationGuard.SENTINEL:
                guards[topic_partition] = guard
        # 3. None: go on.
        if not guards:
            callback(VerifiedPartitions(errors, {}))
            return
        # 4. Ask about these.
        self._manager.add_or_verify_transaction(
            transactional_id,
            producer_id,
            producer_epoch,
            list(guards),
            lambda refused: callback(VerifiedPartitions({**errors, **refused}, guards)),
            operation,
        )


def refused_by_coordinator(error: Errors, operation: TransactionSupportedOperation) -> LogAppendResult:
    """What a producer is told when the coordinator says no, or says nothing."""
    if error is Errors.INVALID_TXN_STATE:
        text = "Partition was not added to the transaction"
        return LogAppendResult(LogAppendInfo.unknown(), error.exception(text), has_custom_error_message=True)
    if error in _COORDINATOR_AWAY or (error is Errors.CONCURRENT_TRANSACTIONS and not operation.supports_epoch_bump):
        text = f"Unable to verify the partition has been added to the transaction. Underlying error: {error.name}"
        return LogAppendResult(LogAppendInfo.unknown(), NotEnoughReplicasException(text), has_custom_error_message=True)
    return LogAppendResult(LogAppendInfo.unknown(), error.exception())
