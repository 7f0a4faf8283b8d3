"""Which records stay, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.tombstones import solutions
from minikafka.witness.log.workload import START_MS, Workload

_SCHEMA = "offset BIGINT, key STRING, value STRING, aborted BOOLEAN, horizon BIGINT"
_RETENTION_MS = 1000


def _case(
    name: str,
    rounds: list[str],
    rows: str,
    *,
    end: int,
    now_ms: int = 0,
    keys: int = 1000,
    draw: random.Random | None = None,
) -> AskedCase:
    """Each of `rounds` is written and cleaned; before the last cleaning the log holds `rows`.

    In both a word is a record: `a` sets key a, `-a` deletes it, `a!` is in a transaction that is aborted after it. In
    `rows` a number before a word says the offset, `-a@` has a horizon. `now_ms`: when the last cleaning runs, after the
    first; `keys`: how many fit the offset map; `end`: where the last cleaning ended. `draw` brings the rows of a drawn
    case into any order.
    """
    records = frame([_row(word) for word in rows.split()], _SCHEMA, draw)

    def expected() -> list[int]:
        return as_rows(
            records.sparkSession.sql(
                """SELECT r.offset FROM {records} r
                   LEFT JOIN {records} newer
                        ON newer.key = r.key AND newer.offset > r.offset AND newer.offset < {end} AND NOT newer.aborted
                   GROUP BY r.offset, r.key, r.value, r.aborted, r.horizon
                   HAVING NOT r.aborted
                       AND (r.offset >= {end}
                            OR count(newer.offset) = 0 AND r.key IS NOT NULL
                               AND NOT (r.value IS NULL AND coalesce(r.horizon <= {now}, false)))
                   ORDER BY r.offset""",
                records=records,
                end=end,
                now=START_MS + now_ms,
            )
        )

    def asked(factory: Any) -> list[int]:
        from minikafka.lab.stage.workbench import scratch
        from minikafka.witness import run

        workload = _workload(rounds, now_ms, keys)
        told = run(workload, factory, scratch())
        return offsets_in(told.value(len(workload) - 1, "result"))

    return AskedCase(name and f"{name}; cleaned up to {end}", (records, end, START_MS + now_ms), expected, asked)


def _row(word: str) -> tuple[int, str, str | None, bool, int | None]:
    offset, what = word.split(":")
    deleted = what.startswith("-")
    horizon = START_MS + _RETENTION_MS if what.endswith("@") else None
    return int(offset), what.strip("-!@"), None if deleted else "1", what.endswith("!"), horizon


def _workload(rounds: list[str], now_ms: int, keys: int) -> Workload:
    memory = 24 * -(-keys * 10 // 9)  # 24 bytes for each key, of which 9 in 10 are used
    lines = [
        f"config cleanup.policy=compact delete.retention.ms={_RETENTION_MS} min.cleanable.dirty.ratio=0"
        f" log.cleaner.dedupe.buffer.size={memory}"
    ]
    for number, words in enumerate(rounds):
        for word in words.split():
            size = "null" if word.startswith("-") else "10"
            # A producer of its own for each transaction: the same sequence would be a retry.
            producer = f"pid={len(lines)} epoch=0"
            txn = f" {producer} seq=0 txn" if word.endswith("!") else ""
            lines.append(f"append_as_leader [1x{size} keys=26 data={ord(word.strip('-!')) - ord('a')}{txn}]")
            if txn:
                lines.append(f"append_as_leader origin=coordinator transaction_version=0 [abort {producer}]")
        lines += [f"tick {now_ms}"] if number and number == len(rounds) - 1 else []
        lines += ["roll", "update_high_watermark leo", "clean"]
    return Workload.parse("\n".join([*lines, "consume 0"]))


def offsets_in(told: str) -> list[int]:
    """`0..2 5` as the offsets 0, 1, 2 and 5."""
    found: list[int] = []
    for word in told.split():
        first, _, last = word.partition("..")
        found += range(int(first), int(last or first) + 1)
    return found


def _kept(
    *,
    candidates=lambda row, end: row.offset < end and not row.aborted,
    above=lambda row, end: row.offset >= end,
    stands=lambda row, now: row.horizon is None or now < row.horizon,
    aborted_stay=lambda row, end: False,
):
    """A wrong answer, where not told otherwise the right one."""

    def surviving(records, end, now):
        rows = records.orderBy("offset").collect()
        newest = {row.key: row.offset for row in rows if candidates(row, end)}
        return [
            row.offset
            for row in rows
            if (aborted_stay(row, end) or not row.aborted)
            and (above(row, end) or newest.get(row.key) == row.offset and (row.value is not None or stands(row, now)))
        ]

    return surviving


def _drawn(draw: random.Random) -> AskedCase:
    """Two rounds: the first leaves the newest record of each of its keys; in the second the map is often full."""
    rounds = [
        [draw.choice(("", "", "-")) + draw.choice(letters) + draw.choice(("", "", "!")) for _ in range(count)]
        for letters, count in (("abcde", 10), ("abcdefghij", 16))
    ]
    keys, offset, end, left, rows, mapped = 6, 0, None, {}, [], set()
    for word in rounds[0]:
        if not word.endswith("!"):
            left[word.strip("-")] = f"{offset}:{word}{'@' * word.startswith('-')}"
        offset += 2 if word.endswith("!") else 1
    for word in rounds[1]:
        if not word.endswith("!") and len(mapped) == keys:
            end = offset if end is None else end
        mapped |= {word.strip("-")} if not word.endswith("!") else set()
        rows.append(f"{offset}:{word}")
        offset += 2 if word.endswith("!") else 1
    texts, moment = [" ".join(words) for words in rounds], draw.choice((999, 1000, 1000, 5000))
    end = offset if end is None else end
    return _case("", texts, " ".join([*left.values(), *rows]), end=end, now_ms=moment, keys=keys, draw=draw)


survivors = Exercise(
    "Exercise 1, who stays",
    lambda: [
        _case("five rows", ["a b a c b"], "0:a 1:b 2:a 3:c 4:b", end=5),
        _case("deletions that nobody has seen before", ["a b -a c -b b"], "0:a 1:b 2:-a 3:c 4:-b 5:b", end=6),
        _case("before the horizon", ["a b -a", "c d"], "1:b 2:-a@ 3:c 4:d", end=5, now_ms=999),
        _case("at the horizon", ["a b -a", "c d -b"], "1:b 2:-a@ 3:c 4:d 5:-b", end=6, now_ms=1000),
        _case("after the horizon", ["a b -a", "b -c"], "1:b 2:-a@ 3:b 4:-c", end=5, now_ms=5000),
        _case("an aborted transaction", ["a b a! c b"], "0:a 1:b 2:a! 4:c 5:b", end=6),
        _case("a full map", ["a a b c d b a"], "0:a 1:a 2:b 3:c 4:d 5:b 6:a", end=4, keys=3),
        _case("aborted above a full map", ["a b c d e! a"], "0:a 1:b 2:c 3:d 4:e! 6:a", end=3, keys=3),
        _case("a full map, and one of its keys at its end", ["a b c a d"], "0:a 1:b 2:c 3:a 4:d", end=3, keys=3),
    ],
    judged_by_spark,
    solutions.surviving,
    drawn=_drawn,
    draws=6,
    hints=[
        "Aborted records are removed. Of the others, a record at or above `end` stays, because the map was not built "
        "from it. A record below `end` must be the newest of its key.",
        "Newest among the records below `end` whose transaction was not aborted: use a window over each key, or a "
        "join.",
        "If the newest record is a tombstone (value IS NULL), it stays only if horizon IS NULL OR {now} < horizon.",
    ],
    beliefs=[
        Belief(
            _kept(candidates=lambda row, end: not row.aborted),
            "You look for the newest record above `end` as well. The map ends there, so the cleaner does not know "
            "those records.",
        ),
        Belief(
            _kept(candidates=lambda row, end: row.offset < end, aborted_stay=lambda row, end: True),
            "You treat a record of an aborted transaction as the newest. An aborted record never counts: it is "
            "removed, and the older record stays.",
        ),
        Belief(
            _kept(candidates=lambda row, end: row.offset < end),
            "You remove one record too many. If the newest record of a key was aborted, the one before it is the "
            "newest, and stays.",
        ),
        Belief(
            _kept(stands=lambda row, now: False),
            "You remove every tombstone. A tombstone stays until its horizon, for readers that still have the old "
            "value.",
        ),
        Belief(
            _kept(stands=lambda row, now: True),
            "You keep tombstones for ever. From its horizon on, a tombstone is removed.",
        ),
        Belief(
            _kept(stands=lambda row, now: row.horizon is None or now <= row.horizon),
            "You keep a tombstone at its horizon. It stays only while now < horizon.",
        ),
        Belief(
            _kept(above=lambda row, end: False),
            "You remove records at or above `end`, or compare them with records below. The map was not built from "
            "them: they stay.",
        ),
        Belief(
            _kept(aborted_stay=lambda row, end: row.offset >= end),
            "You keep aborted records above `end`. The map does not matter for them: they are removed when their "
            "segment is rewritten.",
        ),
    ],
    normal=as_rows,
)
