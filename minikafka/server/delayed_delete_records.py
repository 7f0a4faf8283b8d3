"""A request to delete records that waits until all replicas have deleted them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from minikafka.common.error_codes import Errors
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import DeleteRecordsResponse
from minikafka.server.delayed_operation import DelayedOperation

INVALID_LOW_WATERMARK = -1
"""The low watermark of a partition whose records could not be deleted. Kafka: `DeleteRecordsResponse`."""


DeleteRecordsPartitionResult = DeleteRecordsResponse.DeleteRecordsTopicResult.DeleteRecordsPartitionResult


@dataclass(slots=True)
class DeleteRecordsPartitionStatus:
    """What a partition's part of the request waits for: a low watermark of at least `required_offset`.

    `response_status` is the answer as far as it is known. Kafka: `DeleteRecordsPartitionStatus`.
    """

    required_offset: int
    response_status: DeleteRecordsPartitionResult
    acks_pending: bool = False


OnAcksPending: TypeAlias = Callable[[TopicPartition, DeleteRecordsPartitionStatus], object]
DeleteRecordsCallback: TypeAlias = Callable[[dict[TopicPartition, DeleteRecordsPartitionResult]], object]


class DelayedDeleteRecords(DelayedOperation):
    """A request to delete records, which the leader has deleted already.

    A partition is pending until the lowest log start offset of its living replicas reaches the offset asked for; the
    request is answered when none is pending, or when its time is over: REQUEST_TIMED_OUT for the pending ones.

    Kafka: `org.apache.kafka.server.purgatory.DelayedDeleteRecords`.
    """

    __slots__ = ("_delete_records_status", "_on_acks_pending", "_response_callback")

    def __init__(
        self,
        delay_ms: int,
        delete_records_status: Mapping[TopicPartition, DeleteRecordsPartitionStatus],
        on_acks_pending: OnAcksPending,
        response_callback: DeleteRecordsCallback,
    ):
        """`on_acks_pending(partition, status)` looks at a pending partition and settles its status in place if it can;
        `delay_ms`: the request's timeout in ms.
        """
        super().__init__(delay_ms)
        self._delete_records_status = dict(delete_records_status)
        self._on_acks_pending = on_acks_pending
        self._response_callback = response_callback
        for status in delete_records_status.values():
            status.acks_pending = status.response_status.error_code == Errors.NONE
            if status.acks_pending:
                status.response_status.error_code = Errors.REQUEST_TIMED_OUT  # until the replicas have followed

    def try_complete(self) -> bool:
        """Answer if no partition is pending. Kafka: `DelayedDeleteRecords.tryComplete`."""
        for topic_partition, status in self._delete_records_status.items():
            if status.acks_pending:
                self._on_acks_pending(topic_partition, status)
        if any(status.acks_pending for status in self._delete_records_status.values()):
            return False
        return self.force_complete()

    def on_complete(self) -> None:
        """Answer for all partitions as they stand. Kafka: `DelayedDeleteRecords.onComplete`."""
        self._response_callback({key: status.response_status for key, status in self._delete_records_status.items()})

    def on_expiration(self) -> None:
        """Nothing more: Kafka counts the request in its metrics. Kafka: `DelayedDeleteRecords.onExpiration`."""
