"""The ladder of the lesson *Read isolation*: what a consumer of committed records is told to leave out."""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.index.transaction_index import TransactionIndex, TxnIndexSearchResult

_DRAWN = ({"producers": 3, "transactions": True, "weights": {"read": 40, "consume": 20}},)
_ABORTED = """
append_as_leader [2x10 pid=1 epoch=0 seq=0 txn]
append_as_leader [1x10 pid=2 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=1 [abort pid=1 epoch=0]
append_as_leader [1x10]
append_as_leader origin=coordinator transaction_version=1 [abort pid=2 epoch=0]
append_as_leader [2x10 pid=1 epoch=0 seq=2 txn]
append_as_leader [1x10]
append_as_leader origin=coordinator transaction_version=1 [abort pid=1 epoch=0]
update_high_watermark leo
read 0 max_length=90 isolation=txn_committed
read 2 max_length=90 isolation=txn_committed
read 3 max_length=90 isolation=txn_committed
read 4 max_length=90 isolation=txn_committed
read 5 max_length=90 isolation=txn_committed
read 6 max_length=500 isolation=txn_committed
read 0 max_length=5000 isolation=txn_committed
read 9 max_length=5000 isolation=txn_committed
consume start read_committed=true
"""
_LATER_ENDS_FIRST = """
config index.interval.bytes=0
append_as_leader [2x10 pid=1 epoch=0 seq=0 txn]
append_as_leader [2x10]
append_as_leader [2x10]
append_as_leader [1x10 pid=2 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=1 [abort pid=2 epoch=0]
append_as_leader origin=coordinator transaction_version=1 [abort pid=1 epoch=0]
update_high_watermark leo
read 0 max_length=90 isolation=txn_committed
read 2 max_length=90 isolation=txn_committed
read 4 max_length=5000 isolation=txn_committed
"""
_BEHIND_THE_BOUND = """
append_as_leader [2x10]
roll leo
append_as_leader [2x10 pid=1 epoch=0 seq=0 txn]
roll leo
append_as_leader [1x10 pid=2 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=1 [abort pid=2 epoch=0]
append_as_leader origin=coordinator transaction_version=1 [abort pid=1 epoch=0]
update_high_watermark leo
read 0 max_length=500 isolation=txn_committed
read 2 max_length=500 isolation=txn_committed
"""


# The rung


def collect_aborted_txns(self, fetch_offset, upper_bound_offset):
    found = []
    for txn in self.all_aborted_txns():
        if txn.first_offset < upper_bound_offset and txn.last_offset >= fetch_offset:
            found.append(txn)
        if txn.last_stable_offset >= upper_bound_offset:
            return TxnIndexSearchResult(found, True)
    return TxnIndexSearchResult(found, False)


def _collects(overlaps, *, complete=lambda txn, bound: txn.last_stable_offset >= bound):
    def version(self, fetch_offset, upper_bound_offset):
        found = []
        for txn in self.all_aborted_txns():
            if overlaps(txn, fetch_offset, upper_bound_offset):
                found.append(txn)
            if complete(txn, upper_bound_offset):
                return TxnIndexSearchResult(found, True)
        return TxnIndexSearchResult(found, False)

    return version


def _overlap(txn, start, end):
    return txn.first_offset < end and txn.last_offset >= start


collects = Rung(
    "Rung 1, the aborted transactions of a read",
    TransactionIndex.collect_aborted_txns,
    why="A consumer can skip aborted records only if the broker names every aborted transaction that overlaps the "
    "records of the answer.",
    invariants=(
        "It changes nothing. It goes through `self.all_aborted_txns()`, in this order.",
        "It returns the transactions that overlap the offsets from `fetch_offset` (inclusive) to "
        "`upper_bound_offset` (exclusive). `last_offset` is the marker's offset, inclusive.",
        "At the first entry whose `last_stable_offset` is at or above the bound, the search is complete: this entry "
        "is still checked, later ones and later segments are not needed.",
    ),
    chosen=(
        _ABORTED,
        _LATER_ENDS_FIRST,
        _BEHIND_THE_BOUND,
        "config internal.segment.bytes=300\n" + _ABORTED.lstrip("\n"),
    ),
    profiles=_DRAWN * 3,
    returns=(TxnIndexSearchResult,),
    changes_nothing=True,
    solution=collect_aborted_txns,
    beliefs=(
        Belief(
            _collects(lambda txn, start, end: start <= txn.first_offset < end),
            "You leave out transactions that began before the read. Some of their records may be in the read.",
        ),
        Belief(
            _collects(lambda txn, start, end: txn.first_offset < end and txn.last_offset > start),
            "You leave out a transaction whose marker is at the first offset of the read. `last_offset` is inclusive.",
        ),
        Belief(
            _collects(lambda txn, start, end: txn.last_offset >= start),
            "You include transactions that begin after the end of the read.",
        ),
        Belief(
            _collects(lambda txn, start, end: txn.first_offset <= end and txn.last_offset >= start),
            "You include a transaction that begins at the bound. The bound is exclusive.",
        ),
        Belief(
            _collects(_overlap, complete=lambda txn, bound: False),
            "You never report that the search is complete. Then every read searches all later segments.",
        ),
        Belief(
            _collects(_overlap, complete=lambda txn, bound: txn.last_offset >= bound),
            "You end the search at the first marker after the bound. Another transaction may have begun before the "
            "bound and ended later. Use `last_stable_offset` instead.",
        ),
    ),
    hints=(
        "An entry has `first_offset`, `last_offset` and `last_stable_offset`.",
        "A transaction overlaps if it begins before the bound and its marker is at or after `fetch_offset`.",
        "`TxnIndexSearchResult(found, True)` as soon as `last_stable_offset >= upper_bound_offset`.",
    ),
)

LADDER = (collects,)
"""The rungs in the order in which they are climbed."""
