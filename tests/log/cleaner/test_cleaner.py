"""What survives a cleaning, by a model that knows nothing of batches, maps and segments."""

import random
from typing import NamedTuple

import pytest

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.throttler import Throttler
from minikafka.common.time import ManualTime
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.cleaner.cleaner import Cleaner
from minikafka.log.cleaner.log_to_clean import LogToClean
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

RETENTION_MS = 1000
SETTINGS = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": 700,
    "index.interval.bytes": 100,
    "delete.retention.ms": RETENTION_MS,
}


class Seen(NamedTuple):
    """A record, and when it may go if it is a tombstone: None as long as no cleaning has met it."""

    offset: int
    key: bytes | None
    value: bytes | None
    undone: bool = False
    horizon: int | None = None


class Model:
    """What should be in the log."""

    def __init__(self):
        self.records: list[Seen] = []

    def clean(self, dirty: int, end: int, uncleanable: int, now: int) -> None:
        """Compact what lies below `uncleanable`, with the keys from `dirty` up to `end` (exclusive)."""
        latest = {}
        for record in self.records:
            if dirty <= record.offset < end and not record.undone:
                latest[record.key] = record.offset
        kept = []
        for record in self.records:
            if record.offset < uncleanable:
                if record.undone:
                    continue
                if record.offset < end and record.offset < latest.get(record.key, -1):
                    continue
                if record.value is None:
                    if record.offset < end and record.horizon is not None and record.horizon <= now:
                        continue
                    record = record._replace(horizon=record.horizon or now + RETENTION_MS)
            kept.append(record)
        self.records = kept


class DrawnLog:
    """A log to which things are done that are drawn, with its model beside it."""

    def __init__(self, directory, seed):
        self.draw = random.Random(seed)
        self.time = ManualTime(1_000_000)
        self.log = Log.create(
            directory / "a-0", LogConfig(SETTINGS), scheduler=ManualScheduler(self.time), time=self.time
        )
        self.model = Model()
        self.sequence = 0
        self.dirty = 0

    def append(self, **producer):
        keys = [self.draw.choice([b"a", b"b", b"c", b"d", b"e" * 40]) for _ in range(self.draw.randrange(1, 5))]
        # All of a batch have a value or none has: a horizon is that of a whole batch.
        value = self.draw.choice([b"x" * 30, b"", b"long" * 20, None])
        records = [SimpleRecord(self.time.milliseconds(), key, value) for key in keys]
        codec = self.draw.choice(["none", "none", "gzip"])
        first = self.log.log_end_offset
        data = MemoryRecords.with_records(Compression.of(codec), *records, **producer)
        self.log.append_as_leader(data, 0)
        self.model.records += [Seen(first + i, key, value) for i, key in enumerate(keys)]
        return len(keys)

    def transact(self):
        """A transaction of one producer, committed or aborted."""
        first = self.log.log_end_offset
        for _ in range(self.draw.randrange(1, 4)):
            self.sequence += self.append(
                producer_id=7, producer_epoch=0, base_sequence=self.sequence, is_transactional=True
            )
        decision = self.draw.choice([ControlRecordType.ABORT, ControlRecordType.COMMIT])
        marker = MemoryRecords.with_end_transaction_marker(
            self.time.milliseconds(), 7, 0, EndTransactionMarker(decision, 0)
        )
        self.log.append_as_leader(marker, 0, AppendOrigin.COORDINATOR, transaction_version=0)
        if decision is ControlRecordType.ABORT:
            self.model.records = [r._replace(undone=r.undone or r.offset >= first) for r in self.model.records]

    def clean(self, slots=1000):
        self.log.roll()
        self.log.update_high_watermark(self.log.log_end_offset)
        cleaner = Cleaner(
            0,
            SkimpyOffsetMap(24 * slots),
            io_buffer_size=500,
            max_io_buffer_size=10**6,
            dup_buffer_load_factor=0.9,
            throttler=Throttler(1e18, 300, self.time),
            time=self.time,
            check_done=lambda _: None,
        )
        todo = LogToClean(self.log, self.dirty, self.log.log_end_offset)
        end, stats = cleaner.clean(todo)
        assert stats.bytes_read >= stats.bytes_written or stats.messages_written == stats.messages_read
        # Whole segments are rewritten, up to the one in which the cleaning ended.
        segments = self.log.log_segments_between(0, end)
        behind = self.log.log_segments_between(end, 2**62)
        rewritten = min((s.base_offset for s in behind if s.base_offset >= end), default=self.log.log_end_offset)
        assert segments or end == 0
        self.model.clean(self.dirty, end, rewritten, self.time.milliseconds())
        self.dirty = end

    def check(self):
        records = [r for s in self.log.log_segments for b in s.log.batches() if not b.is_control_batch for r in b]
        expected = [(r.offset, r.key, r.value) for r in self.model.records]
        assert [(r.offset, r.key, r.value) for r in records] == expected


@pytest.mark.parametrize("seed", range(25))
def test_what_survives(tmp_path, seed):
    drawn = DrawnLog(tmp_path, seed)
    for _ in range(5):
        for _ in range(drawn.draw.randrange(3, 15)):
            drawn.draw.choice([drawn.append, drawn.append, drawn.transact])()
        drawn.time.sleep(drawn.draw.choice([1, 500, 600, 2000]))
        drawn.clean()
        drawn.check()


@pytest.mark.parametrize("seed", range(15))
def test_what_survives_where_the_map_is_small(tmp_path, seed):
    drawn = DrawnLog(tmp_path, seed)
    for _ in range(6):
        for _ in range(drawn.draw.randrange(3, 15)):
            drawn.append()
        drawn.time.sleep(drawn.draw.choice([1, 2000]))
        drawn.clean(slots=4)
        drawn.check()
