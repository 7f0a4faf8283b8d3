"""Sparse files of many gigabytes in place of small ones: told at once, and nothing of them is held in memory."""

import os
import time

import pytest

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from minikafka.checkpoint.meta_properties import MetaProperties
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
from minikafka.common.errors import CorruptSnapshotException
from minikafka.log.index.transaction_index import AbortedTxn, TransactionIndex
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.tools.failure import describe

READERS = {
    "00000000000000000007.snapshot": read_snapshot,
    "00000000000000000007.txnindex": lambda file: TransactionIndex(7, file).all_aborted_txns(),
    "leader-epoch-checkpoint": lambda file: LeaderEpochCheckpointFile(file).read(),
    "recovery-point-offset-checkpoint": lambda file: OffsetCheckpointFile(file).read(),
    "partition.metadata": lambda file: PartitionMetadataFile(file).read(),
    "meta.properties": MetaProperties.read,
    ".kafka_cleanshutdown": lambda file: CleanShutdownFileHandler(file.parent).read(),
}


@pytest.mark.parametrize("name", READERS)
def test_twenty_gigabytes_of_nothing(tmp_path, name):
    file = tmp_path / name
    with open(file, "wb") as opened:
        os.truncate(opened.fileno(), 20 << 30)
    started = time.monotonic()
    with pytest.raises(MemoryError) as raised:
        READERS[name](file)
    assert time.monotonic() - started < 2
    assert describe(raised.value).startswith("OutOfMemoryError: 21474836480 bytes are more than the ")
    assert describe(raised.value).endswith(f": {file}")


def test_a_snapshot_of_zeros_is_refused_by_its_version(tmp_path):
    file = tmp_path / "00000000000000000007.snapshot"
    file.touch()
    os.truncate(file, 2**31 - 9)
    with pytest.raises(CorruptSnapshotException, match="unknown file version 0"):
        read_snapshot(file)


@pytest.mark.slow
def test_a_transaction_index_is_read_piece_by_piece(tmp_path):
    file = tmp_path / "00000000000000000007.txnindex"
    txns = [AbortedTxn(n, 10 * n, 10 * n + 5, 10 * n + 6) for n in range(1, 10_001)]
    file.write_bytes(b"".join(txn.encode() for txn in txns) + b"\0" * 33)
    index = TransactionIndex(7, file)
    assert index.all_aborted_txns() == txns
    assert index.collect_aborted_txns(99_990, 100_000).aborted_transactions == [txns[9998]]
    index.truncate_to(99_995)
    assert index.all_aborted_txns() == txns[:9998]
