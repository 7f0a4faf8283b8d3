"""The offset index and the time index, alone and beside Kafka's own classes."""

import errno
import mmap
import os
import random
import struct
import subprocess
import sys

import pytest

from minikafka.common import file_ops
from minikafka.common.errors import (
    BufferOverflowException,
    CorruptIndexException,
    IllegalArgumentException,
    IllegalStateException,
    IndexOffsetOverflowException,
    IndexOutOfBoundsException,
    InternalError,
    InvalidOffsetException,
    NullPointerException,
)
from minikafka.common.java.java_numbers import INT_MAX, LONG_MAX, LONG_MIN, to_long
from minikafka.log.index.lazy_index import LazyIndex
from minikafka.log.index.offset_index import OffsetIndex, OffsetPosition
from minikafka.log.index.time_index import TimeIndex, TimestampOffset
from minikafka.witness.kafka.kafka_errors import kafka_errors


@pytest.fixture
def offset_index(tmp_path):
    return OffsetIndex(tmp_path / "5.index", 5, 67)


@pytest.fixture
def time_index(tmp_path):
    return TimeIndex(tmp_path / "5.timeindex", 5, 67)


def test_a_new_index_has_its_full_size_in_whole_entries(offset_index, time_index):
    assert (offset_index.file.stat().st_size, offset_index.max_entries, offset_index.entries) == (64, 8, 0)
    assert (time_index.file.stat().st_size, time_index.max_entries, time_index.entries) == (60, 5, 0)


def test_an_index_too_small_for_an_entry_is_refused_but_its_file_made(tmp_path):
    with pytest.raises(IllegalArgumentException, match="Invalid max index size: 7"):
        OffsetIndex(tmp_path / "0.index", 0, 7)
    assert (tmp_path / "0.index").stat().st_size == 0


def test_entries_on_disk(offset_index, time_index):
    offset_index.append(7, 158)
    offset_index.append(9, 316)
    offset_index.trim_to_valid_size()
    assert offset_index.file.read_bytes().hex() == "000000020000009e000000040000013c"
    time_index.maybe_append(1020, 7)
    time_index.trim_to_valid_size()
    assert time_index.file.read_bytes().hex() == "00000000000003fc00000002"


def test_lookup_gives_the_entry_at_or_before_the_target(offset_index):
    assert offset_index.lookup(100) == OffsetPosition(5, 0)
    for offset, position in ((7, 100), (9, 200), (20, 300)):
        offset_index.append(offset, position)
    targets = (0, 6, 7, 8, 9, 19, 20, 2**40)
    assert [offset_index.lookup(t).position for t in targets] == [0, 0, 100, 100, 200, 200, 300, 300]


def test_upper_bound_of_a_fetch(offset_index):
    for offset, position in ((7, 100), (9, 200), (20, 300)):
        offset_index.append(offset, position)
    start = OffsetPosition(5, 0)
    found = [offset_index.fetch_upper_bound_offset(start, size) for size in (0, 100, 101, 200, 201, 300, 301)]
    assert [None if f is None else f.offset for f in found] == [7, 9, 9, 9, 20, 20, None]


def test_appends_that_an_offset_index_refuses(offset_index):
    offset_index.append(7, 1)
    with pytest.raises(InvalidOffsetException, match="Attempt to append an offset 7 to position 1 no larger than"):
        offset_index.append(7, 2)
    with pytest.raises(IndexOffsetOverflowException, match=str(5 + 2**31)):
        offset_index.append(5 + 2**31, 2)
    for n in range(7):
        offset_index.append(10 + n, n)
    assert offset_index.is_full
    with pytest.raises(IllegalArgumentException, match=r"full index \(size = 8\)"):
        offset_index.append(100, 2)
    with pytest.raises(IllegalArgumentException, match="Attempt to fetch the 8th entry"):
        offset_index.entry(8)


def test_a_time_index_keeps_its_last_slot_for_the_roll(time_index):
    for n in range(4):
        time_index.maybe_append(10 + n, 5 + n)
    assert time_index.is_full
    with pytest.raises(IllegalArgumentException, match=r"full time index \(size = 4\)"):
        time_index.maybe_append(100, 100)
    time_index.maybe_append(100, 100, skip_full_check=True)
    assert time_index.last_entry == TimestampOffset(100, 100)
    with pytest.raises(BufferOverflowException):
        time_index.maybe_append(101, 101, skip_full_check=True)


def test_what_a_time_index_refuses_and_what_it_leaves_out(time_index):
    time_index.maybe_append(-1, 5)
    assert time_index.entries == 0
    time_index.maybe_append(10, 8)
    time_index.maybe_append(10, 9)
    assert time_index.entries == 1
    with pytest.raises(InvalidOffsetException, match=r"an offset \(7\) to slot 1"):
        time_index.maybe_append(11, 7)
    with pytest.raises(IllegalStateException, match=r"a timestamp \(9\) to slot 1"):
        time_index.maybe_append(9, 9)


def test_closing_trims_and_opening_counts_whole_slots(offset_index):
    offset_index.append(7, 100)
    offset_index.close()
    assert offset_index.file.stat().st_size == 8
    with offset_index.file.open("ab") as file:
        file.write(b"\0\0\0\3\0\0\1\0xyz")
    reopened = OffsetIndex(offset_index.file, 5, 67)
    assert (reopened.entries, reopened.max_entries, reopened.length, reopened.last_offset) == (2, 2, 19, 8)
    reopened.close()
    assert reopened.file.stat().st_size == 16


def test_an_index_that_was_not_trimmed_looks_full_of_zeros(offset_index):
    offset_index.append(7, 100)
    offset_index.flush()
    offset_index.close_handler()
    reopened = OffsetIndex(offset_index.file, 5, 67)
    assert (reopened.entries, reopened.is_full, reopened.last_offset) == (8, True, 5)
    reopened.reset()
    assert (reopened.entries, reopened.length) == (0, 64)


def test_growing_again_keeps_entries_and_shrinking_below_them_fails(offset_index):
    offset_index.append(7, 100)
    offset_index.append(8, 200)
    offset_index.trim_to_valid_size()
    assert offset_index.resize(67) and not offset_index.resize(64)
    offset_index.append(9, 300)
    assert offset_index.lookup(9) == OffsetPosition(9, 300)
    with pytest.raises(IllegalArgumentException, match=r"newPosition > limit: \(24 > 8\)"):
        offset_index.resize(8)
    assert offset_index.file.stat().st_size == 8


def test_an_empty_index_file_can_be_used(offset_index):
    offset_index.close()
    empty = OffsetIndex(offset_index.file, 5, 67)
    assert (empty.length, empty.entries, empty.is_full) == (0, 0, True)
    assert empty.lookup(9) == OffsetPosition(5, 0)
    empty.flush()
    empty.close()


def test_a_closed_index_cannot_be_used(offset_index, time_index):
    offset_index.close_handler()
    time_index.close_handler()
    for use in (
        lambda: offset_index.lookup(5),
        lambda: offset_index.append(6, 1),
        lambda: offset_index.flush(),
        lambda: offset_index.resize(32),
        lambda: offset_index.truncate_to(0),
        lambda: time_index.lookup(5),
        lambda: time_index.maybe_append(6, 6, skip_full_check=True),
    ):
        with pytest.raises(NullPointerException, match="closed"):
            use()
    offset_index.close()


def test_a_reader_holds_on_to_a_mapping_that_is_replaced(offset_index):
    offset_index.append(7, 100)
    mapping = offset_index._mapping()
    offset_index.close()
    assert struct.unpack_from(">ii", mapping) == (2, 100)


def test_a_read_only_index_leaves_its_file_alone(offset_index):
    offset_index.append(7, 100)
    offset_index.close_handler()
    reader = OffsetIndex(offset_index.file, 5, writable=False)
    assert reader.entry(0) == OffsetPosition(7, 100)
    with pytest.raises(TypeError):
        reader._mapping()[0:1] = b"x"


def test_sanity_checks(tmp_path):
    def index(cls, data):
        file = tmp_path / f"{random.random()}"
        file.write_bytes(data)
        return cls(file, 10, 100)

    index(OffsetIndex, b"\0\0\0\1\0\0\0\1").sanity_check()
    with pytest.raises(CorruptIndexException, match="the last offset is 9 which is less than the base offset 10"):
        index(OffsetIndex, b"\xff\xff\xff\xff\0\0\0\1").sanity_check()
    with pytest.raises(CorruptIndexException, match="found 9 bytes"):
        index(OffsetIndex, b"\0\0\0\1\0\0\0\1\0").sanity_check()
    with pytest.raises(CorruptIndexException, match="last timestamp is 1 which is less than the first timestamp 2"):
        index(TimeIndex, struct.pack(">qiqi", 2, 1, 1, 2)).sanity_check()
    with pytest.raises(CorruptIndexException, match="last offset is 9 which is less than the first offset 10"):
        index(TimeIndex, struct.pack(">qiqi", 2, 1, 3, -1)).sanity_check()
    with pytest.raises(CorruptIndexException, match="found 13 bytes"):
        index(TimeIndex, struct.pack(">qi", 2, 1) + b"x").sanity_check()


def test_renaming_and_deleting(offset_index, tmp_path):
    target = tmp_path / "5.index.deleted"
    offset_index.rename_to(target)
    assert offset_index.file == target and target.exists()
    assert offset_index.delete_if_exists() and not offset_index.delete_if_exists()
    with pytest.raises(FileNotFoundError):
        offset_index.rename_to(tmp_path / "again")
    assert offset_index.file == tmp_path / "again"


def test_a_lazy_index_makes_its_file_at_the_first_use(tmp_path):
    lazy = LazyIndex(OffsetIndex, tmp_path / "0.index", 0, 80)
    assert not lazy.file.exists()
    lazy.rename_to(tmp_path / "0.index.swap")
    lazy.close()
    assert not lazy.delete_if_exists()
    index = lazy.get()
    assert lazy.get() is index and index.file == lazy.file == tmp_path / "0.index.swap"
    lazy.close()
    assert lazy.file.stat().st_size == 0


def test_a_lazy_index_that_was_let_go_opens_again(tmp_path):
    lazy = LazyIndex(OffsetIndex, tmp_path / "0.index", 0, 80)
    lazy.get().append(5, 100)
    lazy.get().trim_to_valid_size()
    lazy.rename_to(tmp_path / "1.index")
    lazy.let_go()
    flushed = []
    with file_ops.observe(lambda operation, path: flushed.append((operation, path.name))):
        lazy.flush()
    assert flushed == [("fsync", "1.index")]
    assert lazy.get().entry(0) == (5, 100) and lazy.get().entries == 1
    lazy.close()


def test_closing_an_untouched_lazy_index_mends_nothing(tmp_path):
    file = tmp_path / "0.index"
    file.write_bytes(b"x" * 11)
    LazyIndex(OffsetIndex, file, 0, 80).close()
    assert file.read_bytes() == b"x" * 11


# Beside Kafka


class Pair:
    """One index of ours and one of Kafka's, given the same calls."""

    def __init__(self, kafka, tmp_path, name, base_offset, max_index_size, content=None):
        self.directories = [tmp_path / "minikafka", tmp_path / "kafka"]
        for directory in self.directories:
            directory.mkdir(exist_ok=True)
            if content is not None:
                (directory / name).write_bytes(content)
        self.kafka, self.base_offset, self.max_index_size = kafka, base_offset, max_index_size
        self.files = [directory / name for directory in self.directories]
        self.is_time_index = name.endswith("timeindex")
        self.open()

    def open(self):
        cls = TimeIndex if self.is_time_index else OffsetIndex
        self.ours = cls(self.files[0], self.base_offset, self.max_index_size)
        java_class = self.kafka.log_class("TimeIndex" if self.is_time_index else "OffsetIndex")
        self.theirs = java_class(self.kafka.file(self.files[1]), self.base_offset, self.max_index_size, True)

    def reopen(self, trim):
        for close in (
            (self.ours.close, self.theirs.close) if trim else (self.ours.close_handler, self.theirs.closeHandler)
        ):
            close()
        self.open()

    def call(self, name, *arguments, **keywords):
        """Call both with the same; Java takes keywords by their places, behind the other arguments."""
        words = name.split("_")
        java_name = words[0] + "".join(map(str.capitalize, words[1:]))
        ours = outcome(lambda: getattr(self.ours, name)(*arguments, **keywords))
        theirs = outcome(lambda: plain(getattr(self.theirs, java_name)(*arguments, *keywords.values())))
        assert ours == theirs, (name, arguments, keywords)
        assert (self.ours.entries, self.ours.max_entries) == (self.theirs.entries(), self.theirs.maxEntries())
        assert self.ours.is_full == self.theirs.isFull()

    def same_bytes(self):
        one, other = (file.read_bytes() for file in self.files)
        assert one == other


def outcome(call):
    try:
        with kafka_errors():
            return call()
    except Exception as error:
        # Java's two say nothing, ours which file and byte.
        message = (
            ""
            if isinstance(error, BufferOverflowException | IndexOutOfBoundsException)
            else str(error).replace("/kafka/", "/minikafka/")
        )
        return type(error).__name__, message


def plain(value):
    """A Java result as a tuple or number."""
    if hasattr(value, "getClass") and value.getClass().getSimpleName() == "OffsetPosition":
        return value.offset(), value.position()
    if hasattr(value, "getClass") and value.getClass().getSimpleName() == "TimestampOffset":
        return value.timestamp(), value.offset()
    return value


@pytest.mark.parametrize("seed", range(4))
def test_an_offset_index_goes_with_kafkas(kafka, tmp_path, seed):
    rng = random.Random(seed)
    base = rng.choice([0, 1000, 2**40])
    pair = Pair(kafka, tmp_path, "0.index", base, rng.choice([8, 100, 12000, 30000]))
    offset, position = base, 0
    for _ in range(250):
        match rng.choice(
            ["append"] * 8 + ["lookup"] * 4 + ["truncate_to", "resize", "reopen", "reset", "entry", "bad"]
        ):
            case "append":
                for _ in range(rng.choice([1, 1, 20, 200])):
                    offset += rng.choice([1, 3, 50])
                    position += rng.randrange(1, 5000)
                    if not pair.ours.is_full:
                        pair.call("append", offset, position)
            case "lookup":
                pair.call("lookup", rng.randrange(base - 2, offset + 20))
            case "entry":
                pair.call("entry", rng.randrange(pair.ours.entries + 1))
            case "truncate_to":
                offset = rng.randrange(max(base, offset - 500) - 1, offset + 10)
                pair.call("truncate_to", offset)
                offset = max(offset, pair.ours.last_offset)
            case "resize":
                pair.call("trim_to_valid_size")
                pair.same_bytes()
                pair.call("resize", pair.max_index_size)
            case "reopen":
                pair.reopen(trim=True)
                pair.call("resize", pair.max_index_size)
            case "reset":
                if rng.random() < 0.2:
                    pair.call("reset")
                    offset, position = base, 0
            case "bad":
                pair.call("append", rng.choice([base - 1, offset, base + 2**31]), 0)
        pair.same_bytes()
    upper = kafka.log_class("OffsetPosition")
    bounds = [(rng.randrange(position + 1), rng.randrange(position + 1)) for _ in range(40)]
    for start, size in [*bounds, (INT_MAX, 0), (INT_MAX - 10, 11)]:
        ours = pair.ours.fetch_upper_bound_offset(OffsetPosition(0, start), size)
        theirs = pair.theirs.fetchUpperBoundOffset(upper(0, start), size)
        assert ours == (plain(theirs.get()) if theirs.isPresent() else None)
    pair.reopen(trim=True)
    pair.same_bytes()


@pytest.mark.in_parts(4)
@pytest.mark.parametrize("seed", range(4))
def test_a_time_index_goes_with_kafkas(kafka, tmp_path, seed):
    rng = random.Random(seed)
    base = rng.choice([0, 1000, 2**40])
    pair = Pair(kafka, tmp_path, "0.timeindex", base, rng.choice([12, 100, 12000, 30000]))
    offset, timestamp = base, 1000
    for _ in range(250):
        match rng.choice(["append"] * 8 + ["lookup"] * 4 + ["truncate_to", "resize", "reopen", "roll", "entry"]):
            case "append":
                for _ in range(rng.choice([1, 1, 20, 200])):
                    offset += rng.choice([0, 1, 3, 50])
                    timestamp += rng.choice([0, 1, 100, -1])
                    pair.call("maybe_append", timestamp, offset)
            case "roll":
                if pair.ours.entries < pair.ours.max_entries:
                    pair.call("maybe_append", timestamp, offset, skip_full_check=True)
            case "lookup":
                pair.call("lookup", rng.randrange(998, timestamp + 20))
            case "entry":
                pair.call("entry", rng.randrange(pair.ours.entries + 1))
            case "truncate_to":
                offset = rng.randrange(max(base, offset - 500) - 1, offset + 10)
                pair.call("truncate_to", offset)
                offset = max(offset, pair.ours.last_entry.offset)
            case "resize":
                pair.call("resize", pair.max_index_size)
            case "reopen":
                pair.reopen(trim=True)
                pair.call("resize", pair.max_index_size)
        assert pair.ours.last_entry == plain(pair.theirs.lastEntry())
        pair.same_bytes()
    pair.reopen(trim=True)
    pair.same_bytes()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["0.index", "0.timeindex"])
def test_what_a_failure_half_way_leaves_is_what_kafkas_leaves(kafka, tmp_path, name, seed):
    rng = random.Random(seed)
    pair = Pair(kafka, tmp_path, name, 1000, rng.choice([40, 60, 100, 12000]))
    offset, timestamp = 1000, 1000
    for _ in range(60):
        offset, timestamp = offset + rng.choice([1, 3]), timestamp + rng.choice([0, 1, 100])
        beyond = rng.choice([0, 0, 0, -2000, 2**31])
        what = rng.choice(
            ["append"] * 8 + ["trim_to_valid_size", "resize", "truncate_to", "truncate", "reset", "reopen"]
        )
        match what:
            case "append" if pair.is_time_index:
                pair.call("maybe_append", timestamp, offset + beyond, skip_full_check=rng.random() < 0.5)
            case "append":
                pair.call("append", offset + beyond, timestamp)
            case "truncate_to":
                pair.call("truncate_to", offset - rng.randrange(10))
            case "reopen":
                pair.reopen(trim=False)
            case "resize":
                pair.call("resize", rng.choice([pair.max_index_size, 24, 40]))
            case _:
                pair.call(what)
        pair.same_bytes()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["0.index", "0.timeindex"])
def test_damaged_indexes_answer_as_kafkas_do(kafka, tmp_path, name, seed):
    rng = random.Random(seed)
    content = rng.randbytes(rng.choice([8, 12, 33, 9000, 30001]))
    if seed == 0:
        content = bytes(10000)
    pair = Pair(kafka, tmp_path, name, rng.choice([0, 5000]), 40000, content)
    pair.call("sanity_check")
    for _ in range(60):
        width = rng.choice([8, 31, 40])
        pair.call("lookup", rng.randrange(-(2**width), 2**width))
    for _ in range(40):
        if pair.ours.entries:
            entry = pair.ours.entry(rng.randrange(pair.ours.entries))
            pair.call("lookup", entry[0])
            pair.call("truncate_to", entry[1] if pair.is_time_index else entry[0])
        pair.call("resize", 40000)
        pair.reopen(trim=rng.random() < 0.1)
    pair.same_bytes()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["0.index", "0.timeindex"])
def test_a_search_meets_offsets_beyond_the_largest_as_kafkas_does(kafka, tmp_path, name, seed):
    """A base offset near 2^63 makes the offsets of some entries negative, as Java's long arithmetic does."""
    rng = random.Random(seed)
    base = LONG_MAX - rng.choice([0, 5, 1000, INT_MAX - 1, INT_MAX])
    relative = sorted(rng.sample(range(0, rng.choice([2000, INT_MAX])), rng.choice([1, 3, 100, 1700])))
    if seed == 5:
        rng.shuffle(relative)
    entries = enumerate(relative)
    content = b"".join(
        struct.pack(">qi", 1000 + place, each) if "time" in name else struct.pack(">ii", each, 70 * place)
        for place, each in entries
    )
    pair = Pair(kafka, tmp_path, name, base, 40000, content)
    pair.call("sanity_check")
    near = [base, LONG_MAX, LONG_MIN, *(to_long(base + each) for each in rng.sample(relative, min(10, len(relative))))]
    targets = [to_long(rng.choice(near) + rng.randrange(-3, 4)) for _ in range(60)] + [0, -1]
    for target in targets:
        pair.call("lookup", 1000 + target % 2000 if pair.is_time_index else target)
    for target in targets:
        pair.call("truncate_to", target)
        pair.reopen(trim=True)
        pair.same_bytes()
        for file in pair.files:
            file.write_bytes(content)
        pair.reopen(trim=False)


def test_a_full_disk_is_an_exception_and_no_signal_and_later_entries_are_refused(offset_index, time_index, monkeypatch):
    """Java's InternalError; a write into a mapping without blocks behind it would end this process with SIGBUS.

    Kafka, with its indexes on a full disk and then on one with room again, gave these positions.
    """

    def no_room(_descriptor, _data, _position):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(file_ops, "_MADV_POPULATE_WRITE", -1)  # as on a system without it
    monkeypatch.setattr(os, "pwrite", no_room)
    add = {
        offset_index: lambda offset: offset_index.append(offset_index.base_offset + offset, 100),
        time_index: lambda offset: time_index.maybe_append(1000 + offset, time_index.base_offset + offset),
    }
    for index, append in add.items():
        with pytest.raises(InternalError, match=f"No space left on device: {index.file}"):
            append(1)
        assert index.entries == 0
    monkeypatch.undo()
    for index, positions in ((offset_index, (16, 24)), (time_index, (20, 32))):
        for entries, position in enumerate(positions, 1):
            with pytest.raises(IllegalStateException, match=f"^{entries} entries but file position .* {position}$"):
                add[index](entries)


FULL_FILE_SYSTEM_IN_MEMORY = """
from contextlib import suppress

from minikafka import Compression, Log, MemoryRecords, SimpleRecord
from minikafka.common.errors import InternalError, KafkaStorageException
from minikafka.log.index.offset_index import OffsetIndex
from minikafka.log.index.time_index import TimeIndex

record = SimpleRecord(timestamp=1_000, key=b"k", value=bytes(10_000))
try:
    with Log.open("t-0") as log:
        while True:
            log.append_as_leader(MemoryRecords.with_records(Compression.NONE, record), leader_epoch=0)
except KafkaStorageException as error:
    print(type(error).__name__)
with suppress(OSError), open("rest", "wb", buffering=0) as rest:
    while rest.write(bytes(4096)):
        pass
try:
    Log.open("t-0", last_shutdown_clean=True)
except (InternalError, KafkaStorageException, OSError) as error:
    print("refused")
for kind, suffix in ((OffsetIndex, "index"), (TimeIndex, "timeindex")):
    index = kind("t-0/{:020}.{}".format(0, suffix), 0, 10_485_760)
    index.lookup(5)
    index.truncate_to(5)
print("looked up")
"""


@pytest.mark.slow
def test_an_index_is_read_where_a_full_file_system_in_memory_has_no_block_for_its_hole(tmp_path):
    """A read through the mapping would end the process there (SIGBUS)."""
    mounted = f'mount -t tmpfs -o size=3m tmpfs {tmp_path} 2>/dev/null || exit 77; cd {tmp_path}; exec "$@"'
    own = ["unshare", "--user", "--map-root-user", "--mount"]
    command = ["bash", "-c", mounted, "", sys.executable, "-c", FULL_FILE_SYSTEM_IN_MEMORY]
    ended = subprocess.run([*own, *command], capture_output=True, text=True)
    if ended.returncode == 77 or ended.stderr.startswith("unshare:"):
        pytest.skip("this machine lets nobody mount a file system of his own")
    assert (ended.returncode, ended.stdout.split()) == (
        0,
        ["KafkaStorageException", "refused", "looked", "up"],
    ), ended.stderr


def test_each_page_has_its_blocks_before_its_first_entry(tmp_path, monkeypatch):
    asked, allocate = [], file_ops.allocate
    monkeypatch.setattr(file_ops, "allocate", lambda *place: asked.append(place[1:3]) or allocate(*place))
    page = mmap.PAGESIZE
    index = OffsetIndex(tmp_path / "0.index", 0, 3 * page - 40)
    for offset in range(1, index.max_entries + 1):
        index.append(offset, offset)
    assert asked == [(0, page), (page, page), (2 * page, page - 40)]
    assert list(struct.iter_unpack(">ii", (tmp_path / "0.index").read_bytes())) == [
        (offset, offset) for offset in range(1, index.max_entries + 1)
    ]
    index.truncate_to(100)
    index.append(100, 100)
    assert asked[3:] == [(0, page)]


def test_the_first_page_has_its_blocks_from_the_beginning(tmp_path):
    """Else ext4 takes a millisecond for the first entry of each index: twice for each segment that is recovered."""

    def allocated(index):
        return os.stat(index.file).st_blocks * 512

    index = OffsetIndex(tmp_path / "0.index", 0, 10_485_760)
    assert 0 < allocated(index) < 10_485_760
    for offset in range(1, 1000):
        index.append(offset, offset)
    index.trim_to_valid_size()
    told = index.file.read_bytes()
    index.resize(10_485_760)
    assert index.file.read_bytes() == told.ljust(10_485_760, b"\0")
