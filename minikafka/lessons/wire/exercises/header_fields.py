"""The fields in a request's header, in both of its forms, and where the body begins."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.wire import solutions
from minikafka.messages.message_bytes import MessageBytes
from minikafka.network.messages import RequestHeader

_FLEXIBLE = {0: 9, 1: 12, 3: 9, 18: 3}
"""API key → the first version whose requests are flexible: Produce, Fetch, Metadata, ApiVersions."""


def _header(key: int, version: int, correlation_id: int, client_id: str | None, *tagged: bytes) -> bytes:
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    data = b"".join(number.to_bytes(2, signed=True) for number in (key, version))
    data += correlation_id.to_bytes(4, signed=True) + length.to_bytes(2, signed=True) + name
    if version >= _FLEXIBLE[key]:
        data += bytes([len(tagged)]) + b"".join(bytes([tag, len(each)]) + each for tag, each in enumerate(tagged))
    return data


_BODY = bytes.fromhex("0102 03")
_ASKED = {  # what the header is, and its bytes with a body behind them
    "ApiVersions 0 of 'shop'": _header(18, 0, 1, "shop") + _BODY,
    "Metadata 8 of nobody (null)": _header(3, 8, 2, None) + _BODY,
    "Fetch 11 of ''": _header(1, 11, 70_000, "") + _BODY,
    "Produce 8, negative correlation id": _header(0, 8, -5, "till-7") + _BODY,
    "Produce 9, flexible": _header(0, 9, 6, "till-7") + _BODY,
    "Metadata 12 of nobody (null), flexible": _header(3, 12, 7, None) + _BODY,
    "Fetch 12 with a tagged field of three bytes": _header(1, 12, 8, "shop", b"new") + _BODY,
    "ApiVersions 4 with two tagged fields": _header(18, 4, 9, "Laden am Markt", b"a", b"bcde") + _BODY,
    "ApiVersions 3 with an empty tagged field": _header(18, 3, 10, "ü", b"") + _BODY,
    "Metadata 8, the client id has 200 letters": _header(3, 8, 0x01020304, "shop" * 50) + _BODY,
    "ApiVersions 300 of a later Kafka": _header(18, 300, 12, "shop") + _BODY,
}


@cache
def _spark_says() -> dict[int, Any]:
    rows = [
        (number, bytearray(data), _FLEXIBLE[int.from_bytes(data[:2])]) for number, data in enumerate(_ASKED.values())
    ]
    return answers_of(
        """WITH fixed AS (
               SELECT number, data, flexible,
                      CAST(conv(hex(substring(data, 1, 2)), 16, 10) AS INT) AS key,
                      CAST(conv(hex(substring(data, 3, 2)), 16, 10) AS INT) AS version,
                      CAST(conv(hex(substring(data, 5, 4)), 16, 10) AS BIGINT) AS id,
                      CAST(conv(hex(substring(data, 9, 2)), 16, 10) AS INT) AS length
               FROM {asked}),
           named AS (
               SELECT *, IF(length = 65535, 0, length) AS size FROM fixed),
           tagged AS (
               SELECT *, version >= flexible AS is_flexible,
                      CAST(conv(hex(substring(data, 11 + size, 1)), 16, 10) AS INT) AS tags,
                      CAST(conv(hex(substring(data, 13 + size, 1)), 16, 10) AS INT) AS first
               FROM named),
           measured AS (
               SELECT *, CASE WHEN tags = 0 THEN 0
                              WHEN tags = 1 THEN 2 + first
                              ELSE 4 + first + CAST(conv(hex(substring(data, 15 + size + first, 1)), 16, 10) AS INT)
                         END AS more
               FROM tagged)
           SELECT number, key, version, IF(id >= 2147483648, id - 4294967296, id),
                  decode(substring(data, 11, size), 'UTF-8'), 10 + size + IF(is_flexible, 1 + more, 0)
           FROM measured""",
        asked=(rows, "number INT, data BINARY, flexible INT"),
    )


def _case(number: int) -> AskedCase:
    name, data = list(_ASKED.items())[number]
    return _asked(name, data, lambda: _spark_says()[number])


def _asked(name: str, data: bytes, expected: Callable[[], Any] = lambda: None) -> AskedCase:
    def asked(factory: Any) -> tuple[int, int, int, str, int]:
        kafka = jvm_of(factory)
        return _minikafka_says(data) if kafka is None else _kafka_says(kafka, data)

    return AskedCase(name, (data, dict(_FLEXIBLE)), expected, asked)


def _minikafka_says(data: bytes) -> tuple[int, int, int, str, int]:
    source = MessageBytes(data)
    header = RequestHeader.read(source)
    key = int(header.api_key)
    return key, header.api_version, header.correlation_id, header.client_id, len(data) - source.remaining


def _kafka_says(kafka: Any, data: bytes) -> tuple[int, int, int, str, int]:
    """Kafka: `RequestHeader.parse`."""
    buffer = kafka.find_class("java.nio.ByteBuffer").wrap(bytearray(data))
    header = kafka.find_class("org.apache.kafka.common.requests.RequestHeader").parse(buffer)
    key, version = header.data().requestApiKey(), header.apiVersion()
    return key, version, header.correlationId(), header.clientId(), buffer.position()


def _reads(*, signed=True, tags=True, of_version=True, null="", compact=False, values=True):
    """A wrong answer, where not told otherwise the right one."""

    def read_header(request, first_flexible):
        key, version = int.from_bytes(request[:2]), int.from_bytes(request[2:4])
        correlation_id = int.from_bytes(request[4:8], signed=signed)
        flexible = version >= first_flexible[key] if of_version else False
        if compact and flexible:
            length, at = request[8] - 1, 9
        else:
            length, at = int.from_bytes(request[8:10], signed=True), 10
        client_id = null if length < 0 else request[at : at + length].decode(errors="replace")
        at += max(length, 0)
        if flexible and tags:
            count, at = int.from_bytes(request[at : at + 1]), at + 1
            for _ in range(count if values else 0):
                at += 2 + int.from_bytes(request[at + 1 : at + 2])
        return key, version, correlation_id, client_id, at

    return read_header


def _drawn(draw: random.Random) -> AskedCase:
    key, latest = draw.choice(((0, 13), (1, 18), (3, 13), (18, 4)))
    version = draw.choice((_FLEXIBLE[key] - 1, _FLEXIBLE[key], _FLEXIBLE[key] + 1, latest))
    client_id = draw.choice((None, "", "shop", "Laden für alle", "ü" * 9, "x" * draw.randint(1, 300)))
    tagged = [draw.randbytes(draw.choice((0, 1, 5, 20))) for _ in range(draw.choice((0, 0, 1, 2, 3)))]
    correlation_id = draw.choice((0, 1, -1, 2**31 - 1, -(2**31), draw.randint(-(2**31), 2**31 - 1)))
    return _asked("", _header(key, version, correlation_id, client_id, *tagged) + draw.randbytes(draw.randint(0, 9)))


header_fields = Exercise(
    "Exercise 1, read a header",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.read_header,
    drawn=_drawn,
    hints=[
        "int.from_bytes(request[4:8], signed=True) is the number in bytes 4 to 7.",
        "The client id's length has two bytes in both forms of the header. −1 stands for null: no bytes follow, and "
        'the answer is "".',
        "In a flexible header one byte follows the client id: the number of tagged fields. Each tagged field has a tag "
        "(one byte here), a size (one byte here), and so many bytes.",
    ],
    beliefs=[
        Belief(
            _reads(tags=False),
            "You stop behind the client id. A flexible header has one more field: the number of tagged fields, and "
            "then these fields.",
        ),
        Belief(
            _reads(values=False),
            "You read how many tagged fields there are, and do not skip them. An older broker must skip what it does "
            "not know.",
        ),
        Belief(
            _reads(compact=True),
            "You read a compact length in a flexible header. Of all texts only the client id keeps its two bytes, so "
            "that any broker can read it.",
        ),
        Belief(
            _reads(null=None),
            'You return None for a client without an id. Kafka\'s RequestHeader has "" then.',
        ),
        Belief(
            _reads(signed=False),
            "You read the correlation id without its sign. Kafka's numbers are signed.",
        ),
        Belief(
            lambda request, first_flexible: _reads()(request, first_flexible)[:4] + (len(request),),
            "You count the body to the header.",
        ),
    ],
)
