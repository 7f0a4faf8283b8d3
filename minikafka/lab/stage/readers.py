"""Readers for the lessons: logs to be read, with transactions in them, and what a consumer hands to its application."""

from typing import Any

from minikafka.lab.stage.workbench import NOON, scratch
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness import minikafka_log
from minikafka.witness.log.run import Runner

SEEN, SKIPPED, MARKER, EARLIER = "seen", "aborted", "marker", "earlier"


def log_after(workload: Any) -> Any:
    """The `Log` as `workload` leaves it, open. Raises AssertionError when one of its operations fails."""
    runner = Runner(minikafka_log, scratch(), workload)
    for operation in workload:
        observation = runner.apply(operation)
        if observation.error:
            raise AssertionError(f"{operation}: {observation.error}: {observation.message}")
    return runner.log


def transaction(log: Any, producer_id: int, *values: str, end: str = "") -> int:
    """Append a producer's first transaction, and raise the high watermark to the log end, which is returned.

    One record for each value, then the marker `end`: "commit", "abort", or "" for a transaction that stays open.
    """
    batch = [SimpleRecord(NOON, None, value.encode()) for value in values]
    log.append_as_leader(MemoryRecords.with_transactional_records(Compression.NONE, producer_id, 0, 0, *batch), 0)
    if end:
        marker = EndTransactionMarker(ControlRecordType[end.upper()], 0)
        control = MemoryRecords.with_end_transaction_marker(NOON, producer_id, 0, marker)
        log.append_as_leader(control, 0, AppendOrigin.COORDINATOR, transaction_version=0)
    log.maybe_increment_high_watermark(log.log_end_offset_metadata)
    return log.high_watermark


def delivered(found: Any, start: int) -> list[tuple[Any, str]]:
    """What a consumer that asked for `start` does with the records of a `FetchDataInfo`, each with its fate.

    "seen": given to the application. "earlier": below `start`, came along with its batch. "marker": a control record.
    "aborted": named by the list of aborted transactions; without a list nothing is. Kafka: `CompletedFetch`.
    """
    waiting = sorted(found.aborted_transactions or (), key=lambda txn: txn.first_offset)
    aborting: set[int] = set()
    fates = []
    for batch in found.records.batches():
        while waiting and waiting[0].first_offset <= batch.last_offset:
            aborting.add(waiting.pop(0).producer_id)
        if batch.is_control_batch and _is_abort(batch):
            aborting.discard(batch.producer_id)
        skipped = batch.is_transactional and batch.producer_id in aborting
        for record in batch:
            if record.offset < start:
                fate = EARLIER
            else:
                fate = MARKER if batch.is_control_batch else SKIPPED if skipped else SEEN
            fates.append((record, fate))
    return fates


def values_seen(log: Any, isolation: Any, start: int = 0) -> list[str]:
    """The values that a consumer of this isolation gives to its application, as text."""
    found = log.read(start, 1_048_576, isolation)
    return [bytes(record.value).decode() for record, fate in delivered(found, start) if fate == SEEN]


def records_seen(log: Any, *, read_committed: bool = False) -> list[Any]:
    """The records that a consumer gives to its application, from the log start on; `log` may be Kafka's as well."""
    isolation = FetchIsolation.TXN_COMMITTED if read_committed else FetchIsolation.HIGH_WATERMARK
    seen, offset = [], log.log_start_offset
    while True:
        found = log.read(offset, 1_048_576, isolation)
        batches = list(found.records.batches())
        if not batches:
            return seen
        seen += [record for record, fate in delivered(found, offset) if fate == SEEN]
        offset = batches[-1].next_offset


def _is_abort(batch: Any) -> bool:
    return next(ControlRecordType.parse(record.key) for record in batch) is ControlRecordType.ABORT
