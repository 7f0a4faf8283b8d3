"""A request that has arrived, with everything that is known of who sent it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias, TypeVar

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IllegalStateException, InvalidRequestException
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import Message
from minikafka.messages.message_sink import MessageSink
from minikafka.network.messages import LARGEST_MESSAGE, RequestHeader, parse_body

T = TypeVar("T", bound=Message)

ANONYMOUS = "User:ANONYMOUS"
LOCALHOST = "127.0.0.1"


class NoBytes(Enum):
    """An answer without bytes. NO_RESPONSE: the client expects none. CLOSE: its connection is closed."""

    NO_RESPONSE = auto()
    CLOSE = auto()


Answer: TypeAlias = MessageSink | NoBytes
"""What goes back to the client: a response's bytes without their length, or none."""


@dataclass(slots=True, eq=False)
class Request:
    """A request, and the place where its answer goes.

    - `size_in_bytes`: of header and body. `arrived_ms`: when it came.
    - `principal`: who asks, as `User:name`; `listener_name`: through which of the broker's listeners;
      `client_address`: from where, as an IP address.
    - `answer_to(answer)` is called once, now or later.
    - `waits_for`: what the answer has to wait for if it cannot be given at once, for whoever reads the log.

    Kafka: `kafka.network.RequestChannel.Request` with its `RequestContext`.
    """

    header: RequestHeader
    body: Message
    size_in_bytes: int
    answer_to: Callable[[Answer], object]
    arrived_ms: int = 0
    principal: str = ANONYMOUS
    listener_name: str = "PLAINTEXT"
    client_address: str = LOCALHOST
    is_answered: bool = False
    waits_for: str = ""

    def body_of(self, kind: type[T]) -> T:
        """The body, which is of that kind. Kafka: `RequestChannel.Request.body`, with the type in brackets.

        Raises IllegalStateException for another one.
        """
        if not isinstance(self.body, kind):
            raise IllegalStateException(f"{type(self.body).__name__} is no {kind.__name__}")
        return self.body

    @classmethod
    def parse(
        cls,
        data: BytesLike,
        answer_to: Callable[[Answer], object],
        arrived_ms: int = 0,
        principal: str = ANONYMOUS,
        listener_name: str = "PLAINTEXT",
        client_address: str = LOCALHOST,
    ) -> "Request":
        """The request in `data` (without the length in front), which is the request's from now on.

        Records are views into it; an append writes their offsets there if it is a bytearray, and else into a copy.
        Raises InvalidRequestException for bytes that are no request, and for an API or a version that brokers do not
        listen to; Kafka closes the connection then. Kafka: `Processor.processCompletedReceives`.
        """
        source = MessageBytes(data, LARGEST_MESSAGE)
        header = RequestHeader.read(source)
        api_key = header.api_key
        if not (api_key.in_scope("broker") and api_key.is_version_enabled(header.api_version)):
            raise InvalidRequestException(
                f"Received request api key {api_key.name} with version {header.api_version} which is not enabled"
            )
        body = parse_body(header, source)
        return cls(header, body, len(data), answer_to, arrived_ms, principal, listener_name, client_address)

    def __str__(self) -> str:
        header = self.header
        return (
            f"{header.api_key.name} v{header.api_version} no. {header.correlation_id} "
            f'of "{header.client_id}" ({self.principal}, {self.listener_name})'
        )
