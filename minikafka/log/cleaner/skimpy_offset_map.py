"""The latest offset of each key, in a table of fixed size that holds hashes instead of keys."""

import hashlib
import struct
from array import array

from minikafka.common.at_hand import zeros
from minikafka.common.errors import IllegalArgumentException
from minikafka.log.cleaner import offset_map_kernel
from minikafka.record.kernels.column import zero_column
from minikafka.record.kernels.record_columns import RecordColumns, compiled_functions

_HASH = struct.Struct(">qq")
_COMPILED = "minikafka.log.cleaner.compiled_offset_map_kernel"


class SkimpyOffsetMap:
    """Maps keys to offsets by the keys' MD5 hashes, and never removes a key.

    - A slot has 24 bytes: the hash and an offset. There are as many slots as fit into the given memory, so a map of the
      default 128 MiB has room for 5.6 million keys, however long they are.
    - Two keys with the same hash count as one key. With MD5 that does not happen by chance.
    - Slots are found by probing: 13 times by four bytes of the hash, then one slot after another.
    - `latest_offset` is the offset that was put last, or what `update_latest_offset` has said since; -1 at first.

    For the keys of a whole batch in columns, `put_columns` and `get_columns` do what `put` and `get` do for each key;
    after some hundred thousand records they do it in machine code.

    Kafka: `SkimpyOffsetMap` with MD5, the one hash that a broker uses.
    """

    BYTES_PER_ENTRY = offset_map_kernel.INTS_PER_SLOT * 8

    def __init__(self, memory: int):
        """A map that takes at most `memory` bytes."""
        self.slots = memory // self.BYTES_PER_ENTRY
        self.size = 0
        self.latest_offset = -1
        self._slots: memoryview | None = None

    @property
    def utilization(self) -> float:
        """The share of the slots that are taken, 0 to 1. Kafka: `OffsetMap.utilization`."""
        return self.size / self.slots

    def get(self, key: bytes) -> int:
        """The offset of `key`, -1 if it is not in the map. Kafka: `SkimpyOffsetMap.get`."""
        high, low = _HASH.unpack(hashlib.md5(key).digest())
        found = array("q", [-1])
        offset_map_kernel.get_all(self._table(), self.slots, [high], [low], array("q", [0]), found)
        return found[0]

    def put(self, key: bytes, offset: int) -> None:
        """Note `offset` for `key`. Raises IllegalArgumentException if every slot is taken.

        Kafka: `SkimpyOffsetMap.put`.
        """
        high, low = _HASH.unpack(hashlib.md5(key).digest())
        columns = array("q", [0]), array("q", [offset])
        self._have_put(
            offset_map_kernel.put_all(
                self._table(), self.slots, self.size, self.latest_offset, [high], [low], *columns, offset, self.slots
            ),
            1,
            self.slots + 1,
        )

    def update_latest_offset(self, offset: int) -> None:
        """Note that the map covers the log up to `offset`, inclusive. Kafka: `SkimpyOffsetMap.updateLatestOffset`."""
        self.latest_offset = offset

    def clear(self) -> None:
        """Forget everything. Kafka: `SkimpyOffsetMap.clear`."""
        self.size = 0
        self.latest_offset = -1
        self._slots = None

    def put_columns(self, columns: RecordColumns, start_offset: int, limit: int) -> int:
        """`put` the keys of the records from `start_offset` on, in order, as long as `size` is below `limit`.

        Returns how many records were looked at: all, or those before the first for which there is no room.
        """
        compiled = compiled_functions(_COMPILED)
        how_far = self.slots, self.size, self.latest_offset
        bounds = start_offset, min(limit, self.slots)
        if compiled is None:
            hashes = _hashes_of_keys(columns)
            outcome = offset_map_kernel.put_all(
                self._table(), *how_far, *hashes, columns.key_end, columns.offsets, *bounds
            )
        else:
            outcome = compiled.put_columns(self._table(), *how_far, columns, *bounds)
        return self._have_put(outcome, columns.count, limit)

    def get_columns(self, columns: RecordColumns) -> "array[int]":
        """`get` of each record's key, -1 for a record without key."""
        found = zero_column(columns.count)
        compiled = compiled_functions(_COMPILED)
        if compiled is None:
            hashes = _hashes_of_keys(columns)
            offset_map_kernel.get_all(self._table(), self.slots, *hashes, columns.key_end, found)
        else:
            compiled.get_columns(self._table(), self.slots, columns, found)
        return found

    def _have_put(self, outcome: tuple[int, int, int], records: int, limit: int) -> int:
        """Take note of what `put_all` did; returns how many of the `records` it looked at."""
        looked_at, self.size, self.latest_offset = map(int, outcome)
        if looked_at < records and self.size < limit:
            raise IllegalArgumentException(
                f"Attempted to add a new entry to a full offset map, entries: {self.size}, slots: {self.slots}"
            )
        return looked_at

    def _table(self) -> memoryview:
        """The slots, zero where they are empty; the system provides the memory as they fill."""
        if self._slots is None:
            self._slots = zeros(self.slots * self.BYTES_PER_ENTRY).cast("q")
        return self._slots


def _hashes_of_keys(columns: RecordColumns) -> tuple[list[int], list[int]]:
    """Both halves of each key's hash; zeros for a record without key."""
    data = columns.data
    highs, lows = [], []
    for start, end in zip(columns.key_start, columns.key_end, strict=True):
        high, low = _HASH.unpack(hashlib.md5(data[start:end]).digest()) if end >= 0 else (0, 0)
        highs.append(high)
        lows.append(low)
    return highs, lows
