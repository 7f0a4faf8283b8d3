"""Every kind of damage to a partition's directory: minikafka makes of it what Kafka makes of it, to the byte.

`MINIKAFKA_DAMAGE=20 pytest tests/slow/damage` does twenty times as much damage at random.
"""

import random

import pytest
from crc32c import crc32c

from tests.slow.damage.changes import (
    INDEX_FIELDS,
    THOROUGHNESS,
    TIME_INDEX_FIELDS,
    TXN_INDEX_FIELDS,
    batches,
    both,
    changing,
    ends,
    fields_of,
    flip,
    flipped,
    flips,
    remove,
    sample,
)

pytestmark = pytest.mark.in_parts(4)

ORIGINS = pytest.mark.parametrize("origin", ["golden", "killed", "old"], indirect=True)
WITH_PRODUCERS = pytest.mark.parametrize("origin", ["golden", "killed"], indirect=True)

SNAPSHOT_HEADER = {"version": (0, 2), "CRC": (2, 4), "count": (6, 4)}
PRODUCER_FIELDS = {
    "producer id": (0, 8),
    "epoch": (8, 2),
    "last sequence": (10, 4),
    "last offset": (14, 8),
    "offset delta": (22, 4),
    "timestamp": (26, 8),
    "coordinator epoch": (34, 4),
    "open transaction": (38, 8),
}


@ORIGINS
def test_batch_headers(origin, demand_equal):
    changes = []
    for path in ends(origin.files(".log")):
        for position, _, magic in ends(batches(path)):
            changes += flips(path, fields_of(magic), position)
    assert demand_equal(origin, sample(changes, 36), ["clean", "unclean"], draws_way=True) > 25


@ORIGINS
def test_records(origin, demand_equal):
    """Bytes behind the header: the first record's length, the middle, the last byte."""
    changes = []
    for path in ends(origin.files(".log")):
        for position, size, magic in batches(path):
            header = 61 if magic == 2 else 26
            for byte in ends(range(position + header, position + size)):
                changes.append((f"{path.name}: byte {byte} ^ 4", flip(path.name, byte, 4)))
    assert (
        demand_equal(origin, sample(changes, 25), ["clean", "unclean", "unclean, flushed in part"], draws_way=True) > 15
    )


@ORIGINS
@pytest.mark.parametrize("suffix, size, fields", [(".index", 8, INDEX_FIELDS), (".timeindex", 12, TIME_INDEX_FIELDS)])
def test_index_entries(origin, demand_equal, suffix, size, fields):
    changes = []
    for path in ends(origin.files(suffix)):
        for entry in ends(range(path.stat().st_size // size)):
            changes += flips(path, fields, entry * size)
    assert demand_equal(origin, sample(changes, 24), ["clean", "unclean, flushed in part"], draws_way=True) > 10


@WITH_PRODUCERS
def test_transaction_indexes(origin, demand_equal):
    changes = []
    for path in origin.files(".txnindex"):
        for entry in ends(range(path.stat().st_size // 34)):
            changes += flips(path, TXN_INDEX_FIELDS, entry * 34)
        for beside in (-1, 0, 1):
            last_offset = (int(path.stem) + beside).to_bytes(8, "big", signed=True)
            changes.append(
                (
                    f"{path.name}: last offset {beside} from the base",
                    changing(path.name, lambda data, last_offset=last_offset: data[:18] + last_offset + data[26:]),
                )
            )
    assert demand_equal(origin, sample(changes, 40))


@WITH_PRODUCERS
@pytest.mark.parametrize("sealed", [False, True], ids=["CRC wrong", "CRC right"])
def test_snapshots(origin, demand_equal, sealed):
    def seal(data):
        data[2:6] = crc32c(bytes(data[6:])).to_bytes(4, "big")
        return data

    changes = []
    for path in origin.files(".snapshot")[-3:]:
        fields = flips(path, SNAPSHOT_HEADER)
        for entry in ends(range((path.stat().st_size - 10) // 46)):
            fields = [*fields, *flips(path, PRODUCER_FIELDS, 10 + entry * 46)]
        for name, change in fields:
            if sealed:
                change = both(change, changing(path.name, seal))
            changes.append((name, change))
    assert demand_equal(origin, sample(changes, 30), ["clean", "unclean, flushed in part"], draws_way=True) > 10


@WITH_PRODUCERS
@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "partition.metadata"])
def test_text_files(origin, demand_equal, name):
    """Every byte of the text files, and their lines."""
    text = (origin.directory / name).read_bytes()
    lines = text.split(b"\n")
    contents = {
        "empty": b"",
        "a line end": b"\n",
        "two line ends": b"\n\n",
        "bytes that are no UTF-8": b"\xff\xfe" + text,
        "a byte order mark": b"\xef\xbb\xbf" + text,
        "Windows' line ends": text.replace(b"\n", b"\r\n"),
        "a line end more": text + b"\n",
        "blanks around": b" " + text + b" ",
        "tabs": text.replace(b" ", b"\t"),
        "two blanks": text.replace(b" ", b"  "),
        "numbers with a sign": text.replace(b"0", b"+0", 1),
        "Arabic digits": text.replace(b"0", "٠".encode(), 1),
        "a large number": text.replace(b"0", b"4294967296", 1),
        "a negative number": text.replace(b"0", b"-1", 1),
        "zero characters": text.replace(b"\n", b"\0", 1),
        **{f"without line {n}": b"\n".join(lines[:n] + lines[n + 1 :]) for n in range(len(lines))},
        **{f"line {n} twice": b"\n".join(lines[:n] + [line, line] + lines[n + 1 :]) for n, line in enumerate(lines)},
        **{f"line {n} first": b"\n".join([line] + lines[:n] + lines[n + 1 :]) for n, line in enumerate(lines)},
        **{f"cut at {n}": text[:n] for n in range(0, len(text), 3)},
    }
    changes = [(what, changing(name, lambda _, content=content: content)) for what, content in contents.items()]
    changes += [
        (f"byte {n} ^ {bits}", flip(name, n, bits))
        for n, bits in sample([(n, b) for n in range(len(text)) for b in (1, 16, 128)], 30)
    ]
    demand_equal(origin, changes, ["clean"])


@ORIGINS
def test_truncated_segments(origin, demand_equal):
    """The last segment cut at every 64th byte and around each batch's start; the others here and there."""
    changes = []
    for path in origin.files(".log"):
        size = path.stat().st_size
        cuts = set(range(0, size, 64 if path == origin.files(".log")[-1] else 400))
        cuts |= {position + beside for position, _, _ in ends(batches(path)) for beside in (1, 11, 12, 17, 18, 60)}
        for cut in sorted(cut for cut in cuts if 0 <= cut < size):
            changes.append((f"{path.name} cut at {cut}", changing(path.name, lambda data, cut=cut: data[:cut])))
    assert demand_equal(origin, sample(changes, 32), ["clean", "unclean"], draws_way=True) > 20


@ORIGINS
def test_segments_with_more_behind_them(origin, demand_equal):
    """Bytes after the last batch: zeros, garbage, the same batch again, a batch of another segment."""
    contents = [path.read_bytes() for path in origin.files(".log")]
    rest = {f"{size} zeros": bytes(size) for size in (1, 11, 12, 17, 18, 40, 200)}
    rest |= {"garbage": b"garbage " * 20, "the first segment": contents[0], "half of the first": contents[0][:400]}
    changes = [
        (f"{path.name} and {what}", changing(path.name, lambda data, more=more: data + more))
        for path in (origin.files(".log")[0], origin.files(".log")[-1])
        for what, more in rest.items()
    ]
    demand_equal(origin, changes, ["clean", "unclean"])


@ORIGINS
def test_missing_files(origin, demand_equal):
    """Each file by itself, each kind, each segment with all its files; then some of them, drawn."""
    suffixes = sorted({path.suffix for path in origin.files() if path.suffix})
    stems = sorted({path.stem for path in origin.files(".log")})
    groups = [[path.name] for path in origin.files()]
    groups += [[path.name for path in origin.files(suffix)] for suffix in suffixes]
    groups += [[path.name for path in origin.files() if path.stem == stem] for stem in stems]
    rand = random.Random(7)
    names = [path.name for path in origin.files()]
    groups += [rand.sample(names, rand.randint(2, len(names) - 1)) for _ in range(10 * THOROUGHNESS)]
    changes = [(f"without {' '.join(group)}", remove(*group)) for group in groups]
    assert demand_equal(origin, changes, ["clean", "unclean", "unclean, records deleted"]) > len(changes)


@ORIGINS
def test_sizes_of_indexes(origin, demand_equal):
    """Indexes and snapshots empty, odd, too long, larger than any index may be, full of zeros or of ones."""
    changes = []
    for suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
        for path in ends(origin.files(suffix))[::2]:
            size = path.stat().st_size
            for what, work in {
                "empty": lambda data: b"",
                "a byte less": lambda data: data[:-1],
                "three bytes more": lambda data: data + b"abc",
                "zeros in place": lambda data: bytes(len(data)),
                "ones in place": lambda data: b"\xff" * len(data),
                "many zeros more": lambda data: data + bytes(5000),
                "garbage of full size": lambda data: b"\x01\x7f\x03" * 400,
                "twice": lambda data: data + data,
            }.items():
                changes.append((f"{path.name}, {size} bytes: {what}", changing(path.name, work)))
    demand_equal(origin, changes, ["clean", "unclean, flushed in part"])


LEFTOVERS = [
    *(
        f"00000000000000000000{kind}{suffix}"
        for kind in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
        for suffix in (".deleted", ".cleaned", ".swap")
    ),
    *(
        f"00000000000000000020{kind}{suffix}"
        for kind in ("", ".log", ".index", ".timeindex", ".txnindex", ".snapshot")
        for suffix in (".cleaned", ".swap")
    ),
    *(
        f"00000000000000009999{kind}"
        for kind in (
            ".log",
            ".index",
            ".timeindex",
            ".txnindex",
            ".snapshot",
            ".log.swap",
            ".index.swap",
            ".index.cleaned",
            ".log.deleted",
        )
    ),
    "00000000000000000007.snapshot",
    "00000000000000000007.index",
    "00000000000000000007.log",
    "7.log",
    "7.index",
    "7.snapshot",
    "+7.log",
    "-7.log",
    "-7.snapshot",
    "-7.index",
    "٧.log",
    ".log",
    ".index",
    ".snapshot",
    ".swap",
    ".cleaned",
    ".deleted",
    "log",
    "notes.txt",
    "no dot",
    "nodot.log.txt",
    "x.log",
    "x.index",
    "x.snapshot",
    "x.swap",
    "x.cleaned",
    "nodotswap",
    "nodot.checkpoint.deleted",
    "99999999999999999999.log",
    "99999999999999999999.snapshot",
    "99999999999999999999.index",
    "99999999999999999999.timeindex.cleaned",
    "9223372036854775000.log",
    "9223372036854775806.index",
    "00000000000000000000.log.swap.swap",
    "00000000000000000000.log.cleaned.swap",
    "00000000000000000000.swap",
    "00000000000000000000.LOG",
    "00000000000000000000-5.log",
    "00000000000000000000.kafka",
    "00000000000000000000-0000000001.checkpoint",
    "00000000000000000000-0000000001.checkpoint.deleted",
    "leader-epoch-checkpoint.tmp",
    "partition.metadata.tmp",
    "leader-epoch-checkpoint.swap",
    ".kafka_cleanshutdown",
    ".lock",
]


@pytest.mark.parametrize("content", ["empty", "garbage", "a segment"])
def test_leftovers(golden, demand_equal, content):
    ways = ["clean", "unclean"] if content == "empty" else ["unclean"]
    content = {"empty": b"", "garbage": b"garbage.", "a segment": golden.files(".log")[1].read_bytes()}[content]
    changes = [(name, lambda directory, name=name: (directory / name).write_bytes(content)) for name in LEFTOVERS]
    demand_equal(golden, changes, ways)


def test_leftover_directories(golden, demand_equal):
    changes = [(name, lambda directory, name=name: (directory / name).mkdir()) for name in LEFTOVERS]
    demand_equal(golden, changes, ["unclean"])


@ORIGINS
def test_renamed_files(origin, demand_equal):
    """Segments, some or all of their files, on the way out or in; suffixes mixed as no program leaves them."""
    rand, changes = random.Random(3), []
    stems = [path.stem for path in origin.files(".log")]
    for number in range(40 * THOROUGHNESS):
        renamed = {}
        for stem in rand.sample(stems, rand.randint(1, min(3, len(stems)))):
            suffix = rand.choice([".swap", ".swap", ".cleaned", ".deleted"])
            for path in origin.files():
                if path.stem == stem and rand.random() < 0.8:
                    renamed[path.name] = path.name + (suffix if rand.random() < 0.9 else ".swap")

        def change(directory, renamed=renamed):
            for old, new in renamed.items():
                (directory / old).rename(directory / new)

        changes.append((f"{number}: {' '.join(renamed.values())}", change))
    demand_equal(origin, changes, ["clean", "unclean"])


@ORIGINS
def test_anything(origin, demand_equal):
    """Several bytes anywhere, several cuts, several files gone: drawn."""
    rand, changes = random.Random(5), []
    names = [path.name for path in origin.files() if path.stat().st_size]
    for number in range(12 * THOROUGHNESS):
        done, told = [], []
        for _ in range(rand.randint(1, 4)):
            name = rand.choice(names)
            size = (origin.directory / name).stat().st_size
            position, bits = rand.randrange(size), 1 << rand.randrange(8)
            if rand.random() < 0.8:
                told.append(f"{name} byte {position} ^ {bits}")
                done.append(changing(name, lambda data, position=position, bits=bits: flipped(data, position, bits)))
            else:
                told.append(f"{name} cut at {position}")
                done.append(changing(name, lambda data, position=position: data[:position]))
        changes.append((f"{number}: {', '.join(told)}", both(*done)))
    demand_equal(origin, changes, origin.loads)
