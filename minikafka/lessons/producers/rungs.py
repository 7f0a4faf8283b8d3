"""The ladder of the lesson *Producers and transactions*: retries, sequences, epochs, markers, and what an open
transaction holds back.
"""

from minikafka.common.errors import IllegalArgumentException, InvalidProducerEpochException, OutOfOrderSequenceException
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log import Log
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_append_info import TV_UNKNOWN, ProducerAppendInfo, TxnMetadata
from minikafka.log.producer.producer_state_entry import BatchMetadata, ProducerStateEntry
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.record.format.control_record import ControlRecordType

_IDEMPOTENT = (
    {"producers": 3, "epochs": True},
    {"producers": 1, "weights": {"append": 120}},
    {"producers": 2, "refused": 0.2},
    {"producers": 3, "transactions": True},
)
_TRANSACTIONS = (
    {"producers": 3, "transactions": True},
    {"producers": 2, "transactions": True, "weights": {"high_watermark": 25}},
    {"producers": 3, "transactions": True, "epochs": True},
    {"producers": 3, "transactions": True, "follower": True, "epochs": True},
)


def _sent(*batches):
    """Appends of one producer: (epoch, first sequence, records) each."""
    return "".join(
        f"append_as_leader [{count}x10 pid=7 epoch={epoch} seq={first}]\n" for epoch, first, count in batches
    )


_RETRIES = _sent((0, 0, 2), (0, 2, 1), (0, 3, 3), (0, 2, 1), (0, 0, 2), (0, 3, 2), (0, 4, 2), (1, 0, 2), (0, 3, 3))
_SIX = _sent(*((0, number, 1) for number in range(7)), (0, 0, 1), (0, 2, 1), (0, 6, 1))
_WRAPS = _sent((0, 2147483646, 2), (0, 0, 1), (0, 1, 1), (1, 3, 1), (1, 0, 1), (1, 2, 1), (2, 0, 1))
_UNKNOWN = _sent((5, 40, 2), (5, 42, 1), (5, 41, 1)) + "append_as_leader [1x10 pid=9 epoch=3 seq=7]\n"
_TWO_OPEN = """
append_as_leader [2x10 pid=1 epoch=0 seq=0 txn]
append_as_leader [1x10 pid=2 epoch=0 seq=0 txn]
append_as_leader [1x10]
update_high_watermark leo
append_as_leader origin=coordinator transaction_version=1 [abort pid=1 epoch=0]
consume start read_committed=true
update_high_watermark 3
update_high_watermark leo
append_as_leader origin=coordinator transaction_version=1 [commit pid=2 epoch=0]
consume start read_committed=true
update_high_watermark leo
consume start read_committed=true
"""
_LATER_ENDS_FIRST = """
append_as_leader [2x10 pid=1 epoch=0 seq=0 txn]
append_as_leader [1x10 pid=2 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=1 [abort pid=2 epoch=0]
update_high_watermark 3
append_as_leader [1x10 pid=3 epoch=0 seq=0 txn]
update_high_watermark leo
append_as_leader origin=coordinator transaction_version=1 [commit pid=1 epoch=0]
update_high_watermark leo
"""

_EPOCHS = """
append_as_leader [1x10 pid=7 epoch=1 seq=0 txn]
append_as_leader [1x10 pid=7 epoch=0 seq=1 txn]
append_as_leader origin=coordinator transaction_version=1 [abort pid=7 epoch=0]
append_as_leader origin=coordinator transaction_version=2 [commit pid=7 epoch=1]
append_as_leader origin=coordinator transaction_version=2 [commit pid=7 epoch=2]
append_as_leader origin=coordinator transaction_version=2 [commit pid=7 epoch=2]
append_as_leader [1x10 pid=7 epoch=1 seq=1]
append_as_leader [1x10 pid=7 epoch=2 seq=0 txn]
append_as_leader origin=coordinator transaction_version=1 [commit pid=7 epoch=2]
"""
_EPOCHS_REPLICATED = """
append_as_follower [1x10 pid=7 epoch=1 seq=0]
append_as_follower [1x10 pid=7 epoch=0 seq=1]
append_as_follower [1x10 pid=7 epoch=2 seq=9]
"""
_LAST_EPOCH = """
append_as_leader [1x10 pid=7 epoch=32767 seq=0 txn]
append_as_leader origin=coordinator transaction_version=2 [commit pid=7 epoch=32767]
"""
_MARKERS = """
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader origin=coordinator [commit pid=7 epoch=0]
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0 coordinator_epoch=5]
append_as_leader [1x10 pid=7 epoch=0 seq=2 txn]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0 coordinator_epoch=4]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0 coordinator_epoch=5]
update_high_watermark leo
append_as_leader [1x10 pid=7 epoch=0 seq=3]
"""
_MARKERS_REPLICATED = """
append_as_follower [1x10 pid=7 epoch=0 seq=0 txn]
append_as_follower [abort pid=7 epoch=0]
update_high_watermark leo
"""


# Rung 1


def find_duplicate_batch(self, batch):
    if batch.producer_epoch != self.producer_epoch:
        return None
    for known in self.batch_metadata:
        if (known.first_seq, known.last_seq) == (batch.base_sequence, batch.last_sequence):
            return known
    return None


def _finds(same, *, minds_the_epoch=True, only_the_last=False):
    """A version that takes other batches for the same one."""

    def version(self, batch):
        if minds_the_epoch and batch.producer_epoch != self.producer_epoch:
            return None
        known = list(self.batch_metadata)[-1:] if only_the_last else self.batch_metadata
        return next((each for each in known if same(each, batch.base_sequence, batch.last_sequence)), None)

    return version


def _exactly(known, first, last):
    return (known.first_seq, known.last_seq) == (first, last)


finds = Rung(
    "Rung 1, the retry of a batch",
    ProducerStateEntry.find_duplicate_batch,
    why="A producer that heard no answer sends its batch again. Written twice, it would be a record too many; refused, "
    "an error for something that has succeeded.",
    invariants=(
        "It only looks: its answer is the remembered batch (`self.batch_metadata`) of which this is a retry, or None.",
        "A retry has the same epoch, the same first and the same last sequence.",
        "Any of the remembered batches may be retried, not only the newest.",
    ),
    chosen=(_RETRIES, _SIX, _WRAPS),
    profiles=_IDEMPOTENT,
    returns=(BatchMetadata, type(None)),
    changes_nothing=True,
    solution=find_duplicate_batch,
    beliefs=(
        Belief(
            _finds(lambda known, first, last: known.first_seq == first),
            "You look at the first sequence alone. A batch that begins alike and ends elsewhere is another batch.",
        ),
        Belief(
            _finds(_exactly, minds_the_epoch=False),
            "You remember through epochs. With a new epoch sequences begin anew, and nothing of before is a retry.",
        ),
        Belief(
            _finds(_exactly, only_the_last=True),
            "You know the newest batch alone. Up to five requests may be on their way, and any of them be retried.",
        ),
        Belief(
            _finds(lambda known, first, last: known.first_seq <= first and last <= known.last_seq),
            "You take a part of a batch for its retry. A producer retries a batch as a whole.",
        ),
    ),
    hints=(
        "`batch` has `producer_epoch`, `base_sequence`, `last_sequence`; `self` has `producer_epoch`.",
        "`self.batch_metadata` has up to five `BatchMetadata`, each with `first_seq` and `last_seq`.",
    ),
)


# Rung 2


def _check_sequence(self, producer_epoch, first_seq, offset):
    self._check_sequence_against_verification(first_seq, offset)
    before, now = self._current_entry, self._updated_entry
    if producer_epoch != now.producer_epoch:
        is_expected = first_seq == 0 or now.producer_epoch == -1
        problem = "Invalid sequence number for new epoch"
    else:
        last_seq = before.last_seq if now.is_empty and producer_epoch == before.producer_epoch else now.last_seq
        follows = 0 if last_seq == 2147483647 else last_seq + 1
        is_expected = first_seq == follows or before.producer_epoch == -1
        problem = "Out of order sequence number"
    if not is_expected:
        raise OutOfOrderSequenceException(f"{problem}: {first_seq} of producer {self.producer_id} at offset {offset}")


def _checks(*, new_epoch=True, wraps=True, any_start=True, gaps=False):
    """A version without one of the rules."""

    def version(self, producer_epoch, first_seq, offset):
        self._check_sequence_against_verification(first_seq, offset)
        before, now = self._current_entry, self._updated_entry
        if producer_epoch != now.producer_epoch:
            is_expected = first_seq == 0 or not new_epoch or (now.producer_epoch == -1 and any_start)
        else:
            last_seq = before.last_seq if now.is_empty and producer_epoch == before.producer_epoch else now.last_seq
            follows = 0 if wraps and last_seq == 2147483647 else last_seq + 1
            is_expected = (first_seq >= follows if gaps else first_seq == follows) or before.producer_epoch == -1
        if not is_expected:
            raise OutOfOrderSequenceException("Out of order sequence number")

    return version


checks = Rung(
    "Rung 2, the next sequence",
    ProducerAppendInfo._check_sequence,
    kafka="ProducerAppendInfo.checkSequence",
    why="Sequences are how a log notices that a batch before this one is missing.",
    invariants=(
        "It only looks, and raises `OutOfOrderSequenceException` for a batch that does not continue.",
        "`self._current_entry` is what is known of the producer, `self._updated_entry` what this append has added.",
        "In a new epoch the first sequence is 0; of a producer that nothing is known of (epoch -1), any.",
        "In the same epoch it follows the last one; after 2147483647 comes 0.",
        "What waits for verification is asked first: `self._check_sequence_against_verification(first_seq, offset)`.",
    ),
    chosen=(_RETRIES, _WRAPS, _UNKNOWN),
    profiles=_IDEMPOTENT,
    returns=(type(None),),
    solution=_check_sequence,
    beliefs=(
        Belief(
            _checks(new_epoch=False),
            "You let a new epoch begin anywhere. It begins with sequence 0, unless nothing is known of the producer.",
        ),
        Belief(_checks(wraps=False), "You forget that sequences are ints: after 2147483647 comes 0."),
        Belief(
            _checks(any_start=False),
            "You refuse a producer that nothing is known of, unless it begins with 0. Its records may have been "
            "deleted long ago; Kafka takes whatever comes first.",
        ),
        Belief(_checks(gaps=True), "You take a batch after a gap. Then one in between is lost, and nobody knows."),
    ),
    hints=(
        "Two cases: `producer_epoch` is that of `self._updated_entry`, or a new one.",
        "The last sequence is `self._updated_entry.last_seq`; while that `is_empty`, `self._current_entry.last_seq` if "
        "its epoch is the same.",
        "Where `self._current_entry.producer_epoch` is -1, any sequence may come.",
    ),
)


# Rung 3


def _check_producer_epoch(self, producer_epoch, offset, transaction_version):
    known = self._updated_entry.producer_epoch
    repeats = self._updated_entry.current_txn_first_offset is None or producer_epoch == 32767
    if producer_epoch < known or (producer_epoch == known and transaction_version >= 2 and not repeats):
        if self._origin is not AppendOrigin.REPLICATION:
            raise InvalidProducerEpochException(
                f"Epoch {producer_epoch} of producer {self.producer_id}, known is {known}"
            )


def _fences(too_old, *, everybody=False):
    """A version for which `too_old(epoch, known epoch, transaction version, is one open)` decides."""

    def version(self, producer_epoch, offset, transaction_version):
        entry = self._updated_entry
        is_open = entry.current_txn_first_offset is not None
        if too_old(producer_epoch, entry.producer_epoch, transaction_version, is_open):
            if everybody or self._origin is not AppendOrigin.REPLICATION:
                raise InvalidProducerEpochException("Epoch too old")

    return version


def _older(epoch, known, version, is_open):
    return epoch < known or (epoch == known and version >= 2 and is_open and epoch < 32767)


fences = Rung(
    "Rung 3, epochs fence",
    ProducerAppendInfo._check_producer_epoch,
    kafka="ProducerAppendInfo.checkProducerEpoch",
    why="A producer that was believed dead wakes up and goes on writing. Its successor has a newer epoch; the log lets "
    "in one of the two.",
    invariants=(
        "It only looks: `InvalidProducerEpochException`, or nothing. What is known is `self._updated_entry`.",
        "An older epoch than the known one is refused; a newer one is not.",
        "A marker of `transaction_version` 2 must bring a newer epoch. The known one is let in where no transaction "
        "is open "
        "(`current_txn_first_offset` is None), and at 32767, the last epoch there is.",
        "A follower (`self._origin` is `AppendOrigin.REPLICATION`) refuses nothing: its leader has.",
    ),
    chosen=(_EPOCHS, _EPOCHS_REPLICATED, _LAST_EPOCH, _RETRIES),
    profiles=(_IDEMPOTENT[0], *_TRANSACTIONS[2:]),
    returns=(type(None),),
    changes_nothing=True,
    solution=_check_producer_epoch,
    beliefs=(
        Belief(_fences(lambda epoch, known, *_: False), "You let everybody in. A zombie writes on."),
        Belief(
            _fences(lambda epoch, known, version, is_open: epoch < known),
            "You take a marker of version 2 with the known epoch while a transaction is open. It may be a late one, "
            "and "
            "end the wrong transaction.",
        ),
        Belief(
            _fences(lambda epoch, known, version, is_open: epoch < known or (epoch == known and version >= 2)),
            "You refuse a marker of version 2 that is sent again. Its transaction is over; it does no harm.",
        ),
        Belief(
            _fences(
                lambda epoch, known, version, is_open: epoch < known or (epoch == known and version >= 2 and is_open)
            ),
            "You refuse a marker of epoch 32767. There is no newer epoch that it could bring.",
        ),
        Belief(_fences(_older, everybody=True), "Your follower refuses what its leader has written."),
    ),
    hints=(
        "`self._updated_entry` has `producer_epoch` and `current_txn_first_offset`.",
        "Too old: below the known epoch; or equal to it, version 2 or later, a transaction open, and not 32767.",
    ),
)


# Rung 4


def append_end_txn_marker(self, marker, *, producer_epoch, offset, timestamp, transaction_version):
    if transaction_version == TV_UNKNOWN:
        if self._origin is not AppendOrigin.REPLICATION:
            raise IllegalArgumentException("A marker without the version of its transaction")
        transaction_version = 0
    self._check_producer_epoch(producer_epoch, offset, transaction_version)
    self._check_coordinator_epoch(marker, offset)
    entry, completed = self._updated_entry, None
    if entry.current_txn_first_offset is not None:
        is_aborted = marker.control_type is ControlRecordType.ABORT
        completed = CompletedTxn(self.producer_id, entry.current_txn_first_offset, offset, is_aborted)
    entry.end_transaction(producer_epoch, marker.coordinator_epoch, timestamp)
    return completed


def _completes(*, versions=True, coordinators=True, without_one=False, ends=True, aborts=ControlRecordType.ABORT):
    """A version without one of the rules."""

    def version(self, marker, *, producer_epoch, offset, timestamp, transaction_version):
        if versions and transaction_version == TV_UNKNOWN and self._origin is not AppendOrigin.REPLICATION:
            raise IllegalArgumentException("A marker without the version of its transaction")
        self._check_producer_epoch(producer_epoch, offset, max(transaction_version, 0))
        if coordinators:
            self._check_coordinator_epoch(marker, offset)
        entry, completed = self._updated_entry, None
        first = entry.current_txn_first_offset
        if first is not None or without_one:
            completed = CompletedTxn(
                self.producer_id, offset if first is None else first, offset, marker.control_type is aborts
            )
            if first is None:  # as in 2.5, where such a marker was a transaction of its own
                self.started_transactions.append(TxnMetadata(self.producer_id, LogOffsetMetadata(offset)))
        if ends:
            entry.end_transaction(producer_epoch, marker.coordinator_epoch, timestamp)
        return completed

    return version


completes = Rung(
    "Rung 4, what a marker completes",
    ProducerAppendInfo.append_end_txn_marker,
    why="One record decides the fate of a whole transaction. Whether, and of which, is found out here, before it is "
    "written.",
    invariants=(
        "A coordinator says the version of the transaction; `TV_UNKNOWN` is an `IllegalArgumentException`, except on a "
        "follower (`self._origin`), for which it counts as 0.",
        "Then `self._check_producer_epoch(producer_epoch, offset, transaction_version)` and "
        "`self._check_coordinator_epoch(marker, offset)` may refuse.",
        "Its answer is a `CompletedTxn(producer id, first offset, last offset, is_aborted)` of the open transaction, "
        "None without one. The last offset is the marker's.",
        "`self._updated_entry.end_transaction(producer_epoch, marker.coordinator_epoch, timestamp)` notes the marker, "
        "transaction or none.",
    ),
    chosen=(_TWO_OPEN, _MARKERS, _MARKERS_REPLICATED, _EPOCHS, _EPOCHS_REPLICATED),
    profiles=_TRANSACTIONS,
    returns=(CompletedTxn, type(None)),
    solution=append_end_txn_marker,
    beliefs=(
        Belief(
            _completes(aborts=ControlRecordType.COMMIT),
            "You take commits for aborts. Aborted is what `marker.control_type` calls `ControlRecordType.ABORT`.",
        ),
        Belief(
            _completes(without_one=True),
            "You complete a transaction that was never open. A marker alone completes nothing (up to 2.7 it did).",
        ),
        Belief(_completes(ends=False), "Your transaction stays open: the entry must learn of the marker."),
        Belief(
            _completes(coordinators=False), "You listen to a coordinator that has been replaced. Its epoch is too old."
        ),
        Belief(_completes(versions=False), "You take a marker without a version from a coordinator."),
    ),
    hints=(
        "Three parts: may it come, what does it end, and the entry learns of it.",
        "The open transaction begins at `self._updated_entry.current_txn_first_offset`; None: none is open.",
    ),
)


# Rung 5


def last_stable_offset(self):
    first_unstable = self.first_unstable_offset
    return self.high_watermark if first_unstable is None else min(first_unstable, self.high_watermark)


def _stable_to_the_mark(self):
    return self.high_watermark


def _stable_to_the_transaction(self):
    return self.high_watermark if self.first_unstable_offset is None else self.first_unstable_offset


def _stable_to_the_end(self):
    return self.log_end_offset if self.first_unstable_offset is None else self.first_unstable_offset


def _stable_below_the_transaction(self):
    first_unstable = self.first_unstable_offset
    return self.high_watermark if first_unstable is None else min(first_unstable - 1, self.high_watermark)


stable = Rung(
    "Rung 5, how far read_committed reads",
    Log.last_stable_offset,
    why="A consumer that reads committed records waits for this offset, and so does whoever watches its lag.",
    invariants=(
        "It only looks.",
        "Below it every transaction is decided, and everything is replicated: never above the high watermark.",
        "Without a transaction that is open or not yet replicated it is the high watermark.",
    ),
    chosen=(_TWO_OPEN,),
    profiles=_TRANSACTIONS,
    returns=(int,),
    changes_nothing=True,
    solution=last_stable_offset,
    beliefs=(
        Belief(_stable_to_the_mark, "You pay no heed to transactions. An open one holds its readers back."),
        Belief(
            _stable_to_the_transaction,
            "You let it pass the high watermark when a transaction began above that. What is not replicated is not "
            "stable.",
        ),
        Belief(_stable_to_the_end, "Without a transaction you answer the log end. It is the high watermark."),
        Belief(
            _stable_below_the_transaction,
            "You stop one record too early. The bound is exclusive: the transaction's first offset itself.",
        ),
    ),
    hints=(
        "`self.first_unstable_offset` is an offset or None.",
        "The smaller of the two: that, and `self.high_watermark`.",
    ),
)


# Rung 6


def first_unstable_offset(self):
    firsts = [txn.first_offset for txn in (*self.ongoing_txns[:1], *self.unreplicated_txns[:1])]
    return min(firsts, key=lambda metadata: metadata.message_offset, default=None)


def _first(of):
    def version(self):
        return next(iter(of(self)), None)

    return version


def _latest(self):
    firsts = [txn.first_offset for txn in (*self.ongoing_txns[:1], *self.unreplicated_txns[:1])]
    return max(firsts, key=lambda metadata: metadata.message_offset, default=None)


unstable = Rung(
    "Rung 6, the oldest transaction that is not over",
    ProducerStateManager.first_unstable_offset,
    why="A transaction is over for readers when its marker is replicated, not when it is written.",
    invariants=(
        "It only looks.",
        "Open are `self.ongoing_txns`; ended, but not replicated as far as the marker, `self.unreplicated_txns`. Both "
        "are lists of transactions by first offset, ascending.",
        "Its answer is the `first_offset` (a `LogOffsetMetadata`) of the oldest in either, None without any.",
    ),
    chosen=(_TWO_OPEN, _LATER_ENDS_FIRST),
    profiles=_TRANSACTIONS,
    returns=(LogOffsetMetadata, type(None)),
    changes_nothing=True,
    solution=first_unstable_offset,
    beliefs=(
        Belief(
            _first(lambda producers: (txn.first_offset for txn in producers.ongoing_txns)),
            "You count open transactions alone. One whose marker is not replicated may yet lose that marker.",
        ),
        Belief(
            _first(lambda producers: (txn.first_offset for txn in producers.unreplicated_txns)),
            "You forget the open transactions.",
        ),
        Belief(_latest, "You take the later of the two. The oldest one holds back all that comes after it."),
        Belief(
            _first(lambda producers: (t.first_offset for t in [*producers.ongoing_txns, *producers.unreplicated_txns])),
            "You ask the open transactions first. An ended one may have begun before them.",
        ),
    ),
    hints=("Look at the first of each list.", "`txn.first_offset.message_offset` is what to compare."),
)

LADDER = (finds, checks, fences, completes, stable, unstable)
"""The rungs in the order in which they are climbed."""
