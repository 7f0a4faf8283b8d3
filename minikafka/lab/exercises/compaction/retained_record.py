"""Whether a record stays."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, call_private, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Belief, Exercise
from minikafka.lab.exercises.solutions import compaction as solutions
from minikafka.witness.workload import START_MS

_HOUR = 3_600_000
_MEMORY = 24 * 100


@dataclass(frozen=True)
class _Asked:
    """A record with key (None: without one) and value (None: a tombstone), and the cleaning that looks at it.

    `newest`: the offset that the map has for its key (None: the key is not in there); `latest`: the offset up to which
    the map covers the log; `horizon_h`: the delete horizon of its batch, in hours from now.
    """

    offset: int
    key: str | None
    value: str | None
    newest: int | None
    latest: int = 20
    horizon_h: int | None = None

    def __str__(self) -> str:
        what = "no key" if self.key is None else f"key {self.key}"
        what += ", tombstone" if self.value is None else ""
        known = f"in the map at {self.newest}" if self.newest is not None else "not in the map"
        horizon = "" if self.horizon_h is None else f", horizon {self.horizon_h:+d} h"
        return f"record {self.offset}, {what}: {known}, map up to {self.latest}{horizon}"


_ASKED = (
    _Asked(7, "a", "1", newest=7),
    _Asked(7, "a", "1", newest=12),
    _Asked(3, "b", "1", newest=None),
    _Asked(25, "a", "1", newest=12),
    _Asked(25, None, "1", newest=None),
    _Asked(7, None, "1", newest=None),
    _Asked(7, "a", None, newest=7),
    _Asked(7, "a", None, newest=7, horizon_h=1),
    _Asked(7, "a", None, newest=7, horizon_h=0),
    _Asked(7, "a", None, newest=9, horizon_h=1),
    _Asked(7, "a", "1", newest=7, horizon_h=-1),
    _Asked(3, "b", None, newest=None, horizon_h=-1),
    _Asked(25, "b", None, newest=None, horizon_h=-1),
    _Asked(20, None, "1", newest=None),
)


@cache
def _spark_says() -> dict[int, bool]:
    rows = [
        (n, a.offset, a.key, a.value, a.newest, a.latest, None if a.horizon_h is None else a.horizon_h * _HOUR)
        for n, a in enumerate(_ASKED)
    ]
    return answers_of(
        """SELECT number, offset > latest
                          OR key IS NOT NULL AND NOT coalesce(newest > offset, false)
                             AND NOT (value IS NULL AND coalesce(horizon <= 0, false)) AS stays
           FROM {asked}""",
        asked=(
            rows,
            "number INT, offset BIGINT, key STRING, value STRING, newest BIGINT, latest BIGINT, horizon BIGINT",
        ),
    )


def _case(number: int) -> AskedCase:
    asked = _ASKED[number]

    def answered(factory: Any) -> bool:
        kafka = jvm_of(factory)
        return _minikafka_says(asked) if kafka is None else _kafka_says(kafka, asked)

    batch = _batch(asked)
    arguments = (_offset_map(asked), batch, next(iter(batch)), START_MS)
    return AskedCase(str(asked), arguments, lambda: _spark_says()[number], answered)


def _batch(asked: _Asked) -> Any:
    """A batch of the record alone."""
    from minikafka.record.compression import Compression
    from minikafka.record.memory_records_builder import MemoryRecordsBuilder

    horizon = None if asked.horizon_h is None else START_MS + asked.horizon_h * _HOUR
    builder = MemoryRecordsBuilder(Compression.NONE, base_offset=asked.offset, delete_horizon_ms=horizon)
    key, value = (None if text is None else text.encode() for text in (asked.key, asked.value))
    builder.append_with_offset(asked.offset, START_MS, key, value)
    return builder.build().first_batch()


def _offset_map(asked: _Asked) -> Any:
    from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap

    offset_map = SkimpyOffsetMap(_MEMORY)
    if asked.newest is not None:
        offset_map.put(asked.key.encode(), asked.newest)
    offset_map.update_latest_offset(asked.latest)
    return offset_map


def _minikafka_says(asked: _Asked) -> bool:
    from minikafka.log.cleaner.cleaned_transaction_metadata import CleanedTransactionMetadata
    from minikafka.log.cleaner.log_cleaner_filter import LogCleanerFilter

    log_cleaner_filter = LogCleanerFilter(
        _offset_map(asked),
        retain_legacy_deletes_and_txn_markers=True,
        delete_retention_ms=_HOUR,
        transaction_metadata=CleanedTransactionMetadata(),
        last_records_of_active_producers={},
        upper_bound_offset_of_cleaning_round=100,
        current_time=START_MS,
    )
    batch = _batch(asked)
    places, _ = log_cleaner_filter.retained_records(batch, batch.streaming_columns())
    return len(places) == 1


def _kafka_says(kafka: Any, asked: _Asked) -> bool:
    """Kafka: `Cleaner.shouldRetainRecord`, which is private."""
    find, log_class = kafka.find_class, kafka.log_class
    time = kafka.constant("org.apache.kafka.common.utils.Time", "SYSTEM")
    throttler = find("org.apache.kafka.storage.internals.utils.Throttler")(1e18, 300, "cleaner-io", "bytes", time)
    offset_map = log_class("SkimpyOffsetMap")(_MEMORY)
    if asked.newest is not None:
        offset_map.put(find("java.nio.ByteBuffer").wrap(asked.key.encode()), asked.newest)
    offset_map.updateLatestOffset(asked.latest)
    cleaner = log_class("Cleaner")(0, offset_map, 1024, 1024, 0.9, throttler, time, None)
    batch = kafka.records(bytes(_batch(asked).buffer)).batches().iterator().next()
    record, stats = batch.iterator().next(), log_class("CleanerStats")(time)
    arguments = (offset_map, True, batch, record, stats, START_MS)
    return call_private(kafka, cleaner.getClass(), cleaner, "shouldRetainRecord", *arguments)


def _retained(
    *,
    covered=lambda record, offset_map: record.offset <= offset_map.latest_offset,
    newest=lambda record, found: record.offset >= found,
    stands=lambda batch, now: batch.delete_horizon_ms is None or now < batch.delete_horizon_ms,
    tombstones_only=True,
    without_key=False,
):
    """A wrong answer, where not told otherwise the right one."""

    def should_retain_record(offset_map, batch, record, current_time):
        if not covered(record, offset_map):
            return True
        if record.key is None:
            return without_key
        has_value = record.value is not None and tombstones_only
        return newest(record, offset_map.get(record.key)) and (has_value or stands(batch, current_time))

    return should_retain_record


retained_record = Exercise(
    "Exercise 4, does a record stay?",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.should_retain_record,
    hints=[
        "First: does the map know anything of this offset? It covers the log up to `latest_offset`; above that, everything stays.",
        "Then the key: none, and the record goes. `offset_map.get(key)` is the newest offset, −1 for a key that was not"
        " seen: older than that, and the record goes.",
        "A tombstone that is the newest stays while its batch has no horizon (None), or `current_time` is before it.",
    ],
    beliefs=[
        Belief(
            _retained(covered=lambda record, offset_map: True),
            "You judge records above the map's latest offset. The map ended below them: nobody knows whether they are"
            " the newest, so all of them stay, even without a key.",
        ),
        Belief(
            _retained(newest=lambda record, found: record.offset == found),
            "You keep a record only where the map names it. The map is built from the dirty part: a key that is not in"
            " there (−1) has no newer record, and stays.",
        ),
        Belief(
            _retained(stands=lambda batch, now: False),
            "You drop every tombstone. The newest record of a key stays even when it is a deletion, until its horizon.",
        ),
        Belief(
            _retained(stands=lambda batch, now: True),
            "You keep tombstones for ever. From the delete horizon of its batch on, a tombstone goes.",
        ),
        Belief(
            _retained(stands=lambda batch, now: batch.delete_horizon_ms is None or now <= batch.delete_horizon_ms),
            "You keep a tombstone at its horizon. It stays while `current_time < horizon`, no longer.",
        ),
        Belief(
            _retained(stands=lambda batch, now: batch.delete_horizon_ms is not None and now < batch.delete_horizon_ms),
            "You drop a tombstone whose batch has no horizon. This cleaning is the first to meet it, and will set one.",
        ),
        Belief(
            _retained(tombstones_only=False),
            "You let records with a value go at the horizon. It is for the tombstones in the batch.",
        ),
        Belief(
            _retained(without_key=True),
            "You keep records without a key. Nothing can tell what would replace them: they go.",
        ),
        Belief(
            _retained(covered=lambda record, offset_map: record.offset < offset_map.latest_offset),
            "You leave out the map's last offset. `latest_offset` is inclusive: that record is judged, too.",
        ),
    ],
)
