"""Keys go to the partitions that Kafka's producers choose."""

import random

import numpy as np
import pyarrow as pa
import pytest

from minikafka.common.murmur2 import murmur2
from minikafka.record.kernels import record_columns
from minikafka.spark.sink.partitioner import partitions_of

# What Kafka 4.3.0's `Utils.murmur2` says, without the sign bit.
KNOWN = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536,
         b"a-little-bit-longer-string": -1486304829, b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
         b"abc": 479470107}  # fmt: skip


@pytest.mark.parametrize("key", KNOWN)
def test_known_hashes(key):
    assert murmur2(b"x" + key + b"x", 1, 1 + len(key)) == KNOWN[key] & 0x7FFFFFFF


@pytest.mark.parametrize("compiled", [False, True])
def test_a_column_of_keys(monkeypatch, compiled):
    monkeypatch.setattr(record_columns, "_compiled", None)
    monkeypatch.setattr(record_columns, "_plain_records", -(2**62))
    if compiled:
        assert record_columns.use_compiled_kernel()
    draw = random.Random(1)
    keys = [draw.randbytes(draw.randrange(20)) for _ in range(500)]
    expected = [murmur2(key, 0, len(key)) % 7 for key in keys]
    column = pa.array([b"not this", *keys])[1:]
    assert partitions_of(column, 7).to_pylist() == expected
    assert partitions_of(pa.array([], pa.binary()), 7).to_pylist() == []
    assert np.unique(expected).tolist() == list(range(7))


def test_the_hash_is_kafkas(kafka):
    utils = kafka.find_class("org.apache.kafka.common.utils.Utils")
    draw = random.Random(2)
    for _ in range(200):
        key = draw.randbytes(draw.randrange(40))
        assert murmur2(key, 0, len(key)) == utils.toPositive(utils.murmur2(bytearray(key)))
