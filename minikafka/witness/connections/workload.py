"""What clients send over their connections, piece by piece, and when the broker answers, as text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_bytes, request_class
from minikafka.witness.log.workload import WorkloadError

KINDS = {"send": 2, "answer": 1, "no_response": 1, "close": 1, "junk": 2}
"""The operations, and how many words each takes at least."""

_PIECE = re.compile(r"(\d+)(?:\[(\d*):(\d*)\])?")
_SIZE = 4
_LARGEST = 100 * 1024 * 1024  # socket.request.max.bytes


@dataclass(frozen=True)
class ConnectionOperation:
    """One line.

    - `send A 1 2[:10]`: on connection A, which begins with its first line, the whole of request 1 and the first ten
      bytes of request 2 arrive together. Bytes count from the four of the size on.
    - `answer 1`: the broker answers request 1, if it is in work. `no_response 1`: the client expects no answer.
      `close 1`: the broker closes the connection instead.
    - `junk A negative`: bytes arrive that are no request (`JUNK` has the kinds).
    """

    kind: str
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "ConnectionOperation":
        """Read a line. Raises ValueError for one that cannot be read."""
        kind, *words = text.split()
        if kind not in KINDS:
            raise ValueError(f"there is no operation {kind!r}; there are {', '.join(KINDS)}")
        if len(words) < KINDS[kind] or (kind != "send" and len(words) > KINDS[kind]):
            raise ValueError(f"{kind} takes {KINDS[kind]} words")
        if kind == "junk" and words[1] not in JUNK:
            raise ValueError(f"there is no junk {words[1]!r}; there are {', '.join(JUNK)}")
        wrong = [word for word in words[1:] if kind == "send" and _PIECE.fullmatch(word) is None]
        if wrong or (kind in ("answer", "no_response", "close") and not words[0].isdigit()):
            raise ValueError(f"{' '.join(wrong or words)} is no request's number")
        return cls(kind, tuple(words))

    @property
    def connection(self) -> str:
        """On which connection something arrives."""
        return self.words[0]

    @property
    def number(self) -> int:
        """Which request is answered."""
        return int(self.words[0])

    @property
    def pieces(self) -> list[tuple[int, int, int]]:
        """The parts of requests that arrive: number, first byte, last byte (exclusive)."""
        found = []
        for word in self.words[1:]:
            match = _PIECE.fullmatch(word)
            assert match is not None
            size = len(framed_request(int(match[1])))
            low, high = int(match[2] or 0), min(int(match[3] or size), size)
            found.append((int(match[1]), low, max(high, low)))
        return found

    @property
    def data(self) -> bytes:
        """The bytes that arrive."""
        if self.kind == "junk":
            return JUNK[self.words[1]]
        return b"".join(framed_request(number)[low:high] for number, low, high in self.pieces)

    def __str__(self) -> str:
        return " ".join((self.kind, *self.words))


@dataclass(frozen=True)
class ConnectionWorkload:
    """Operations, one a line; `#` begins a comment:

        send A 1 2       # two requests at once
        send B 3[:10]    # the first ten bytes of another
        answer 1
        send B 3[10:]
        answer 3

    A request has a number for a name, which is its correlation id.
    """

    operations: tuple[ConnectionOperation, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "ConnectionWorkload":
        """Read the text form. Raises WorkloadError with the number of the line that cannot be read."""
        operations = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            try:
                if line:
                    operations.append(ConnectionOperation.parse(line))
            except ValueError as error:
                raise WorkloadError(f"line {number}: {error} (in: {line})") from None
        return cls(tuple(operations))

    def with_operations(self, operations: Iterable[ConnectionOperation]) -> "ConnectionWorkload":
        """The same with other operations."""
        return replace(self, operations=tuple(operations))

    @property
    def connections(self) -> list[str]:
        """The connections, sorted."""
        return sorted({each.connection for each in self.operations if each.kind in ("send", "junk")})

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self) -> Iterator[ConnectionOperation]:
        return iter(self.operations)

    def __str__(self) -> str:
        return "\n".join(map(str, self.operations)) + "\n"


def framed_request(number: int) -> bytes:
    """The bytes of request `number`, behind the four bytes of their size.

    What it asks, in which version, and by whom, follows from its number, so that headers of all forms come.
    """
    api_key, version = _ASKED[number % len(_ASKED)]
    client_id = _CLIENTS[number % len(_CLIENTS)]
    data = request_bytes(api_key, version, _body(api_key), correlation_id=number, client_id=client_id)
    if number % 4 == 0 and api_key.request_header_version(version) == 2:
        data = _with_tagged_field(data, client_id)
    return len(data).to_bytes(_SIZE) + data


_ASKED = (
    (ApiKeys.API_VERSIONS, 0),
    (ApiKeys.METADATA, 8),
    (ApiKeys.API_VERSIONS, 3),
    (ApiKeys.METADATA, 12),
    (ApiKeys.API_VERSIONS, 4),
)
_CLIENTS = ("shop", None, "", "till-7", "ü", "a client with a long name")


def _body(api_key: ApiKeys) -> Message:
    body: Message = request_class(api_key)()
    if api_key is ApiKeys.API_VERSIONS:
        body = request_class(api_key)(client_software_name="witness", client_software_version="1")
    return body


def _with_tagged_field(data: bytes, client_id: str | None) -> bytes:
    """A request whose header has a tagged field that nobody knows: number 9, with three bytes."""
    end = 10 + len((client_id or "").encode())
    assert data[end] == 0, "the number of tagged fields"
    return data[:end] + bytes([1, 9, 3]) + b"new" + data[end + 1 :]


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(_SIZE) + data


JUNK = {
    "negative": (-1).to_bytes(_SIZE, signed=True),
    "huge": (_LARGEST + 1).to_bytes(_SIZE),
    "empty": _framed(b""),
    "short": _framed(bytes.fromhex("0012 0000 0000")),
    "unknown": _framed(bytes.fromhex("7fff 0000 0000 0001 ffff")),
    "client": _framed(bytes.fromhex("0012 0000 0000 0001 00ff 61")),
    "controllers": _framed(bytes.fromhex("0034 0000 0000 0001 ffff 00")),
}
"""Bytes that are no request: their size is negative, or above what is allowed; no header, half a header; no API has
this number; a client id is longer than the request; an API that only controllers serve.
"""
