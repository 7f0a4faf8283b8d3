"""What is asked of a broker's fetch sessions, and what is told."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

TOPIC, VERSION = "t", 12
"""Of all requests. In this version they name topics."""

NO_REPLICA = -1


class Found(NamedTuple):
    """What a broker finds in a partition: `records`, how many; `error`, Kafka's number; `replica`, which the reader had
    better ask (-1: none); `is_cut`, whether the reader must cut its log first.
    """

    records: int = 0
    high_watermark: int = 0
    log_start: int = 0
    error: int = 0
    replica: int = NO_REPLICA
    is_cut: bool = False

    @property
    def data(self) -> bytes:
        """The records as a batch, nothing where there are none."""
        if not self.records:
            return b""
        records = [SimpleRecord(0, None, b"x")] * self.records
        return bytes(MemoryRecords.with_records(CompressionType.NONE, *records).buffer)


class SessionAnswer(NamedTuple):
    """An answer: `error` is Kafka's number, `told` has the partitions that it tells, `read` those that were read."""

    session_id: int
    error: int
    told: tuple[int, ...]
    read: tuple[int, ...]


class FetchSessions(Protocol):
    """The sessions of a broker."""

    def fetch(
        self, session_id: int, epoch: int, named: Sequence[int], forgotten: Sequence[int], find: Callable[[int], Found]
    ) -> SessionAnswer:
        """A fetch request, answered at once. `find(partition)`: what lies there, asked in the order of reading."""
