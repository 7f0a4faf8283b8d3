"""Which offsets of each batch compaction has taken away."""

import random
from pathlib import Path
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lab.stage.workbench import scratch
from minikafka.lessons.records import solutions
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.log.run import minikafka_log, run
from minikafka.witness.log.workload import Workload

_CLEAN = "roll leo\nupdate_high_watermark leo\nclean\n"
_COMPACTED = "config cleanup.policy=compact min.cleanable.dirty.ratio=0 delete.retention.ms=100\n"
_ASKED = (  # what is done, and what it leaves: base offset and last offset delta of each batch, and its offsets
    ("append_as_leader [4x10 keys=2]\n", [(0, 3, (2, 3))]),
    ("append_as_leader [3x10 keys=3]\nappend_as_leader [1x10 keys=3 data=2]\n", [(0, 2, (0, 1)), (3, 0, (3,))]),
    (
        "append_as_leader [3x10 keys=3]\nappend_as_leader [2x10 keys=3]\nappend_as_leader [1x10 keys=3]\n",
        [(0, 2, (2,)), (3, 1, (4,)), (5, 0, (5,))],
    ),
    (
        "append_as_leader [3x10 keys=3 pid=7 epoch=0 seq=0]\nappend_as_leader [3x10 keys=3]\n",
        [(0, 2, ()), (3, 2, (3, 4, 5))],
    ),
)


def _case(number: int) -> AskedCase:
    lines, left = _ASKED[number]
    return _cleaned(f"{len(left)} batches up to offset {left[-1][0] + left[-1][1]}", lines, left)


def _drawn(draw: random.Random) -> AskedCase:
    """Many batches, of which minikafka's cleaner leaves what it leaves: some it keeps empty, for their producers."""
    lines, producers = "", iter(range(7, 100))
    for _ in range(24):
        count, keys = draw.randint(1, 6), draw.choice((2, 3, 6, 12, 30))
        producer = draw.choice(("", "", f" pid={next(producers)} epoch=0 seq=0"))
        lines += f"append_as_leader [{count}x10 keys={keys} data={draw.randint(0, 40)}{producer}]\n"
    left = _left(minikafka_log, lines)
    return _cleaned("", lines, draw.sample(left, len(left)))


def _cleaned(name: str, lines: str, left: list[tuple[int, int, Any]]) -> AskedCase:
    batches = frame([(base, delta) for base, delta, _ in left], "base_offset BIGINT, last_offset_delta INT")
    records = frame([(offset,) for _, _, offsets in left for offset in offsets], "offset BIGINT")

    def asked(factory: Any) -> list[tuple[int, int]]:
        return [
            (base, offset)
            for base, delta, offsets in _left(factory, lines)
            for offset in range(base, base + delta + 1)
            if offset not in offsets
        ]

    return AskedCase(name, (batches, records), lambda: as_rows(solutions.gone_offsets(batches, records)), asked)


def _left(factory: Any, lines: str) -> list[tuple[int, int, list[int]]]:
    """Base offset, last offset delta and offsets of each batch that a log has after `lines` and a cleaning."""
    directory = scratch()
    run(Workload.parse(_COMPACTED + lines + _CLEAN), factory, directory)
    return [
        (batch.base_offset, batch.last_offset - batch.base_offset, [record.offset for record in batch])
        for file in sorted(Path(directory).glob("*.log"))
        for batch in MemoryRecords.readable_records(bytearray(file.read_bytes())).batches()
    ]


def _between_the_survivors(batches, records):
    return [
        (base, gap)
        for base, offsets in _by_batch(batches, records)
        for gap in range(min(offsets, default=0), max(offsets, default=0))
        if gap not in offsets
    ]


def _up_to_the_last_survivor(batches, records):
    return [
        (base, gap)
        for base, offsets in _by_batch(batches, records)
        for gap in range(base, max(offsets, default=base - 1) + 1)
        if gap not in offsets
    ]


def _without_empty_batches(batches, records):
    kept = {base for base, offsets in _by_batch(batches, records) if offsets}
    return [(base, gap) for base, gap in as_rows(solutions.gone_offsets(batches, records)) if base in kept]


def _relative(batches, records):
    return [(base, gap - base) for base, gap in as_rows(solutions.gone_offsets(batches, records))]


def _by_batch(batches, records):
    there = {row.offset for row in records.collect()}
    for row in batches.orderBy("base_offset").collect():
        yield row.base_offset, there & set(range(row.base_offset, row.base_offset + row.last_offset_delta + 1))


removed_offsets = Exercise(
    "Exercise 4, the offsets that are gone",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.gone_offsets,
    drawn=_drawn,
    draws=6,
    hints=[
        "A batch covers all offsets from its base offset to base offset + last offset delta, even if some of its "
        "records are gone.",
        "`explode(sequence(base_offset, base_offset + last_offset_delta))` gives a row for each of them.",
        "`LEFT ANTI JOIN` keeps the rows whose offset no record has.",
    ],
    beliefs=[
        Belief(
            _between_the_survivors,
            "You look only between the first and the last record that is left. The batch may begin before the first "
            "one and end after the last one.",
        ),
        Belief(
            _up_to_the_last_survivor,
            "You let a batch end at its last remaining record. Compaction does not change the last offset delta.",
        ),
        Belief(
            _without_empty_batches,
            "You skip a batch without records. Kafka keeps it because of its producer, and all its offsets are gone.",
        ),
        Belief(_relative, "You give offsets relative to the batch's base offset. The answer wants absolute offsets."),
    ],
    normal=as_rows,
)
