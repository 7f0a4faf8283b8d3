"""The log of all that a controller has decided."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from minikafka.common.errors import UnsupportedOperationException
from minikafka.messages.cluster_metadata import BeginTransactionRecord, MetadataRecord, NoOpRecord
from minikafka.messages.framed_message import read_framed, write_framed
from minikafka.metadata import metadata_image
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.metadata.metadata_version import record_version

_TABLE = "cluster-metadata"


class ValueLog(Protocol):
    """Where records are kept as bytes; `minikafka.raft.single_voter_log.SingleVoterLog` is one."""

    def read(self) -> Iterable[Sequence[bytes | None]]:
        """The values of each batch, None for a record that is the log's own."""

    def append(self, values: Sequence[bytes]) -> None:
        """Write the values, all or none, and wait until they cannot be lost."""


class MetadataLog:
    """Records in the order of their offsets, which begin at 0, and the image that they lead to.

    Without a log on disk (`values`) a record is committed as soon as it is appended, and lost when the process ends;
    with one it is committed when it is there. What that log has written for itself, such as the election of a leader,
    has offsets, too: a NoOpRecord stands for it. Kafka: `OffsetControlManager`.
    """

    def __init__(self, values: ValueLog | None = None) -> None:
        """The log with what was decided before.

        Raises what `values` raises, MetadataParseException, and UnsupportedOperationException for a transaction of
        records, which Kafka's controllers begin a cluster with.
        """
        self.records: list[MetadataRecord] = []
        self.image = metadata_image.EMPTY
        self._values = values
        for batch in () if values is None else values.read():
            records = [NoOpRecord() if value is None else read_framed(_TABLE, value)[2] for value in batch]
            if any(isinstance(record, BeginTransactionRecord) for record in records):
                raise UnsupportedOperationException(
                    "The metadata log has transactions, which minikafka cannot replay yet"
                )
            self.image = MetadataDelta(self.image).replay_all(records).apply()
            self.records.extend(records)

    @property
    def is_new(self) -> bool:
        """Whether nothing has been decided yet."""
        return all(isinstance(record, NoOpRecord) for record in self.records)

    @property
    def next_write_offset(self) -> int:
        """The offset of the record that is appended next. Kafka: `OffsetControlManager.nextWriteOffset`."""
        return len(self.records)

    def append(self, records: Sequence[MetadataRecord]) -> None:
        """Appends `records`, all of them or, when one contradicts the image or the log fails, none."""
        if not records:
            return
        image = MetadataDelta(self.image).replay_all(records).apply()
        if self._values is not None:
            self._values.append([write_framed(_TABLE, record, record_version(record)) for record in records])
        self.image = image
        self.records.extend(records)

    def records_after(self, offset: int) -> list[MetadataRecord]:
        """The records with an offset above `offset` (−1: all)."""
        return self.records[offset + 1 :]
