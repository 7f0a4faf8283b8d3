"""What became of a request to delete a partition's oldest records."""

from typing import NamedTuple

from minikafka.common.error_codes import Errors


class LogDeleteRecordsResult(NamedTuple):
    """What became of deleting the records below an offset.

    - `requested_offset`: the offset (exclusive), the high watermark in place of -1.
    - `low_watermark`: the lowest log start of all replicas; the request is done once it reaches the offset.
    - `exception`: why nothing was deleted; both offsets are -1 then.

    Kafka: `LogDeleteRecordsResult`.
    """

    requested_offset: int
    low_watermark: int
    exception: Exception | None = None

    @property
    def error(self) -> Errors:
        """The exception as it stands in a response. Kafka: `LogDeleteRecordsResult.error`."""
        return Errors.NONE if self.exception is None else Errors.for_exception(self.exception)
