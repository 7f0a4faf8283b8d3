"""What somebody who deletes a partition's oldest records is told, and what the request still waits for."""

from dataclasses import dataclass

from minikafka.common.error_codes import Errors

INVALID_LOW_WATERMARK = -1


@dataclass(slots=True)
class DeleteRecordsPartitionResult:
    """The answer to a delete-records request for one partition.

    `low_watermark`: the lowest log start of all live replicas, −1 when there is an error.
    Kafka: `DeleteRecordsResponseData.DeleteRecordsPartitionResult`.
    """

    error: Errors
    low_watermark: int = INVALID_LOW_WATERMARK


@dataclass(slots=True)
class DeleteRecordsPartitionStatus:
    """A partition's part of a delete-records request that may wait for replicas.

    - `required_offset` (exclusive): the log start that every live replica must reach.
    - `response_status`: the answer as far as it is known.
    - `acks_pending`: still waiting.

    Kafka: `DeleteRecordsPartitionStatus`.
    """

    required_offset: int
    response_status: DeleteRecordsPartitionResult
    acks_pending: bool = False

    def __str__(self) -> str:
        response = self.response_status
        return (
            f"[acksPending: {self.acks_pending}, error: {response.error.name}, lowWatermark: {response.low_watermark}, "
            f"requiredOffset: {self.required_offset}]"
        )
