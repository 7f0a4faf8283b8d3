"""Which batches and records a cleaning keeps."""

from array import array
from collections.abc import Sequence

from minikafka.log.cleaner.cleaned_transaction_metadata import CleanedTransactionMetadata
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap
from minikafka.log.log import LastRecord
from minikafka.record.format.batch import Batch
from minikafka.record.format.record_batch import MAGIC_VALUE_V2
from minikafka.record.kernels.column import zero_column
from minikafka.record.kernels.record_columns import RecordColumns, filter_functions
from minikafka.record.kernels.record_filter import BatchRetention, BatchRetentionResult, RecordFilter, RetainedRecords


class LogCleanerFilter(RecordFilter):
    """The rules of compaction, batch by batch and record by record.

    - A record goes if the offset map has a later offset for its key, or if it has no key; above the offsets that the
      map covers, all records stay. Records of an aborted transaction go, whatever the map says.
    - A tombstone (a record without a value) goes once its batch's delete horizon is reached, which is
      `delete.retention.ms` after the first cleaning that kept it. Until then, whoever reads the log from its start
      learns of the deletion.
    - A marker goes, by the same horizon, once its transaction's batches are gone.
    - A batch stays, without records if need be, if it holds the last sequence number of an active producer, or the last
      marker of a producer without data, because appends are checked against these. The last batch of the cleaned part
      stays as well, so that no offset is forgotten.

    Kafka: the anonymous `RecordFilter` in `Cleaner.cleanInto`, `Cleaner.shouldRetainRecord`.
    """

    def __init__(
        self,
        offset_map: SkimpyOffsetMap,
        *,
        retain_legacy_deletes_and_txn_markers: bool,
        delete_retention_ms: int,
        transaction_metadata: CleanedTransactionMetadata,
        last_records_of_active_producers: dict[int, LastRecord],
        upper_bound_offset_of_cleaning_round: int,
        current_time: int,
    ):
        """`upper_bound_offset_of_cleaning_round`: the first uncleanable offset; times in ms."""
        super().__init__(current_time, delete_retention_ms)
        self._offset_map = offset_map
        self._retain_legacy_deletes = retain_legacy_deletes_and_txn_markers
        self._transaction_metadata = transaction_metadata
        self._last_records_of_active_producers = last_records_of_active_producers
        self._upper_bound_offset = upper_bound_offset_of_cleaning_round
        self._discard_batch_records = False

    def check_batch_retention(self, batch: Batch) -> BatchRetentionResult:
        # A marker stays until all data of its transaction are gone; then its horizon decides.
        if batch.is_control_batch:
            can_discard_batch = self._transaction_metadata.on_control_batch_read(batch)
            horizon = batch.delete_horizon_ms
            self._discard_batch_records = can_discard_batch and horizon is not None and horizon <= self.current_time
        else:
            can_discard_batch = self._transaction_metadata.on_batch_read(batch)
            self._discard_batch_records = can_discard_batch

        if self._is_last_of_producer(batch) or batch.next_offset == self._upper_bound_offset:
            batch_retention = BatchRetention.RETAIN_EMPTY
        elif self._discard_batch_records:
            batch_retention = BatchRetention.DELETE
        else:
            batch_retention = BatchRetention.DELETE_EMPTY
        return BatchRetentionResult(batch_retention, can_discard_batch and batch.is_control_batch)

    def _is_last_of_producer(self, batch: Batch) -> bool:
        """Whether the batch holds what the next append of its producer will be checked against."""
        if not batch.has_producer_id:
            return False
        last_record = self._last_records_of_active_producers.get(batch.producer_id)
        if last_record is None:
            return False
        if last_record.last_data_offset is not None:
            return batch.last_offset == last_record.last_data_offset
        return batch.is_control_batch and batch.producer_epoch == last_record.producer_epoch

    def retained_records(self, batch: Batch, columns: RecordColumns) -> RetainedRecords:
        if self._discard_batch_records:
            return RetainedRecords(zero_column(0), zero_column(0))
        if batch.is_control_batch:
            return RetainedRecords(array("q", range(columns.count)), zero_column(0))
        places, invalid_places = zero_column(columns.count), zero_column(columns.count)
        stays = self.should_retain_records(batch, columns)
        retained, invalid = filter_functions().split(stays, columns.key_end, places, invalid_places)
        return RetainedRecords(places[:retained], invalid_places[:invalid])

    def should_retain_records(self, batch: Batch, columns: RecordColumns) -> Sequence[int]:
        """Whether each of the records in `columns`, which are of no aborted transaction, stays: one answer a record,
        which is true or false.

        `batch` is theirs, or the first of their run. Kafka: `Cleaner.shouldRetainRecord`, for all records at once.
        """
        stays = zero_column(columns.count)
        filter_functions().retain(
            columns.offsets,
            columns.key_end,
            columns.value_end,
            self._offset_map.get_columns(columns),
            self._offset_map.latest_offset,
            self._retains_deletes(batch),
            stays,
        )
        return stays

    def _retains_deletes(self, batch: Batch) -> bool:
        if batch.magic < MAGIC_VALUE_V2:
            return self._retain_legacy_deletes
        horizon = batch.delete_horizon_ms
        return horizon is None or self.current_time < horizon
