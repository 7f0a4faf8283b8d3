"""Answers that a test gives in place of its broker, and delays."""

import logging
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from minikafka.common.error_codes import Errors
from minikafka.common.errors import IllegalArgumentException, InvalidRequestException
from minikafka.messages.apis import FetchRequest, FetchResponse
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.network.error_responses import error_in_each_partition, error_response
from minikafka.network.messages import LARGEST_MESSAGE, RequestHeader, response_class, response_sink
from minikafka.network.request import Answer, NoBytes, Request
from minikafka.network.server.kafka_channel import KafkaChannel
from minikafka.network.server.socket_server import Handle

logger = logging.getLogger(__name__)

T = TypeVar("T")

Injected: TypeAlias = Errors | Message | NoBytes
"""An error for the whole request, a response, or none: NO_RESPONSE leaves the client waiting, CLOSE disconnects it."""

_OF_FETCH_SESSIONS = (
    Errors.FETCH_SESSION_ID_NOT_FOUND,
    Errors.INVALID_FETCH_SESSION_EPOCH,
    Errors.FETCH_SESSION_TOPIC_ID_ERROR,
)
"""What readers look for at the top of a fetch response; they look for all other errors in its partitions."""


class InjectedAnswers:
    """For each API the answers and the delays that are still to come, in the order in which they were wanted.

    An answer that was injected takes the place of the broker's, which does not see the request. A delay holds back
    whatever is answered, the broker's answer or an injected one.
    """

    def __init__(self) -> None:
        self._answers: defaultdict[ApiKeys, deque[tuple[Injected, int | None]]] = defaultdict(deque)
        self._delays: defaultdict[ApiKeys, deque[tuple[int, int | None]]] = defaultdict(deque)
        self._lock = threading.Lock()

    def answer(self, api: ApiKeys, what: Injected, times: int | None) -> None:
        """Answer the next `times` requests of this API with `what`; None: all that come.

        Raises IllegalArgumentException for the response of another API.
        """
        if isinstance(what, Message) and not isinstance(what, response_class(api)):
            raise IllegalArgumentException(f"{type(what).__name__} is no response to {api.name}")
        with self._lock:
            self._answers[api].append((what, times))

    def delay(self, api: ApiKeys, ms: int, times: int | None) -> None:
        """Hold back the answers to the next `times` requests of this API by `ms`; None: all that come."""
        with self._lock:
            self._delays[api].append((ms, times))

    def clear(self) -> None:
        """Inject and delay nothing any more."""
        with self._lock:
            self._answers.clear()
            self._delays.clear()

    def around(self, handle: Handle) -> Handle:
        """`handle`, but for what is injected."""

        def handle_or_inject(request: bytearray, channel: KafkaChannel, answer: Callable[[Answer], None]) -> None:
            try:
                api = RequestHeader.read(MessageBytes(request, limit=LARGEST_MESSAGE)).api_key
            except InvalidRequestException:
                handle(request, channel, answer)  # which refuses it
                return
            with self._lock:
                injected = self._next_answer(api, request)
                delay_ms = _next(self._delays[api])
            send = answer if delay_ms is None else _later(answer, delay_ms)
            if injected is None:
                handle(request, channel, send)
            else:
                logger.debug("%s is answered with what was injected", api.name)
                send(_as_answer(request, injected))

        return handle_or_inject

    def _next_answer(self, api: ApiKeys, data: bytearray) -> Injected | None:
        """What is injected as the answer to a request.

        A fetch of a session does not name all of its partitions. Where an error is to stand in each of them, the client
        is told that there is no such session. Then it asks anew, and names them.
        """
        queue = self._answers[api]
        if api is ApiKeys.FETCH and queue and _is_of_partitions(queue[0][0]):
            body = Request.parse(data, lambda answer: None).body_of(FetchRequest)
            if body.session_id != 0 and body.session_epoch > 0:
                return Errors.FETCH_SESSION_ID_NOT_FOUND
        return _next(queue)


def _is_of_partitions(injected: Injected) -> bool:
    return isinstance(injected, Errors) and injected not in _OF_FETCH_SESSIONS


def _next(queue: deque[tuple[T, int | None]]) -> T | None:
    """The first of `queue`, which has been used once more then."""
    if not queue:
        return None
    what, times = queue.popleft()
    if times is None or times > 1:
        queue.appendleft((what, None if times is None else times - 1))
    return what


def _later(answer: Callable[[Answer], None], ms: int) -> Callable[[Answer], None]:
    def wait_and_answer(what: Answer) -> None:
        timer = threading.Timer(ms / 1000, answer, [what])
        timer.daemon = True
        timer.start()

    return wait_and_answer


def _as_answer(data: bytearray, injected: Injected) -> Answer:
    if isinstance(injected, NoBytes):
        return injected
    request = Request.parse(data, lambda answer: None)
    if isinstance(injected, Message):
        return response_sink(request.header, injected)
    if isinstance(request.body, FetchRequest) and _is_of_partitions(injected):
        return response_sink(request.header, FetchResponse(responses=error_in_each_partition(request.body, injected)))
    exception = injected.exception()
    assert exception is not None
    response = error_response(request.header, request.body, exception)
    return NoBytes.CLOSE if response is None else response_sink(request.header, response)
