"""Which transactions are under way at the place where the cleaner is, and how each of them will end."""

import heapq
import itertools
from collections.abc import Iterable

from minikafka.log.index.transaction_index import AbortedTxn, TransactionIndex
from minikafka.record.batch import Batch
from minikafka.record.control_record import ControlRecordType


class _AbortedTransactionMetadata:
    """An aborted transaction that is under way, and the last batch of it that was met, None if there was none."""

    __slots__ = ("aborted_txn", "last_observed_batch_offset")

    def __init__(self, aborted_txn: AbortedTxn):
        self.aborted_txn = aborted_txn
        self.last_observed_batch_offset: int | None = None


class CleanedTransactionMetadata:
    """Follows the cleaner through the log batch by batch, and tells of which batches the transaction has been undone.

    - Data of an aborted transaction may go. The transaction indexes say which those are before their data are met.
    - A marker may go when none of its transaction's batches was met before it: they are all gone.
    - An aborted transaction of which batches are left is noted in `cleaned_index`, that of the segment that is being
      written, if there is one. So its entry lives exactly as long as its last batch.

    Kafka: `CleanedTransactionMetadata`.
    """

    def __init__(self, cleaned_index: TransactionIndex | None = None):
        self.cleaned_index = cleaned_index
        self._ongoing_committed_txns: set[int] = set()
        self._ongoing_aborted_txns: dict[int, _AbortedTransactionMetadata] = {}
        self._aborted_transactions: list[tuple[int, int, AbortedTxn]] = []
        self._order = itertools.count()

    def add_aborted_transactions(self, aborted_transactions: Iterable[AbortedTxn]) -> None:
        """Take note of transactions that will be met and were aborted. Kafka: `addAbortedTransactions`."""
        for aborted_txn in aborted_transactions:
            heapq.heappush(self._aborted_transactions, (aborted_txn.first_offset, next(self._order), aborted_txn))

    def on_control_batch_read(self, control_batch: Batch) -> bool:
        """Pass a control batch; returns whether it may go. Kafka: `CleanedTransactionMetadata.onControlBatchRead`."""
        self._consume_aborted_txns_up_to(control_batch.last_offset)
        control_record = next(iter(control_batch), None)
        if control_record is None:
            return True  # it was emptied by an earlier cleaning
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
        """Pass a batch of data; returns whether its transaction was aborted, so that it may go.

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
        """Aborted transactions that begin at or below `offset` are under way from now on."""
        while self._aborted_transactions and self._aborted_transactions[0][0] <= offset:
            aborted_txn = heapq.heappop(self._aborted_transactions)[2]
            self._ongoing_aborted_txns.setdefault(aborted_txn.producer_id, _AbortedTransactionMetadata(aborted_txn))
