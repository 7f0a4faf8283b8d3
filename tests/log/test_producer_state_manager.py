"""Producers, their transactions and their snapshots, alone and beside Kafka's own classes."""

import random
import re
import shutil

import pytest

from minikafka.common import errors
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker

PARTITION = TopicPartition("t", 0)
EXPIRATION_MS = 1000
MAX_SEQUENCE = 2**31 - 1


class Producers:
    """minikafka's manager, driven by flat calls so that Kafka's can be driven by the same ones."""

    def __init__(self, directory, time=None):
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.time = time or ManualTime()
        self.reopen()

    def reopen(self):
        config = ProducerStateManagerConfig(
            producer_id_expiration_ms=EXPIRATION_MS, transaction_verification_enabled=True
        )
        self.manager = ProducerStateManager(
            PARTITION,
            self.directory,
            max_transaction_timeout_ms=900_000,
            producer_state_manager_config=config,
            time=self.time,
        )

    def append(self, origin, producer_id, batches):
        """Append `batches` of one producer: (epoch, first seq, last seq, timestamp, offset, count, transactional)."""
        info = self.manager.prepare_update(producer_id, AppendOrigin[origin])
        for epoch, first_seq, last_seq, timestamp, offset, count, transactional in batches:
            place = LogOffsetMetadata(offset, 0, offset * 10)
            info.append_data_batch(
                place,
                epoch=epoch,
                first_seq=first_seq,
                last_seq=last_seq,
                last_timestamp=timestamp,
                last_offset=offset + count - 1,
                is_transactional=transactional,
            )
        self.manager.update(info)

    def end(self, origin, producer_id, commit, coordinator_epoch, epoch, offset, timestamp, transaction_version):
        """Append a marker. Returns (first offset, last offset, aborted, last stable offset) of what it completed."""
        info = self.manager.prepare_update(producer_id, AppendOrigin[origin])
        control_type = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
        marker = EndTransactionMarker(control_type, coordinator_epoch)
        completed = info.append_end_txn_marker(
            marker,
            producer_epoch=epoch,
            offset=offset,
            timestamp=timestamp,
            transaction_version=transaction_version,
        )
        self.manager.update(info)
        if completed is None:
            return None
        last_stable_offset = self.manager.last_stable_offset(completed)
        self.manager.complete_txn(completed)
        return completed.first_offset, completed.last_offset, completed.is_aborted, last_stable_offset

    def verify(self, producer_id, sequence, epoch, supports_epoch_bump):
        entry = self.manager.maybe_create_verification_state_entry(
            producer_id, sequence=sequence, epoch=epoch, supports_epoch_bump=supports_epoch_bump
        )
        return entry.lowest_sequence, entry.epoch, entry.supports_epoch_bump

    def mark_for_deletion(self, offset):
        return self.manager.remove_and_mark_snapshot_for_deletion(offset) is not None

    def call(self, name, *arguments):
        getattr(self.manager, name)(*arguments)

    def take_snapshot(self):
        return self.manager.take_snapshot(sync=False) is not None

    @property
    def state(self):
        manager = self.manager
        unstable = manager.first_unstable_offset
        return (
            ", ".join(f"{producer_id}={entry}" for producer_id, entry in manager.active_producers.items()),
            manager.map_end_offset,
            None if unstable is None else tuple(unstable),
            manager.first_undecided_offset,
            manager.latest_snapshot_offset,
            manager.is_empty,
            manager.has_late_transaction(2_000_000),
        )

    @property
    def files(self):
        return {path.name: path.read_bytes() for path in sorted(self.directory.iterdir())}


@pytest.fixture
def producers(tmp_path):
    return Producers(tmp_path / "t-0")


def batch(offset, first_seq, count=1, epoch=0, timestamp=0, transactional=False):
    return epoch, first_seq, (first_seq + count - 1) % (MAX_SEQUENCE + 1), timestamp, offset, count, transactional


class Batch:
    """The header fields by which a duplicate is recognised."""

    def __init__(self, producer_epoch, base_sequence, last_sequence):
        self.producer_epoch, self.base_sequence, self.last_sequence = producer_epoch, base_sequence, last_sequence


# Sequences and epochs


def test_five_batches_are_remembered_and_found_again(producers):
    for i in range(7):
        producers.append("CLIENT", 1, [batch(i * 10, i * 10, 10)])
    entry = producers.manager.last_entry(1)
    assert [b.first_seq for b in entry.batch_metadata] == [20, 30, 40, 50, 60]
    assert entry.find_duplicate_batch(Batch(0, 20, 29)).last_offset == 29
    assert entry.find_duplicate_batch(Batch(0, 10, 19)) is None
    assert entry.find_duplicate_batch(Batch(0, 20, 28)) is None
    assert entry.find_duplicate_batch(Batch(1, 20, 29)) is None


def test_sequences_wrap_to_zero(producers):
    producers.append("CLIENT", 1, [batch(0, MAX_SEQUENCE - 1, 4)])
    assert producers.manager.last_entry(1).last_seq == 1
    assert producers.manager.last_entry(1).first_seq == MAX_SEQUENCE - 1
    producers.append("CLIENT", 1, [batch(4, 2)])
    producers.append("CLIENT", 2, [batch(5, MAX_SEQUENCE)])
    producers.append("CLIENT", 2, [batch(6, 0)])


def test_a_gap_is_refused_from_a_client_only(producers):
    producers.append("CLIENT", 1, [batch(0, 0)])
    with pytest.raises(errors.OutOfOrderSequenceException, match=r"5 \(incoming seq. number\), 0 \(current end"):
        producers.append("CLIENT", 1, [batch(1, 5)])
    producers.append("COORDINATOR", 1, [batch(1, 5)])
    producers.append("REPLICATION", 1, [batch(2, 9)])


def test_a_new_epoch_begins_at_zero(producers):
    producers.append("CLIENT", 1, [batch(0, 7)])
    with pytest.raises(errors.OutOfOrderSequenceException, match="Invalid sequence number for new epoch"):
        producers.append("CLIENT", 1, [batch(1, 8, epoch=1)])
    producers.append("CLIENT", 1, [batch(1, 0, epoch=1)])
    assert len(producers.manager.last_entry(1).batch_metadata) == 1


def test_an_older_epoch_is_fenced(producers):
    producers.append("CLIENT", 1, [batch(0, 0, epoch=2)])
    for origin in ("CLIENT", "COORDINATOR"):
        with pytest.raises(errors.InvalidProducerEpochException, match="is 1, which is < the last seen epoch 2"):
            producers.append(origin, 1, [batch(1, 1, epoch=1)])
    producers.append("REPLICATION", 1, [batch(1, 1, epoch=1)])


def test_an_append_without_producer_id_is_not_for_here(producers):
    with pytest.raises(errors.IllegalArgumentException, match="Invalid producer id -1"):
        producers.append("CLIENT", -1, [batch(0, 0)])


# Transactions


def test_the_first_unstable_offset_waits_for_replication(producers):
    manager = producers.manager
    producers.append("CLIENT", 1, [batch(5, 0, transactional=True)])
    producers.append("CLIENT", 2, [batch(7, 0, transactional=True)])
    assert manager.first_unstable_offset.message_offset == 5
    assert producers.end("COORDINATOR", 1, True, 0, 0, 9, 0, 0) == (5, 9, False, 7)
    assert manager.first_unstable_offset.message_offset == 5
    assert manager.first_undecided_offset == 7
    manager.on_high_watermark_updated(9)
    assert manager.first_unstable_offset.message_offset == 5
    manager.on_high_watermark_updated(10)
    assert manager.first_unstable_offset.message_offset == 7
    assert producers.end("COORDINATOR", 2, False, 0, 0, 12, 0, 0) == (7, 12, True, 13)


def test_a_marker_without_transaction_completes_nothing(producers):
    assert producers.end("COORDINATOR", 1, False, 0, 0, 9, 0, 0) is None
    assert producers.manager.last_entry(1).is_empty


def test_a_transaction_takes_transactional_batches_only(producers):
    producers.append("CLIENT", 1, [batch(5, 0, transactional=True)])
    with pytest.raises(errors.InvalidTxnStateException, match="Expected transactional write from producer 1"):
        producers.append("CLIENT", 1, [batch(6, 1)])


def test_only_a_started_transaction_can_be_completed(producers):
    with pytest.raises(errors.IllegalArgumentException, match="which was not started"):
        producers.manager.complete_txn(CompletedTxn(1, 0, 5, is_aborted=False))


def test_a_marker_of_an_older_coordinator_is_fenced(producers):
    producers.end("COORDINATOR", 1, True, 4, 0, 0, 0, 0)
    with pytest.raises(errors.TransactionCoordinatorFencedException, match=r"3 \(zombie\), 4 \(current\)"):
        producers.end("COORDINATOR", 1, True, 3, 0, 1, 0, 0)
    producers.end("REPLICATION", 1, True, 3, 0, 1, 0, -1)


def test_under_transactions_v2_a_marker_brings_a_new_epoch(producers):
    producers.append("CLIENT", 1, [batch(0, 0, transactional=True)])
    with pytest.raises(errors.InvalidProducerEpochException, match=r"is 0, which is <= the last seen epoch 0 \(TV2\)"):
        producers.end("COORDINATOR", 1, True, 0, 0, 1, 0, 2)
    assert producers.end("COORDINATOR", 1, True, 0, 1, 1, 0, 2) == (0, 1, False, 2)
    assert producers.manager.last_entry(1).is_empty
    assert producers.end("COORDINATOR", 1, True, 0, 1, 2, 0, 2) is None  # sent again: its answer was lost


def test_an_epoch_that_cannot_be_bumped_ends_its_transaction(producers):
    producers.append("CLIENT", 1, [batch(0, 0, epoch=32767, transactional=True)])
    assert producers.end("COORDINATOR", 1, True, 0, 32767, 1, 0, 2) == (0, 1, False, 2)


def test_a_marker_needs_a_transaction_version_unless_it_is_replicated(producers):
    with pytest.raises(errors.IllegalArgumentException, match="TV_UNKNOWN for origin COORDINATOR"):
        producers.end("COORDINATOR", 1, True, 0, 0, 0, 0, -1)
    producers.end("REPLICATION", 1, True, 0, 0, 0, 0, -1)


def test_a_transaction_left_hanging_is_late(producers):
    producers.append("CLIENT", 1, [batch(0, 0, timestamp=1000, transactional=True)])
    limit = 1000 + 900_000 + 5 * 60 * 1000
    assert not producers.manager.has_late_transaction(limit)
    assert producers.manager.has_late_transaction(limit + 1)


# Verification


def test_guards_verify_themselves_only(producers):
    entry = producers.manager.maybe_create_verification_state_entry(1, sequence=0, epoch=0, supports_epoch_bump=False)
    other = producers.manager.maybe_create_verification_state_entry(2, sequence=0, epoch=0, supports_epoch_bump=False)
    assert entry.verification_guard.verify(entry.verification_guard)
    assert not entry.verification_guard.verify(other.verification_guard)
    assert not VerificationGuard.SENTINEL.verify(VerificationGuard.SENTINEL)


def test_verification_holds_back_sequences_above_the_lowest_tried(producers):
    assert producers.verify(1, 3, 0, False) == (3, 0, False)
    assert producers.verify(1, 0, 0, False) == (0, 0, False)
    with pytest.raises(errors.OutOfOrderSequenceException, match="earliest seen sequence"):
        producers.append("CLIENT", 1, [batch(0, 3, transactional=True)])
    producers.append("CLIENT", 1, [batch(0, 0, transactional=True)])


def test_a_v2_producer_without_state_begins_at_zero(producers):
    producers.verify(1, 3, 0, True)
    with pytest.raises(errors.OutOfOrderSequenceException, match="Expected sequence 0 for transactions v2"):
        producers.append("CLIENT", 1, [batch(0, 3, transactional=True)])


def test_verifications_expire(producers):
    producers.manager.maybe_create_verification_state_entry(1, sequence=0, epoch=0, supports_epoch_bump=False)
    producers.manager.remove_expired_producers(EXPIRATION_MS - 1)
    assert producers.manager.verification_state_entry(1) is not None
    producers.manager.remove_expired_producers(EXPIRATION_MS)
    assert producers.manager.verification_state_entry(1) is None


# Expiry and snapshots


def test_idle_producers_expire_unless_in_a_transaction(producers):
    producers.append("CLIENT", 1, [batch(0, 0, timestamp=10)])
    producers.append("CLIENT", 2, [batch(1, 0, timestamp=10, transactional=True)])
    producers.manager.remove_expired_producers(10 + EXPIRATION_MS - 1)
    assert list(producers.manager.active_producers) == [1, 2]
    producers.manager.remove_expired_producers(10 + EXPIRATION_MS)
    assert list(producers.manager.active_producers) == [2]


GOLDEN = (
    "00016d69dcaf00000002"
    "000000000000000700010000000100000000000000010000000100000000000003e9ffffffffffffffffffffffff"
    "000000000000000900000000000000000000000000020000000000000000000003eb00000000ffffffffffffffff"
)


def test_a_snapshot_has_kafkas_bytes(producers):
    """The bytes were written by Kafka 4.3.0."""
    producers.append("REPLICATION", 7, [batch(0, 0, 2, epoch=1, timestamp=1001)])
    producers.append("REPLICATION", 9, [batch(2, 0, timestamp=1003)])
    producers.end("REPLICATION", 9, True, 0, 0, 3, 1003, 0)
    producers.manager.update_map_end_offset(4)
    producers.take_snapshot()
    assert producers.files == {"00000000000000000004.snapshot": bytes.fromhex(GOLDEN)}


def test_no_snapshot_where_the_last_one_stands(producers):
    assert not producers.take_snapshot()
    producers.manager.update_map_end_offset(1)
    assert producers.take_snapshot()
    assert not producers.take_snapshot()
    assert producers.files == {"00000000000000000001.snapshot": bytes.fromhex("000148674bc700000000")}


def test_no_snapshot_at_a_log_start_without_snapshots(producers):
    producers.manager.update_map_end_offset(5)
    producers.manager.on_log_start_offset_incremented(5)
    assert not producers.take_snapshot()
    producers.manager.on_log_start_offset_incremented(8)
    assert producers.manager.map_end_offset == 8
    assert not producers.take_snapshot()


def test_a_snapshot_where_a_log_was_truncated_fully(producers):
    producers.manager.update_map_end_offset(12)
    producers.take_snapshot()
    producers.manager.truncate_fully_and_start_at(10)
    assert producers.files == {}
    assert producers.take_snapshot()
    assert list(producers.files) == ["00000000000000000010.snapshot"]


def test_a_snapshot_at_the_log_start_is_deleted_by_a_reload(producers):
    for offset in (3, 5, 7):
        producers.manager.update_map_end_offset(offset)
        producers.take_snapshot()
    producers.manager.truncate_and_reload(3, 6, 0)
    assert list(producers.files) == ["00000000000000000005.snapshot"]
    assert producers.manager.map_end_offset == 5


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "null"),
        (lambda data: data[:9], "null"),
        (lambda data: data[:-1], "null"),
        (lambda data: b"\0\2" + data[2:], "unknown file version 2"),
        (lambda data: data[:6] + b"\xff" + data[7:], "serialized as null"),
        (lambda data: data[:6] + b"\x01" + data[7:], "Tried to allocate a collection of size 16777218"),
        (lambda data: data[:-1] + b"\0", "CRC is no longer valid"),
        (lambda data: data + b"\0", "CRC is no longer valid"),
    ],
)
def test_a_damaged_snapshot_is_refused(tmp_path, damage, message):
    file = tmp_path / "00000000000000000004.snapshot"
    file.write_bytes(damage(bytes.fromhex(GOLDEN)))
    with pytest.raises(errors.CorruptSnapshotException, match=re.escape(message)):
        read_snapshot(file)


def test_a_damaged_snapshot_gives_way_to_the_one_before(producers):
    producers.append("CLIENT", 1, [batch(0, 0)])
    producers.manager.update_map_end_offset(1)
    producers.take_snapshot()
    producers.append("CLIENT", 1, [batch(1, 1)])
    producers.manager.update_map_end_offset(2)
    newest = producers.manager.take_snapshot()
    newest.write_bytes(b"damaged")
    producers.reopen()
    producers.manager.truncate_and_reload(0, 5, 0)
    assert producers.manager.map_end_offset == 1
    assert producers.manager.last_entry(1).last_seq == 0
    assert not newest.exists()


def test_loading_reopens_transactions_and_skips_the_expired(producers):
    producers.append("CLIENT", 1, [batch(0, 0, timestamp=10)])
    producers.append("CLIENT", 2, [batch(1, 0, timestamp=10, transactional=True)])
    producers.manager.update_map_end_offset(2)
    producers.take_snapshot()
    producers.reopen()
    producers.manager.truncate_and_reload(0, 5, 10 + EXPIRATION_MS)
    assert list(producers.manager.active_producers) == [2]
    assert producers.manager.first_unstable_offset == LogOffsetMetadata(1)


def test_stray_snapshots_go_but_for_the_newest_at_the_end(producers):
    for offset in (3, 5, 8, 9):
        producers.manager.update_map_end_offset(offset)
        producers.take_snapshot()
    producers.manager.remove_stray_snapshots([0, 5])
    assert sorted(int(name.split(".")[0]) for name in producers.files) == [5, 9]
    producers.manager.remove_stray_snapshots([0, 5, 12])
    assert sorted(int(name.split(".")[0]) for name in producers.files) == [5]


def test_a_snapshot_marked_for_deletion_is_renamed_and_may_be_gone(producers):
    for offset in (3, 5):
        producers.manager.update_map_end_offset(offset)
        producers.take_snapshot()
    assert producers.mark_for_deletion(3)
    assert sorted(producers.files) == ["00000000000000000003.snapshot.deleted", "00000000000000000005.snapshot"]
    (producers.directory / "00000000000000000005.snapshot").unlink()
    assert not producers.mark_for_deletion(5)
    assert not producers.mark_for_deletion(5)
    assert producers.manager.latest_snapshot_offset is None


# Beside Kafka


class KafkaProducers:
    """Kafka's manager with the interface of `Producers`."""

    def __init__(self, kafka, directory, time):
        from minikafka.witness.kafka.kafka_time import JavaTime

        self.kafka = kafka
        self.time = JavaTime(time)
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.log = kafka.jvm.org.apache.kafka.storage.internals.log
        self.common = kafka.jvm.org.apache.kafka.common
        self.partition = self.common.TopicPartition("t", 0)
        self.reopen()

    def reopen(self):
        config = self.log.ProducerStateManagerConfig(EXPIRATION_MS, True)
        file = self.kafka.file(self.directory)
        self.manager = self.log.ProducerStateManager(self.partition, file, 900_000, config, self.time)

    def append(self, origin, producer_id, batches):
        info = self.manager.prepareUpdate(producer_id, getattr(self.log.AppendOrigin, origin))
        for epoch, first_seq, last_seq, timestamp, offset, count, transactional in batches:
            place = self.log.LogOffsetMetadata(offset, 0, offset * 10)
            info.appendDataBatch(epoch, first_seq, last_seq, timestamp, place, offset + count - 1, transactional)
        self.manager.update(info)

    def end(self, origin, producer_id, commit, coordinator_epoch, epoch, offset, timestamp, transaction_version):
        info = self.manager.prepareUpdate(producer_id, getattr(self.log.AppendOrigin, origin))
        record = self.common.record.internal
        control_type = record.ControlRecordType.COMMIT if commit else record.ControlRecordType.ABORT
        marker = record.EndTransactionMarker(control_type, coordinator_epoch)
        completed = info.appendEndTxnMarker(marker, epoch, offset, timestamp, transaction_version)
        self.manager.update(info)
        if completed.isEmpty():
            return None
        completed = completed.get()
        last_stable_offset = self.manager.lastStableOffset(completed)
        self.manager.completeTxn(completed)
        return completed.firstOffset(), completed.lastOffset(), completed.isAborted(), last_stable_offset

    def verify(self, producer_id, sequence, epoch, supports_epoch_bump):
        entry = self.manager.maybeCreateVerificationStateEntry(producer_id, sequence, epoch, supports_epoch_bump)
        return entry.lowestSequence(), entry.epoch(), entry.supportsEpochBump()

    def mark_for_deletion(self, offset):
        return self.manager.removeAndMarkSnapshotForDeletion(offset).isPresent()

    def call(self, name, *arguments):
        getattr(self.manager, re.sub(r"_(.)", lambda m: m[1].upper(), name))(*arguments)

    def take_snapshot(self):
        return self.manager.takeSnapshot(False).isPresent()

    @property
    def state(self):
        manager = self.manager
        producers = manager.activeProducers().toString()[1:-1]
        producers = producers.replace("OptionalLong.empty", "None")
        unstable = manager.firstUnstableOffset().toString()
        unstable = re.findall(r"-?\d+", unstable)
        return (
            re.sub(r"OptionalLong\[(-?\d+)\]", r"\1", producers),
            manager.mapEndOffset(),
            tuple(map(int, unstable)) or None,
            *(
                value.getAsLong() if value.isPresent() else None
                for value in (
                    manager.firstUndecidedOffset(),
                    manager.latestSnapshotOffset(),
                )
            ),
            manager.isEmpty(),
            manager.hasLateTransaction(2_000_000),
        )

    files = Producers.files


class Both:
    """The same call to both; what it returns or raises must be equal."""

    def __init__(self, kafka, directory):
        self.time = ManualTime()
        self.ours = Producers(directory / "ours" / "t-0", self.time)
        self.theirs = KafkaProducers(kafka, directory / "kafka" / "t-0", self.time)

    def __call__(self, name, *arguments):
        from minikafka.witness.kafka.kafka_errors import kafka_errors

        ours = self._outcome(getattr(self.ours, name), *arguments)
        with_kafka_errors = kafka_errors()(getattr(self.theirs, name))
        theirs = self._outcome(with_kafka_errors, *arguments)
        assert ours == theirs, (name, arguments)
        return ours

    def assert_equal(self):
        assert self.ours.state == self.theirs.state
        assert self.ours.files == self.theirs.files

    @staticmethod
    def _outcome(call, *arguments):
        try:
            return call(*arguments)
        except (errors.ApiException, errors.IllegalArgumentException) as error:
            message = re.sub(r"CompletedTxn.*?[\])]", "CompletedTxn", str(error))
            return f"{type(error).__name__}: {message}"
        except Exception as error:
            if type(error).__name__ in ("FileNotFoundError", "NoSuchFileException"):
                return "a file is missing"
            raise


IDS = [0, 1, 2, 7, 16, 32, 33, 48, 1000, 2000, 2**31 - 1, 2**31, 2**32 + 1, 2**40 + 3, 2**63 - 1]


class RandomHistory:
    """Draws operations that make sense often enough for deep states, and nonsense often enough for each refusal."""

    def __init__(self, rng, both):
        self.rng = rng
        self.both = both
        self.offset = 0
        self.now = 1000
        self.refusals = set()

    def step(self):
        self.now += self.rng.choice([0, 1, 10, 200])
        self.both.time.set_current_time_ms(self.now)
        kind = self.rng.choices(
            ["append", "end", "verify", "watermark", "snapshot", "reload", "expire", "files", "reset"],
            [40, 15, 4, 8, 8, 6, 4, 6, 1],
        )[0]
        result = getattr(self, kind)()
        if isinstance(result, str):
            self.refusals.add(result.split(":")[0])
        self.both.assert_equal()

    def append(self):
        rng = self.rng
        origin = rng.choices(["CLIENT", "COORDINATOR", "REPLICATION", "RAFT_LEADER"], [12, 2, 2, 1])[0]
        producer_id = rng.choice(IDS)
        entry = self.both.ours.manager.last_entry(producer_id)
        epoch = max(0, entry.producer_epoch if entry else 0) + rng.choices([0, 1, -1], [12, 1, 1])[0]
        epoch = min(epoch, 32767)
        last_seq = entry.last_seq if entry else rng.choice([-1, -1, 41, MAX_SEQUENCE - 2])
        if entry and epoch != entry.producer_epoch:
            last_seq = -1
        in_transaction = entry is not None and entry.current_txn_first_offset is not None
        transactional = in_transaction if rng.random() < 0.95 else not in_transaction
        if not in_transaction and rng.random() < 0.3:
            transactional = True
        batches = []
        for _ in range(rng.choice([1, 1, 1, 2])):
            first_seq = (last_seq + rng.choices([1, 0, 2, -4], [20, 1, 1, 1])[0]) % (MAX_SEQUENCE + 1)
            count = rng.choice([1, 1, 3, 10])
            last_seq = (first_seq + count - 1) % (MAX_SEQUENCE + 1)
            batches.append((epoch, first_seq, last_seq, self.now, self.offset, count, transactional))
            self.offset += count
        result = self.both("append", origin, producer_id, batches)
        self.both("call", "update_map_end_offset", self.offset)
        return result

    def end(self):
        rng = self.rng
        open_txns = [txn.producer_id for txn in self.both.ours.manager.ongoing_txns]
        producer_id = rng.choice(open_txns if open_txns and rng.random() < 0.8 else IDS)
        entry = self.both.ours.manager.last_entry(producer_id)
        version = rng.choice([0, 1, 2, 2, -1])
        epoch = max(0, entry.producer_epoch if entry else 0)
        if rng.random() < 0.05:
            epoch = 32767
        elif version == 2 and epoch < 32767 and rng.random() < 0.8:
            epoch += 1
        origin = rng.choice(["COORDINATOR", "COORDINATOR", "REPLICATION", "CLIENT"])
        commit, coordinator_epoch = rng.random() < 0.6, rng.choice([0, 1, 1, 1])
        marker = (producer_id, commit, coordinator_epoch, epoch, self.offset, self.now, version)
        result = self.both("end", origin, *marker)
        self.offset += 1
        self.both("call", "update_map_end_offset", self.offset)
        return result

    def verify(self):
        producer_id = self.rng.choice(IDS)
        if self.rng.random() < 0.6:
            self.both("call", "clear_verification_state_entry", producer_id)
        else:
            self.both("verify", producer_id, self.rng.randrange(4), self.rng.randrange(3), self.rng.random() < 0.5)

    def watermark(self):
        low = max(0, self.offset - self.rng.randrange(40))
        self.both("call", self.rng.choice(["on_high_watermark_updated", "on_log_start_offset_incremented"]), low)

    def snapshot(self):
        self.both("take_snapshot")

    def reload(self):
        if self.rng.random() < 0.3:
            self.damage()
        if self.rng.random() < 0.5:
            self.both("reopen")
        offsets = [int(name.split(".")[0]) for name in self.both.ours.files if name.endswith(".snapshot")]
        end = self.rng.choice([*offsets, max(0, self.offset - self.rng.randrange(30))])
        start = self.rng.choice([0, 0, *offsets, max(0, self.offset - self.rng.randrange(400))])
        self.both("call", "truncate_and_reload", min(start, end), end, self.now)
        self.offset = max(self.offset, self.both.ours.manager.map_end_offset)

    def expire(self):
        self.both("call", "remove_expired_producers", self.now + self.rng.choice([0, EXPIRATION_MS // 2]))

    def files(self):
        names = [name for name in self.both.ours.files if name.endswith(".snapshot")]
        offsets = [int(name.split(".")[0]) for name in names] + [self.offset]
        match self.rng.randrange(3):
            case 0:
                self.both("mark_for_deletion", self.rng.choice(offsets))
            case 1:
                chosen = self.rng.sample(offsets, self.rng.randrange(len(offsets)))
                self.both.ours.manager.remove_stray_snapshots(chosen)
                self.both.theirs.manager.removeStraySnapshots(self.java_longs(chosen))
            case 2:
                if names:
                    name = self.rng.choice(sorted(names))
                    for side in (self.both.ours, self.both.theirs):
                        shutil.move(side.directory / name, side.directory / "00000000000000000002.snapshot")

    def java_longs(self, numbers):
        stream = self.both.theirs.kafka.jvm.java.util.stream.LongStream
        array = self.both.theirs.kafka.gateway.new_array(self.both.theirs.kafka.jvm.long, len(numbers))
        for index, number in enumerate(numbers):
            array[index] = number
        return stream.of(array).boxed().toList()

    def damage(self):
        names = sorted(self.both.ours.files)
        if not names:
            return
        name, at, bit = self.rng.choice(names), self.rng.randrange(56), 1 << self.rng.randrange(8)
        for side in (self.both.ours, self.both.theirs):
            data = bytearray((side.directory / name).read_bytes())
            if at < len(data):
                data[at] ^= bit
            else:
                data = data[: at % (len(data) + 1)]
            (side.directory / name).write_bytes(data)

    def reset(self):
        self.both("call", "truncate_fully_and_start_at", self.offset)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_history_is_kafkas(kafka, tmp_path, seed):
    history = RandomHistory(random.Random(seed), Both(kafka, tmp_path))
    for _ in range(400):
        history.step()
    assert len(history.refusals) >= 3, "the history must meet refusals, or it tests little"


@pytest.mark.parametrize("seed", range(3))
def test_snapshots_list_producers_in_the_order_of_javas_map(kafka, tmp_path, seed):
    rng = random.Random(seed)
    both = Both(kafka, tmp_path)
    pool = [IDS, range(60), range(0, 64_000, 1000), range(7, 2**16, 2**10), [rng.randrange(2**63) for _ in range(200)]]
    ids = [producer_id for ids in pool for producer_id in rng.sample(list(ids), len(ids))]
    for offset, producer_id in enumerate(ids):
        both("append", "REPLICATION", producer_id, [batch(offset, 0, timestamp=offset * 10)])
        if rng.random() < 0.02:
            both("call", "remove_expired_producers", offset * 10 + 1 + rng.randrange(EXPIRATION_MS))
    both("call", "update_map_end_offset", len(ids))
    both("take_snapshot")
    both.assert_equal()
