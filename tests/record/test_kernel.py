"""The kernel, plain and compiled: the same source must find the same."""

import os
import random
import subprocess
import sys
import threading

import pytest

from minikafka.common.errors import IllegalArgumentException, InvalidRecordException
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.record.format.record_batch import RECORD_BATCH_OVERHEAD, RecordBatch
from minikafka.record.format.varint import size_of_varint, write_varint
from minikafka.record.kernels import batch_run, kernel, record_columns
from minikafka.record.kernels.batch_run import BatchRun, batch_runs

COLUMNS = (
    "offsets", "timestamps", "key_start", "key_end", "value_start", "value_end",
    "headers_start", "headers_count", "record_start", "record_end",
)  # fmt: skip


@pytest.fixture(params=["plain", "compiled"])
def kernel_in_use(request, monkeypatch):
    """Run the test with each kernel."""
    if request.param == "compiled":
        assert record_columns.use_compiled_kernel()
    else:
        monkeypatch.setattr(record_columns, "_compiled", None)
        monkeypatch.setattr(record_columns, "_plain_records", -(2**60))
    assert record_columns.kernel_in_use() == request.param


def _outcome(batch: RecordBatch):
    try:
        columns = batch.columns()
        summary = batch.summary()
    except (InvalidRecordException, IllegalArgumentException) as error:
        return type(error), str(error)
    return [getattr(columns, name).tolist() for name in COLUMNS], [getattr(summary, n) for n in summary.__slots__]


def test_plain_and_compiled_find_the_same_in_sound_and_damaged_batches(batches, monkeypatch):
    rng = random.Random(3)
    drawn = []
    for _ in range(400):
        data = bytearray(batches.build(*batches.random(rng, 2, Compression.NONE)).buffer)
        for _ in range(rng.choice([0, 1, 2])):
            data[rng.randrange(22, len(data))] ^= 1 << rng.randrange(8)
        data[22] &= 0xF8
        drawn.append(data)
    assert record_columns.use_compiled_kernel()
    compiled = [_outcome(RecordBatch(data)) for data in drawn]
    monkeypatch.setattr(record_columns, "_compiled", None)
    monkeypatch.setattr(record_columns, "_plain_records", -(2**60))
    plain = [_outcome(RecordBatch(data)) for data in drawn]
    assert plain == compiled
    assert 100 < sum(isinstance(outcome[0], list) for outcome in plain) < 380


@pytest.mark.parametrize("value", [0, -1, 1, 63, -64, 64, -65, 8191, 8192, 2**31 - 1, -(2**31)])
def test_varints_are_read_back(kernel_in_use, value):
    out = bytearray()
    write_varint(value, out)
    assert size_of_varint(value) == len(out)
    assert kernel.read_varint(out, 0, len(out)) == (value, len(out))
    assert kernel.read_varlong(out, 0, len(out)) == (value, len(out))
    assert kernel.read_varint(out, 0, len(out) - 1)[1] < 0


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**62, -(2**62) - 1, 2**63 - 1, -(2**63)])
def test_varlongs_are_read_back(value):
    out = bytearray()
    write_varint(value, out)
    assert size_of_varint(value) == len(out)
    assert kernel.read_varlong(out, 0, len(out)) == (value, len(out))
    assert kernel.read_varlong(out, 0, len(out) - 1)[1] < 0


def test_varints_keep_the_bits_that_java_keeps():
    assert kernel.read_varint(bytes.fromhex("ffffffff7f"), 0, 5) == (-(2**31), 5)
    assert kernel.read_varint(bytes.fromhex("ffffffffff"), 0, 5) == (0, -2)
    assert kernel.read_varlong(bytes.fromhex("ffffffffffffffffff7f"), 0, 10) == (-(2**63), 10)
    assert kernel.read_varlong(bytes.fromhex("ffffffffffffffffffff"), 0, 10) == (0, -2)


@pytest.mark.parametrize("a", [-(2**63), -(2**63) + 1, -1, 0, 1, 2**62, 2**63 - 1])
@pytest.mark.parametrize("b", [-(2**63), -(2**62), -1, 0, 1, 2**63 - 1])
def test_sums_wrap_as_javas_do(a, b):
    assert kernel.wrapping_add(a, b) == (a + b + 2**63) % 2**64 - 2**63


def _batch_of(body: bytes, count: int = 1) -> RecordBatch:
    """An uncompressed batch whose records are these bytes."""
    data = (
        bytearray(MemoryRecords.with_records(Compression.NONE, SimpleRecord(0)).buffer[:RECORD_BATCH_OVERHEAD]) + body
    )
    data[57:61] = count.to_bytes(4, "big", signed=True)
    return RecordBatch(data)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "premature EOF"),
        ("80", "premature EOF"),
        ("0e000000", "expected 7 bytes in record payload, but instead the buffer has only 3 remaining bytes"),
        ("0c0000000101", "expected 6 bytes in record payload, but instead the buffer has only 5 remaining bytes"),
        ("0e00000001010000", "expected to read 7 bytes in record payload, but instead read"),
        ("0c000000010101", "invalid number of record headers -1"),
        ("0c00000001017e", "63 is larger than the remaining size"),
        ("0e00000001010201", "negative header key size -1"),
        ("0e0000000101020202", "structure"),
        ("0c0000000a0100", "structure"),
        ("0c0000000101000c000000010100", "records still remaining"),
        ("01000000010100", "expected to read -1 bytes in record payload, but instead read 6"),
    ],
)
def test_malformed_records_are_invalid(kernel_in_use, body, message):
    batch = _batch_of(bytes.fromhex(body))
    for read in (batch.columns, batch.summary, lambda: list(batch)):
        with pytest.raises(InvalidRecordException, match=message):
            read()


def test_a_record_size_of_more_than_five_bytes_is_an_illegal_argument(kernel_in_use):
    with pytest.raises(IllegalArgumentException, match="Varint is too long"):
        _batch_of(b"\xff" * 9).columns()


def test_a_false_count_reserves_no_memory(kernel_in_use):
    record = bytes.fromhex("0c000000010100")
    with pytest.raises(InvalidRecordException, match="premature EOF"):
        _batch_of(record, 2**31 - 1).columns()
    with pytest.raises(InvalidRecordException, match="Found invalid record count -1"):
        _batch_of(record, -1).columns()


def test_records_before_the_damage_are_given_as_kafka_gives_them(kernel_in_use):
    batch = MemoryRecords.with_records(Compression.NONE, *[SimpleRecord(i, b"k", b"v") for i in range(5)]).first_batch()
    batch.buffer[-1] = 1  # the last record has -1 headers
    seen = []
    with pytest.raises(InvalidRecordException):
        for record in batch:
            seen.append(record.offset)
    assert seen == [0, 1, 2, 3]


def test_a_summary_tells_what_a_validator_asks(kernel_in_use):
    records = [SimpleRecord(t, key, b"v") for t, key in [(5, b"a"), (9, None), (3, b"c"), (9, None)]]
    for codec in CompressionType:
        summary = MemoryRecords.with_records(codec, *records).first_batch().summary(skip_key_value=True)
        assert summary.consecutive
        assert (summary.count, summary.first_null_key) == (4, 1)
        assert (summary.min_timestamp, summary.max_timestamp, summary.index_of_max_timestamp) == (3, 9, 1)


def columns_of(buffer):
    """The records of data batches, a run of batches or a single batch at a time."""
    for part in batch_runs(buffer):
        if isinstance(part, BatchRun):
            yield part.columns
        elif not part.is_control_batch:
            yield part.columns()


def test_runs_and_single_batches_give_the_records_of_all_batches(batches, kernel_in_use, monkeypatch):
    monkeypatch.setattr(batch_run, "RECORDS_A_RUN", 40)
    rng = random.Random(8)
    out = bytearray()
    for _ in range(60):
        magic = rng.choice([2, 2, 2, 2, 1, 0])
        compression = rng.choice([None, Compression.NONE, Compression.NONE])
        out += batches.build(*batches.random(rng, magic, compression)).buffer
        if rng.random() < 0.1:
            marker = EndTransactionMarker(ControlRecordType.COMMIT, 3)
            out += MemoryRecords.with_end_transaction_marker(2000, 7, 1, marker).buffer
    expected = [
        (record.offset, record.timestamp, record.key, record.value, record.headers)
        for batch in MemoryRecords(out).batches()
        if not batch.is_control_batch
        for record in batch
    ]
    scanned = [
        (columns.offsets[i], columns.timestamps[i], columns.key(i), columns.value(i), columns.headers(i))
        for columns in columns_of(out + b"torn")
        for i in range(columns.count)
    ]
    assert scanned == expected


def test_a_run_gives_what_comes_before_the_damage(kernel_in_use):
    whole = bytes(MemoryRecords.with_records(Compression.NONE, *[SimpleRecord(i, b"k", b"v") for i in range(5)]).buffer)
    damaged = bytearray(whole * 3)
    damaged[2 * len(whole) - 1] = 1  # in the second batch the last record has -1 headers
    found = columns_of(damaged)
    assert next(found).offsets.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(InvalidRecordException, match="invalid number of record headers -1"):
        next(found)


def test_the_compiled_kernel_takes_over_when_enough_records_were_decoded(monkeypatch):
    monkeypatch.setattr(record_columns, "_compiled", None)
    monkeypatch.setattr(record_columns, "_plain_records", 0)
    monkeypatch.setattr(record_columns, "RECORDS_BEFORE_COMPILING", 8)
    batch = MemoryRecords.with_records(Compression.NONE, *[SimpleRecord(i, b"k", b"v") for i in range(5)]).first_batch()
    batch.summary()
    assert record_columns.kernel_in_use() == "plain"
    batch.summary()
    assert record_columns.kernel_in_use() == "compiled"


def test_the_compiled_kernel_is_loaded_behind_a_server_that_goes_on(monkeypatch):
    monkeypatch.setattr(record_columns, "_compiled", None)
    monkeypatch.setattr(record_columns, "_plain_records", 0)
    monkeypatch.setattr(record_columns, "RECORDS_BEFORE_COMPILING", 4)
    monkeypatch.setattr(record_columns, "_compiles_behind", False)
    record_columns.compile_behind()
    batch = MemoryRecords.with_records(Compression.NONE, *[SimpleRecord(i, b"k", b"v") for i in range(5)]).first_batch()
    with record_columns._compiling:
        for _ in range(3):
            batch.summary()
        assert record_columns.kernel_in_use() == "plain"
        [loader] = [thread for thread in threading.enumerate() if thread.name == "compiled-kernel-loader"]
    loader.join()
    batch.summary()
    assert record_columns.kernel_in_use() == "compiled"


@pytest.mark.slow
def test_where_the_cache_is_empty_another_process_compiles(tmp_path):
    program = """
from minikafka.record.kernels import compiled_kernel
compiled_kernel.load_decode()
stats = compiled_kernel.decode.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    assert said.stdout.split() == ["2", "0"]


@pytest.mark.parametrize("missing", ["numba", "numpy"])
def test_without_numba_the_plain_kernel_serves_and_tells_once_what_would_be_faster(monkeypatch, caplog, missing):
    monkeypatch.setattr(record_columns, "_compiled", None)
    monkeypatch.setattr(record_columns, "_plain_records", 0)
    monkeypatch.setattr(record_columns, "RECORDS_BEFORE_COMPILING", 1)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "minikafka.record.kernels.compiled_kernel", raising=False)
    monkeypatch.delattr("minikafka.record.kernels.compiled_kernel", raising=False)
    batch = MemoryRecords.with_records(Compression.NONE, *[SimpleRecord(i, b"k", b"v") for i in range(5)]).first_batch()
    assert batch.columns().offsets.tolist() == [0, 1, 2, 3, 4]
    assert record_columns.kernel_in_use() == "plain"
    batch.columns()
    assert [record.getMessage().endswith("pip install 'minikafka[fast]'") for record in caplog.records] == [True]
