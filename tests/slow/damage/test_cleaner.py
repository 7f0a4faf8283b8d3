"""A cleaner meets damage: minikafka's and Kafka's fail alike, leave the same files, and leave the partition alone."""

import random

import pytest

from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from tests.slow.damage.changes import (
    INDEX_FIELDS,
    THOROUGHNESS,
    TIME_INDEX_FIELDS,
    TXN_INDEX_FIELDS,
    batches,
    changing,
    ends,
    fields_of,
    flip,
    flipped,
    flips,
    sample,
)
from tests.slow.damage.conftest import NOW, Origin

pytestmark = pytest.mark.in_parts(4)

WORKLOAD = """
config cleanup.policy=compact min.cleanable.dirty.ratio=0 delete.retention.ms=1000 internal.segment.bytes=700 \
index.interval.bytes=100 segment.index.bytes=1200
append_as_leader leader_epoch=1 [3x30 keys=4 pid=7 epoch=0 seq=0]
append_as_leader leader_epoch=1 [3x30,null,30 keys=4 data=1 pid=8 epoch=0 seq=0 txn]
append_as_leader leader_epoch=1 [3x60 keys=4 data=2 pid=9 epoch=0 seq=0 txn]
append_as_leader leader_epoch=1 origin=coordinator transaction_version=0 [abort pid=8 epoch=0]
append_as_leader leader_epoch=2 [4x60,60,null keys=9 data=2 codec=gzip]
append_as_leader leader_epoch=2 origin=coordinator transaction_version=0 [commit pid=9 epoch=0]
append_as_leader leader_epoch=2 [3x90 keys=4 data=3 pid=7 epoch=0 seq=3]
append_as_leader leader_epoch=2 [3x90 keys=99 data=60 codec=lz4]
append_as_leader leader_epoch=3 [3x99,null keys=99 data=50]
append_as_leader leader_epoch=3 [2x60 keys=99 data=70 codec=zstd]
append_as_leader leader_epoch=3 [2x60 keys=99 data=80 codec=snappy]
append_as_leader leader_epoch=3 [3x60 keys=3]
append_as_leader leader_epoch=3 [3x60 keys=3]
append_as_leader leader_epoch=3 [3x60 keys=3]
reopen
"""


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """A log that has never been cleaned: keys, tombstones, transactions, every codec.

    The cleaner keeps the batches of snappy, lz4 and zstd as they are, and compresses those of gzip anew.
    """
    workload = Workload.parse(WORKLOAD)
    runner = Runner(minikafka_log, tmp_path_factory.mktemp("keyed") / "topic-0", workload)
    for operation in workload:
        assert not runner.apply(operation).error
    origin = Origin("keyed", runner.directory, workload.config, runner.log.log_end_offset)
    runner.let_go()
    return origin


@pytest.fixture(scope="module")
def demand_equal_cleanings(two_live_logs_of_the_module):
    """`demand_equal_cleanings(origin, changes, loaded)`: clean the log of `origin` after each of `changes` (name: what
    is done to the partition's directory), done before it is loaded, or with `loaded` after that. Whatever comes of it
    is the same for both logs. Returns the ends of the cleanings, each once: exceptions, or the first words told.
    """
    logs = two_live_logs_of_the_module()
    logs.kill()

    def demand(origin, changes, *, loaded=False):
        differences, ends = [], set()
        for name, change in changes:
            checkpoints = {"log_start_offset": 0, "recovery_point": origin.log_end_offset}
            logs.stand_on(origin.directory, checkpoints, origin.config, NOW)
            try:
                ends |= clean_after(logs, change, loaded)
            except AssertionError as difference:
                differences.append(f"{name}: {difference}")
        assert not differences, f"{len(differences)} differences:\n\n" + "\n\n".join(differences[:20])
        return ends

    return demand


def clean_after(logs, change, loaded):
    """Clean twice, with a horizon between, and live on; how the cleanings ended."""
    if not loaded:
        logs.change(change)
    if logs.do("reopen clean=true").error:
        return set()
    if loaded:
        logs.change(change)
    logs.do("update_high_watermark leo")
    turns = logs.do("clean"), logs.do("clean")
    if not loaded:
        logs.do("tick 1000", "clean")
        logs.do("append_as_leader leader_epoch=9 [3x60 keys=3]", "tick 60000")
        logs.do("reopen clean=false", "update_high_watermark leo", "clean")
    return {turn.error or turn.result.partition(" ")[0] for turn in turns}


def test_batch_headers(keyed, demand_equal_cleanings):
    changes = []
    for path in keyed.files(".log"):
        for position, _, magic in batches(path):
            changes += flips(path, fields_of(magic), position)
    assert {"kept", "nothing", "CorruptRecordException"} <= demand_equal_cleanings(keyed, sample(changes, 60))


def test_batch_headers_of_a_log_that_is_open(keyed, demand_equal_cleanings):
    changes = []
    for path in keyed.files(".log")[:-1]:
        for position, _, magic in ends(batches(path)):
            changes += flips(path, fields_of(magic), position)
    demand_equal_cleanings(keyed, sample(changes, 30), loaded=True)


def test_records(keyed, demand_equal_cleanings):
    """Bytes behind the header: the first record's length, the middle, the last byte."""
    changes = []
    for path in keyed.files(".log"):
        for position, size, _ in batches(path):
            for byte in ends(range(position + 61, position + size)):
                changes.append((f"{path.name}: byte {byte} ^ 4", flip(path.name, byte, 4)))
    demand_equal_cleanings(keyed, sample(changes, 40))


@pytest.mark.parametrize(
    "suffix, size, fields",
    [(".index", 8, INDEX_FIELDS), (".timeindex", 12, TIME_INDEX_FIELDS), (".txnindex", 34, TXN_INDEX_FIELDS)],
)
def test_index_entries(keyed, demand_equal_cleanings, suffix, size, fields):
    changes = []
    for path in keyed.files(suffix):
        for entry in ends(range(path.stat().st_size // size)):
            changes += flips(path, fields, entry * size)
    demand_equal_cleanings(keyed, sample(changes, 20))


def test_an_offset_too_far_from_the_base_of_its_segment(keyed, demand_equal_cleanings):
    """The cleaner gives up, and splits the segment; the next turn cleans its parts."""
    changes = []
    for path in keyed.files(".log")[:-1]:
        for position, _, _ in batches(path)[1:]:
            offset = (int(path.stem) + 2**31 + 5).to_bytes(8, "big")
            for name, size in (("the batch", 8), ("its upper half", 4)):

                def work(data, position=position, new=offset[:size]):
                    data[position : position + len(new)] = new
                    return data

                changes.append((f"{path.name}: {name} at {position}", changing(path.name, work)))
    assert {"kept", "given"} <= demand_equal_cleanings(keyed, changes, loaded=True)


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".txnindex", ".snapshot"])
def test_files_that_vanish_under_an_open_log(keyed, demand_equal_cleanings, suffix):
    changes = [
        (path.name, lambda directory, path=path: (directory / path.name).unlink()) for path in keyed.files(suffix)
    ]
    demand_equal_cleanings(keyed, changes, loaded=True)


@pytest.mark.parametrize("suffix", [".log.cleaned", ".index.cleaned", ".timeindex.swap", ".log.swap", ".log.deleted"])
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_what_is_in_the_way(keyed, demand_equal_cleanings, suffix, kind):
    """A file is left from before, or a directory has its name."""

    def change(directory):
        path = directory / f"{keyed.starts[0]:020}{suffix}"
        path.mkdir() if kind == "directory" else path.write_bytes(b"left over")

    demand_equal_cleanings(keyed, [(f"{kind} {suffix}", change)], loaded=True)


def test_checkpoints(keyed, demand_equal_cleanings):
    """What the cleaner has noted is gone, torn, or nonsense."""
    texts = [
        "", "0\n", "0\n1\n", "0\n1\ntopic 0 7\n", "0\n1\ntopic 0 8\n", "0\n1\ntopic 0 9999\n", "0\n1\ntopic 0 -5\n",
        "0\n1\ntopic 0 seven\n", "0\n2\ntopic 0 7\n", "1\n1\ntopic 0 7\n", "0\n1\ntopic 0\n", "0\n1\nother 3 7\n",
        "0\n2\nother 3 7\ntopic 0 7\n", "garbage", "\0\0\0", "0\n1\ntopic 0 99999999999999999999\n",
    ]  # fmt: skip

    def noted(text):
        return lambda directory: (directory.parent / OFFSET_CHECKPOINT_FILE).write_text(text)

    demand_equal_cleanings(keyed, [(repr(text), noted(text)) for text in texts])


def test_anything(keyed, demand_equal_cleanings):
    """Several bytes anywhere in the segments that are cleaned: drawn."""
    rand, changes = random.Random(5), []
    files = [path for path in keyed.files() if path.suffix in (".log", ".index", ".timeindex") and path.stat().st_size]
    for number in range(20 * THOROUGHNESS):
        path = rand.choice(files)
        places = [(rand.randrange(path.stat().st_size), 1 << rand.randrange(8)) for _ in range(rand.randint(1, 3))]

        def work(data, places=places):
            for position, bits in places:
                flipped(data, position, bits)
            return data

        changes.append((f"{number}: {path.name} {places}", changing(path.name, work)))
    demand_equal_cleanings(keyed, changes)
    demand_equal_cleanings(keyed, changes, loaded=True)
