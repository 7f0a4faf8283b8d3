"""The classes of requests and responses, and how they become bytes.

`request_class(ApiKeys.FETCH)` is the class of a fetch request's body in all its versions: fields have Kafka's names in
snake_case, and those not given Kafka's defaults. Kafka: `FetchRequestData` and the like.

    Fetch = request_class(ApiKeys.FETCH)
    body = Fetch(max_wait_ms=500, topics=[Fetch.FetchTopic(topic="t", partitions=[…])])
    data = request_bytes(ApiKeys.FETCH, 12, body, correlation_id=1, client_id="c")
    header, response = parse_response(ApiKeys.FETCH, 12, answer)
"""

import struct
from dataclasses import dataclass
from typing import Any

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IllegalArgumentException, InvalidRequestException, KafkaException
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.common.java.java_utf8 import decode_utf8
from minikafka.messages.compiled_codec import read_message, write_message
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import Message, message_class
from minikafka.messages.message_sink import MessageSink
from minikafka.network.api_keys import ApiKeys

LARGEST_MESSAGE = INT_MAX
_API_KEY_AND_VERSION = struct.Struct(">hh")
_CORRELATION_ID_AND_LENGTH = struct.Struct(">ih")
_NO_TAGGED_FIELDS = b"\0"
# Looked up once: before Python 3.12, `ApiKeys.API_VERSIONS` takes longer than a call.
_API_VERSIONS, _for_id = ApiKeys.API_VERSIONS, ApiKeys.for_id
BAD_BYTES = (RuntimeError, IllegalArgumentException, KafkaException)
"""What reading a message raises: Java's own runtime exceptions, and Kafka's."""


@dataclass(slots=True)
class RequestHeader:
    """What stands before a request's body. A client without an id has "". Kafka: `RequestHeader`."""

    api_key: ApiKeys
    api_version: int
    correlation_id: int
    client_id: str

    @property
    def is_api_version_supported(self) -> bool:
        """Whether Kafka has this version, released or not. Kafka: `RequestHeader.isApiVersionSupported`."""
        lowest, highest = self.api_key.versions
        return lowest <= self.api_version <= highest

    @classmethod
    def read(cls, source: MessageBytes) -> "RequestHeader":
        """The header in front of `source`. Raises InvalidRequestException. Kafka: `RequestHeader.parse`."""
        start = source.position
        try:
            number, version = source.read_struct(_API_KEY_AND_VERSION)
            api_key = _for_id(number)
            if not api_key.has_valid_version:
                raise InvalidRequestException(
                    f"Unsupported api with key {number} ({api_key.message_name}) and version {version}"
                )
            correlation_id, length = source.read_struct(_CORRELATION_ID_AND_LENGTH)
            client_id = decode_utf8(source.read_view(length)) if length >= 0 else ""
            if api_key.request_header_version(version) == 2:
                skip_tagged_fields(source)
        except InvalidRequestException:
            raise
        except BAD_BYTES as error:
            front = source.data[start : start + 2]
            guess = int.from_bytes(front, "big", signed=True) if len(front) == 2 else -1
            raise InvalidRequestException(
                f"Error parsing request header. Our best guess of the apiKeyId is: {guess}"
            ) from error
        return cls(api_key, version, correlation_id, client_id)


def request_class(api_key: ApiKeys) -> Any:
    """The class of the bodies of `api_key`'s requests."""
    return message_class(api_key.request_schema.struct)


def response_class(api_key: ApiKeys) -> Any:
    """The class of the bodies of `api_key`'s responses."""
    return message_class(api_key.response_schema.struct)


def parse_body(header: RequestHeader, source: MessageBytes) -> Message:
    """The body behind `header`. What follows it is passed over, as in Kafka.

    An ApiVersions request of an unknown version is not read: it is one of version 0.
    Raises InvalidRequestException. Kafka: `RequestContext.parseRequest`.
    """
    api_key = header.api_key
    if api_key is _API_VERSIONS and not header.is_api_version_supported:
        body: Message = request_class(api_key)()
        return body
    try:
        body = read_message(api_key.request_schema.struct, source, header.api_version)
    except BAD_BYTES as error:
        raise InvalidRequestException(
            f"Error getting request for apiKey: {api_key.name}, apiVersion: {header.api_version}"
        ) from error
    return body


def response_sink(header: RequestHeader, body: Message) -> MessageSink:
    """The bytes of a response to the request with `header`, without their length in front.

    Raises UnsupportedVersionException for a field that this version cannot carry and may not lose.
    Kafka: `RequestContext.buildResponseSend`.
    """
    api_key, version = header.api_key, header.api_version
    if api_key is _API_VERSIONS and not header.is_api_version_supported:
        version = 0
    front = header.correlation_id.to_bytes(4, "big", signed=True)
    if api_key.response_header_version(version) == 1:
        front += _NO_TAGGED_FIELDS
    sink = MessageSink()
    sink.write(front)
    write_message(body, sink, version)
    return sink


def request_bytes(
    api_key: ApiKeys, version: int, body: Message, *, correlation_id: int, client_id: str | None
) -> bytes:
    """A request's bytes, without their length in front: what a client sends. Kafka: `AbstractRequest.toSend`."""
    sink = MessageSink()
    sink.write(b"".join(number.to_bytes(2, "big", signed=True) for number in (api_key, version)))
    sink.write(correlation_id.to_bytes(4, "big", signed=True))
    encoded = None if client_id is None else client_id.encode()
    sink.write((-1 if encoded is None else len(encoded)).to_bytes(2, "big", signed=True))
    sink.write(encoded or b"")
    if api_key.request_header_version(version) == 2:
        sink.write_unsigned_varint(0)
    write_message(body, sink, version)
    return bytes(sink)


def parse_response(api_key: ApiKeys, version: int, data: BytesLike) -> tuple[int, Message]:
    """The correlation id and the body of a response's bytes, as a client reads them.

    Raises BufferUnderflowException, IllegalArgumentException and RuntimeException.
    Kafka: `AbstractResponse.parseResponse`.
    """
    source = MessageBytes(data, limit=LARGEST_MESSAGE)
    correlation_id = source.read_int(4)
    if api_key.response_header_version(version) == 1:
        skip_tagged_fields(source)
    body: Message = read_message(api_key.response_schema.struct, source, version)
    return correlation_id, body


def skip_tagged_fields(source: MessageBytes) -> None:
    """Pass over the tagged fields of a header, none of which is known."""
    for _ in range(source.read_unsigned_varint()):
        source.read_unsigned_varint()
        source.read_array(source.read_unsigned_varint())
