"""Logs with batches of every kind, drawn from a seed, and what a consumer must see of them."""

import random
from pathlib import Path
from typing import NamedTuple

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import Header, SimpleRecord
from minikafka.record.format.timestamp_type import TimestampType

NOW = 1_700_000_000_000
CODECS = (CompressionType.NONE, CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY,
          CompressionType.LZ4, CompressionType.ZSTD)  # fmt: skip


class Seen(NamedTuple):
    """A record as a consumer sees it; timestamps in ms."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class DrawnLog(NamedTuple):
    """What stands on the disk: all data records, the offsets of aborted ones, and the last stable offset."""

    directory: Path
    records: list[Seen]
    aborted: set[int]
    last_stable_offset: int
    segments: int

    @property
    def committed(self) -> list[Seen]:
        """What `read_committed` shows."""
        return [
            each for each in self.records if each.offset < self.last_stable_offset and each.offset not in self.aborted
        ]


def draw_log(home: Path, seed: int, batches: int = 60) -> DrawnLog:
    """A log `drawn-3` below `home` with several segments, closed cleanly."""
    draw = random.Random(seed)
    directory = home / "drawn-3"
    config = LogConfig({"internal.segment.bytes": 4000, "index.interval.bytes": 300, "retention.ms": -1})
    time = ManualTime(NOW)
    log = Log.create(directory, config, scheduler=ManualScheduler(time), time=time)
    records, aborted, open_transactions, sequences = [], set(), {}, {}
    for _ in range(batches):
        producer_id = draw.choice((-1, -1, 7, 8))
        if producer_id in open_transactions and draw.random() < 0.4:
            abort = draw.random() < 0.5
            marker = EndTransactionMarker(ControlRecordType.ABORT if abort else ControlRecordType.COMMIT, 0)
            control = MemoryRecords.with_end_transaction_marker(NOW, producer_id, 0, marker, log.log_end_offset, 1)
            log.append_as_follower(control, 1)
            offsets = open_transactions.pop(producer_id)
            aborted |= set(offsets) if abort else set()
            continue
        simple = [_record(draw) for _ in range(draw.randint(1, 6))]
        magic, codec = draw.choice((2, 2, 2, 1, 0)), draw.choice(CODECS)
        if magic < 2:
            simple = [each._replace(headers=()) for each in simple]
            producer_id = -1
            if codec is CompressionType.ZSTD:
                codec = CompressionType.NONE
        # A gap as compaction leaves one.
        base_offset = log.log_end_offset + draw.choice((0, 0, 0, 5))
        log_append = magic > 0 and draw.random() < 0.3
        log.append_as_follower(
            MemoryRecords.with_records(
                codec,
                *simple,
                magic=magic,
                initial_offset=base_offset,
                timestamp_type=TimestampType.LOG_APPEND_TIME if log_append else TimestampType.CREATE_TIME,
                log_append_time=NOW + 5 if log_append else -1,
                producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1,
                base_sequence=sequences.get(producer_id, 0) if producer_id >= 0 else -1,
                partition_leader_epoch=1,
                is_transactional=producer_id >= 0,
            ),
            1,
        )
        if producer_id >= 0:
            sequences[producer_id] = sequences.get(producer_id, 0) + len(simple)
            open_transactions.setdefault(producer_id, []).extend(range(base_offset, base_offset + len(simple)))
        for offset, each in enumerate(simple, base_offset):
            timestamp = -1 if magic == 0 else NOW + 5 if log_append else each.timestamp
            kind = -1 if magic == 0 else int(log_append)
            headers = tuple((header.key, header.value) for header in each.headers)
            records.append(Seen(offset, timestamp, kind, each.key, each.value, headers))
    log.update_high_watermark(log.log_end_offset)
    drawn = DrawnLog(directory, records, aborted, log.last_stable_offset, len(log.log_segments))
    log.close()
    return drawn


def _record(draw: random.Random) -> SimpleRecord:
    headers = tuple(Header(draw.choice(("h", "é", "")), draw.choice((None, b"", b"\xff1"))) for _ in range(2))
    key = draw.choice((None, b"", b"k%d" % draw.randrange(9)))
    value = draw.choice((None, draw.randbytes(draw.randrange(90))))
    return SimpleRecord(NOW + draw.randrange(-1000, 1000), key, value, draw.choice(((), (), headers)))
