"""Which transactions are open at the cleaner's position in the log, and how each of them will end."""

import heapq
import itertools
from collections.abc import Iterable

from minikafka.log.index.transaction_index import AbortedTxn, TransactionIndex
from minikafka.record.format.batch import Batch
from minikafka.record.format.control_record import ControlRecordType


class _AbortedTransactionMetadata:
    """An aborted transaction that is open, and the last of its batches so far, None if there was none."""

    __slots__ = ("aborted_txn", "last_observed_batch_offset")

    def __init__(self, aborted_txn: AbortedTxn):
        self.aborted_txn = aborted_txn
        self.last_observed_batch_offset: int | None = None


class CleanedTransactionMetadata:
    """Follows the cleaner through the log, batch by batch, and tells which batches and markers may go.

    - Data of an aborted transaction may go. The transaction indexes name the aborted transactions in advance.
    - A marker may go if none of its transaction's batches came before it: they are all gone.
    - An aborted transaction that still has batches is entered in `cleaned_index`, the index of the segment that is
      being written, if there is one. Its entry therefore stays exactly as long as its last batch.

    Kafka: `CleanedTransactionMetadata`.
    """

    def __init__(self, cleaned_index: TransactionIndex | None = None):
        self.cleaned_index = cleaned_index
        self._ongoing_committed_txns: set[int] = set()
        self._ongoing_aborted_txns: dict[int, _AbortedTransactionMetadata] = {}
        self._aborted_transactions: list[tuple[int, int, AbortedTxn]] = []
        self._order = itertools.count()

    def add_aborted_transactions(self, aborted_transactions: Iterable[AbortedTxn]) -> None:
        """Announce aborted transactions that lie ahead.

        Kafka: `CleanedTransactionMetadata.addAbortedTransactions`.
        """
        for aborted_txn in aborted_transactions:
            heapq.heappush(self._aborted_transactions, (aborted_txn.first_offset, next(self._order), aborted_txn))

    def on_control_batch_read(self, control_batch: Batch) -> bool:
        """Pass a control batch; returns whether it may go. Kafka: `CleanedTransactionMetadata.onControlBatchRead`."""
        self._consume_aborted_txns_up_to(control_batch.last_offset)
        control_record = next(iter(control_batch), None)
        if control_record is None:
            return True  # an earlier cleaning has emptied it
        producer_id = control_batch.producer_id
        match ControlRecordType.parse(control_record.key):
            case ControlRecordType.ABORT:
                metadata = self._ongoing_aborted_txns.pop(producer_id, None)
                if metadata is None or metadata.last_observed_batch_offset is None:
                    return True
                if self.cleaned_index is not None:
                    self.cleaned_index.append(metadata.aborted_txn)
                return False
            case ControlRecordType.COMMIT:
                if producer_id not in self._ongoing_committed_txns:
                    return True
                self._ongoing_committed_txns.remove(producer_id)
                return False
            case _:
                return False

    def on_batch_read(self, batch: Batch) -> bool:
        """Pass a batch of data; returns whether it may go, because its transaction was aborted.

        Kafka: `CleanedTransactionMetadata.onBatchRead`.
        """
        self._consume_aborted_txns_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        metadata = self._ongoing_aborted_txns.get(batch.producer_id)
        if metadata is None:
            self._ongoing_committed_txns.add(batch.producer_id)
            return False
        metadata.last_observed_batch_offset = batch.last_offset
        return True

    def _consume_aborted_txns_up_to(self, offset: int) -> None:
        """From now on, count the aborted transactions that begin at or below `offset` as open."""
        while self._aborted_transactions and self._aborted_transactions[0][0] <= offset:
            aborted_txn = heapq.heappop(self._aborted_transactions)[2]
            self._ongoing_aborted_txns.setdefault(aborted_txn.producer_id, _AbortedTransactionMetadata(aborted_txn))
