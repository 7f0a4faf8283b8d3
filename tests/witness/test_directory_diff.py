"""`directory_diff` sees every difference, names it, and is silent about equal directories."""

import pytest

from minikafka.witness.directory_diff import directory_diff
from tests.golden.places import MIXED

SEGMENT = next(MIXED.glob("*.txnindex")).stem
BASE = int(SEGMENT)


@pytest.fixture
def copy(tmp_path):
    target = tmp_path / MIXED.name
    target.mkdir()
    for path in MIXED.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def only_difference(copy):
    diff = directory_diff(MIXED, copy, ("kept", "changed"))
    assert not diff.equal
    with pytest.raises(AssertionError):
        diff.require()
    (difference,) = diff.differences
    return difference


def test_equal_directories_are_equal(copy):
    diff = directory_diff(MIXED, copy).require()
    assert diff.files == len(list(MIXED.iterdir()))
    assert diff.bytes == sum(path.stat().st_size for path in MIXED.iterdir())


@pytest.mark.parametrize(
    "file, position, meaning",
    [
        (".log", 7, f"base offset of batch 0 (base offset {BASE}, at byte 0) (kept: {BASE}, changed: {BASE ^ 1})"),
        (".log", 15, "partition leader epoch of batch 0"),
        (".log", 20, "CRC of batch 0"),
        (".log", 50, "producer id of batch 0"),
        (".log", 62, "records of batch 0"),
        (".index", 3, "relative offset of entry 0"),
        (".index", 15, "position of entry 1"),
        (".timeindex", 19, "timestamp of entry 1"),
        (".txnindex", 33, "last stable offset of entry 0"),
        (".snapshot", 3, "CRC of the snapshot"),
        (".snapshot", 57, "producer id of entry 1"),
    ],
)
def test_a_changed_byte_is_named(copy, file, position, meaning):
    path = copy / (SEGMENT + file)
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    difference = only_difference(copy)
    assert (difference.file, difference.position) == (SEGMENT + file, position)
    assert meaning in difference.meaning


FIELDS = {
    ".log": (0, [8, 4, 4, 1, 4, 2, 4, 8, 8, 8, 2, 4, 4]),
    ".index": (0, [4, 4]),
    ".timeindex": (0, [8, 4]),
    ".txnindex": (0, [2, 8, 8, 8, 8]),
    ".snapshot": (10, [8, 2, 4, 8, 4, 8, 4, 8]),
}
"""By file: where its first batch or entry begins, and the sizes of the fields in bytes."""


@pytest.mark.parametrize("file", FIELDS)
def test_each_field_is_told_with_both_values(copy, file):
    path = copy / (SEGMENT + file)
    kept = path.read_bytes()
    position, sizes = FIELDS[file]
    said = set()
    for size in sizes:
        for changed in {position, position + size - 1}:
            data = bytearray(kept)
            data[changed] ^= 1
            path.write_bytes(data)
            ours, theirs = (int.from_bytes(of[position : position + size], signed=True) for of in (kept, data))
            difference = only_difference(copy)
            assert difference.position == changed
            assert difference.meaning.endswith(f"(kept: {ours}, changed: {theirs})")
        said.add(difference.meaning.split(" of ")[0])
        position += size
    assert len(said) == len(sizes)


def test_a_crc_that_follows_from_another_byte_is_not_the_difference(copy):
    path = copy / f"{SEGMENT}.log"
    data = bytearray(path.read_bytes())
    data[17] ^= 1
    path.write_bytes(data + bytes(5))
    difference = only_difference(copy)
    assert difference.position == 17 and difference.meaning.startswith("CRC of batch 0")
    for changed in (21, len(data) - 1):  # the first byte behind the CRC, and the last that both files have
        path.write_bytes(data[:changed] + bytes([data[changed] ^ 1]) + data[changed + 1 :])
        assert only_difference(copy).position == changed


def test_the_second_batch_is_found(copy):
    path = copy / (SEGMENT + ".log")
    data = bytearray(path.read_bytes())
    second = 12 + int.from_bytes(data[8:12], "big")
    data[second + 23 + 3] += 1
    path.write_bytes(data)
    assert (
        f"last offset delta of batch 1 (base offset {int.from_bytes(data[second : second + 8])}, at byte {second})"
        in only_difference(copy).meaning
    )


def test_a_missing_file_and_another_suffix_are_two_differences(copy):
    (copy / f"{SEGMENT}.log").rename(copy / f"{SEGMENT}.log.deleted")
    said = [str(difference) for difference in directory_diff(MIXED, copy, ("kept", "changed")).differences]
    assert len(said) == 2
    assert said[0].startswith(f"{SEGMENT}.log: kept has it") and said[1].startswith(
        f"{SEGMENT}.log.deleted: changed has it"
    )


def test_zeros_at_the_end_are_named(copy):
    path = copy / f"{SEGMENT}.index"
    path.write_bytes(path.read_bytes() + bytes(16))
    difference = only_difference(copy)
    assert difference.position == 24 and "then zeros" in difference.meaning and "40 bytes" in difference.meaning


def test_a_line_of_a_checkpoint_is_named(copy):
    (copy / "leader-epoch-checkpoint").write_text("0\n1\n0 1\n")
    assert "line 3" in only_difference(copy).meaning


def test_files_left_out_are_listed_with_the_reason(copy):
    (copy / "meta.properties").write_text("node.id=2")
    diff = directory_diff(MIXED, copy)
    assert diff.equal and "drawn at random" in diff.excluded["meta.properties"]
    assert "meta.properties left out" in str(diff)
    assert not directory_diff(MIXED, copy, excluded={}).equal
