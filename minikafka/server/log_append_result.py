"""What became of the append to one partition of a produce request."""

from dataclasses import dataclass

from minikafka.common.error_codes import Errors
from minikafka.log.log_append_info import LogAppendInfo

_NONE = Errors.NONE  # looked up once: before Python 3.12, that takes longer than a call


@dataclass(slots=True)
class LogAppendResult:
    """The result of `ReplicaManager._append_to_local_log` for one partition.

    - `info`: what the log said, or `LogAppendInfo.unknown(…)` when the append failed.
    - `exception`: why it failed, None if it did not.
    - `has_custom_error_message`: the client is to read the exception's own message, not only its code.

    Kafka: `org.apache.kafka.server.LogAppendResult`.
    """

    info: LogAppendInfo
    exception: Exception | None = None
    has_custom_error_message: bool = False

    @property
    def error(self) -> Errors:
        """The code for the response. Kafka: `LogAppendResult.error`."""
        return _NONE if self.exception is None else Errors.for_exception(self.exception)

    @property
    def error_message(self) -> str | None:
        """The text for the response, None where the code says all. Kafka: `LogAppendResult.errorMessage`."""
        return str(self.exception) if self.has_custom_error_message else None
