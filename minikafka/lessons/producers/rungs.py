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
_WITHOUT_EPOCH = "append_as_leader [1x10 pid=7 epoch=-1 seq=5]\n"
"""A producer of which nothing is known sends the epoch -1, which is then no new one."""
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
    why="A producer that gets no answer sends its batch again. If the log writes it twice, there are duplicates. If "
    "the log refuses it, the producer sees an error although its batch was stored.",
    invariants=(
        "It changes nothing. It returns the remembered batch (one of `self.batch_metadata`) that this batch repeats, "
        "or None.",
        "A retry has the same epoch, the same first sequence and the same last sequence.",
        "A retry may repeat any of the remembered batches, not only the newest.",
    ),
    chosen=(_RETRIES, _SIX, _WRAPS),
    profiles=_IDEMPOTENT,
    returns=(BatchMetadata, type(None)),
    changes_nothing=True,
    solution=find_duplicate_batch,
    beliefs=(
        Belief(
            _finds(lambda known, first, last: known.first_seq == first),
            "You compare the first sequence only. If the last sequence differs, it is another batch.",
        ),
        Belief(
            _finds(_exactly, minds_the_epoch=False),
            "You ignore the epoch. In a new epoch the sequences start again, and no earlier batch is a retry.",
        ),
        Belief(
            _finds(_exactly, only_the_last=True),
            "You compare with the newest batch only. A producer may have five requests in flight, and may retry each "
            "of them.",
        ),
        Belief(
            _finds(lambda known, first, last: known.first_seq <= first and last <= known.last_seq),
            "You treat a part of a batch as its retry. A producer retries a whole batch. It splits only one that was "
            "refused as too large.",
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
    why="With sequences a log notices that an earlier batch is missing.",
    invariants=(
        "It changes nothing. It raises `OutOfOrderSequenceException` if the batch does not have the expected sequence.",
        "`self._current_entry` holds what the log knows about the producer. `self._updated_entry` holds this, with "
        "the changes made by the present append.",
        "In a new epoch the first sequence must be 0. If nothing is known about the producer (its epoch is -1), any "
        "sequence is allowed.",
        "In the same epoch the first sequence must be one more than the last one; after 2147483647 comes 0.",
        "Before all that, call `self._check_sequence_against_verification(first_seq, offset)`.",
    ),
    chosen=(_RETRIES, _WRAPS, _UNKNOWN, _WITHOUT_EPOCH),
    profiles=_IDEMPOTENT,
    must_call=(ProducerAppendInfo._check_sequence_against_verification,),
    returns=(type(None),),
    solution=_check_sequence,
    beliefs=(
        Belief(
            _checks(new_epoch=False),
            "You let a new epoch begin with any sequence. It must begin with 0, unless nothing is known about the "
            "producer.",
        ),
        Belief(_checks(wraps=False), "You forget that sequences are ints: after 2147483647 comes 0."),
        Belief(
            _checks(any_start=False),
            "You refuse an unknown producer unless it begins with 0. The log may have deleted its records long ago, "
            "so Kafka accepts any sequence.",
        ),
        Belief(
            _checks(gaps=True), "You accept a batch after a gap. Then a batch in between is lost, and no one notices."
        ),
    ),
    hints=(
        "There are two cases: `producer_epoch` equals `self._updated_entry.producer_epoch`, or it is a new epoch.",
        "The last sequence is `self._updated_entry.last_seq`. If `self._updated_entry.is_empty` and the epoch of "
        "`self._current_entry` is the same, it is `self._current_entry.last_seq`.",
        "If `self._current_entry.producer_epoch` is -1, any sequence is allowed.",
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
    why="A producer that seemed dead comes back and continues to write. Its successor has a newer epoch. The log "
    "must accept only one of them.",
    invariants=(
        "It changes nothing: it raises `InvalidProducerEpochException`, or returns None. `self._updated_entry` holds "
        "what is known.",
        "It refuses an epoch that is older than the known one. It accepts a newer one.",
        "A marker with `transaction_version` 2 must have a newer epoch. There are two exceptions in which it may "
        "have the known epoch: no transaction is open (`current_txn_first_offset` is None), or the epoch is 32767, "
        "the largest possible one.",
        "A follower (`self._origin` is `AppendOrigin.REPLICATION`) refuses nothing, because its leader has already "
        "checked.",
    ),
    chosen=(_EPOCHS, _EPOCHS_REPLICATED, _LAST_EPOCH, _RETRIES),
    profiles=(_IDEMPOTENT[0], *_TRANSACTIONS[2:]),
    returns=(type(None),),
    changes_nothing=True,
    solution=_check_producer_epoch,
    beliefs=(
        Belief(
            _fences(lambda epoch, known, *_: False),
            "You refuse nothing. An old producer (a zombie) continues to write.",
        ),
        Belief(
            _fences(lambda epoch, known, version, is_open: epoch < known),
            "You accept a marker of version 2 with the known epoch while a transaction is open. It may be a late "
            "marker and end the wrong transaction.",
        ),
        Belief(
            _fences(lambda epoch, known, version, is_open: epoch < known or (epoch == known and version >= 2)),
            "You refuse a marker of version 2 that is sent again. Its transaction is already over, so the marker "
            "does no harm.",
        ),
        Belief(
            _fences(
                lambda epoch, known, version, is_open: epoch < known or (epoch == known and version >= 2 and is_open)
            ),
            "You refuse a marker of epoch 32767. There is no newer epoch.",
        ),
        Belief(_fences(_older, everybody=True), "Your follower refuses batches that its leader has written."),
    ),
    hints=(
        "`self._updated_entry` has `producer_epoch` and `current_txn_first_offset`.",
        "Refuse it if the epoch is below the known one. Also refuse it if the epoch equals the known one, is not "
        "32767, the version is 2 or later, and a transaction is open.",
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
    why="One record, the marker, decides about a whole transaction. Before it is written, this method finds out "
    "which transaction it ends.",
    invariants=(
        "A coordinator gives the version of the transaction. For `TV_UNKNOWN` it raises `IllegalArgumentException`; "
        "on a follower (`self._origin`) `TV_UNKNOWN` counts as 0.",
        "Then it calls `self._check_producer_epoch(producer_epoch, offset, transaction_version)` and "
        "`self._check_coordinator_epoch(marker, offset)`, which may raise.",
        "It returns `CompletedTxn(producer id, first offset, last offset, is_aborted)` for the open transaction, or "
        "None if none is open. The last offset is the marker's.",
        "`self._updated_entry.end_transaction(producer_epoch, marker.coordinator_epoch, timestamp)` records the "
        "marker, whether a transaction was open or not.",
    ),
    chosen=(_TWO_OPEN, _MARKERS, _MARKERS_REPLICATED, _EPOCHS, _EPOCHS_REPLICATED),
    profiles=_TRANSACTIONS,
    returns=(CompletedTxn, type(None)),
    solution=append_end_txn_marker,
    beliefs=(
        Belief(
            _completes(aborts=ControlRecordType.COMMIT),
            "You confuse commits and aborts. A transaction is aborted if `marker.control_type` is "
            "`ControlRecordType.ABORT`.",
        ),
        Belief(
            _completes(without_one=True),
            "You complete a transaction that was never open. A marker without an open transaction completes nothing "
            "(up to 2.7 it did).",
        ),
        Belief(_completes(ends=False), "Your transaction stays open: you must call `end_transaction` of the entry."),
        Belief(
            _completes(coordinators=False),
            "You accept a marker from a coordinator that has been replaced. Its epoch is too old.",
        ),
        Belief(_completes(versions=False), "You accept a marker without a version from a coordinator."),
    ),
    hints=(
        "There are three steps: the checks, the completed transaction, and `end_transaction` of the entry.",
        "The open transaction begins at `self._updated_entry.current_txn_first_offset`; None means that no "
        "transaction is open.",
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
    why="A read_committed consumer can read only up to this offset, and its lag is counted up to this offset, too.",
    invariants=(
        "It changes nothing.",
        "Below this offset every transaction is decided and every record is replicated. So it is never above the "
        "high watermark.",
        "If no transaction is open or waits for replication, it is the high watermark.",
    ),
    chosen=(_TWO_OPEN,),
    profiles=_TRANSACTIONS,
    returns=(int,),
    changes_nothing=True,
    solution=last_stable_offset,
    beliefs=(
        Belief(_stable_to_the_mark, "You ignore transactions. An open one holds readers back."),
        Belief(
            _stable_to_the_transaction,
            "Your answer is above the high watermark if a transaction began above it. A record that is not "
            "replicated is not stable.",
        ),
        Belief(_stable_to_the_end, "Without a transaction you return the log end. The answer is the high watermark."),
        Belief(
            _stable_below_the_transaction,
            "Your answer is one too low. The bound is exclusive: it is the transaction's first offset itself.",
        ),
    ),
    hints=(
        "`self.first_unstable_offset` is an offset or None.",
        "If it is an offset, the answer is the smaller of it and `self.high_watermark`.",
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
    why="For readers a transaction is over when its marker is replicated, not when the marker is written.",
    invariants=(
        "It changes nothing.",
        "`self.ongoing_txns` are the open transactions. `self.unreplicated_txns` have ended, but their marker is not "
        "replicated yet. Both are lists, ascending by first offset.",
        "It returns the `first_offset` (a `LogOffsetMetadata`) of the oldest transaction in both lists, or None if "
        "both are empty.",
    ),
    chosen=(_TWO_OPEN, _LATER_ENDS_FIRST),
    profiles=_TRANSACTIONS,
    returns=(LogOffsetMetadata, type(None)),
    changes_nothing=True,
    solution=first_unstable_offset,
    beliefs=(
        Belief(
            _first(lambda producers: (txn.first_offset for txn in producers.ongoing_txns)),
            "You look at open transactions only. If a marker is not replicated, it may still be lost.",
        ),
        Belief(
            _first(lambda producers: (txn.first_offset for txn in producers.unreplicated_txns)),
            "You forget the open transactions.",
        ),
        Belief(_latest, "You take the later of the two. The oldest transaction counts."),
        Belief(
            _first(lambda producers: (t.first_offset for t in [*producers.ongoing_txns, *producers.unreplicated_txns])),
            "You take an open transaction first. An ended one may have begun before it.",
        ),
    ),
    hints=("Look at the first transaction of each list.", "Compare `txn.first_offset.message_offset`."),
)

LADDER = (finds, checks, fences, completes, stable, unstable)
"""The rungs in the order in which they are climbed."""
