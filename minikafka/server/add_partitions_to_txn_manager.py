"""How a leader asks the transaction coordinator whether a producer may write into a partition."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol, TypeAlias

from minikafka.common.error_codes import Errors
from minikafka.common.topic_partition import TopicPartition

AppendCallback: TypeAlias = Callable[[Mapping[TopicPartition, Errors]], object]
"""Takes the errors of the partitions that have one. Kafka: `AddPartitionsToTxnManager.AppendCallback`."""


class TransactionSupportedOperation(Enum):
    """What the version of a client's request lets the leader do. Kafka: `TransactionSupportedOperation`.

    - DEFAULT_ERROR: ask whether the partition belongs to the transaction.
    - GENERIC_ERROR_SUPPORTED: the same; the client understands TRANSACTION_ABORTABLE.
    - ADD_PARTITION: the request itself adds the partition to the transaction.
    """

    DEFAULT_ERROR = "DEFAULT_ERROR"
    GENERIC_ERROR_SUPPORTED = "GENERIC_ERROR_SUPPORTED"
    ADD_PARTITION = "ADD_PARTITION"

    @property
    def supports_epoch_bump(self) -> bool:
        """True when a producer's epoch grows with each transaction.

        Kafka: `TransactionSupportedOperation.supportsEpochBump`.
        """
        return self is TransactionSupportedOperation.ADD_PARTITION

    @staticmethod
    def of_produce_version(version: int) -> "TransactionSupportedOperation":
        """What Produce requests of this version allow.

        Kafka: `AddPartitionsToTxnManager.produceRequestVersionToTransactionSupportedOperation`.
        """
        if version > 11:
            return TransactionSupportedOperation.ADD_PARTITION
        if version > 10:
            return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
        return _DEFAULT_ERROR


_DEFAULT_ERROR = TransactionSupportedOperation.DEFAULT_ERROR  # looked up once: it is what most requests have


class AddPartitionsToTxnManager(Protocol):
    """What a replica manager needs of the way to the coordinators. Kafka: `AddPartitionsToTxnManager`."""

    def add_or_verify_transaction(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        topic_partitions: Sequence[TopicPartition],
        callback: AppendCallback,
        transaction_supported_operation: TransactionSupportedOperation,
    ) -> None:
        """Ask the coordinator of `transactional_id` about the partitions; `callback(errors)` is called once, any time.

        Kafka: `AddPartitionsToTxnManager.addOrVerifyTransaction`.
        """
