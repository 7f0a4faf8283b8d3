"""The offset map: Kafka's slots and collisions, by the plain kernel and by the compiled one."""

import hashlib
import random
import struct

import numpy as np
import pytest

from minikafka.common.errors import IllegalArgumentException
from minikafka.log.cleaner import offset_map_kernel
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.record.kernels import record_columns


@pytest.fixture(params=["plain", "compiled"])
def kernel(request, monkeypatch):
    """Both kernels, one after the other."""
    monkeypatch.setattr(record_columns, "_compiled", None)
    monkeypatch.setattr(record_columns, "_plain_records", -(2**62))
    if request.param == "compiled":
        assert record_columns.use_compiled_kernel()
    return request.param


def columns_of(keys, base_offset=0):
    records = MemoryRecords.with_records(
        Compression.NONE, *(SimpleRecord(1, key, b"v") for key in keys), initial_offset=base_offset
    )
    return records.first_batch().columns()


def test_the_kernels_md5_is_md5():
    for size in [*range(0, 70), 119, 120, 121, 127, 128, 1000]:
        data = bytes(random.Random(size).randbytes(size + 5))
        assert offset_map_kernel.md5(data, 3, 3 + size, [0] * 16) == struct.unpack(
            ">qq", hashlib.md5(data[3 : 3 + size]).digest()
        )


def test_a_map_does_what_a_dict_does(kernel):
    draw = random.Random(7)
    keys = [draw.choice([None, b"", draw.randbytes(draw.randrange(150))]) for _ in range(400)]
    keys += draw.choices(keys, k=400)
    offset_map = SkimpyOffsetMap(24 * 500)
    assert offset_map.put_columns(columns_of(keys, 100), 150, 450) == len(keys)
    expected = {key: 100 + i for i, key in enumerate(keys) if key is not None and i >= 50}
    assert offset_map.size == len(expected)
    assert offset_map.latest_offset == max(expected.values())
    assert offset_map.get_columns(columns_of(keys)).tolist() == [expected.get(key, -1) for key in keys]
    for key in keys[:100]:
        assert key is None or offset_map.get(key) == expected.get(key, -1)


def test_filling_ends_at_the_limit_even_where_the_key_is_known(kernel):
    offset_map = SkimpyOffsetMap(24 * 10)
    keys = [b"a", b"b", None, b"a", b"c", b"a"]
    assert offset_map.put_columns(columns_of(keys), 0, 2) == 3
    assert offset_map.get(b"a") == 0 and offset_map.size == 2 and offset_map.latest_offset == 1


def test_a_full_map_takes_no_more_and_still_finds_what_is_in_it(kernel):
    keys = [str(i).encode() for i in range(17)]
    offset_map = SkimpyOffsetMap(24 * 17 + 23)
    assert offset_map.slots == 17
    for offset, key in enumerate(keys):
        offset_map.put(key, offset)
    assert offset_map.utilization == 1
    assert offset_map.get_columns(columns_of([*keys, b"other"])).tolist() == [*range(17), -1]
    with pytest.raises(IllegalArgumentException, match="entries: 17, slots: 17"):
        offset_map.put(b"other", 17)
    with pytest.raises(IllegalArgumentException):
        offset_map.put_columns(columns_of([b"other"]), 0, 30)


def test_clear_forgets_everything():
    offset_map = SkimpyOffsetMap(240)
    offset_map.put(b"a", 5)
    offset_map.clear()
    assert (offset_map.get(b"a"), offset_map.size, offset_map.latest_offset) == (-1, 0, -1)


def test_slots_are_those_of_kafka(kafka):
    """Kafka's table and ours, byte by byte, from an almost empty one to a full one."""
    wrap = kafka.find_class("java.nio.ByteBuffer").wrap
    draw = random.Random(3)
    for slots in (2, 3, 50, 331):
        theirs, ours = kafka.log_class("SkimpyOffsetMap")(slots * 24 + 5), SkimpyOffsetMap(slots * 24 + 5)
        for offset in range(slots):
            key = draw.randbytes(draw.randrange(20))
            theirs.put(wrap(bytearray(key)), offset)
            ours.put(key, offset)
            assert theirs.size() == ours.size and theirs.latestOffset() == ours.latest_offset
        field = theirs.getClass().getDeclaredField("bytes")
        field.setAccessible(True)
        table = bytes(field.get(theirs).array())[: slots * 24]
        assert table == np.asarray(ours._table()).byteswap().tobytes()
