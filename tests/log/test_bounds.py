"""What happens one below a bound, exactly at it, and one above: what Kafka does there, and that minikafka does it."""

import re
from typing import NamedTuple

import pytest

from minikafka.common.errors import RecordValidationException
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.operations import parse_operation
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observation

SETTINGS = {"internal.segment.bytes": 600, "index.interval.bytes": 100, "segment.index.bytes": 1200}
BATCH = 78  # bytes of [1x10]
DAY = 86_400_000
FIRST_GOES = "append_as_leader [1x10]", "roll", "append_as_leader [1x10]", "update_high_watermark leo"


class Bound(NamedTuple):
    """`lines` are done once with each of three neighbouring numbers for `{}`; `seen` is what Kafka shows for each.

    `of`: what is looked at in the end, a quantity of the observation (of segments, index entries and producers, how
    many there are), the `bases` of the segments, what a cleaning has `kept`, or what offset the log is `clean up to`.
    """

    lines: tuple[str, ...]
    numbers: tuple[int, int, int]
    of: str
    seen: tuple
    settings: dict = {}


BOUNDS = {
    "retention.ms": Bound(
        (*FIRST_GOES, "tick {}", "delete_old_segments"),
        (999, 1000, 1001), "segments", (2, 2, 1), {"retention.ms": 1000},
    ),
    "retention.ms, none": Bound(
        (*FIRST_GOES, "tick 1", "update_config retention.ms={}", "delete_old_segments"),
        (-1, 0, 1), "segments", (2, 1, 2),
    ),
    "retention.bytes": Bound(
        (*FIRST_GOES, "update_config retention.bytes={}", "delete_old_segments"),
        (BATCH - 1, BATCH, BATCH + 1), "segments", (1, 1, 2),
    ),
    "retention.bytes, none": Bound(
        (*FIRST_GOES, "update_config retention.bytes={}", "delete_old_segments"),
        (-1, 0, 1), "segments", (2, 1, 1),
    ),
    "retention.bytes, an empty segment below": Bound(
        (
            "roll 5", "append_as_follower [1x10 offset=5]", "update_high_watermark leo",
            "update_config retention.bytes={}", "delete_old_segments",
        ),
        (BATCH - 1, BATCH, BATCH + 1), "segments", (1, 1, 2),
    ),
    "the log start": Bound(
        ("append_as_leader [3x10]", "roll", "append_as_leader [3x10]", "update_high_watermark leo",
         "maybe_increment_log_start_offset {}", "delete_old_segments"),
        (2, 3, 4), "segments", (2, 1, 1),
    ),
    "the high watermark": Bound(
        ("append_as_leader [3x10]", "roll", "append_as_leader [3x10]", "tick 1",
         "update_high_watermark {}", "delete_old_segments"),
        (2, 3, 4), "segments", (2, 1, 1), {"retention.ms": 0},
    ),
    "segment.ms": Bound(
        ("append_as_leader [1x10]", "append_as_leader [1x10 ts=now+{}]"),
        (999, 1000, 1001), "segments", (1, 1, 2), {"segment.ms": 1000},
    ),
    "segment.ms, without timestamps": Bound(
        ("append_as_leader [1x10 ts=-1]", "tick {}", "append_as_leader [1x10 ts=-1]"),
        (999, 1000, 1001), "segments", (1, 1, 2), {"segment.ms": 1000},
    ),
    "segment.bytes": Bound(
        ("update_config internal.segment.bytes={}", "append_as_leader [1x10]", "append_as_leader [1x10]"),
        (2 * BATCH - 1, 2 * BATCH, 2 * BATCH + 1), "segments", (2, 1, 1),
    ),
    "segment.bytes, one append": Bound(
        ("update_config internal.segment.bytes={}", "append_as_leader [1x10]"),
        (BATCH - 1, BATCH, BATCH + 1), "error", ("RecordBatchTooLargeException", "", ""),
    ),
    "max.message.bytes": Bound(
        ("update_config max.message.bytes={}", "append_as_leader [1x10]"),
        (BATCH - 1, BATCH, BATCH + 1), "error", ("RecordTooLargeException", "", ""),
    ),
    "max.message.bytes, of a batch that is decompressed": Bound(
        ("update_config max.message.bytes={}", "append_as_leader [1x200 codec=gzip]"),
        (269, 270, 271), "error", ("RecordTooLargeException", "", ""), {"compression.type": "uncompressed"},
    ),
    "index.interval.bytes": Bound(
        ("update_config index.interval.bytes={}", "roll 5",
         "append_as_follower [1x10 offset=5]", "append_as_follower [1x10 offset=6]"),
        (BATCH - 1, BATCH, BATCH + 1), "index_entries", (1, 0, 0),
    ),
    "segment.index.bytes, the offset index": Bound(
        ("append_as_leader [1x10]", "update_config segment.index.bytes={}", "roll", *(["append_as_leader [1x10]"] * 6)),
        (39, 40, 41), "segments", (3, 2, 2), {"index.interval.bytes": 0},
    ),
    "segment.index.bytes, the time index": Bound(
        ("append_as_leader [1x10]", "update_config segment.index.bytes={}", "roll",
         *(f"append_as_leader [1x10 ts=now+{n}]" for n in range(3))),
        (35, 36, 37), "segments", (3, 2, 2), {"index.interval.bytes": 0},
    ),
    "offsets of 32 bits": Bound(
        ("append_as_follower [1x10 offset=0]", "append_as_follower [1x10 offset={}]"),
        (2**31 - 2, 2**31 - 1, 2**31), "segments", (1, 1, 2),
    ),
    "message.timestamp.before.max.ms": Bound(
        ("append_as_leader [1x10 ts=now-{}]",),
        (999, 1000, 1001), "error", ("", "", "RecordValidationException"),
        {"message.timestamp.before.max.ms": 1000},
    ),
    "message.timestamp.after.max.ms": Bound(
        ("append_as_leader [1x10 ts=now+{}]",),
        (999, 1000, 1001), "error", ("", "", "RecordValidationException"),
        {"message.timestamp.after.max.ms": 1000},
    ),
    "message.timestamp.before.max.ms, compressed": Bound(
        ("append_as_leader [1x10 ts=now-{} codec=gzip]",),
        (999, 1000, 1001), "error", ("", "", "RecordValidationException"),
        {"message.timestamp.before.max.ms": 1000},
    ),
    "message.timestamp.after.max.ms, compressed": Bound(
        ("append_as_leader [1x10 ts=now+{} codec=gzip]",),
        (999, 1000, 1001), "error", ("", "", "RecordValidationException"),
        {"message.timestamp.after.max.ms": 1000},
    ),
    "producer.id.expiration.ms": Bound(
        ("append_as_leader [1x10 pid=7 epoch=0 seq=0]", "tick {}"),
        (DAY - 1, DAY, DAY + 1), "producers", (1, 0, 0),
    ),
    "producer.id.expiration.ms, in a snapshot": Bound(
        ("append_as_leader [1x10 pid=7 epoch=0 seq=0 ts=now-{}]", "reopen"),
        (DAY - 1, DAY, DAY + 1), "producers", (1, 0, 0),
    ),
    "flush.messages": Bound(
        ("append_as_leader [{}x10]",),
        (2, 3, 4), "recovery_point", (0, 3, 4), {"flush.messages": 3},
    ),
}  # fmt: skip


COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0, "delete.retention.ms": 5000}
KEYED = 83  # bytes of [1x10 keys=9]
END = "roll", "update_high_watermark leo"
NEXT = "append_as_leader [1x10 keys=9 data=1]", *END, "clean"
THREE = ("append_as_leader [1x10 keys=1]",) * 3
LATER = tuple(f"append_as_leader [1x10 keys=1 ts=now+{n}]" for n in range(3))
FULL, NOTHING = "kept 1 of 1 messages", "nothing to clean"

BOUNDS_OF_CLEANING = {
    "a tombstone's delete horizon": Bound(
        ("append_as_leader [1xnull keys=9]", *END, "clean", "tick {}", *NEXT),
        (4999, 5000, 5001), "kept", ("kept 2 of 2 messages", "kept 1 of 2 messages", "kept 1 of 2 messages"), COMPACT,
    ),
    "a marker's delete horizon": Bound(
        (
            "append_as_leader [1x10 keys=9 data=1 pid=1 epoch=0 seq=0 txn]",
            "append_as_leader origin=coordinator transaction_version=0 [commit pid=1 epoch=0]",
            "append_as_leader [1x10 keys=9 pid=1 epoch=0 seq=1]",
            *NEXT, *NEXT, "tick {}", *NEXT,
        ),
        (4999, 5000, 5001), "kept", ("kept 3 of 4 messages", "kept 2 of 3 messages", "kept 2 of 3 messages"), COMPACT,
    ),
    "the delete horizon of a tombstone in its producer's last batch": Bound(
        ("append_as_leader [1xnull keys=9 pid=7 epoch=0 seq=0]", *END, "clean", "tick {}", *NEXT),
        (4999, 5000, 5001), "kept", ("kept 2 of 2 messages", "kept 1 of 2 messages", "kept 1 of 2 messages"), COMPACT,
    ),
    "the delete horizon of a marker that is all that is left of its producer": Bound(
        (
            "append_as_leader origin=coordinator transaction_version=0 [abort pid=1 epoch=0]", *END, "clean",
            "tick {}", *NEXT, *NEXT,
        ),
        (4999, 5000, 5001), "kept", ("kept 2 of 3 messages", "kept 1 of 2 messages", "kept 1 of 2 messages"), COMPACT,
    ),
    "min.compaction.lag.ms": Bound(
        ("append_as_leader [1x10 keys=9]", *END, "tick {}", "clean"),
        (999, 1000, 1001), "kept", (NOTHING, FULL, FULL), COMPACT | {"min.compaction.lag.ms": 1000},
    ),
    "max.compaction.lag.ms": Bound(
        ("append_as_leader [1x10 keys=9]", *END, "tick {}", "clean"),
        (999, 1000, 1001), "kept", (NOTHING, NOTHING, FULL),
        COMPACT | {"max.compaction.lag.ms": 1000, "min.cleanable.dirty.ratio": 1},
    ),
    "max.compaction.lag.ms, the oldest timestamp that counts": Bound(
        ("append_as_leader [1x10 keys=9 ts={}]", *END, "clean"),
        (-1, 0, 1), "kept", (NOTHING, NOTHING, FULL),
        COMPACT | {"max.compaction.lag.ms": 1000, "min.cleanable.dirty.ratio": 1},
    ),
    "max.compaction.lag.ms, with nothing that may be cleaned": Bound(
        (
            "append_as_leader [1x10 keys=9]", *END, "tick 1001", "clean",
            "append_as_leader [1x10 keys=9 data=1]", "roll", "append_as_leader [1x10 keys=9 data=2]", "roll",
            "update_high_watermark {}", "tick 1001", "clean",
        ),
        (1, 2, 3), "kept", (NOTHING, "kept 2 of 2 messages", "kept 3 of 3 messages"),
        COMPACT | {"max.compaction.lag.ms": 1000, "min.cleanable.dirty.ratio": 1},
    ),
    "min.cleanable.dirty.ratio": Bound(
        ("append_as_leader [1x10 keys=9]", *END, "clean", "append_as_leader [1x{} keys=9 data=1]", *END, "clean"),
        (9, 10, 11), "kept", (NOTHING, NOTHING, "kept 2 of 2 messages"), COMPACT | {"min.cleanable.dirty.ratio": 0.5},
    ),
    "a checkpoint beyond the log end": Bound(
        (
            "append_as_leader [1x10 keys=9]", "append_as_leader [2x10 keys=9 data=1]", *END, "clean",
            "truncate_to 1", "append_as_leader [{}x10 keys=9 data=1]", *END, "clean",
        ),
        (1, 2, 3), "kept", ("kept 2 of 2 messages", NOTHING, "kept 4 of 4 messages"), COMPACT,
    ),
    "the room of the offset map": Bound(
        ("append_as_leader [6x10 keys=50]", "append_as_leader [{}x10 keys=50 data=6]", *END, "clean"),
        (2, 3, 4), "clean up to", ("clean up to 8", "clean up to 9", "clean up to 9"),
        COMPACT | {"log.cleaner.dedupe.buffer.size": 240},
    ),
    "a group's bytes": Bound(
        (
            "append_as_leader [1x10 keys=9]", "roll", "append_as_leader [1x10 keys=9 data=1]", *END,
            "update_config internal.segment.bytes={}", "clean",
        ),
        (2 * KEYED - 1, 2 * KEYED, 2 * KEYED + 1), "bases", ((0, 1, 2), (0, 2), (0, 2)), COMPACT,
    ),
    "a group's offset indexes": Bound(
        (*THREE, "roll", *THREE, *END, "update_config segment.index.bytes={}", "clean"),
        (31, 32, 33), "bases", ((0, 3, 6), (0, 6), (0, 6)), COMPACT | {"index.interval.bytes": 0},
    ),
    "a group's time indexes": Bound(
        (*LATER, "roll", *LATER, *END, "update_config segment.index.bytes={}", "clean"),
        (47, 48, 49), "bases", ((0, 3, 6), (0, 6), (0, 6)), COMPACT | {"index.interval.bytes": 0},
    ),
    "a group's offsets, up to the next segment": Bound(
        (
            "append_as_follower [1x10 keys=9 offset=0]", "roll", "append_as_follower [1x10 keys=9 data=1 offset=1]",
            "roll {}", "append_as_follower [1x10 keys=9 data=2 offset={}]", *END, "clean",
        ),
        (2**31 - 1, 2**31, 2**31 + 1), "bases",
        ((0, 2**31), (0, 2**31, 2**31 + 1), (0, 1, 2**31 + 1, 2**31 + 2)), COMPACT,
    ),
    "a group's offsets, up to what is not cleaned": Bound(
        (
            "append_as_follower [1x10 keys=9 offset=0]", "roll", "append_as_follower [1x10 keys=9 data=1 offset=1]",
            "roll {}", "append_as_follower [1x10 keys=9 data=2 offset={}]", "update_high_watermark leo", "clean",
        ),
        (2**31 - 1, 2**31, 2**31 + 1), "bases", ((0, 2**31 - 1), (0, 2**31), (0, 1, 2**31 + 1)), COMPACT,
    ),
}  # fmt: skip

ALL = BOUNDS | BOUNDS_OF_CLEANING


def shown(observation: Observation, quantity: str):
    if quantity == "bases":
        return tuple(base for base, _ in observation.segments)
    if quantity == "kept":
        return re.split("[,;]", observation.result)[0]
    if quantity == "clean up to":
        return observation.result.split("; ")[1]
    value = getattr(observation, quantity)
    return len(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", ALL)
def test_minikafka_does_what_kafka_did(name, tmp_path):
    bound, seen = ALL[name], []
    for number in bound.numbers:
        workload = Workload(config={key: str(value) for key, value in (SETTINGS | bound.settings).items()})
        runner = Runner(minikafka_log, tmp_path / str(number) / "topic-0", workload)
        observed = [runner.apply(parse_operation(line.format(number))) for line in bound.lines]
        seen.append(shown(observed[-1], bound.of))
        runner.let_go()
    assert tuple(seen) == bound.seen


@pytest.mark.parametrize("name", ALL)
def test_kafka_does_it_still(name, two_logs):
    bound, seen = ALL[name], []
    for number in bound.numbers:
        logs = two_logs(**(SETTINGS | bound.settings))
        seen.append(shown(logs.do(*(line.format(number) for line in bound.lines)), bound.of))
    assert tuple(seen) == bound.seen


def test_the_oldest_transaction_is_late(two_live_logs):
    """Later than the longest timeout of a transaction, which is 15 minutes here, and five minutes more."""
    logs, late = two_live_logs(), []
    logs.do("append_as_leader [1x10 pid=7 epoch=0 seq=0 txn]", "tick 1199999")
    ours, theirs = logs.minikafka.log, logs.runners[1].log.unified_log
    for _ in range(3):
        now = logs.minikafka.time.milliseconds()
        late.append((ours.has_late_transaction(now), theirs.hasLateTransaction(now)))
        logs.do("tick 1")
    assert late == [(False, False), (False, False), (True, True)]


@pytest.mark.parametrize(("idle_ms", "known"), [(DAY - 1, True), (DAY, False), (DAY + 1, False)])
def test_a_verification_expires_as_a_producer_does(kafka, two_live_logs, idle_ms, known):
    logs = two_live_logs()
    ours, theirs = logs.minikafka.log, logs.runners[1].log.unified_log
    ours.maybe_start_transaction_verification(7, sequence=0, epoch=0, supports_epoch_bump=False)
    theirs.maybeStartTransactionVerification(7, 0, 0, False)
    logs.do(f"tick {idle_ms}")
    none = kafka.constant("org.apache.kafka.storage.internals.log.VerificationGuard", "SENTINEL")
    assert (ours.verification_guard(7) != VerificationGuard.SENTINEL) == known
    assert (not theirs.verificationGuard(7).equals(none)) == known


@pytest.mark.parametrize("setting", ["before", "after"])
def test_each_record_has_a_timestamp_of_its_own(two_logs, setting):
    """The batch is looked through because of its last record."""
    logs = two_logs(**{f"message.timestamp.{setting}.max.ms": 1000})
    sign = {"before": "-", "after": "+"}[setting]
    batch = Batch.parse("[3x10 ts=" + ",".join(f"now{sign}{ms}" for ms in (999, 1000, 1001)) + "]")
    for runner in logs.runners:
        records = MemoryRecords.readable_records(bytearray(batch.encode(runner.time.milliseconds())))
        with pytest.raises(RecordValidationException) as refused:
            runner.log.append_as_leader(records, 0, AppendOrigin.CLIENT)
        assert len(refused.value.record_errors) == 1
