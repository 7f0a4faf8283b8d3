"""An operation that the disk stops between two of its effects leaves what Kafka leaves: in memory, and on disk.

A directory stands where a file is to be made, replaced or deleted. Then the obstacle goes, the process dies, and both
logs are loaded again.
"""

import shutil

import pytest

OPERATIONS = (  # nine records in one segment; producer 8 has a transaction open
    "append_as_leader leader_epoch=1 [3x30 pid=7 epoch=0 seq=0]",
    "append_as_leader leader_epoch=1 [3x30 pid=8 epoch=0 seq=0 txn]",
    "append_as_leader leader_epoch=1 [3x30 pid=7 epoch=0 seq=3]",
)
RETENTION = ("roll", "update_high_watermark leo", "maybe_increment_log_start_offset 9", "delete_old_segments")
ABORT = "append_as_leader leader_epoch=1 origin=coordinator transaction_version=0 [abort pid=8 epoch=0]"
NEXT = "append_as_leader leader_epoch=3 [1x10]"
FULL_SEGMENT = "append_as_leader leader_epoch=1 [3x120 pid=7 epoch=0 seq=6]"
NEW_EPOCH = "append_as_leader leader_epoch=2 [3x30 pid=7 epoch=0 seq=6]"


@pytest.fixture
def stopped(two_logs):
    """`stopped(obstacle, full, *operations)` lets both logs run into a directory `obstacle`, empty or `full`."""

    def stopped(obstacle, full, *operations):
        def put(directory):
            (directory / obstacle).mkdir()
            if full:
                (directory / obstacle / "file").write_bytes(b"")

        def take_away(directory):
            for name in (obstacle, f"{obstacle}.deleted"):
                if (directory / name).is_dir():
                    shutil.rmtree(directory / name)

        logs = two_logs()
        logs.do(*OPERATIONS)
        logs.change(put)
        for operation in operations:
            logs.observe(operation)
        logs.change(take_away)
        logs.compare(f"{operations} and {obstacle}")
        logs.kill()
        logs.do("reopen clean=false", "tick 60000", NEXT, "consume")

    return stopped


@pytest.mark.parametrize("full", [True, False], ids=["full", "empty"])
@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".txnindex", ".snapshot"])
@pytest.mark.parametrize("operation", ["roll", FULL_SEGMENT])
def test_a_roll(stopped, operation, suffix, full):
    stopped(f"{9:020}{suffix}", full, operation, NEXT)


@pytest.mark.parametrize("operation", [ABORT, NEW_EPOCH, "assign_epoch_start_offset 5 9", "truncate_to 4"])
@pytest.mark.parametrize("obstacle", [f"{0:020}.txnindex", "leader-epoch-checkpoint.tmp"])
def test_an_append_and_a_truncation(stopped, operation, obstacle):
    stopped(obstacle, True, operation, NEXT)


def test_a_snapshot(stopped):
    stopped(f"{9:020}.snapshot", True, "take_producer_snapshot", NEXT)


@pytest.mark.parametrize("full", [True, False], ids=["full", "empty"])
@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".txnindex", ".snapshot"])
@pytest.mark.parametrize("operations", [("truncate_fully_and_start_at 0",), (*RETENTION, "tick 60000")])
def test_a_deletion(stopped, operations, suffix, full):
    stopped(f"{0:020}{suffix}.deleted", full, *operations, NEXT)
