"""The index of aborted transactions, alone and beside Kafka's own class."""

import os
import random

import pytest

from minikafka.common.errors import CorruptIndexException, IllegalArgumentException, KafkaException
from minikafka.log.fetch_data_info import AbortedTransaction
from minikafka.log.index.transaction_index import AbortedTxn, TransactionIndex
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.witness.kafka.kafka_errors import kafka_errors

FOUR = [AbortedTxn(0, 0, 10, 11), AbortedTxn(1, 5, 15, 13), AbortedTxn(2, 18, 35, 25), AbortedTxn(3, 32, 50, 40)]


@pytest.fixture
def index(tmp_path):
    opened = TransactionIndex(0, tmp_path / "0.txnindex")
    yield opened
    opened.close()


def filled(index):
    for aborted_txn in FOUR:
        index.append(aborted_txn)
    return index


def test_the_file_is_made_by_the_first_entry(index):
    index.flush()
    index.reset()
    assert index.is_empty and not index.file.exists()
    assert not index.delete_if_exists()
    index.append(AbortedTxn(9, 2, 3, 4))
    assert index.file.read_bytes().hex() == "0000" + "".join(f"{n:016x}" for n in (9, 2, 3, 4))
    assert not index.is_empty


def test_an_index_that_nobody_has_any_more_leaves_no_descriptor_open(tmp_path):
    """A cleaned segment waits for its deletion with its files open; its log may be closed before that comes."""
    before = os.listdir("/dev/fd")
    for number in range(20):
        filled(TransactionIndex(0, tmp_path / f"{number}.txnindex"))
    assert len(os.listdir("/dev/fd")) == len(before)


def test_an_entry_of_a_transaction():
    aborted_txn = AbortedTxn.of(CompletedTxn(9, 2, 3, is_aborted=True), 4)
    assert aborted_txn == AbortedTxn(9, 2, 3, 4)
    assert aborted_txn.as_aborted_transaction == AbortedTransaction(9, 2)
    assert AbortedTxn(9, 2, 3, 4, second_byte=7).encode()[:2] == b"\0\7"
    assert str(aborted_txn) == "AbortedTxn(version=0, producerId=9, firstOffset=2, lastOffset=3, lastStableOffset=4)"


def test_last_offsets_must_grow_while_the_index_is_open(index):
    filled(index)
    with pytest.raises(IllegalArgumentException, match="but 50 is not greater than current last offset 50 of index"):
        index.append(AbortedTxn(4, 40, 50, 51))
    index.close()
    reopened = TransactionIndex(0, index.file)
    reopened.append(AbortedTxn(4, 0, 1, 2))
    assert reopened.all_aborted_txns() == [*FOUR, AbortedTxn(4, 0, 1, 2)]
    reopened.close()


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound_offset", "found", "complete"),
    [
        (0, 100, FOUR, False),
        (0, 32, FOUR[:3], True),
        (0, 35, FOUR, True),
        (0, 41, FOUR, False),
        (0, 40, FOUR, True),
        (10, 100, FOUR, False),
        (11, 100, FOUR[1:], False),
        (16, 18, [], True),
        (16, 19, FOUR[2:3], True),
        (51, 60, [], False),
    ],
)
def test_which_transactions_a_fetch_is_told_of(index, fetch_offset, upper_bound_offset, found, complete):
    assert filled(index).collect_aborted_txns(fetch_offset, upper_bound_offset) == (found, complete)


@pytest.mark.parametrize(("offset", "left"), [(51, 4), (50, 3), (36, 3), (35, 2), (16, 2), (10, 0), (0, 0)])
def test_truncating(index, offset, left):
    filled(index).truncate_to(offset)
    assert index.all_aborted_txns() == FOUR[:left]
    assert index.file.stat().st_size == 34 * left
    if left < 4:
        index.append(FOUR[left])
        assert index.all_aborted_txns() == FOUR[: left + 1]


def test_a_torn_entry_is_ignored_and_stays(index):
    filled(index).close()
    with index.file.open("ab") as file:
        file.write(b"\0\0\0")
    reopened = TransactionIndex(0, index.file)
    assert reopened.all_aborted_txns() == FOUR
    reopened.sanity_check()
    reopened.close()
    assert index.file.stat().st_size == 4 * 34 + 3


def test_a_closed_index_reads_as_empty(index):
    filled(index).close()
    assert index.is_empty and index.all_aborted_txns() == []
    assert index.file.stat().st_size == 136


def test_an_entry_below_the_segment_is_corrupt(index):
    filled(index).close()
    TransactionIndex(10, index.file).sanity_check()
    with pytest.raises(CorruptIndexException, match=r"AbortedTxn\(.*lastOffset=10.*is less than start offset 11"):
        TransactionIndex(11, index.file).sanity_check()


def test_a_later_version_is_refused(index):
    index.file.write_bytes(b"\1" + bytes(33))
    with pytest.raises(KafkaException, match="Unexpected aborted transaction version 1 in transaction index"):
        TransactionIndex(0, index.file).all_aborted_txns()


def test_renaming(index, tmp_path):
    index.rename_to(tmp_path / "0.txnindex.swap")
    assert index.file.name == "0.txnindex.swap" and not index.file.exists()
    filled(index).rename_to(tmp_path / "0.txnindex")
    assert len(TransactionIndex(0, tmp_path / "0.txnindex").all_aborted_txns()) == 4
    index.update_parent_dir(tmp_path / "elsewhere")
    assert index.file == tmp_path / "elsewhere" / "0.txnindex"


@pytest.mark.parametrize("seed", range(4))
def test_it_goes_with_kafkas(kafka, tmp_path, seed):
    rng = random.Random(seed)
    (tmp_path / "minikafka").mkdir()
    (tmp_path / "kafka").mkdir()
    files = [tmp_path / name / "0.txnindex" for name in ("minikafka", "kafka")]
    java_class, java_txn = kafka.log_class("TransactionIndex"), kafka.log_class("AbortedTxn")
    if seed == 3:
        for file in files:
            file.write_bytes(rng.randbytes(0) + bytes(34 * 3) + b"\2" + bytes(40))

    def both(ours, theirs):
        assert outcome(ours) == outcome(theirs)

    def found(result):
        return [str(txn.toString()) for txn in result]

    ours, theirs = TransactionIndex(50, files[0]), java_class(50, kafka.file(files[1]))
    offset = 40
    for _ in range(200):
        match rng.choice(["append"] * 5 + ["collect"] * 3 + ["truncate", "reopen", "sanity", "reset", "close", "all"]):
            case "append":
                offset += rng.choice([0, 1, 5])
                entry = rng.randrange(3), rng.randrange(offset), offset, offset + rng.randrange(-5, 5)
                both(lambda e=entry: ours.append(AbortedTxn(*e)), lambda e=entry: theirs.append(java_txn(*e)))
            case "collect":
                low, high = rng.randrange(offset + 5), rng.randrange(offset + 5)
                both(
                    lambda a=low, b=high: as_text(ours.collect_aborted_txns(a, b)),
                    lambda a=low, b=high: (
                        found((result := theirs.collectAbortedTxns(a, b)).abortedTransactions()),
                        result.isComplete(),
                    ),
                )
            case "truncate":
                to = rng.randrange(max(0, offset - 20), offset + 3)
                both(lambda o=to: ours.truncate_to(o), lambda o=to: theirs.truncateTo(o))
            case "reopen":
                ours.close()
                theirs.close()
                ours, theirs = TransactionIndex(50, files[0]), java_class(50, kafka.file(files[1]))
            case "sanity":
                both(ours.sanity_check, theirs.sanityCheck)
            case "reset":
                if rng.random() < 0.2:
                    both(ours.reset, theirs.reset)
            case "close":
                ours.close()
                theirs.close()
            case "all":
                both(
                    lambda: [str(txn) for txn in ours.all_aborted_txns()],
                    lambda: found(theirs.allAbortedTxns()),
                )
        assert ours.is_empty == theirs.isEmpty()
        contents = [file.read_bytes() if file.exists() else None for file in files]
        assert contents[0] == contents[1]
    ours.close()
    theirs.close()


def as_text(result):
    return [str(txn) for txn in result.aborted_transactions], result.is_complete


def outcome(call):
    try:
        with kafka_errors():
            return call()
    except Exception as error:
        return type(error).__name__, str(error).replace("/kafka/", "/minikafka/")
