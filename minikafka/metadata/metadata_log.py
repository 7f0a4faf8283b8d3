"""The log of all that a controller has decided."""

from collections.abc import Sequence

from minikafka.messages.cluster_metadata import MetadataRecord
from minikafka.metadata import metadata_image
from minikafka.metadata.metadata_delta import MetadataDelta


class MetadataLog:
    """Records in the order of their offsets, which begin at 0, and the image that they lead to.

    It stands for Kafka's topic `__cluster_metadata` and for the Raft quorum that replicates it: here a record is
    committed as soon as it is appended, and it is lost when the process ends. Kafka: `OffsetControlManager`.
    """

    def __init__(self) -> None:
        self.records: list[MetadataRecord] = []
        self.image = metadata_image.EMPTY

    @property
    def next_write_offset(self) -> int:
        """The offset of the record that is appended next. Kafka: `OffsetControlManager.nextWriteOffset`."""
        return len(self.records)

    def append(self, records: Sequence[MetadataRecord]) -> None:
        """Appends `records`, all of them or, when one contradicts the image, none."""
        if records:
            self.image = MetadataDelta(self.image).replay_all(records).apply()
            self.records.extend(records)

    def records_after(self, offset: int) -> list[MetadataRecord]:
        """The records with an offset above `offset` (−1: all)."""
        return self.records[offset + 1 :]
