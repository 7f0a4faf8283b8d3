"""What a producer is told of one partition, and what it still waits for."""

from collections.abc import Sequence
from dataclasses import dataclass

from minikafka.common.error_codes import Errors
from minikafka.common.errors import RecordError


@dataclass(slots=True)
class PartitionResponse:
    """The answer to a produce request for one partition; unknown offsets and times are −1.

    - `base_offset`: the offset of the first record that was appended.
    - `log_append_time`: the log's own timestamp in ms, if the topic uses LogAppendTime.
    - `log_start_offset`: the log's start.
    - `record_errors`: which records were refused, and why. `error_message`: None where the code says all.

    Kafka: `ProduceResponse.PartitionResponse`.
    """

    error: Errors
    base_offset: int = -1
    log_append_time: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[RecordError] = ()
    error_message: str | None = None


@dataclass(slots=True)
class ProducePartitionStatus:
    """A partition's part of a produce request that may wait for replicas.

    - `required_offset` (exclusive): the high watermark that acknowledges the records.
    - `response_status`: the answer as far as it is known.
    - `acks_pending`: still waiting.

    Kafka: `DelayedProduce.ProducePartitionStatus`.
    """

    required_offset: int
    response_status: PartitionResponse
    acks_pending: bool = False

    def __str__(self) -> str:
        response = self.response_status
        return (
            f"[acksPending: {self.acks_pending}, error: {response.error.name}, startOffset: {response.base_offset}, "
            f"requiredOffset: {self.required_offset}]"
        )
