"""Whatever the bytes, reading them raises what Kafka raises and nothing of Python's own."""

import random

import pytest

from minikafka.common import errors
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.log_input_stream import batches as batches_in

KAFKAS = (
    errors.ApiException,
    errors.KafkaException,
    errors.IllegalArgumentException,
    errors.IndexOutOfBoundsException,
    errors.BufferUnderflowException,
)
FIELDS = (
    "base_offset", "last_offset", "next_offset", "size_in_bytes", "partition_leader_epoch", "magic", "checksum",
    "attributes", "max_timestamp", "timestamp_type", "producer_id", "producer_epoch", "base_sequence", "last_sequence",
    "count_or_none", "is_transactional", "is_control_batch", "delete_horizon_ms", "compression_type", "is_compressed",
)  # fmt: skip


def _read_all(make_batches) -> None:
    """Read everything there is to read, each part on its own."""
    try:
        found = list(make_batches())
    except KAFKAS:
        return
    for batch in found:
        for field in FIELDS:
            _attempt(lambda: getattr(batch, field))
        _attempt(batch.ensure_valid)
        _attempt(batch.columns)
        _attempt(lambda: [(r.key, r.value, r.headers, r.offset, r.timestamp, r.sequence) for r in batch])
        if hasattr(batch, "summary"):
            _attempt(lambda: batch.summary(skip_key_value=True))


def _attempt(read) -> None:
    try:
        read()
    except KAFKAS:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("way", ["memory", "file"])
def test_damaged_batches_raise_kafkas_exceptions_only(batches, tmp_path, magic, way):
    rng = random.Random(f"{magic}{way}")
    for _ in range(400):
        data = bytearray(batches.build(*batches.random(rng, magic)).buffer)
        for _ in range(rng.choice([1, 2, 5])):
            data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        if rng.random() < 0.5:
            # The size is made right, so that the damage is met further on.
            data[8:12] = (len(data) - 12).to_bytes(4, "big")
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        if way == "memory":
            _read_all(lambda: batches_in(data))
        else:
            path = tmp_path / "f.log"
            path.write_bytes(data)
            file_records = FileRecords.open(path, mutable=False)
            _read_all(file_records.batches)
            file_records.channel.close()


def test_random_bytes_raise_kafkas_exceptions_only():
    rng = random.Random(5)
    for _ in range(2000):
        data = bytearray(rng.randbytes(rng.choice([0, 11, 12, 17, 40, 61, 100, 300])))
        if len(data) > 22:
            data[8:12] = (len(data) - 12).to_bytes(4, "big")
            data[16] = rng.choice([0, 1, 2])
            data[22 if data[16] == 2 else 17] &= 0x0F
            data[57:61] = rng.choice([1, 2, 2**31 - 1]).to_bytes(4, "big") if len(data) >= 61 else data[57:61]
        _read_all(lambda: batches_in(data))
