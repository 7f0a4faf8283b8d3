"""Damage to the files of a partition, as functions of its directory."""

import os
from pathlib import Path

from minikafka.record.files.file_records import FileRecords
from tests.slow.fuzz.batches import V2_FIELDS

THOROUGHNESS = int(os.environ.get("MINIKAFKA_DAMAGE", "1"))

OLD_FIELDS = {
    "offset": (0, 8),
    "size": (8, 4),
    "CRC": (12, 4),
    "magic": (16, 1),
    "attributes": (17, 1),
    "timestamp or key size": (18, 4),
    "value": (26, 4),
}
INDEX_FIELDS = {"offset": (0, 4), "position": (4, 4)}
TIME_INDEX_FIELDS = {"timestamp": (0, 8), "offset": (8, 4)}
TXN_INDEX_FIELDS = {
    "version": (0, 2),
    "producer id": (2, 8),
    "first offset": (10, 8),
    "last offset": (18, 8),
    "last stable offset": (26, 8),
}


def changing(name, work):
    """Put `work(content)` in the place of the content of the file `name`."""

    def change(directory):
        path = directory / name
        path.write_bytes(work(bytearray(path.read_bytes())))

    return change


def flip(name, position, bits):
    def work(data):
        data[position] ^= bits
        return data

    return changing(name, work)


def flips(path: Path, fields, start=0):
    """Both ends of each field: the sign and the lowest bit."""
    for field, (position, length) in fields.items():
        for byte, bits in ((position, 0x80), (position + length - 1, 1)):
            if start + byte < path.stat().st_size:
                yield f"{path.name}: {field} at {start + byte} ^ {bits}", flip(path.name, start + byte, bits)


def ends(sequence):
    """Its first, middle and last element, each once."""
    sequence = list(sequence)
    return [sequence[i] for i in sorted({0, len(sequence) // 2, len(sequence) - 1})] if sequence else []


def batches(path: Path):
    """(position, size, magic) of each batch of an undamaged segment."""
    with_file = FileRecords.open(path, mutable=False)
    try:
        return [(batch.position, batch.size_in_bytes, batch.magic) for batch in with_file.batches()]
    finally:
        with_file.close()


def fields_of(magic):
    return V2_FIELDS if magic == 2 else OLD_FIELDS


def flipped(data, position, bits):
    if position < len(data):
        data[position] ^= bits
    return data


def both(*changes):
    def change(directory):
        for each in changes:
            each(directory)

    return change


def remove(*names):
    def change(directory):
        for name in names:
            (directory / name).unlink()

    return change


def sample(changes, size):
    """So many of them, spread evenly; all with enough thoroughness."""
    changes = list(changes)
    step = max(1, len(changes) // (size * THOROUGHNESS))
    return changes[::step]
