"""What an error of Kafka's protocol can do; which errors there are stands in `error_codes`."""

from enum import IntEnum
from functools import cache
from typing import Self

from minikafka.common.errors import ApiException

_UNKNOWN_SERVER_ERROR = -1


class ErrorCode(IntEnum):
    """An error whose value is its code on the wire (a signed 16-bit number, 0 = no error).

    Each has the text and the exception that Kafka gives it, so an exception can become a code in a response, and a
    code an exception again. Kafka: `Errors`, its methods.
    """

    _text: str | None
    _exception_class: type[ApiException] | None

    def __new__(cls, code: int, text: str | None = None, exception_class: type[ApiException] | None = None) -> Self:
        """The error of `code`; only NONE has neither text nor exception."""
        error = int.__new__(cls, code)
        error._value_ = code
        error._text = text
        error._exception_class = exception_class
        return error

    def exception(self, message: str | None = None) -> ApiException | None:
        """A new exception of this error's class, with `message` or else the error's own text; None for NONE.

        Kafka: `Errors.exception`.
        """
        if self._exception_class is None:
            return None
        return self._exception_class(self._text if message is None else message)

    @property
    def code(self) -> int:
        """The number on the wire; the same as the value. Kafka: `Errors.code`."""
        return int(self)

    @property
    def exception_class(self) -> type[ApiException] | None:
        """The class of the exceptions that this error stands for; None for NONE."""
        return self._exception_class

    @property
    def message(self) -> str:
        """The error's own text; "NONE" for NONE. Kafka: `Errors.message`."""
        return self.name if self._text is None else self._text

    def maybe_throw(self) -> None:
        """Raise this error's exception, unless it is NONE. Kafka: `Errors.maybeThrow`."""
        exception = self.exception()
        if exception is not None:
            raise exception

    @classmethod
    def for_code(cls, code: int) -> Self:
        """The error of `code`; UNKNOWN_SERVER_ERROR for a code that Kafka does not have. Kafka: `Errors.forCode`."""
        return cls(code if code in cls._value2member_map_ else _UNKNOWN_SERVER_ERROR)

    @classmethod
    def for_exception(cls, exception: BaseException) -> Self:
        """The error of the exception's class, or else of the nearest class above it that has one.

        UNKNOWN_SERVER_ERROR when there is none, as for whatever is not Kafka's own. Kafka: `Errors.forException`.
        """
        codes = _codes_of_classes(cls)
        nearest = (codes[each] for each in type(exception).__mro__ if each in codes)
        return cls(next(nearest, _UNKNOWN_SERVER_ERROR))


@cache
def _codes_of_classes(errors: type[ErrorCode]) -> dict[type, int]:
    return {each.exception_class: each.code for each in errors if each.exception_class is not None}
