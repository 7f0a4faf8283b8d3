"""How many bytes a batch has, from the sizes of its keys and values alone."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lab.stage.workbench import NOON
from minikafka.lessons.records import solutions
from minikafka.lessons.records.exercises.sent_batches import first_batch
from minikafka.record.format.batch_header import RECORD_BATCH_OVERHEAD
from minikafka.record.format.varint import size_of_varint
from minikafka.witness.log.batch import Batch

_ASKED = (
    ("[3x10]", "[1x0]", "[1xnull]"),
    ("[2x63,64 keys=1]", "[70x1]"),
    ("[3x200,null,8192 ts=now,now-1,now-100000 keys=3]",),
    ("[3x1 ts=now,now-64,now-65]",),
)
_SCHEMA = "batch INT, number INT, timestamp BIGINT, key_size INT, value_size INT"


def _case(words: tuple[str, ...], draw: random.Random | None = None) -> AskedCase:
    """`draw` brings the rows of a drawn case into any order."""
    batches = [Batch.parse(each) for each in words]
    rows = [
        (place, number, timestamp, None if (key := batch.key(number)) is None else len(key), batch.value_sizes[number])
        for place, batch in enumerate(batches)
        for number, timestamp in enumerate(batch.timestamps(NOON))
    ]
    records = frame(rows, _SCHEMA, draw)

    def asked(factory: Any) -> list[tuple[int, int]]:
        found = [first_batch(factory, batch.encode(NOON)) for batch in batches]
        ours = jvm_of(factory) is None
        return [(place, batch.size_in_bytes if ours else batch.sizeInBytes()) for place, batch in enumerate(found)]

    name = "" if draw else ", ".join(words)
    return AskedCase(name, (records,), lambda: as_rows(solutions.sizes_of_batches(records)), asked)


def _sized(*, of=size_of_varint, null=-1, deltas=True, length=True, headers=1, overhead=RECORD_BATCH_OVERHEAD):
    """A wrong answer: one part of the batch is counted in another way."""

    def sizes(records):
        found: dict[int, int] = {}
        base: dict[int, int] = {}
        for row in sorted(records.collect()):
            delta = row.timestamp - base.setdefault(row.batch, row.timestamp)
            body = 1 + headers + (of(delta) + of(row.number) if deltas else 2)
            for size in (row.key_size, row.value_size):
                body += of(null if size is None else size) + (size or 0)
            found[row.batch] = found.get(row.batch, overhead) + body + (of(body) if length else 0)
        return sorted(found.items())

    return sizes


def _drawn(draw: random.Random) -> AskedCase:
    """Sizes and deltas on both sides of where a varint grows by a byte."""
    sizes = ("null", "0", "52", "53", "57", "58", "63", "64", "127", "128", "8184", "8185", "8191", "8192")
    times = ("now", "now", "now", "now+63", "now+64", "now-64", "now-65", "now+8191", "now-8192", "now-8193", "0")
    words = []
    for count in draw.sample((1, 2, 4, 6, 9, 70), 5):
        some, when = draw.choices(sizes, k=min(count, 8)), draw.choices(times, k=min(count, 8))
        keys = draw.choice(("keys=0", "keys=0", "keys=3", "keys=20 data=7"))
        words.append(f"[{count}x{','.join(some)} ts={','.join(when)} {keys}]")
    return _case(tuple(words), draw)


batch_sizes = Exercise(
    "Exercise 3, the bytes of a batch",
    lambda: [_case(words) for words in _ASKED],
    judged_by_spark,
    solutions.sizes_of_batches,
    drawn=_drawn,
    draws=6,
    hints=[
        "The header has 61 bytes. A record has 1 byte of attributes, 1 byte for the number of headers (0 here), four "
        "varints, its key and its value. Before all that comes the varint of its size.",
        "A varint has `ceil(length(bin(zigzag)) / 7)` bytes, where zigzag is 2n for n ≥ 0 and -2n - 1 below.",
        "The timestamp delta counts from `first(timestamp) OVER (PARTITION BY batch ORDER BY number)`.",
    ],
    beliefs=[
        Belief(
            _sized(of=lambda number: 4),
            "You count four bytes for each size and delta, as magic 0 and 1 do for sizes. Here all of them are "
            "varints.",
        ),
        Belief(
            _sized(of=lambda number: max(1, (abs(number).bit_length() + 6) // 7)),
            "You forget zigzag, which needs one more bit. 64 has seven bits; with zigzag it has eight, so it needs "
            "two bytes.",
        ),
        Belief(_sized(length=False), "You leave out the size before each record."),
        Belief(_sized(headers=0), "You leave out the number of headers. It takes one byte even if it is 0."),
        Belief(
            _sized(deltas=False),
            "You count one byte for each delta. A record far from the first one has a longer delta.",
        ),
        Belief(_sized(overhead=49), "You count the header without its first 12 bytes: base offset and length."),
    ],
    normal=as_rows,
)
