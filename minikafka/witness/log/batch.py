"""A batch of records as a workload describes it: a few words that determine every byte."""

import random
from dataclasses import dataclass, fields, replace

from minikafka.common.at_hand import crc32c
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import Header
from minikafka.record.format.record_batch import TimestampType
from minikafka.witness.log.offsets import At

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
MARKERS = ("", "commit", "abort")
DAMAGES = ("", "crc", "torn", "stump", "count", "magic")
_NOW = (At("now", 0),)


@dataclass(frozen=True)
class Batch:
    """A record batch. As text: `[3x100 ts=now,now-5 keys=4 codec=gzip pid=7 epoch=0 seq=12 txn]`.

    `3x100` is three records with values of 100 bytes. A list describes one record after another, and its last element
    describes all further ones: `3x100,null` has one value of 100 bytes and two nulls; `ts=now,now-5` likewise, in ms,
    relative to the clock or absolute. `keys=4` draws keys from four different ones (0: null keys; -1: empty ones);
    `headers`: of each record, from the third one on with keys beyond ASCII; `data` varies the bytes.

    Offsets are those that the batch arrives with: 0 from a client. A follower's batch without `offset` begins at the
    log end offset, or where the batch before it in the same append ends; `last` overrides the last offset (a batch that
    compaction has thinned out); both absolute or relative. `leader_epoch` is the partition leader epoch in the header;
    without it, a client's batch has −1 and a follower's has the epoch of the append.

    `pid`, `epoch`, `seq`: producer id, producer epoch, base sequence. `txn`: transactional. `marker` makes it a control
    batch that ends a transaction (`coordinator_epoch` is written in it). `log_append_time`: claims that timestamp type.
    `damage`: `crc` flips a bit under the CRC, `torn` drops the last 7 bytes, `stump` all but the first 9, `count`
    writes one record too many in the header, `magic` writes 9 there.
    """

    count: int = 1
    sizes: tuple[int | None, ...] = (10,)
    ts: tuple[At, ...] = _NOW
    keys: int = 0
    headers: int = 0
    codec: str = "none"
    data: int = 0
    offset: At | None = None
    last: At | None = None
    leader_epoch: int | None = None
    pid: int = -1
    epoch: int = -1
    seq: int = -1
    txn: bool = False
    marker: str = ""
    coordinator_epoch: int = 0
    log_append_time: bool = False
    damage: str = ""

    def __post_init__(self):
        as_tuple = lambda value: tuple(value) if isinstance(value, (tuple, list)) else (value,)  # noqa: E731
        if isinstance(self.ts, At):
            object.__setattr__(self, "ts", (self.ts,))
        object.__setattr__(self, "sizes", as_tuple(self.sizes))
        object.__setattr__(self, "ts", tuple(At.of(ts) for ts in as_tuple(self.ts)))
        for name in ("offset", "last"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, At.of(getattr(self, name)))
        for name, allowed in (("codec", CODECS), ("marker", MARKERS), ("damage", DAMAGES)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} is none of {', '.join(filter(None, allowed))}")
        if self.count < 1 or not self.sizes or not self.ts:
            raise ValueError("a batch needs a record, a size and a timestamp")
        if self.marker:
            object.__setattr__(self, "count", 1)

    @property
    def control(self) -> bool:
        """True for a batch that ends a transaction."""
        return bool(self.marker)

    @property
    def value_sizes(self) -> list[int | None]:
        """The size of each record's value in bytes (None: null value)."""
        return [_nth(self.sizes, number) for number in range(self.count)]

    def timestamps(self, now: int) -> list[int]:
        """Each record's timestamp in ms when the clock stands at `now`. With log append time, every record has the
        largest.
        """
        times = [_nth(self.ts, number).resolve({"now": now}) for number in range(self.count)]
        return [max(times)] * self.count if self.log_append_time else times

    def key(self, number: int) -> bytes | None:
        """The key of record `number`, counted from 0."""
        if self.keys <= 0:
            return b"" if self.keys else None
        return b"key-%d" % ((self.data + number) % self.keys)

    def value(self, number: int) -> bytes | None:
        """The value of record `number`: bytes that follow from it and `data` alone, half of them easy to compress."""
        size = _nth(self.sizes, number)
        if size is None:
            return None
        noise = random.Random(self.data * 1_000_003 + number).randbytes(size - size // 2)
        return noise + b"minikafka." * (size // 20) + b"." * (size // 2 - size // 20 * 10)

    def encode(self, now: int, base_offset: int = 0, last_offset: int | None = None, leader_epoch: int = -1) -> bytes:
        """The batch's bytes as they arrive at the log.

        `now` is the clock in ms, `base_offset` the offset of the first record, `last_offset` the last offset that the
        header is to name (None: base offset + count − 1), `leader_epoch` the epoch in the header if the batch has none
        itself.
        """
        epoch = leader_epoch if self.leader_epoch is None else self.leader_epoch
        if self.marker:
            data = bytearray(self._encode_marker(now, base_offset, epoch))
        else:
            data = self._encode(now, base_offset, last_offset, epoch)
        if self.damage == "crc":
            data[-1] ^= 1
        elif self.damage == "torn":
            del data[-7:]
        elif self.damage == "stump":
            del data[9:]
        elif self.damage == "count":
            data[57:61] = (self.count + 1).to_bytes(4, "big")
        elif self.damage == "magic":
            data[16] = 9
        if self.damage == "count":
            _seal(data)
        return bytes(data)

    def size_in_bytes(self, now: int) -> int:
        """The size of the batch in bytes; it follows from the workload alone."""
        return len(self.encode(now))

    def max_timestamp(self, now: int) -> int:
        """The largest timestamp of the records in ms, −1 without records."""
        return max(self.timestamps(now), default=-1)

    def with_(self, **changes) -> "Batch":
        """This batch with `changes` applied."""
        return replace(self, **changes)

    def __str__(self) -> str:
        sizes = ",".join("null" if size is None else str(size) for size in self.sizes)
        words = [self.marker or f"{self.count}x{sizes}"]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("count", "sizes", "marker") or value == field.default:
                continue
            if field.name == "ts":
                value = ",".join(map(str, value))
            words.append(field.name if value is True else f"{field.name}={value}")
        return f"[{' '.join(words)}]"

    @classmethod
    def parse(cls, text: str) -> "Batch":
        """The batch that `str(batch)` describes, with or without brackets. Raises ValueError naming the word that is
        wrong.
        """
        words = text.strip().removeprefix("[").removesuffix("]").split()
        if not words:
            raise ValueError("an empty batch: write the number of records and the size of their values, as in [3x100]")
        values = {"marker": words[0]} if words[0] in MARKERS else _shape(words[0])
        for word in words[1:]:
            name, equals, value = word.partition("=")
            if name not in _READERS:
                raise ValueError(f"{word!r}: a batch has no {name!r}; it has {', '.join(_READERS)}")
            if name in values:
                raise ValueError(f"{word!r}: {name} is there twice")
            try:
                values[name] = _READERS[name](value if equals else None)
            except (ValueError, TypeError, AttributeError):
                raise ValueError(f"{word!r} is not a value for {name}") from None
        return cls(**values)

    def _encode(self, now, base_offset, last_offset, leader_epoch):
        times = self.timestamps(now)
        builder = MemoryRecordsBuilder(
            Compression(CompressionType[self.codec.upper()]),
            magic=2,
            timestamp_type=TimestampType.LOG_APPEND_TIME if self.log_append_time else TimestampType.CREATE_TIME,
            base_offset=base_offset,
            log_append_time=max(times, default=-1) if self.log_append_time else -1,
            producer_id=self.pid,
            producer_epoch=self.epoch if self.pid < 0 else max(self.epoch, 0),
            base_sequence=self.seq if self.pid < 0 else max(self.seq, 0),
            is_transactional=self.txn,
            is_control_batch=False,
            partition_leader_epoch=leader_epoch,
        )
        for number, timestamp in enumerate(times):
            headers = tuple(
                Header(f"h{header}" if header < 2 else f"größe {header}", b"%d" % number if header else None)
                for header in range(self.headers)
            )
            builder.append_with_offset(base_offset + number, timestamp, self.key(number), self.value(number), headers)
        data = bytearray(builder.build().buffer)
        if last_offset is not None:
            data[23:27] = (last_offset - base_offset & 0xFFFFFFFF).to_bytes(4, "big")
        if self.pid >= 0:
            # No builder makes a batch with a producer id and a negative epoch or sequence, but a log must refuse one.
            data[51:57] = self.epoch.to_bytes(2, "big", signed=True) + self.seq.to_bytes(4, "big", signed=True)
        _seal(data)
        return data

    def _encode_marker(self, now, base_offset, leader_epoch):
        marker = EndTransactionMarker(ControlRecordType[self.marker.upper()], self.coordinator_epoch)
        return MemoryRecords.with_end_transaction_marker(
            self.timestamps(now)[0],
            self.pid,
            self.epoch,
            marker,
            initial_offset=base_offset,
            partition_leader_epoch=leader_epoch,
        ).buffer


def _nth(values, number):
    return values[min(number, len(values) - 1)]


def _seal(data: bytearray) -> None:
    """Recompute the CRC, as a producer of such a header would have done."""
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")


def _shape(word: str) -> dict:
    count, times, sizes = word.partition("x")
    if not (times and count.isdigit()):
        raise ValueError(
            f"{word!r}: a batch begins with the number of records and their sizes (3x100), commit or abort"
        )
    return {"count": int(count), "sizes": tuple(None if size == "null" else int(size) for size in sizes.split(","))}


def _flag(value) -> bool:
    if value is not None:
        raise ValueError(value)
    return True


_READERS = {
    "ts": lambda value: tuple(At.of(ts) for ts in value.split(",")),
    "offset": At.of,
    "last": At.of,
    "codec": str,
    "damage": str,
    "txn": _flag,
    "log_append_time": _flag,
    **dict.fromkeys(("keys", "headers", "data", "leader_epoch", "pid", "epoch", "seq", "coordinator_epoch"), int),
}
