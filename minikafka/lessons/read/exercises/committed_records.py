"""What a read_committed consumer sees, in Spark."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lessons.read import solutions
from minikafka.lessons.read.exercises.stories import TRANSACTIONS, offsets_seen, records_of, workload_of


def _committed_case(name: str, story: str, draw: random.Random | None = None) -> WitnessedCase:
    """`draw` brings the rows of a drawn case into any order."""
    rows = records_of(workload_of(story))
    records = frame(rows, "offset BIGINT, producer BIGINT, transactional BOOLEAN, marker STRING", draw)
    return WitnessedCase(
        name, (records,), workload_of(story, "consume read_committed=true"), offsets_seen, TRANSACTIONS
    )


_FATES = """WITH fates AS (
    SELECT *, first_value(marker) IGNORE NULLS OVER (
        PARTITION BY producer ORDER BY offset ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS fate
    FROM {records})
"""
_STABLE = "offset < (SELECT coalesce(min(offset), 9223372036854775807) FROM fates WHERE transactional AND fate IS NULL)"


def _by_fate(condition: str):
    return lambda records: records.sparkSession.sql(
        f"{_FATES}SELECT offset FROM fates WHERE marker IS NULL AND {condition} ORDER BY offset", records=records
    )


def _ids_for_transactions(records):
    """`committed_offsets` with every producer id taken for a transaction."""
    return solutions.committed_offsets(
        records.selectExpr("offset", "producer", "producer <> -1 AS transactional", "marker")
    )


def _by_last_marker(records):
    rows = records.orderBy("offset").collect()
    last = {row.producer: row.marker for row in rows if row.marker}
    right = as_rows(_by_fate(_STABLE)(records))
    kept = [row for row in rows if row.marker is None and (not row.transactional or last.get(row.producer) == "commit")]
    return [row.offset for row in kept if row.offset in right]


def _drawn(draw: random.Random) -> WitnessedCase:
    """Producers that write with and without transactions; late in the story all transactions end, before others begin."""
    words, is_open = [], set()
    for number in range(28):
        producer, kind, count = draw.choice("789"), draw.choice(":::=+-p"), draw.randint(1, 3)
        if number == 20:
            words += [f"{producer}{draw.choice('+-')}" for producer in sorted(is_open)]
            is_open = set()
        if kind == "p":
            words.append(f"p{count}")
        elif kind in "+-":
            words.append(f"{producer}{kind}")
            is_open.discard(producer)
        else:
            is_open |= {producer} if kind == ":" else set()
            words.append(f"{producer}{':' if producer in is_open else '='}{count}")
    return _committed_case("", " ".join([*words, "hw"]), draw)


read_committed = Exercise(
    "Exercise 4, read_committed",
    lambda: [
        _committed_case("one aborts, one commits, one is open", "p3 7:2 8:2 7- 8+ p2 9:2 p2 hw"),
        _committed_case("committed behind an open transaction", "p1 7:1 8:2 8+ p1 hw"),
        _committed_case("a producer aborts, commits, aborts", "7:2 7- p1 7:2 7+ 7:1 7- p1 hw"),
        _committed_case("an idempotent producer without transactions", "9=2 p1 8:2 8+ 9=1 hw"),
        _committed_case("a plain record within an open transaction", "p1 7:1 p1 7:1 hw"),
    ],
    judged_by_spark,
    solutions.committed_offsets,
    drawn=_drawn,
    draws=6,
    hints=[
        "The first marker of its producer after a record decides whether the record is committed or aborted.",
        (
            "`first_value(marker) IGNORE NULLS OVER (PARTITION BY producer ORDER BY offset ROWS BETWEEN CURRENT ROW AND"
            " UNBOUNDED FOLLOWING)`."
        ),
        "A consumer gets nothing at or above the first record that is still undecided. Its offset is the last stable "
        "offset.",
    ],
    beliefs=[
        Belief(
            _by_fate("(NOT transactional OR fate = 'commit')"),
            "You show records after the begin of an open transaction. A consumer gets only records below the last "
            "stable offset; plain records above it wait, too.",
        ),
        Belief(
            _ids_for_transactions,
            "You treat every producer with an id as transactional. Idempotent producers have ids, too: use the "
            "column `transactional`.",
        ),
        Belief(_by_last_marker, "You decide by a producer's last marker. Each transaction has its own marker."),
        Belief(
            _by_fate(f"transactional AND fate = 'commit' AND {_STABLE}"),
            "You leave out the plain records. A read_committed consumer gets them, too, below the last stable offset.",
        ),
        Belief(
            _by_fate(f"NOT transactional AND {_STABLE}"),
            "You leave out committed transactions. If their producer's next marker is a commit, the consumer gets "
            "the records.",
        ),
        Belief(
            _by_fate(_STABLE),
            "You show aborted records. Below the last stable offset every transaction is decided, but some are "
            "aborted.",
        ),
    ],
    normal=as_rows,
)
