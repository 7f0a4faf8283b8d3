"""A produce request that waits until its records are replicated."""

import logging
from collections.abc import Callable, Mapping
from typing import TypeAlias

from minikafka.common.error_codes import Errors
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.server.delayed_operation import DelayedOperation
from minikafka.server.produce_partition_status import PartitionResponse, ProducePartitionStatus

logger = logging.getLogger(__name__)

# Looked up once: before Python 3.12, `Errors.NONE` takes longer than a call.
_NONE = Errors.NONE
_REQUEST_TIMED_OUT = Errors.REQUEST_TIMED_OUT

PartitionStatusValidator: TypeAlias = Callable[[TopicPartition, int], tuple[bool, Errors]]
"""Whether the high watermark of a partition has reached an offset, and what stands in the way, if something does.

Kafka: `DelayedProduce.PartitionStatusValidator`.
"""
ProduceCallback: TypeAlias = Callable[[dict[TopicIdPartition, PartitionResponse]], object]


class DelayedProduce(DelayedOperation):
    """A produce request with acks=all, whose records are in the leader's log already.

    - A partition that took its records is pending until the high watermark reaches `required_offset`, or until this
      broker can no longer know (it leads no more). One that refused them was settled from the beginning.
    - The request is answered, for all partitions together, when none is pending. What is pending when its time is over
      is answered with REQUEST_TIMED_OUT, though its records stay in the log.
    - An answer keeps the base offset of the append, also beside an error.

    Kafka: `org.apache.kafka.server.purgatory.DelayedProduce`.
    """

    __slots__ = ("produce_status", "_status_validator", "_response_callback")

    def __init__(
        self,
        delay_ms: int,
        produce_status: Mapping[TopicIdPartition, ProducePartitionStatus],
        status_validator: PartitionStatusValidator,
        response_callback: ProduceCallback,
    ):
        """`delay_ms`: the request's timeout in ms; the statuses are changed in place as their partitions settle."""
        super().__init__(delay_ms)
        self.produce_status = tuple(produce_status.items())
        self._status_validator = status_validator
        self._response_callback = response_callback
        for status in produce_status.values():
            status.acks_pending = status.response_status.error is _NONE
            if status.acks_pending:
                status.response_status.error = _REQUEST_TIMED_OUT  # until the acks are there

    def try_complete(self) -> bool:
        """Answer if no partition is pending. Kafka: `DelayedProduce.tryComplete`."""
        # 1. Ask each pending partition: has the high watermark reached the required offset?
        for topic_id_partition, status in self.produce_status:
            if not status.acks_pending:
                continue
            has_enough, error = self._status_validator(topic_id_partition.topic_partition, status.required_offset)
            # 2. A yes settles it. So does an error: not here, not led from here, too few replicas in sync now.
            if has_enough or error is not _NONE:
                status.acks_pending = False
                status.response_status.error = error
        # 3. All are settled: answer.
        for _, status in self.produce_status:
            if status.acks_pending:
                return False
        return self.force_complete()

    def on_complete(self) -> None:
        """Answer for all partitions as they stand. Kafka: `DelayedProduce.onComplete`."""
        self._response_callback({key: status.response_status for key, status in self.produce_status})

    def on_expiration(self) -> None:
        """Note which partitions were too late. Kafka: `DelayedProduce.onExpiration`."""
        for topic_id_partition, status in self.produce_status:
            if status.acks_pending:
                logger.debug("Expiring produce request for partition %s with status %s", topic_id_partition, status)
