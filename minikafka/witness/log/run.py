"""Applies the operations of a workload to a log, minikafka's or Kafka's own, and notes what can be observed after each.

One runner serves both: Kafka's log comes in an adapter with the names of `minikafka.log.log.Log`
(`minikafka.witness.kafka.kafka_log`). Clock and scheduler are the runner's own, so both sides run the same tasks at
the same times.
"""

import struct
from collections.abc import Mapping
from pathlib import Path

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime, Time
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.kafka.kafka_errors import WitnessFailedError
from minikafka.witness.log.cleaning import LogCleanerTurns, cleaner_config
from minikafka.witness.log.file_damage import damage
from minikafka.witness.log.leading_partition import LeadingPartition
from minikafka.witness.log.operations import Operation
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observation, Observations

TOPIC_ID = "bWluaWthZmthLXRvcGljLQ"
_ENTRY = struct.Struct(">II")


def run(workload: Workload, log_factory, directory) -> Observations:
    """Apply all operations of `workload` to a log in `directory` (made when missing; its name is topic-partition).

    `log_factory` opens the log: `minikafka_log`, or Kafka's. At the end the log is abandoned, not closed, so that the
    directory can be compared as it stands; end a workload with `reopen` to see it closed.
    """
    runner = Runner(log_factory, directory, workload)
    try:
        return Observations.of(log_factory.name, workload, [runner.apply(operation) for operation in workload])
    finally:
        runner.let_go()


class Runner:
    """Applies one operation after another to one log.

    `log` is the open log (None when its load failed), `time` its clock, `leader` what its leader knows of followers,
    `cleaner` the log's cleaner (None before its first turn). The settings, the start of the clock and the in-sync
    followers are those of `workload`; its operations are not used.
    """

    def __init__(self, log_factory, directory, workload: Workload):
        self.log_factory = log_factory
        self.directory = Path(directory)
        self.config: Mapping[str, str] = workload.config
        self.time = ManualTime(workload.start_ms)
        self.scheduler = None
        self.leader = LeadingPartition(None, workload.isr)
        self.checkpoints = {"recovery_point": 0, "log_start_offset": 0}
        self.log = self.cleaner = None
        self.directory.mkdir(parents=True, exist_ok=True)
        self._open(last_shutdown_clean=True)

    def apply(self, operation: Operation) -> Observation:
        """Do `operation` and observe the log. Whatever it raises becomes part of the observation, but for
        WitnessFailedError.
        """
        if self.log is None and operation.kind not in ("reopen", "tick"):
            return Observation(error="NoLog", message="the log is not open: its last load failed")
        result, error, message = "", "", ""
        try:
            result = self.perform(operation)
        except WitnessFailedError:
            raise
        except Exception as failure:
            # The directory's path differs from run to run and says nothing.
            error, message = type(failure).__name__, str(failure).replace(str(self.directory.parent), "<log dir>")
        return self._observe(result, error, message)

    def perform(self, operation: Operation) -> str:
        """Do `operation` without observing the log, which could create an index; returns the result as text.

        Raises what the log raises.
        """
        return getattr(self, f"_{operation.kind}")(operation)

    def let_go(self) -> None:
        """Let go of files and maps without closing the log: what a killed process leaves."""
        if self.log is not None:
            self.scheduler.shutdown()
            self.log.close_handlers()
            self.log = self.cleaner = None

    def places(self) -> dict[str, int]:
        """What relative offsets (`leo-3`) are counted from at this moment."""
        log = self.log
        return {
            "start": log.log_start_offset,
            "hw": log.high_watermark,
            "lso": log.last_stable_offset,
            "leo": log.log_end_offset,
            "recovery": log.recovery_point,
            "active": log.log_segments[-1].base_offset,
            "now": self.time.milliseconds(),
        }

    def _at(self, place) -> int:
        return place.resolve(self.places() if place.anchor else {})

    def _open(self, last_shutdown_clean: bool) -> None:
        self.scheduler = ManualScheduler(self.time)
        self.log = self.log_factory(
            self.directory,
            self.config,
            log_start_offset=self.checkpoints["log_start_offset"],
            recovery_point=self.checkpoints["recovery_point"],
            scheduler=self.scheduler,
            time=self.time,
            last_shutdown_clean=last_shutdown_clean,
            topic_id=TOPIC_ID,
        )
        self.leader.log = self.log

    # One method for each operation, named after its kind; it returns the result as text.

    def _append_as_leader(self, op) -> str:
        now = self.time.milliseconds()
        data = b"".join(
            batch.encode(
                now, self._at(batch.offset) if batch.offset else 0, self._at(batch.last) if batch.last else None
            )
            for batch in op.batches
        )
        info = self.log.append_as_leader(
            MemoryRecords.readable_records(bytearray(data)),
            op.leader_epoch,
            AppendOrigin[op.origin.upper()],
            transaction_version=op.transaction_version,
        )
        return _append_info(info)

    def _append_as_follower(self, op) -> str:
        now, next_offset, data = self.time.milliseconds(), self.log.log_end_offset, b""
        for batch in op.batches:
            base = self._at(batch.offset) if batch.offset else next_offset
            last = self._at(batch.last) if batch.last else None
            data += batch.encode(now, base, last, op.leader_epoch)
            next_offset = (base + batch.count - 1 if last is None else last) + 1
        return _append_info(
            self.log.append_as_follower(MemoryRecords.readable_records(bytearray(data)), op.leader_epoch)
        )

    def _tick(self, op) -> str:
        self.time.set_current_time_ms(self.time.milliseconds() + op.ms)
        return ""

    def _fetch(self, op) -> str:
        return _metadata(self.leader.fetch(op.replica, self._at(op.offset)))

    def _isr(self, op) -> str:
        return _metadata(self.leader.change_isr(op.replicas))

    def _update_high_watermark(self, op) -> str:
        return str(self.log.update_high_watermark(self._at(op.offset)))

    def _maybe_update_high_watermark(self, op) -> str:
        return _maybe(self.log.maybe_update_high_watermark(self._at(op.offset)))

    def _maybe_increment_high_watermark(self, op) -> str:
        return _metadata(self.log.maybe_increment_high_watermark(LogOffsetMetadata(self._at(op.offset))))

    def _roll(self, op) -> str:
        return f"segment {self.log.roll(self._at(op.offset)).base_offset}"

    def _delete_old_segments(self, _op) -> str:
        return f"{self.log.delete_old_segments()} deleted"

    def _maybe_increment_log_start_offset(self, op) -> str:
        reason = LogStartOffsetIncrementReason[op.reason.upper()]
        return _yes(self.log.maybe_increment_log_start_offset(self._at(op.offset), reason))

    def _truncate_to(self, op) -> str:
        return _yes(self.log.truncate_to(self._at(op.offset)))

    def _truncate_fully_and_start_at(self, op) -> str:
        start = None if op.log_start_offset is None else self._at(op.log_start_offset)
        self.log.truncate_fully_and_start_at(self._at(op.offset), start)
        return ""

    def _flush(self, op) -> str:
        self.log.flush(force_flush_active_segment=op.force_flush_active_segment)
        return ""

    def _read(self, op) -> str:
        isolation = FetchIsolation[op.isolation.upper()]
        data = self.log.read(self._at(op.offset), op.max_length, isolation, min_one_message=op.min_one_message)
        words = [_metadata(data.fetch_offset_metadata), f"{data.records.size_in_bytes} bytes"]
        if data.first_entry_incomplete:
            words.append("incomplete")
        if data.aborted_transactions is not None:
            words.append("aborted " + " ".join(f"{a.producer_id}@{a.first_offset}" for a in data.aborted_transactions))
        return ", ".join(words)

    def _fetch_offset_by_timestamp(self, op) -> str:
        found = self.log.fetch_offset_by_timestamp(self._at(op.timestamp))
        found = getattr(found, "timestamp_and_offset_opt", found)
        return "none" if found is None else f"{found.offset} at {found.timestamp} epoch {_maybe(found.leader_epoch)}"

    def _count(self, op) -> str:
        lower, upper = self._at(op.lower), self._at(op.upper)
        batches = self._batches(lower, FetchIsolation.LOG_END)
        count = sum(lower <= r.offset < upper for b in batches if not b.is_control_batch for r in b)
        return f"{count} records"

    def _consume(self, op) -> str:
        start = self._at(op.offset)
        if not op.read_committed:
            batches = self._batches(start, FetchIsolation.HIGH_WATERMARK)
            return _offsets(r.offset for b in batches if not b.is_control_batch for r in b if r.offset >= start)
        return _offsets(offset for offset in self._committed(start) if offset >= start)

    def _committed(self, start: int):
        """The offsets that a read_committed consumer sees: it skips a producer's batches from the first offset of an
        aborted transaction up to that producer's next abort marker.
        """
        while True:
            data = self.log.read(start, 1_048_576, FetchIsolation.TXN_COMMITTED)
            pending = sorted(data.aborted_transactions or (), key=lambda txn: txn.first_offset)
            aborting, next_offset = set(), start
            for batch in data.records.batches():
                while pending and pending[0].first_offset <= batch.last_offset:
                    aborting.add(pending.pop(0).producer_id)
                if batch.is_control_batch:
                    aborting.discard(batch.producer_id)
                elif not (batch.is_transactional and batch.producer_id in aborting):
                    yield from (record.offset for record in batch)
                next_offset = batch.next_offset
            if next_offset == start:
                return
            start = next_offset

    def _batches(self, start: int, isolation):
        while True:
            next_offset = start
            for batch in self.log.read(start, 1_048_576, isolation).records.batches():
                yield batch
                next_offset = batch.next_offset
            if next_offset == start:
                return
            start = next_offset

    def _assign_epoch_start_offset(self, op) -> str:
        self.log.assign_epoch_start_offset(op.epoch, self._at(op.offset))
        return ""

    def _end_offset_for_epoch(self, op) -> str:
        end = self.log.end_offset_for_epoch(op.epoch)
        return "none" if end is None else f"epoch {end.epoch} ends at {end.offset}"

    def _take_producer_snapshot(self, _op) -> str:
        self.log.take_producer_snapshot()
        return ""

    def _checkpoint(self, _op) -> str:
        start = self.log.log_start_offset
        first = self.log.log_segments[0].base_offset
        self.checkpoints = {
            "recovery_point": self.log.recovery_point,
            "log_start_offset": start if start > first else 0,
        }
        return f"recovery point {self.checkpoints['recovery_point']}, log start {self.checkpoints['log_start_offset']}"

    def _update_config(self, op) -> str:
        self.config = {**self.config, **dict(op.settings)}
        self.log.update_config(LogConfig(self.config))
        return ""

    def _clean(self, _op) -> str:
        if self.cleaner is None:
            self.cleaner = self.log_factory.cleaner(self.log, cleaner_config(self.config), self.time)
        turn = self.cleaner.take_turn()
        return f"{turn}; {self._cleaned_up_to()}"

    def _cleaned_up_to(self) -> str:
        """What the cleaner's checkpoint says about the partition, if it has a line for it."""
        lines = (self.directory.parent / OFFSET_CHECKPOINT_FILE).read_text().splitlines()[2:]
        return f"clean up to {lines[0].split()[-1]}" if lines else "never cleaned"

    def _reopen(self, op) -> str:
        log, self.log, self.cleaner = self.log, None, None
        if log is not None and op.clean:
            log.flush(force_flush_active_segment=True)
            log.close()
            self.log = log
            self._checkpoint(op)
            self.log = None
        elif log is not None:
            log.close_handlers()
        self.scheduler.shutdown()
        for words in op.damage:
            damage(self.directory, words)
        self._open(last_shutdown_clean=op.clean)
        return ""

    def _observe(self, result: str, error: str, message: str) -> Observation:
        if self.log is None:
            return Observation(result, error, message)
        state = self.log.fetch_state_snapshot()
        return Observation(
            result,
            error,
            message,
            *state[:5],
            tuple(map(tuple, state.segments)),
            index_entries(self.directory, [base for base, _ in state.segments], _active_index_entries(self.log)),
            tuple(map(tuple, state.epochs)),
            tuple(map(tuple, state.producers)),
        )


def index_entries(directory: Path, base_offsets, active_entries: int) -> tuple[tuple[int, int], ...]:
    """All (offset, position) of the offset indexes of these segments, read from the files as they stand.

    The file of a segment that is not active ends with its last entry (zeros behind it, after a kill, are none: no entry
    has position 0). That of the active one is longer, and after a truncation old entries may stand behind the last:
    `active_entries` says how many count.
    """
    entries = []
    for base in base_offsets:
        path = directory / f"{base:020}.index"
        data = b""
        if path.is_file():
            with path.open("rb") as file:
                data = file.read(active_entries * _ENTRY.size if base == base_offsets[-1] else -1)
        pairs = _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size])
        entries += [(base + relative, position) for relative, position in pairs if position]
    return tuple(entries)


def minikafka_log(directory: Path, config: Mapping[str, str], **state):
    """Open minikafka's own log: the factory for `run`. `state` are the keyword arguments of `Log.create`."""
    return Log.create(directory, LogConfig(config), **state)


def minikafka_log_cleaner(log, config, time: Time):
    """minikafka's cleaner of a log that `minikafka_log` opened."""
    return LogCleanerTurns(log, config, time)


minikafka_log.name = "minikafka"
minikafka_log.cleaner = minikafka_log_cleaner


def _active_index_entries(log) -> int:
    counted = getattr(log, "active_index_entries", None)
    return log.active_segment.offset_index.entries if counted is None else counted


def _append_info(info) -> str:
    return (
        f"{info.first_offset}..{info.last_offset} epoch {_maybe(info.last_leader_epoch)} "
        f"max_timestamp {info.max_timestamp} append_time {info.log_append_time} "
        f"start {info.log_start_offset} bytes {info.valid_bytes} first_batch_last {info.last_offset_of_first_batch}"
    )


def _metadata(metadata) -> str:
    if metadata is None:
        return "none"
    segment, position = metadata.segment_base_offset, metadata.relative_position_in_segment
    return f"{metadata.message_offset}" + ("" if segment < 0 else f" (segment {segment}, byte {position})")


def _maybe(value) -> str:
    return "none" if value is None else str(value)


def _yes(value) -> str:
    return "yes" if value else "no"


def _offsets(offsets) -> str:
    """Offsets as ranges: `0..4 7 9..12`; "none" for no offset."""
    ranges = []
    for offset in offsets:
        if ranges and ranges[-1][1] + 1 == offset:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    return " ".join(str(first) if first == last else f"{first}..{last}" for first, last in ranges) or "none"
