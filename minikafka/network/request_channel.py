"""The way back: what a handler answers, and where it goes."""

import logging

from minikafka.common.error_codes import Errors
from minikafka.common.errors import IllegalStateException
from minikafka.common.time import Time
from minikafka.messages.message_codec import Message
from minikafka.network.error_responses import error_response
from minikafka.network.messages import response_sink
from minikafka.network.request import Answer, NoBytes, Request

logger = logging.getLogger(__name__)


class RequestChannel:
    """Sends answers to where each request wants its own, and tells the log what became of it.

    Simpler than Kafka: requests need no queue, for whoever has one calls the handler.
    Kafka: `kafka.network.RequestChannel`.
    """

    def __init__(self, time: Time):
        self._time = time

    def send_response(self, request: Request, response: Message) -> None:
        """Answer with `response`, in the version of the request.

        Raises UnsupportedVersionException for a response that this version cannot hold, and NullPointerException.
        Kafka: `RequestChannel.sendResponse`.
        """
        self._answer(request, response_sink(request.header, response))

    def send_error_response(self, request: Request, error: Exception | Errors) -> None:
        """Answer the whole request with `error`, or close the connection of a client that expects no answer.

        Kafka: `RequestHandlerHelper.handleError`.
        """
        exception = error.exception() if isinstance(error, Errors) else error
        assert exception is not None
        response = error_response(request.header, request.body, exception)
        if response is None:
            self.close_connection(request)
        else:
            self.send_response(request, response)

    def send_no_op_response(self, request: Request) -> None:
        """The client expects no answer, and all is well. Kafka: `RequestChannel.sendNoOpResponse`."""
        self._answer(request, NoBytes.NO_RESPONSE)

    def close_connection(self, request: Request) -> None:
        """The client expects no answer, but must learn that something went wrong: its connection is closed.

        Kafka: `RequestChannel.closeConnection`.
        """
        self._answer(request, NoBytes.CLOSE)

    def _answer(self, request: Request, answer: Answer) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            what = answer.name if isinstance(answer, NoBytes) else f"{len(bytes(answer))} bytes"
            took_ms = self._time.milliseconds() - request.arrived_ms
            waited = f" (it waited for {request.waits_for})" if request.waits_for and took_ms else ""
            logger.debug("%s: answered with %s after %d ms%s", request, what, took_ms, waited)
        request.is_answered = True
        answer_to, request.answer_to = request.answer_to, _refuse_second_answer
        answer_to(answer)


def _refuse_second_answer(answer: Answer) -> None:
    """Where a request that has been answered sends another answer: it holds nobody any more who could take one."""
    raise IllegalStateException("The request has been answered already")


class Ticket:
    """The place of an answer for somebody in the same process, who holds it while the request waits.

    `request` is what was asked, None if that was no request.
    """

    def __init__(self) -> None:
        self.request: Request | None = None
        self._answer: Answer | None = None

    @property
    def done(self) -> bool:
        """Whether there is an answer."""
        return self._answer is not None

    @property
    def result(self) -> bytes | NoBytes:
        """The response's bytes without their length, or why there are none. Raises IllegalStateException before."""
        if self._answer is None:
            raise IllegalStateException("The request still waits for its answer")
        return self._answer if isinstance(self._answer, NoBytes) else bytes(self._answer)

    def answer(self, answer: Answer) -> None:
        """Kafka: a `Processor` that sends. Raises IllegalStateException for a second answer."""
        if self._answer is not None:
            raise IllegalStateException("The request has been answered already")
        self._answer = answer
