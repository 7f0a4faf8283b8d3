"""What the last run left, whole or damaged, is opened by minikafka and by Kafka: equal logs or equal errors."""

import shutil

import pytest

from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.witness.log.batch import Batch

NOW = 1_700_000_000_000


def fill(logs, clean: bool):
    """A history of several segments with epochs, producers and transactions, closed or killed at its end."""
    logs.do(
        "append_as_leader leader_epoch=1 [3x30 pid=7 epoch=0 seq=0]",
        "append_as_leader leader_epoch=1 [3x30 pid=8 epoch=0 seq=0 txn]",
        "append_as_leader leader_epoch=1 [3x30 pid=7 epoch=0 seq=3]",
        "append_as_leader leader_epoch=2 [3x30]",
        "append_as_leader leader_epoch=2 origin=coordinator transaction_version=0 [abort pid=8 epoch=0]",
        "append_as_leader leader_epoch=2 [3x60 pid=9 epoch=0 seq=0 txn]",
        *[f"append_as_leader leader_epoch=3 [3x50 pid=7 epoch=0 seq={seq}]" for seq in (6, 9, 12, 15)],
        "update_high_watermark leo",
    )
    if clean:
        logs.do("reopen")
        for runner in logs.runners:
            runner.log.close()
    else:
        logs.do("tick 0", "append_as_leader leader_epoch=4 [2x20]")
    logs.kill()


@pytest.fixture(scope="module")
def left_behind(two_logs_of_the_module):
    """The directory that each kind of end leaves, and the checkpoints beside it, by `clean`."""
    left = {}
    for clean in (True, False):
        logs = two_logs_of_the_module()
        fill(logs, clean)
        left[clean] = logs.directories[0], logs.minikafka.checkpoints
    return left


@pytest.fixture
def left(two_logs, left_behind):
    """`left(clean)` gives two logs that hold this directory and are not open."""

    def make(clean: bool):
        logs = two_logs()
        logs.kill()
        directory, checkpoints = left_behind[clean]
        for runner in logs.runners:
            shutil.rmtree(runner.directory)
            shutil.copytree(directory, runner.directory)
            runner.checkpoints = dict(checkpoints)
        return logs

    return make


def files(directory, suffix):
    return sorted(directory.glob(f"*{suffix}"))


def cut(suffix, number, size):
    """Cut `size` bytes off the end of the segment's file of that number."""

    def change(directory):
        path = files(directory, suffix)[number]
        path.write_bytes(path.read_bytes()[:-size])

    return change


def add(suffix, number, data):
    def change(directory):
        with files(directory, suffix)[number].open("ab") as file:
            file.write(data)

    return change


def flip(suffix, number, position):
    def change(directory):
        path = files(directory, suffix)[number]
        data = bytearray(path.read_bytes())
        data[position] ^= 1
        path.write_bytes(data)

    return change


def remove(*patterns):
    def change(directory):
        for pattern in patterns:
            for path in sorted(directory.glob(pattern)):
                path.unlink()

    return change


def remove_one(suffix, number):
    return lambda directory: files(directory, suffix)[number].unlink()


def write(name, data=b""):
    return lambda directory: (directory / name).write_bytes(data)


def rename(suffix, numbers, added):
    """Append `added` to the names of the segments' files of these numbers."""

    def change(directory):
        for number in sorted(numbers, reverse=True):
            stem = files(directory, ".log")[number].stem
            for path in directory.glob(f"{stem}.*"):
                if path.suffix in suffix:
                    path.rename(f"{path}{added}")

    return change


SEGMENT = (".log", ".index", ".timeindex", ".txnindex")

CHANGES = {
    "nothing": lambda directory: None,
    "index missing": remove_one(".index", 0),
    "index of the active segment missing": remove_one(".index", -1),
    "all indexes missing": remove("*.index", "*.timeindex", "*.txnindex"),
    "time index missing": remove_one(".timeindex", 0),
    "transaction index missing": remove("*.txnindex"),
    "index entry wrong": flip(".index", 0, 2),
    "index size odd": add(".index", 0, b"abc"),
    "index of the active segment odd": add(".index", -1, b"abc"),
    "time index size odd": add(".timeindex", 0, b"abc"),
    "index empty": lambda directory: files(directory, ".index")[0].write_bytes(b""),
    "transaction index torn": add(".txnindex", 0, b"abc"),
    "transaction index wrong": flip(".txnindex", 0, 20),
    "transaction index version": flip(".txnindex", 0, 1),
    "torn tail": cut(".log", -1, 20),
    "torn tail of the first": cut(".log", 0, 20),
    "half a header left": add(".log", -1, b"\0" * 10),
    "zeros at the end": add(".log", -1, b"\0" * 40),
    "zeros at the end of the first": add(".log", 0, b"\0" * 40),
    "record flipped in the first": flip(".log", 0, 80),
    "record flipped in the last": flip(".log", -1, 80),
    "size negative": flip(".log", 1, 8),
    "magic wrong": flip(".log", 1, 16),
    "offset wrong": flip(".log", 1, 0),
    "offset lower": flip(".log", -1, 7),
    "epoch in the header wrong": flip(".log", -1, 15),
    "log empty": lambda directory: files(directory, ".log")[-1].write_bytes(b""),
    "first log empty": lambda directory: files(directory, ".log")[0].write_bytes(b""),
    "log missing": remove_one(".log", 1),
    "first log missing": remove_one(".log", 0),
    "last log missing": remove_one(".log", -1),
    "everything missing": remove("*"),
    "snapshots missing": remove("*.snapshot"),
    "newest snapshot missing": remove_one(".snapshot", -1),
    "newest snapshot wrong": flip(".snapshot", -1, 12),
    "newest snapshot short": cut(".snapshot", -1, 3),
    "newest snapshot version": flip(".snapshot", -1, 1),
    "all snapshots wrong": lambda directory: [p.write_bytes(b"") for p in files(directory, ".snapshot")],
    "stray snapshots": lambda directory: [
        (directory / f"{offset:020}.snapshot").write_bytes(b"") for offset in (2, 5, 1000)
    ],
    "epochs missing": remove("leader-epoch-checkpoint"),
    "epochs empty": write("leader-epoch-checkpoint"),
    "epochs beyond the end": write("leader-epoch-checkpoint", b"0\n3\n1 0\n2 9\n9 1000\n"),
    "epochs above the start": write("leader-epoch-checkpoint", b"0\n1\n3 20\n"),
    "epochs count": write("leader-epoch-checkpoint", b"0\n3\n1 0\n"),
    "epochs version": write("leader-epoch-checkpoint", b"7\n1\n1 0\n"),
    "epochs garbage": write("leader-epoch-checkpoint", b"0\n1\none 0\n"),
    "topic id missing": remove("partition.metadata"),
    "topic id garbage": write("partition.metadata", b"garbage"),
    "topic id another": write("partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"),
    "topic id too short": write("partition.metadata", b"version: 0\ntopic_id: AAAA"),
    "foreign files": lambda directory: [
        (directory / name).write_bytes(b"x") for name in ("notes.txt", "no dot", "00000000000000000003.checkpoint")
    ],
    "a log that is no number": write("abc.log", b""),
    "an index that is no number": write("abc.index", b""),
    "orphan indexes": lambda directory: [
        (directory / f"00000000000000000099{suffix}").write_bytes(b"") for suffix in SEGMENT[1:]
    ],
    "deleted files": lambda directory: [
        (directory / name).write_bytes(b"x") for name in ("a.deleted", "1.log.deleted", "x.checkpoint.deleted")
    ],
    "cleaned files": lambda directory: [
        (directory / f"00000000000000000000{suffix}.cleaned").write_bytes(b"x") for suffix in SEGMENT
    ],
    "a cleaned file that is no number": write("abc.log.cleaned"),
    "a swap file that is no number": write("abc.log.swap"),
    "swap of the first": rename(SEGMENT, [0], ".swap"),
    "swap of the first two": rename(SEGMENT, [0, 1], ".swap"),
    "swap of the log only": rename((".log",), [0], ".swap"),
    "swap of the log, its index gone": lambda directory: (
        files(directory, ".index")[1].unlink(),
        rename((".log",), [1], ".swap")(directory),
    ),
    "swap above cleaned": lambda directory: (
        rename(SEGMENT, [1, 2], ".swap")(directory),
        write("00000000000000000001.log.cleaned")(directory),
    ),
    "swap of an index only": rename((".index",), [0], ".swap"),
}


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize("name", CHANGES)
def test_opens_equally(left, name, clean):
    logs = left(clean)
    logs.change(CHANGES[name])
    logs.do(f"reopen clean={str(clean).lower()}")
    if logs.minikafka.log is None:
        return
    logs.do(
        "tick 60000",
        "consume",
        "append_as_leader leader_epoch=5 [2x20 pid=7 epoch=0 seq=18]",
        "append_as_leader leader_epoch=5 [2x20]",
        "truncate_to leo-3",
        "reopen",
        "read start",
    )


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_a_damaged_segment_without_its_index_leaves_a_hole(left, clean):
    """It is recovered alone while it is opened, and nobody asks what was cut: the segments above it stay."""
    logs = left(clean)
    logs.change(flip(".log", 1, 80))
    logs.change(remove_one(".index", 1))
    logs.do(f"reopen clean={str(clean).lower()}")
    empty, *above = logs.minikafka.log.log_segments[1:]
    assert empty.size == 0 and above and all(segment.size for segment in above)
    logs.do(f"read {empty.base_offset}", "consume")
    found = logs.minikafka.log.read(empty.base_offset, 1_000_000, FetchIsolation.LOG_END)
    assert next(found.records.batches()).base_offset == above[0].base_offset


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize("recovery_point", [0, 10, 1000])
@pytest.mark.parametrize("log_start", [0, 14, 1000])
def test_checkpointed_offsets(left, clean, recovery_point, log_start):
    logs = left(clean)
    for runner in logs.runners:
        runner.checkpoints = {"recovery_point": recovery_point, "log_start_offset": log_start}
    logs.change(flip(".log", 1, 80))
    logs.do(f"reopen clean={str(clean).lower()}", "tick 60000", "append_as_leader leader_epoch=5 [2x20]", "reopen")


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize(
    "offsets",
    [[0, 3_000_000_000], [0, 10, 2_147_483_647, 2_147_483_648, 9_000_000_000], [5_000_000_000], [0, 2_147_483_646]],
)
def test_offsets_that_overflow_a_segment(two_logs, clean, offsets):
    logs = two_logs()
    logs.kill()
    data = b"".join(Batch(2, (60,)).encode(NOW, offset) for offset in offsets)
    logs.change(remove("*"))
    logs.change(write("00000000000000000000.log", data))
    logs.do(f"reopen clean={str(clean).lower()}", "tick 60000", "append_as_leader [1x10]", "reopen")


def batch(offset):
    return Batch(2, (60,)).encode(NOW, offset)


FAR = 2**40
AFTER = batch(FAR + 2)
TAILS = {
    "torn batch": AFTER[:-20],
    "one byte": b"\0",
    "half a header": AFTER[:15],
    "header up to the magic": AFTER[:17],
    "one byte more than that": AFTER[:18],
    "whole header": AFTER[:61],
    "wrong CRC": AFTER[:80] + bytes([AFTER[80] ^ 1]) + AFTER[81:],
    "zeros": bytes(40),
    "size too small": AFTER[:11] + b"\5" + AFTER[12:],
    "size negative": AFTER[:8] + b"\xff" + AFTER[9:],
    "magic 1": AFTER[:16] + b"\1" + AFTER[17:],
    "magic 5": AFTER[:16] + b"\5" + AFTER[17:],
}
BORDERS = [2**31 - 3, 2**31 - 2, 2**31 - 1, 2**31]  # of a first offset: the batch's last one is the next
OVERFLOWING = {
    **{f"{name} at the end": (0, batch(0) + batch(FAR) + tail) for name, tail in TAILS.items()},
    **{f"{name} in between": (0, batch(0) + tail + batch(FAR)) for name, tail in TAILS.items()},
    **{f"{name} further on": (0, batch(0) + batch(FAR) + tail + batch(FAR + 9)) for name, tail in TAILS.items()},
    **{f"{delta} above {base}": (base, batch(base) + batch(base + delta)) for delta in BORDERS for base in (0, 100)},
    **{f"{delta} above 0, torn tail": (0, batch(0) + batch(delta) + AFTER[:-9]) for delta in BORDERS},
    "below the base, torn tail": (100, batch(5) + batch(FAR) + AFTER[:-9]),
    "later below the base": (100, batch(100) + batch(FAR) + batch(5)),
    "later below the base, torn tail": (100, batch(100) + batch(5) + batch(FAR) + b"x"),
    "the same offset again, torn tail": (0, batch(0) + batch(FAR) + batch(0) + batch(2 * FAR) + b"torn"),
    "the last offset of all": (0, batch(0) + batch(2**63 - 2)),
}


@pytest.mark.parametrize("clean, indexes", [(True, False), (False, False), (False, True)])
@pytest.mark.parametrize("name", OVERFLOWING)
def test_damage_in_a_segment_that_overflows(two_logs, name, clean, indexes):
    """A tail that is no whole batch makes the split fail; damage elsewhere may hide what overflows.

    With `indexes` (empty ones) another segment follows.
    """
    base_offset, data = OVERFLOWING[name]

    def change(directory):
        remove("*")(directory)
        for offset, batches in ((base_offset, data), (2**42, batch(2**42)))[: 1 + indexes]:
            (directory / f"{offset:020}.log").write_bytes(batches)
            for suffix in (".index", ".timeindex") if indexes else ():
                (directory / f"{offset:020}{suffix}").write_bytes(b"")

    logs = two_logs()
    logs.kill()
    logs.change(change)
    logs.do(f"reopen clean={str(clean).lower()}")
    if logs.minikafka.log is not None:
        logs.do("tick 60000", "append_as_leader [1x10]", "reopen", "consume")


LAST = 2**63 - 1


@pytest.mark.parametrize("base_offset", [0, LAST - 5, LAST - 1])
@pytest.mark.parametrize("offset", [LAST - 2, LAST - 1])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_the_end_of_all_offsets(two_logs, clean, offset, base_offset):
    """The end of a log whose last offset is 2^63 - 1 is negative, and the snapshot there is named so."""
    logs = two_logs()
    logs.kill()
    logs.change(remove("*"))
    logs.change(write(f"{base_offset:020}.log", batch(offset)))
    logs.do(f"reopen clean={str(clean).lower()}")
    if logs.minikafka.log is not None:
        logs.do("roll", "append_as_leader [2x10]", "tick 60000", "consume", "take_producer_snapshot", "flush")
        logs.do("reopen", "reopen clean=false")


@pytest.mark.parametrize("start", [LAST - 4, LAST - 1, LAST])
def test_appends_up_to_the_end_of_all_offsets(two_logs, start):
    logs = two_logs()
    logs.do(f"truncate_fully_and_start_at {start}", f"append_as_follower [2x30 offset={start}]")
    logs.do(*["append_as_leader [2x30]"] * 4, "update_high_watermark leo", "tick 60000", "reopen", "reopen clean=false")


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_batches_below_the_base_offset(two_logs, clean):
    logs = two_logs()
    logs.kill()
    logs.change(remove("*"))
    logs.change(write("00000000000000000100.log", Batch(2).encode(NOW, 5)))
    observation = logs.do(f"reopen clean={str(clean).lower()}")
    assert observation.error == "IllegalArgumentException"


def test_loading_and_closing_cleanly_changes_nothing_but_the_first_snapshot(left):
    logs = left(clean=True)
    directory = logs.directories[0]
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    logs.do("reopen")
    for runner in logs.runners:
        runner.log.close()
    logs.compare("close")
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before
