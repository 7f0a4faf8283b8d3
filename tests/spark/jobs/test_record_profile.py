"""What a task counts for the job `profile`, against counting record by record."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from minikafka.common.errors import CorruptRecordException
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.kernels import record_columns
from minikafka.record.kernels.compiled_kernel import octets
from minikafka.spark.jobs import compiled_key_hash_kernel, key_hash_kernel
from minikafka.spark.jobs.earlier_timestamps import EarlierTimestamps
from minikafka.spark.jobs.histogram import Histogram
from minikafka.spark.jobs.key_sketch import KeySketch
from minikafka.spark.jobs.record_profile import profile_of_task
from tests.golden.places import GOLDEN
from tests.spark.drawn_log import draw_log
from tests.spark.jobs.before_1970 import put_first_batch_before_1970
from tests.spark.jobs.tasks import tasks_of_ranges

HOUR = 3_600_000


@pytest.fixture(scope="module", params=["golden", 1, 2])
def directory(request, tmp_path_factory) -> Path:
    if request.param == "golden":
        return GOLDEN / "mixed-0"
    return draw_log(tmp_path_factory.mktemp("drawn"), request.param).directory


def counted(path, period_ms=None, mode="FAILFAST", **options) -> Counter:
    """(since, measure, at) -> count, of all tasks together; but the sketches of keys are not one sketch yet."""
    total = Counter()
    for ranges in tasks_of_ranges(path, **options):
        for batch in profile_of_task(iter(ranges), mode=mode, period_ms=period_ms):
            for row in batch.to_pylist():
                total[row["since"], row["measure"], row["at"]] += row["count"]
    return total


def batches_of(directory: Path):
    for log in sorted(directory.glob("*.log")):
        yield from FileRecords.open(log, mutable=False).batches()


def rounded(value: int) -> int:
    """To its first twelve bits."""
    shift = max(0, value.bit_length() - 12)
    return value >> shift << shift


def expected(directory: Path, start: int, end: int, period_ms: int | None) -> Counter:
    """As `counted`, by looking at each record, without keys and extremes."""
    total, largest = Counter(), -1

    def since(timestamp):
        return None if period_ms is None or timestamp < 0 else timestamp // period_ms * period_ms

    for batch in batches_of(directory):
        records = list(batch)
        if records[-1].offset >= start and records[0].offset < end:
            period = since(batch.max_timestamp)
            total[period, "control batches" if batch.is_control_batch else "batches", 0] += 1
            total[period, "bytes", batch.compression_type.id] += batch.size_in_bytes
        for record in [] if batch.is_control_batch else records:
            if start <= record.offset < end:
                period = since(record.timestamp)
                total[period, "records", 0] += 1
                total[period, "without key", 0] += record.key is None
                total[period, "tombstones", 0] += record.key is not None and record.value is None
                total[period, "with headers", 0] += bool(record.headers)
                if 0 <= record.timestamp < largest:
                    total[period, "lateness", rounded(largest - record.timestamp)] += 1
            largest = max(largest, record.timestamp)
        largest = max(largest, batch.max_timestamp)
    return +total


@pytest.mark.parametrize("period_ms", [None, 200])
@pytest.mark.parametrize("max_bytes", [1, 1000, 1 << 27])
def test_counts(directory, period_ms, max_bytes):
    found = counted(directory, period_ms, bounds="log_end", maxBytesPerTask=max_bytes)
    want = expected(directory, 0, 1 << 62, period_ms)
    assert sum(found.values()) and "lateness" in {measure for _, measure, _ in want}
    assert {each: count for each, count in found.items() if each in want} == want
    others = {measure for each in found if found[each] and each not in want for measure in [each[1]]}
    assert others <= {
        "size", "record bytes", "key", "partition", "smallest size", "largest size", "smallest timestamp",
        "largest timestamp", "largest lateness",
    }  # fmt: skip
    sizes = Counter(
        record.size_in_bytes for batch in batches_of(directory) if not batch.is_control_batch for record in batch
    )
    by_size = Counter()
    for (_, measure, at), count in found.items():
        if measure == "size":
            by_size[at] += count
    if all(isinstance(batch.load_batch_header(), RecordBatch) for batch in batches_of(directory)):
        assert by_size == sizes
    assert sum(by_size.values()) == sum(sizes.values())


def test_bounds(directory):
    offsets = [record.offset for batch in batches_of(directory) for record in batch]
    start, end = offsets[len(offsets) // 3], offsets[2 * len(offsets) // 3]
    topic, _, partition = directory.name.partition("-")
    border = '{"%s": {"%s": %d}}'
    found = counted(
        directory, bounds="log_end", maxBytesPerTask=500,
        startingOffsets=border % (topic, partition, start), endingOffsets=border % (topic, partition, end),
    )  # fmt: skip
    for each, count in expected(directory, start, end, None).items():
        if each[1] not in ("batches", "bytes"):  # of an old compressed batch only the last offset is known
            assert found[each] == count, each


def test_aborted_records_do_not_count(tmp_path):
    drawn = draw_log(tmp_path, 1)
    found = counted(drawn.directory, isolation__level="read_committed", maxBytesPerTask=700)
    assert drawn.aborted and found[None, "records", 0] == len(drawn.committed)
    keys = {each.key for each in drawn.committed if each.key is not None}
    assert len({at for _, measure, at in found if measure == "key"}) == len(keys)


def test_a_timestamp_below_1970_is_none(tmp_path):
    with Log.open(tmp_path / "t-0") as log:
        for _ in range(2):
            batch = MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1_000, b"k", b"v"))
            log.append_as_leader(batch, 0)
    put_first_batch_before_1970(tmp_path / "t-0")
    for period_ms in (None, 200):
        found = counted(tmp_path / "t-0", period_ms)
        expect = expected(tmp_path / "t-0", 0, 2, period_ms)
        assert expect and all(found[each] == count for each, count in expect.items())
        assert not any(measure == "lateness" and count for (_, measure, _), count in found.items())


def test_damage(tmp_path):
    drawn = draw_log(tmp_path, 1)
    segment = sorted(drawn.directory.glob("*.log"))[1]
    batch = next(iter(FileRecords.open(segment, mutable=False).batches()))
    lost = sum(1 for _ in batch)
    data = bytearray(segment.read_bytes())
    data[batch.size_in_bytes - 1] ^= 1
    segment.write_bytes(data)
    with pytest.raises(CorruptRecordException, match=segment.name):
        counted(drawn.directory)
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        found = counted(drawn.directory, mode=mode)
        assert found[None, "damages", 0] == 1
        assert found[None, "records", 0] == len(drawn.records) - lost


def test_the_largest_timestamp_before_a_range(directory):
    batches = list(batches_of(directory))
    logs = sorted(directory.glob("*.log"))
    before = {}
    largest = -1
    for log in logs:
        for batch in FileRecords.open(log, mutable=False).batches():
            before[str(log), batch.position] = largest
            largest = max(largest, batch.max_timestamp)
    earlier = EarlierTimestamps()
    ranges = [each for task in tasks_of_ranges(directory, bounds="log_end", maxBytesPerTask=1) for each in task]
    assert len(ranges) > len(logs) and len(batches) >= len(ranges)
    for each in ranges:
        assert earlier.largest_before(each) == before[each.segment.path, each.positions.start]


def test_histograms_are_close_and_add_up():
    draw = random.Random(5)
    values = [draw.randrange(1 << draw.randrange(1, 63)) for _ in range(3000)]
    values += [0, 4095, 4096, 8191, 8192, (1 << 63) - 1]
    whole, parts = Histogram(), Counter()
    whole.add(np.array(values))
    for start in range(0, len(values), 700):
        part = Histogram()
        part.add(np.array(values[start : start + 700]))
        parts.update(dict(zip(*part.counts, strict=True)))
    assert parts == dict(zip(*whole.counts, strict=True))
    found = sorted(np.repeat(*whole.counts).tolist())
    for value, at in zip(sorted(values), found, strict=True):
        assert at == rounded(value)


def test_sketches_of_keys_are_exact_when_small_and_add_up():
    draw = np.random.default_rng(7)
    hashes = draw.integers(-(1 << 63), (1 << 63) - 1, 3000)
    sketch = KeySketch()
    for part in np.array_split(np.repeat(hashes, 3), 11):
        sketch.add(part)
    assert np.array_equal(sketch.hashes, np.sort(hashes))
    more = draw.integers(-(1 << 63), (1 << 63) - 1, 50_000)
    sketch.add(more)
    assert np.array_equal(sketch.hashes, np.unique(np.concatenate([hashes, more]))[: KeySketch.SIZE])


def test_a_sketch_of_few_keys_has_each_hash_once_however_often_they_come():
    draw = np.random.default_rng(5)
    keys = np.concatenate([draw.integers(-(2**63), 2**63, 900), np.arange(-50, 50), [2**63 - 1, -(2**63)]])
    sketch, added = KeySketch(), []
    for _ in range(30):
        added.append(draw.choice(keys, 500))
        sketch.add(added[-1])
    assert np.array_equal(sketch.hashes, np.unique(np.concatenate(added)))


@pytest.mark.parametrize(
    "text, seed, value",
    [
        (b"", 0, 0), (b"", 1, 0x514E28B7), (b"test", 0, 0xBA6BD213), (b"Hello, world!", 0x9747B28C, 0x24884CBA),
        (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD),
    ],
)  # fmt: skip
def test_the_hash_is_murmur3(text, seed, value):
    assert key_hash_kernel.murmur3(b"##" + text, 2, 2 + len(text), seed) == value


def test_the_compiled_hash_is_the_plain_one():
    data = random.Random(3).randbytes(4000)
    starts = np.arange(0, 3000, 30)
    ends = starts + np.arange(len(starts)) % 41 - 1
    ends[::10] = -1
    plain, compiled = [0] * len(starts), np.zeros(len(starts), np.int64)
    key_hash_kernel.hash_keys(data, starts.tolist(), ends.tolist(), plain)
    compiled_key_hash_kernel.hash_keys(octets(data), starts, ends, compiled)
    assert plain == compiled.tolist() and len(set(plain)) > 80


def test_both_kernels_make_the_same_profile(directory, monkeypatch):
    plain = counted(directory, bounds="log_end")
    monkeypatch.setattr(record_columns, "_compiled", None)
    assert record_columns.use_compiled_kernel()
    assert counted(directory, bounds="log_end") == plain
