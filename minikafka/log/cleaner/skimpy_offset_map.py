"""The latest offset of each key, in a table of fixed size that keeps hashes instead of keys."""

import hashlib
import struct

from minikafka.common.errors import IllegalArgumentException
from minikafka.log.cleaner import offset_map_kernel
from minikafka.record import record_columns
from minikafka.record.record_columns import RecordColumns

_HASH = struct.Struct(">qq")
_COMPILED = "minikafka.log.cleaner.compiled_kernel"


class SkimpyOffsetMap:
    """Maps keys to offsets by their MD5 hashes, and never takes one out.

    - A slot has 24 bytes: the hash and an offset. There are as many as fit the memory that is given, so a map of the
      default 128 MiB has room for 5.6 million keys, however long these are.
    - Two keys with the same hash are one key. With MD5 that does not happen by chance.
    - Slots are found by probing: 13 times by four bytes of the hash, from then on one slot after another.
    - `latest_offset` is the one put in last, or what `update_latest_offset` said since; -1 at first.

    Where the keys of a batch stand in columns, `put_columns` and `get_columns` do what `put` and `get` do for each key;
    after some hundred thousand records they do it by machine code.

    Kafka: `SkimpyOffsetMap` with MD5, the one hash that a broker uses.
    """

    BYTES_PER_ENTRY = offset_map_kernel.INTS_PER_SLOT * 8

    def __init__(self, memory: int):
        """A map that takes at most `memory` bytes."""
        self.slots = memory // self.BYTES_PER_ENTRY
        self.size = 0
        self.latest_offset = -1
        self._table = None  # made when it is first needed
        self._view: memoryview | None = None  # of the table: faster than numpy where a single number is wanted

    @property
    def utilization(self) -> float:
        """The share of the slots that are taken, 0 to 1. Kafka: `OffsetMap.utilization`."""
        return self.size / self.slots

    def get(self, key: bytes) -> int:
        """The offset of `key`, -1 if it is not in the map. Kafka: `SkimpyOffsetMap.get`."""
        found = [-1]
        self._make_table()
        high, low = _HASH.unpack(hashlib.md5(key).digest())
        offset_map_kernel.get_all(self._view, self.slots, [high], [low], [0], found)
        return found[0]

    def put(self, key: bytes, offset: int) -> None:
        """Note `offset` for `key`. Raises IllegalArgumentException if every slot is taken.

        Kafka: `SkimpyOffsetMap.put`.
        """
        self._make_table()
        high, low = _HASH.unpack(hashlib.md5(key).digest())
        self._put_all(offset_map_kernel, self._view, [high], [low], [0], [offset], offset, self.slots + 1)

    def update_latest_offset(self, offset: int) -> None:
        """The map covers the log up to `offset`, inclusive. Kafka: `SkimpyOffsetMap.updateLatestOffset`."""
        self.latest_offset = offset

    def clear(self) -> None:
        """Forget everything. Kafka: `SkimpyOffsetMap.clear`."""
        self.size = 0
        self.latest_offset = -1
        self._table = self._view = None

    def put_columns(self, columns: RecordColumns, start_offset: int, limit: int) -> int:
        """`put` the keys of records from `start_offset` on, in their order, as long as `size` is below `limit`.

        Returns how many records were looked at: all, or those before the first for which there is no room.
        """
        kernel, table, highs, lows, key_end = self._hashed(columns)
        offsets = columns.offsets if kernel is offset_map_kernel else self._numpy.asarray(columns.offsets)
        return self._put_all(kernel, table, highs, lows, key_end, offsets, start_offset, limit)

    def get_columns(self, columns: RecordColumns):
        """`get` of each record's key, -1 for a record without key, as an int64 array."""
        kernel, table, highs, lows, key_end = self._hashed(columns)
        found = self._numpy.empty(columns.count, self._numpy.int64)
        places = memoryview(found) if kernel is offset_map_kernel else found
        kernel.get_all(table, self.slots, highs, lows, key_end, places)
        return found

    def _put_all(self, kernel, table, highs, lows, key_end, offsets, start_offset: int, limit: int) -> int:
        looked_at, entries, latest_offset = kernel.put_all(
            table, self.slots, self.size, self.latest_offset, highs, lows, key_end, offsets, start_offset,
            min(limit, self.slots),
        )  # fmt: skip
        self.size, self.latest_offset = int(entries), int(latest_offset)
        if looked_at < len(offsets) and self.size < limit:
            raise IllegalArgumentException(
                f"Attempted to add a new entry to a full offset map, entries: {self.size}, slots: {self.slots}"
            )
        return looked_at

    def _hashed(self, columns: RecordColumns):
        """The kernel that is in use, the table as it needs it, the halves of each key's hash, and where keys end."""
        self._make_table()
        numpy = self._numpy
        compiled = record_columns.compiled_functions(_COMPILED)
        if compiled is None:
            data, key_end = columns.data, columns.key_end
            digests = [
                _HASH.unpack(hashlib.md5(data[start:end]).digest()) if end >= 0 else (0, 0)
                for start, end in zip(columns.key_start, key_end)
            ]
            highs, lows = zip(*digests) if digests else ((), ())
            return offset_map_kernel, self._view, highs, lows, key_end
        key_end = numpy.asarray(columns.key_end)
        highs, lows = numpy.empty(columns.count, numpy.int64), numpy.empty(columns.count, numpy.int64)
        data = numpy.frombuffer(columns.data, numpy.uint8)
        compiled.hash_keys(data, numpy.asarray(columns.key_start), key_end, highs, lows, numpy.empty(16, numpy.int64))
        return compiled, self._table, highs, lows, key_end

    def _make_table(self) -> None:
        if self._table is None:
            import numpy  # not before a log is cleaned

            self._numpy = numpy
            self._table = numpy.zeros(self.slots * offset_map_kernel.INTS_PER_SLOT, numpy.int64)
            self._view = memoryview(self._table)
