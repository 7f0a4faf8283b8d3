"""What `minikafka dump-log` prints: the lines of Kafka's own `kafka-dump-log.sh`, for the same files and options.

Checkpoint files, which Kafka's tool does not know, are printed one entry per line.

Each line is written with the pieces and in the order of Kafka's tool, so that a run which fails in the middle of a line
ends with the same half line. Errors are raised as Kafka's exceptions; the command line turns each into one line.

Kafka: `org.apache.kafka.tools.DumpLogSegments`.
"""

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from minikafka.checkpoint.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import (
    CorruptSnapshotException,
    IllegalArgumentException,
    NoSuchElementException,
    StringIndexOutOfBoundsException,
)
from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.common.java.java_numbers import INT_MAX, parse_int, parse_long, to_long
from minikafka.log.index.offset_index import OffsetIndex
from minikafka.log.index.time_index import TimeIndex
from minikafka.log.index.transaction_index import TransactionIndex
from minikafka.log.log_file_utils import (
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    offset_from_file,
)
from minikafka.log.partition_files import require_regular
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.record.files.file_records import FileRecords
from minikafka.record.files.stream_window import MAX_DECOMPRESSED_BYTES
from minikafka.record.format.batch import Batch
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.record_batch import MAGIC_VALUE_V2, NO_TIMESTAMP
from minikafka.tools.dump_log.kraft_records import KRAFT_RECORD_TYPES, kraft_record_line
from minikafka.tools.dump_log.record_decoders import DecodedRecord, RecordDecoder, decode_text
from minikafka.tools.failure import naming

RECORD_INDENT = "|"
SNAPSHOT_SUFFIX = ".checkpoint"
BOOTSTRAP_SNAPSHOT_NAME = "bootstrap.checkpoint"

# Checkpoint files by name: the class that reads one, and the line of an entry.
_CHECKPOINT_LINES = {
    "leader-epoch-checkpoint": (LeaderEpochCheckpointFile, lambda e: f"epoch: {e.epoch} startOffset: {e.start_offset}"),
} | {
    f"{what}-checkpoint": (
        OffsetCheckpointFile,
        lambda e: f"topic: {e[0].topic} partition: {e[0].partition} offset: {e[1]}",
    )
    for what in ("recovery-point-offset", "log-start-offset", "replication-offset", "cleaner-offset")
}

SUFFIXES = (
    LOG_FILE_SUFFIX,
    INDEX_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    SNAPSHOT_SUFFIX,
)
"""Of the files that the tool prints, besides the checkpoints."""

Progress = Callable[[Path, int], AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """The options of the tool, with its defaults. Kafka: `DumpLogSegments.DumpLogSegmentsOptions`.

    `max_message_size` (bytes) bounds what is read behind an offset index entry, `max_bytes` what is read of a .log
    file, `max_decompressed_bytes` what the records of one batch may decompress to, where they are looked at one by one.
    `decoder` turns a record's key and value into text.
    """

    print_data_log: bool = False
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    index_sanity_check: bool = False
    verify_index_only: bool = False
    max_message_size: int = 5 * 1024 * 1024
    max_bytes: int = INT_MAX
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
    decoder: RecordDecoder = decode_text


class DumpLogSegments:
    """One run of the tool over a list of files; findings are collected and printed on `err` after the last file.

    `progress(path, total_bytes)` is entered as a context manager for each .log file and gives a function that is called
    with the bytes of each batch.
    """

    def __init__(self, options: DumpOptions, out: TextIO, err: TextIO, progress: Progress | None = None):
        self._options = options
        self._out = out
        self._err = err
        self._progress = progress or (lambda path, total_bytes: nullcontext(lambda size: None))
        self._index_mismatches = JavaHashMap()  # file → index offset → offset found in the log
        self._non_consecutive = JavaHashMap()  # file → offset → the one that follows it
        self._time_index_errors = TimeIndexDumpErrors()

    def run(self, files: Iterable[str]) -> None:
        """Dump each file, then print the findings about indexes and offsets.

        Raises what Kafka's tool dies of: `KafkaException`s, `NumberFormatException` for a name without an offset,
        `OSError` for a file that is not there. Kafka: `DumpLogSegments.main`.
        """
        for name in files:
            file = _java_file(name)
            with naming(file):
                self._dump(file)
        self._print_findings()

    def _dump(self, file: str) -> None:
        self._println(f"Dumping {file}")
        name = file.rpartition("/")[2]
        suffix = name[name.rindex(".") :] if "." in name else None
        path = Path(file)
        match suffix:
            case str() if suffix in (LOG_FILE_SUFFIX, SNAPSHOT_SUFFIX):
                self._dump_log(file, path, self._options.max_bytes)
            case str() if suffix == INDEX_FILE_SUFFIX:
                self._dump_index(file, path, self._options.max_message_size)
            case str() if suffix == TIME_INDEX_FILE_SUFFIX:
                self._dump_time_index(file, path)
            case str() if suffix == PRODUCER_SNAPSHOT_FILE_SUFFIX:
                self._dump_producer_id_snapshot(path)
            case str() if suffix == TXN_INDEX_FILE_SUFFIX:
                self._dump_txn_index(path)
            case None if name in _CHECKPOINT_LINES:
                self._dump_checkpoint(path)
            case _:
                self._err.write(f"Ignoring unknown file {file}\n")

    # ---- .log, and the snapshots of the metadata log, which are batches too

    def _dump_log(self, file: str, path: Path, max_bytes: int) -> None:
        options = self._options
        self._println(_headline(path))
        with _log(path) as file_records:
            sliced = file_records.slice(0, max_bytes)
            valid_bytes = 0
            last_offset = -1
            with self._progress(path, sliced.size_in_bytes) as advance:
                for batch in sliced.batches():
                    self._print_batch_level(batch, valid_bytes)
                    if options.deep_iteration or options.print_data_log:
                        last_offset = self._dump_batch_records(batch, last_offset, file)
                    valid_bytes += batch.size_in_bytes
                    advance(batch.size_in_bytes)
            trailing_bytes = sliced.size_in_bytes - valid_bytes
            if trailing_bytes > 0 and max_bytes == INT_MAX:
                self._println(f"Found {trailing_bytes} invalid bytes at the end of {path.name}")

    def _print_batch_level(self, batch: Batch, position: int) -> None:
        if batch.magic >= MAGIC_VALUE_V2:
            self._out.write(
                f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.count_or_none}"
                f" baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence}"
                f" producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch}"
                f" partitionLeaderEpoch: {batch.partition_leader_epoch}"
                f" isTransactional: {_java_bool(batch.is_transactional)}"
                f" isControl: {_java_bool(batch.is_control_batch)}"
                f" deleteHorizonMs: {_optional_long(batch.delete_horizon_ms)}"
            )
        else:
            self._out.write(f"offset: {batch.last_offset}")
        self._println(
            f" position: {position} {batch.timestamp_type}: {batch.max_timestamp} size: {batch.size_in_bytes}"
            f" magic: {batch.magic} compresscodec: {batch.compression_type.type_name} crc: {batch.checksum}"
            f" isvalid: {_java_bool(batch.is_valid())}"
        )

    def _dump_batch_records(self, batch: Batch, last_offset: int, file: str) -> int:
        """Print a line for each record; returns the offset of the last one, so that gaps can be found."""
        options = self._options
        timestamp_type = batch.timestamp_type
        is_control_batch = batch.is_control_batch
        for record in batch.records(options.max_decompressed_bytes):
            if record.offset != to_long(last_offset + 1):
                self._non_consecutive.compute_if_absent(_absolute(file), _empty)[last_offset] = record.offset
            last_offset = record.offset
            # A damaged record may end the dump in the middle of its line.
            if not options.skip_record_metadata:
                self._out.write(_record_metadata(batch, record, timestamp_type))
                if is_control_batch:
                    self._out.write(_control_record(record))
            if options.print_data_log and not is_control_batch:
                prefix = f"{RECORD_INDENT} " if options.skip_record_metadata else " "
                self._out.write(_record_contents(options.decoder(record), prefix))
            self._println("")
        return last_offset

    # ---- .index and .timeindex

    def _dump_index(self, file: str, path: Path, max_message_size: int) -> None:
        options = self._options
        base_offset = _base_offset(path)
        with (
            _log(_beside(path, LOG_FILE_SUFFIX)) as file_records,
            _index(OffsetIndex, path, base_offset) as index,
        ):
            if index.entries == 0:
                self._println(f"{file} is empty.")
                return
            if options.index_sanity_check:
                index.sanity_check()
                self._println(f"{file} passed sanity check.")
                return
            for n in range(index.entries):
                entry = index.entry(n)
                # An index that was not trimmed (a crash) ends in zeros, which read as the base offset.
                if entry.offset == index.base_offset and n > 0:
                    return
                last_offset = _first_batch(file_records.slice(entry.position, max_message_size)).last_offset
                if last_offset != entry.offset:
                    self._index_mismatches.compute_if_absent(_absolute(file), _empty)[entry.offset] = last_offset
                if not options.verify_index_only:
                    self._println(f"offset: {entry.offset} position: {entry.position}")

    def _dump_time_index(self, file: str, path: Path) -> None:
        options = self._options
        base_offset = _base_offset(path)
        with (
            _log(_beside(path, LOG_FILE_SUFFIX)) as file_records,
            _index(OffsetIndex, _beside(path, INDEX_FILE_SUFFIX), base_offset) as index,
            _index(TimeIndex, path, base_offset) as time_index,
        ):
            if options.index_sanity_check:
                time_index.sanity_check()
                self._println(f"{file} passed sanity check.")
                return
            chain = _BatchChain(file_records)
            previous_timestamp = NO_TIMESTAMP
            for n in range(time_index.entries):
                entry = time_index.entry(n)
                if entry.offset == time_index.base_offset and n > 0:
                    return
                batch = chain.first_batch_reaching(entry.offset, index.lookup(entry.offset).position)
                self._check_time_index_entry(_absolute(file), entry, batch, previous_timestamp)
                if not options.verify_index_only:
                    self._println(f"timestamp: {entry.timestamp} offset: {entry.offset}")
                previous_timestamp = entry.timestamp

    def _check_time_index_entry(self, file: str, entry, batch: Batch | None, previous_timestamp: int) -> None:
        errors = self._time_index_errors
        if batch is None or batch.last_offset != entry.offset:
            errors.shallow_offset_not_found(file, entry.offset, -1 if batch is None else batch.last_offset)
            return
        records = batch.records(self._options.max_decompressed_bytes)
        max_timestamp = max(NO_TIMESTAMP, max((record.timestamp for record in records), default=NO_TIMESTAMP))
        if max_timestamp != entry.timestamp:
            errors.mismatch(file, entry.timestamp, max_timestamp)
        if previous_timestamp >= entry.timestamp:
            errors.out_of_order(file, entry.timestamp, previous_timestamp)

    # ---- .txnindex and .snapshot

    def _dump_txn_index(self, path: Path) -> None:
        start_offset = offset_from_file(path)
        if not _exists(path):
            return
        with closing(TransactionIndex(start_offset, path, writable=False)) as index:
            for txn in index.all_aborted_txns():
                self._println(
                    f"version: {txn.version} producerId: {txn.producer_id} firstOffset: {txn.first_offset}"
                    f" lastOffset: {txn.last_offset} lastStableOffset: {txn.last_stable_offset}"
                )

    def _dump_producer_id_snapshot(self, path: Path) -> None:
        require_regular(path, follow_links=True)
        try:
            entries = read_snapshot(path)
        except CorruptSnapshotException as error:
            self._err.write(f"{error}\n")
            return
        for entry in entries:
            self._out.write(
                f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch}"
                f" coordinatorEpoch: {entry.coordinator_epoch}"
                f" currentTxnFirstOffset: {_optional_long(entry.current_txn_first_offset)}"
                f" lastTimestamp: {entry.last_timestamp}"
            )
            for batch in list(entry.batch_metadata)[:1]:
                self._out.write(
                    f" firstSequence: {batch.first_seq} lastSequence: {batch.last_seq} lastOffset: {batch.last_offset}"
                    f" offsetDelta: {batch.offset_delta} timestamp: {batch.timestamp}"
                )
            self._println("")

    # ---- checkpoint files, which Kafka's tool does not know

    def _dump_checkpoint(self, path: Path) -> None:
        require_regular(path, follow_links=True)
        checkpoint_class, line = _CHECKPOINT_LINES[path.name]
        entries = checkpoint_class(path).read()
        for entry in entries.items() if isinstance(entries, dict) else entries:
            self._println(line(entry))

    # ---- findings

    def _print_findings(self) -> None:
        for file, mismatches in self._index_mismatches.items():
            self._err.write(f"Mismatches in :{file}\n")
            for index_offset, log_offset in sorted(mismatches.items(), reverse=True):
                self._err.write(f"  Index offset: {index_offset}, log offset: {log_offset}\n")
        self._time_index_errors.print_errors(self._err)
        for file, pairs in self._non_consecutive.items():
            self._err.write(f"Non-consecutive offsets in {file}\n")
            for offset, next_offset in sorted(pairs.items()):
                self._err.write(f"  {offset} is followed by {next_offset}\n")

    def _println(self, line: str) -> None:
        self._out.write(line)
        self._out.write("\n")


class TimeIndexDumpErrors:
    """What is wrong with time indexes: for each kind of error, file → list of pairs, in the order found.

    Kafka: `DumpLogSegments.TimeIndexDumpErrors`.
    """

    def __init__(self):
        self._mismatches = JavaHashMap()
        self._out_of_order = JavaHashMap()
        self._not_found = JavaHashMap()

    def mismatch(self, file: str, index_timestamp: int, log_timestamp: int) -> None:
        """Note that the batch's largest timestamp (ms) is not the entry's."""
        self._mismatches.compute_if_absent(file, _no_pairs).append((index_timestamp, log_timestamp))

    def out_of_order(self, file: str, index_timestamp: int, previous_timestamp: int) -> None:
        """Note that the entry's timestamp (ms) is not larger than the one before."""
        self._out_of_order.compute_if_absent(file, _no_pairs).append((index_timestamp, previous_timestamp))

    def shallow_offset_not_found(self, file: str, index_offset: int, log_offset: int) -> None:
        """Note that no batch ends at the entry's offset; `log_offset` is where the batch found there ends (-1: no
        batch).
        """
        self._not_found.compute_if_absent(file, _no_pairs).append((index_offset, log_offset))

    def print_errors(self, err: TextIO) -> None:
        """Kafka: `TimeIndexDumpErrors.printErrors`."""
        for findings, headline, line in (
            (
                self._mismatches,
                "Found timestamp mismatch in :",
                "  Index timestamp: {}, log timestamp: {}",
            ),
            (
                self._out_of_order,
                "Found out of order timestamp in :",
                "  Index timestamp: {}, Previously indexed timestamp: {}",
            ),
            (
                self._not_found,
                "The following indexed offsets are not found in :",
                "Indexed offset: {}, found log offset: {}",
            ),
        ):
            for file, pairs in findings.items():
                err.write(f"{headline}{file}\n")
                for pair in pairs:
                    err.write(line.format(*pair) + "\n")


class _BatchChain:
    """The batches of a file from some position to its end, kept from one look-up to the next.

    Kafka's tool reads all batches behind each time index entry anew; the entries of one file share one chain, so
    reading it once finds the same batch (and the same damage behind it) in a single pass. A header that cannot be read
    matters only to a look-up that reaches it.
    """

    def __init__(self, file_records: FileRecords):
        self._file_records = file_records
        self._positions = array("q")
        self._last_offsets = array("q")
        self._unread: dict[int, Exception] = {}

    def first_batch_reaching(self, offset: int, position: int):
        """The first batch at or after byte `position` whose last offset is ≥ `offset`; None if there is none."""
        start = bisect_left(self._positions, position)
        if start == len(self._positions) or self._positions[start] != position:
            self._read_from(position)
            start = 0
        for n in range(start, len(self._positions)):
            if n in self._unread:
                raise self._unread[n]
            if self._last_offsets[n] >= offset:
                return _first_batch(self._file_records.slice(self._positions[n], INT_MAX))
        return None

    def _read_from(self, position: int) -> None:
        self._positions, self._last_offsets, self._unread = array("q"), array("q"), {}
        for n, batch in enumerate(self._file_records.slice(position, INT_MAX).batches()):
            self._positions.append(batch.position)
            try:
                self._last_offsets.append(batch.last_offset)
            except (RuntimeError, ValueError, IndexError) as error:
                self._last_offsets.append(-1)
                self._unread[n] = error


def can_be_dumped(name: str) -> bool:
    """True for the name of a file of a partition that `DumpLogSegments` prints."""
    return Path(name).suffix in SUFFIXES


def _record_metadata(batch: Batch, record, timestamp_type) -> str:
    line = (
        f"{RECORD_INDENT} offset: {record.offset} {timestamp_type}: {record.timestamp}"
        f" keySize: {record.key_size} valueSize: {record.value_size}"
    )
    if batch.magic >= MAGIC_VALUE_V2:
        return f"{line} sequence: {record.sequence} headerKeys: [{','.join(h.key for h in record.headers)}]"
    return f"{line} isValid: {_java_bool(record.is_valid())} crc: {record.checksum}"


def _control_record(record) -> str:
    type_id = ControlRecordType.parse_type_id(record.key)
    control_type = ControlRecordType.from_type_id(type_id)
    if control_type in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        marker = EndTransactionMarker.deserialize(record)
        return f" endTxnMarker: {marker.control_type.name} coordinatorEpoch: {marker.coordinator_epoch}"
    if control_type in KRAFT_RECORD_TYPES:
        return f" {kraft_record_line(control_type, record.value)}"
    return f" controlType: {control_type.name}({type_id})"


def _record_contents(decoded: DecodedRecord, prefix: str) -> str:
    contents = ""
    if decoded.key is not None:
        contents = f"{prefix}key: {decoded.key}"
        prefix = " "
    if decoded.value is not None:
        contents += f"{prefix}payload: {decoded.value}"
    return contents


def _first_batch(file_records: FileRecords):
    for batch in file_records.batches():
        return batch
    raise NoSuchElementException(f"no complete batch where an index entry points: {file_records}")


def _headline(path: Path) -> str:
    """What the file's name tells."""
    if path.name.endswith(LOG_FILE_SUFFIX):
        return f"Log starting offset: {_base_offset(path)}"
    if path.name == BOOTSTRAP_SNAPSHOT_NAME:
        return "KRaft bootstrap snapshot"
    end_offset = parse_long(_substring(path.name, 0, 20))
    return f"Snapshot end offset: {end_offset}, epoch: {parse_int(_substring(path.name, 21, 31))}"


def _substring(text: str, begin: int, end: int) -> str:
    """Java's `String.substring`, which demands that the whole range is there."""
    if len(text) < end:
        raise StringIndexOutOfBoundsException(f"begin {begin}, end {end}, length {len(text)}")
    return text[begin:end]


def _base_offset(path: Path) -> int:
    return parse_long(path.name.split(".")[0])


def _beside(path: Path, suffix: str) -> Path:
    """The file of the same segment with another suffix."""
    return path.with_name(path.name.split(".")[0] + suffix)


@contextmanager
def _log(path: Path) -> Iterator[FileRecords]:
    require_regular(path, follow_links=True)
    file_records = FileRecords.open(path, mutable=False)
    try:
        yield file_records
    finally:
        file_records.close_handlers()


@contextmanager
def _index(index_class: type, path: Path, base_offset: int) -> Iterator[OffsetIndex | TimeIndex]:
    """An index opened for reading. Kafka's tool creates a missing one and cuts off an odd tail; this one changes no
    file.
    """
    if not _exists(path):
        raise IllegalArgumentException(f"Invalid max index size: -1 (there is no index file {path})")
    index = index_class(path, base_offset, -1, writable=False)
    try:
        yield index
    finally:
        index.close_handler()


def _exists(path: Path) -> bool:
    """True if there is such a file; raises IOException for what is not a regular file."""
    try:
        require_regular(path, follow_links=True)
    except FileNotFoundError:
        return False
    return True


def _java_file(name: str) -> str:
    """The path as `java.io.File` prints it: no doubled and no trailing slashes."""
    parts = [part for part in name.split("/") if part]
    return ("/" if name.startswith("/") else "") + "/".join(parts)


def _absolute(file: str) -> str:
    """Java: `File.getAbsolutePath`, which keeps `.` and `..`."""
    return file if file.startswith("/") else f"{os.getcwd()}/{file}"


def _empty(file: str) -> dict[int, int]:
    return {}


def _no_pairs(file: str) -> list[tuple[int, int]]:
    return []


def _java_bool(value: bool) -> str:
    return "true" if value else "false"


def _optional_long(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"
