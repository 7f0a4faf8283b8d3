"""Headers as Arrow arrays: what Kafka's reader makes of each record, by either kernel."""

import random

import numpy as np
import pytest

from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import Header, SimpleRecord
from minikafka.record.kernels import record_columns
from minikafka.record.kernels.record_columns import RecordColumns, decode_run
from minikafka.spark.source.record_rows import HEADERS_TYPE, headers_of


@pytest.fixture(params=["plain", "compiled"])
def columns(request, monkeypatch) -> RecordColumns:
    monkeypatch.setattr(record_columns, "_compiled", None)
    if request.param == "compiled":
        record_columns.use_compiled_kernel()
    draw = random.Random(3)
    records = [
        SimpleRecord(
            1,
            None,
            draw.randbytes(draw.randrange(50)),
            tuple(
                Header(draw.choice(("a", "é", "", "\U0001f600")), draw.choice((None, b"", b"xyz\xff")))
                for _ in range(draw.choice((0, 0, 1, 3)))
            ),
        )
        for _ in range(300)
    ]
    return decode_run(bytes(MemoryRecords.with_records(Compression.NONE, *records).buffer), 0, 1 << 20)[0]


def expected(columns: RecordColumns, places) -> list:
    headers = [columns.headers(place) for place in places]
    return [[{"key": each.key, "value": each.value} for each in some] or None for some in headers]


@pytest.mark.parametrize("places", [None, [3, 5, 8, 299], []])
def test_headers(columns, places):
    made = headers_of(columns, None if places is None else np.array(places, np.int64))
    made.validate(full=True)
    assert made.type == HEADERS_TYPE
    assert made.to_pylist() == expected(columns, range(len(columns)) if places is None else places)


def test_a_name_that_is_no_utf_8(columns):
    data = bytearray(columns.data)
    data[data.index("é".encode())] = 0xFF
    columns.data = bytes(data)
    made = headers_of(columns, None).to_pylist()
    assert made == expected(columns, range(len(columns)))
    assert any("\ufffd" in each["key"] for some in made for each in some or ())
