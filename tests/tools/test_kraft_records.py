"""The metadata log's control records and snapshots are printed as Kafka prints them, however their bytes are
damaged.
"""

import random

import pytest
from crc32c import crc32c

from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.control_record import ControlRecordType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord


def message(version: int, *parts: bytes) -> bytes:
    return b"".join([version.to_bytes(2, "big", signed=True), *parts, b"\0"])


VOTER = bytes.fromhex("00000007 00")
LEADER_CHANGE = message(0, b"\0\0\0\7\3", VOTER, VOTER, b"\2", VOTER)
NAME = b'"contr\\oller"\x1f\x7f \xd0\xb6\\u001f\n'
ENDPOINT = bytes([len(NAME) + 1]) + NAME + b"\x0a127.0.0.1\xff\xfe\0"
FULL_VOTER = b"\0\0\0\1" + bytes(range(240, 256)) + b"\3" + ENDPOINT + ENDPOINT + b"\0\0\0\1\0" + b"\0"
MESSAGES = [
    (ControlRecordType.LEADER_CHANGE, LEADER_CHANGE),
    (ControlRecordType.LEADER_CHANGE, b"\0\1" + LEADER_CHANGE[2:]),
    (ControlRecordType.SNAPSHOT_HEADER, message(0, (1_700_000_000_000).to_bytes(8, "big"))),
    (ControlRecordType.SNAPSHOT_FOOTER, message(-3)),
    (ControlRecordType.SNAPSHOT_FOOTER, b"\0\0\1\5\3abc and more"),
    (ControlRecordType.KRAFT_VERSION, message(0, b"\0\1")),
    (ControlRecordType.KRAFT_VOTERS, message(0, b"\2", FULL_VOTER)),
]


def control_batch(offset: int, control_type: ControlRecordType, value: bytes | None) -> bytes:
    record = SimpleRecord(1_000, control_type.record_key(), value)
    batch = bytearray(MemoryRecords.with_records(CompressionType.NONE, record, initial_offset=offset).buffer)
    batch[22] |= 0x20  # the attribute that makes it a control batch
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


@pytest.fixture
def same(kafkas_dump, our_dump):
    def dump(*arguments: str):
        theirs, ours = kafkas_dump(*arguments), our_dump(*arguments)
        assert (ours.stdout, ours.failed) == (theirs.stdout, theirs.failed), (arguments, ours.stderr)
        return ours

    return dump


def test_every_message(same, tmp_path):
    file = tmp_path / f"{0:020d}.log"
    file.write_bytes(b"".join(control_batch(n, *each) for n, each in enumerate(MESSAGES)))
    printed = same("--files", str(file), "--deep-iteration").stdout.decode()
    for words in ("LeaderChange: {", "SnapshotHeader {", "SnapshotFooter {", "KRaftVersion {", "KRaftVoters {"):
        assert words in printed
    same("--files", str(file), "--print-data-log", "--skip-record-metadata")


def test_damaged_messages(same, tmp_path):
    """Each damage alone in a file, with a right CRC: the same line or the same end."""
    draw, failed, file = random.Random(2), 0, tmp_path / f"{0:020d}.log"
    for control_type, value in MESSAGES:
        damages = [None, b"", *(value[:cut] for cut in draw.sample(range(len(value)), min(len(value), 6)))]
        for _ in range(16):
            damaged = bytearray(value)
            damaged[draw.randrange(len(value))] = draw.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
            damages.append(bytes(damaged))
        for damaged in damages:
            file.write_bytes(control_batch(0, control_type, damaged))
            failed += same("--files", str(file), "--deep-iteration").failed
    assert 20 < failed < 120


@pytest.mark.parametrize("size", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\x01", b"\x80\x80\x80\x80\x08"])
def test_lengths_beyond_31_bits(same, tmp_path, size):
    file = tmp_path / f"{0:020d}.log"
    for value in (b"\0\0" + size, b"\0\0\1\1" + size, b"\0\0\0\0\0\7" + size):
        for control_type in (ControlRecordType.SNAPSHOT_FOOTER, ControlRecordType.LEADER_CHANGE):
            file.write_bytes(control_batch(0, control_type, value))
            same("--files", str(file), "--deep-iteration")


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.checkpoint",
        f"{56:020d}-{3:010d}.checkpoint",
        f"{56:020d}x{3:010d} and more.checkpoint",
        "-0000000000000000009-+000000007.checkpoint",
        f"{2**63 - 1:020d}-{2**31:010d}.checkpoint",
        "5-1.checkpoint",
        ".checkpoint",
        f"{56:020d}-{3:010d}.checkpoint.deleted",
        f"{56:020d}.bootstrap.checkpoint",
        f"{5:020d}-checkpoint.log",
    ],
)
def test_names_of_snapshots(same, tmp_path, name):
    (tmp_path / name).write_bytes(control_batch(0, *MESSAGES[2]) + b"torn")
    same("--files", str(tmp_path / name))
