"""What tells a partition's log from another one that later has its name: the topic's id, and the last batch read.

A topic that a broker deletes and makes anew gets another id. One that `write_log_dir` replaces keeps its id, since the
cluster's metadata knows it; and where no broker has been, there may be none. Then the last batch that was read tells:
a broker never changes the records at an offset.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME, PartitionMetadataFile
from minikafka.record.format.batch_header import CURRENT_MAGIC_VALUE
from minikafka.record.format.record_batch import RecordBatch
from minikafka.spark.source.damage import DAMAGE
from minikafka.spark.source.log_segments_on_disk import DiskSegment
from minikafka.spark.source.segment_positions import batches_from
from minikafka.spark.source.storage import Storage, joined


class LastBatch(NamedTuple):
    """The batch in which an offset lies; `crc` is -1 where a compaction has given the batch a delete horizon."""

    base_offset: int
    last_offset: int
    records: int
    crc: int
    leader_epoch: int

    def is_of_another_log(self, there: "LastBatch | None") -> bool:
        """Whether a log that now has the batch `there` at the same offset cannot be the one that this batch is of.

        A compaction takes records out of a batch, or all of it, and gives it a delete horizon; it keeps the first and
        the last offset. A new leader replaces batches by those of a larger epoch, and the log is the same one. No
        checksum covers the epoch: another one beside the same checksum is damage.
        """
        if there is None or there.leader_epoch > self.leader_epoch or self.has_the_content_of(there):
            return False
        if there[:2] != self[:2] or there.leader_epoch < self.leader_epoch:
            return True
        return there.records == self.records and -1 not in (there.crc, self.crc)

    def has_the_content_of(self, other: "LastBatch") -> bool:
        """Whether both are the same batch, but perhaps for the leader epoch."""
        return self[:4] == other[:4] and self.crc != -1


def is_another_log(segments: Sequence[DiskSegment], offset: int, known: LastBatch) -> bool:
    """Whether the batch in which the offset lies shows that this log is not the one that `known` is of.

    A damaged batch shows nothing.
    """
    return all(known.is_of_another_log(batch_at(segments, offset, check_crc=check_crc)) for check_crc in (False, True))


def batch_at(segments: Sequence[DiskSegment], offset: int, *, check_crc: bool = False) -> LastBatch | None:
    """The batch in which the offset lies; None where there is none, or it cannot be read or is of an old format.

    `check_crc`: None, too, where its checksum is wrong; for this all of it is read.
    """
    segment = next((each for each in reversed(segments) if each.base_offset <= offset), None)
    if segment is None:
        return None
    try:
        batches = batches_from(segment, offset)
        batch = next(batches, None)
        if batch is None or batch.magic < CURRENT_MAGIC_VALUE or batch.base_offset > offset:
            return None
        if check_crc:
            batch.ensure_valid()
        header = batch.load_batch_header()
    except DAMAGE:  # told by reading
        return None
    assert isinstance(header, RecordBatch)
    crc = header.checksum if header.delete_horizon_ms is None else -1
    return LastBatch(header.base_offset, header.last_offset, header.count, crc, header.partition_leader_epoch)


def topic_id_of(storage: Storage, directory: str) -> str | None:
    """The id in a partition's directory, None without one. Raises what `PartitionMetadataFile.read` does, OSError."""
    try:
        with storage.on_disk(joined(directory, PARTITION_METADATA_FILE_NAME)) as path:
            return PartitionMetadataFile(path).read().topic_id
    except FileNotFoundError:
        return None


def noted_topic_id(storage: Storage, directory: str) -> str | None:
    """As `topic_id_of`, but None also where the file cannot be read, of which `verify` tells."""
    try:
        return topic_id_of(storage, directory)
    except DAMAGE:
        return None


def are_different(one: str | None, other: str | None) -> bool:
    """Whether these are the ids of two topics; what is not known is no other one."""
    return one is not None and other is not None and one != other
