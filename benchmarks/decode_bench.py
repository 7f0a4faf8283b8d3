"""Decoding batches to columns: minikafka's kernel against kafka-python and aiokafka, in one run, one thread.

All three get the same bytes and must give every record's offset, timestamp, key and value: minikafka as columns of
numbers and positions, the others as columns (lists) that are filled from the records they make. A ratio above 1 means
that minikafka is faster.
"""

import time

from log_bench import SHAPES, one_batch

from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.kernels.record_columns import decode_run, use_compiled_kernel

ROUNDS = 5
RECORDS_A_RUN = 1 << 14  # their columns fit into a processor's cache


def minikafka_decode(data: bytes) -> int:
    """Batches that are not compressed a run at a time, each compressed one on its own."""
    view, position, found = memoryview(data), 0, 0
    while position < len(view):
        columns, end = decode_run(view, position, RECORDS_A_RUN)
        if end == position:
            batch = RecordBatch(view[position:])
            columns, end = batch.columns(), position + batch.size_in_bytes
        position, found = end, found + len(columns)
    return found


def kafka_python_decode(data: bytes) -> int:
    from kafka.record import MemoryRecords as Records

    return _iterate(Records(data))


def aiokafka_decode(data: bytes) -> int:
    from aiokafka.record.memory_records import MemoryRecords as Records

    return _iterate(Records(data))


def _iterate(records) -> int:
    offsets, timestamps, keys, values = [], [], [], []
    while records.has_next():
        for record in records.next_batch():
            offsets.append(record.offset)
            timestamps.append(record.timestamp)
            keys.append(record.key)
            values.append(record.value)
    return len(offsets)


def best_seconds(decode, data: bytes, repeats: int) -> tuple[float, int]:
    """The best time of one `decode(data)` over the rounds, and the number of records it found."""
    best, found = float("inf"), decode(data)
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            decode(data)
        best = min(best, (time.perf_counter() - start) / repeats)
    return best, found


def main() -> None:
    use_compiled_kernel()
    print(f"{'batch':14} {'decoder':12} {'records/s':>12} {'MB/s':>8} {'minikafka is faster by':>24}")
    for shape in SHAPES:
        batch = one_batch(shape)
        data = batch * max(1, 2_000_000 // len(batch))
        records = shape.count * (len(data) // len(batch))
        seconds = {}
        for name, decode, repeats in (
            ("minikafka", minikafka_decode, 20),
            ("kafka-python", kafka_python_decode, 1),
            ("aiokafka", aiokafka_decode, 2),
        ):
            seconds[name], found = best_seconds(decode, data, repeats)
            if found != records:
                raise AssertionError(f"{name} found {found} of {records} records")
        for name, taken in seconds.items():
            ratio = f"{taken / seconds['minikafka']:.1f}"
            print(f"{shape.name:14} {name:12} {records / taken:12,.0f} {len(data) / taken / 1e6:8.0f} {ratio:>24}")


if __name__ == "__main__":
    main()
