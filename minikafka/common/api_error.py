"""An error of the protocol, and the words that go with it."""

from typing import NamedTuple

from minikafka.common.error_codes import Errors


class ApiError(NamedTuple):
    """What came of one thing that a request asked for; without a message the error's own words stand for it.

    Kafka: `org.apache.kafka.common.requests.ApiError`.
    """

    error: Errors
    message: str | None = None

    @staticmethod
    def of(error: Errors) -> "ApiError":
        """The error with its own words. Kafka: `ApiError(Errors)`."""
        return ApiError(error, error.message)

    @staticmethod
    def from_exception(exception: BaseException) -> "ApiError":
        """The error of an exception; words that say nothing new, or that nobody should read, are left out.

        Kafka: `ApiError.fromThrowable`.
        """
        error, message = Errors.for_exception(exception), str(exception)
        if error is Errors.UNKNOWN_SERVER_ERROR or message == error.message:
            return ApiError(error)
        return ApiError(error, message)

    def is_failure(self) -> bool:
        """Whether something went wrong. Kafka: `ApiError.isFailure`."""
        return self.error is not Errors.NONE


NO_ERROR = ApiError(Errors.NONE)
