"""What is done to copies of the shop's disks: one forged digit, three damages, as many clicks as one likes; and how
Apache Kafka reads a partition.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crc32c import crc32c

from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.lab.stage.workbench import NOON, kafka_witness, open_log, scratch
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record_batch import ATTRIBUTES_OFFSET


def forge(directory: Path, topic: str, offset: int, old: bytes, new: bytes) -> None:
    """Put `new` for `old` (of the same length) into the batch of partition 0 that holds `offset`, and mend its
    checksum: a change that no checksum tells. Raises ValueError where `old` is not.
    """
    for file in sorted((directory / f"{topic}-0").glob("*.log")):
        data = bytearray(file.read_bytes())
        for start, size in _batch_at(bytes(data), offset):
            at = data.index(old, start, start + size)
            data[at : at + len(old)] = new
            data[start + 17 : start + 21] = crc32c(bytes(data[start + ATTRIBUTES_OFFSET : start + size])).to_bytes(
                4, "big"
            )
            file.write_bytes(data)
            return
    raise ValueError(f"no batch of {topic}-0 holds offset {offset}")


def damage(directory: Path) -> None:
    """Three damages: a flipped bit in a batch of clicks, the longest payments segment cut within its last batch, an
    entry of an index of orders that leads nowhere.
    """
    clicks = sorted((directory / "clicks-0").glob("*.log"))[1]
    _flip(clicks, clicks.stat().st_size // 2)
    payments = max((directory / "payments-0").glob("*.log"), key=lambda file: file.stat().st_size)
    payments.write_bytes(payments.read_bytes()[:-40])
    _flip(sorted((directory / "orders-0").glob("*.index"))[1], 7)


def read_by_kafka(directory: Path) -> list[tuple[int, int, bytes | None, bytes]] | None:
    """Offset, timestamp in ms, key and value of each record that Apache Kafka's own `UnifiedLog` gives a consumer, on a
    copy of a partition's directory; None where Kafka's jars are absent. Raises what Kafka raises.
    """
    from minikafka.lab.stage.readers import records_seen

    with opened_by_kafka(directory) as log:
        if log is None:
            return None
        return [
            (record.offset, record.timestamp, record.key and bytes(record.key), bytes(record.value))
            for record in records_seen(log)
        ]


@contextmanager
def opened_by_kafka(directory: Path) -> Iterator[Any]:
    """Apache Kafka's own `UnifiedLog`, opened as after a clean stop on a copy of a partition's directory, with the high
    watermark at its end; None where Kafka's jars are absent. Raises what Kafka raises.
    """
    kafka = kafka_witness()
    if kafka is None:
        yield None
        return
    copy, time = scratch(directory.name), ManualTime(NOON)
    shutil.copytree(directory, copy)
    topic_id = PartitionMetadataFile(copy / "partition.metadata").read().topic_id
    log = kafka(
        copy, {}, log_start_offset=0, recovery_point=0, scheduler=ManualScheduler(time), time=time,
        last_shutdown_clean=True, topic_id=topic_id,
    )  # fmt: skip
    try:
        log.update_high_watermark(log.log_end_offset)
        yield log
    finally:
        log.close_handlers()


def grow(directory: Path, gigabytes: float = 1.0) -> int:
    """Let the clicks of a copied night go on until they have so many gigabytes (10⁹ bytes): the same batches again and
    again, with new offsets. Takes about a minute a gigabyte. Returns the number of records added.
    """
    night = b"".join(file.read_bytes() for file in sorted((directory / "clicks-0").glob("*.log")))
    batches = [bytearray(batch.buffer) for batch in MemoryRecords.readable_records(night).batches()]
    counts = [int.from_bytes(batch[57:61], "big") for batch in batches]
    log = open_log(directory / "clicks-0", {"segment.bytes": str(1 << 28), "retention.ms": "-1"})
    first = log.log_end_offset
    for _ in range(int(gigabytes * 1e9 / len(night))):
        offset = log.log_end_offset
        for batch, count in zip(batches, counts, strict=True):
            batch[:8] = offset.to_bytes(8, "big")  # the checksum does not cover it
            offset += count
        log.append_as_follower(MemoryRecords.readable_records(b"".join(batches)), 0)
    end = log.log_end_offset
    log.close()
    return end - first


def _flip(file: Path, position: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 0x10
    file.write_bytes(data)


def _batch_at(data: bytes, offset: int) -> list[tuple[int, int]]:
    """Start and size of the batch that holds `offset`; an empty list when none does."""
    start = 0
    for batch in MemoryRecords.readable_records(data).batches():
        if batch.base_offset <= offset <= batch.last_offset:
            return [(start, batch.size_in_bytes)]
        start += batch.size_in_bytes
    return []
