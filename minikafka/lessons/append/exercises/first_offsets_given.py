"""The offsets that a leader gives, in Spark."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lessons.append import solutions
from minikafka.witness.log.workload import START_MS, Workload
from minikafka.witness.observation import Observations


def _accepted(name: str, text: str, limit: int, draw: random.Random | None = None) -> WitnessedCase:
    """`draw` brings the rows of a drawn case into any order."""
    workload = Workload.parse(f"config max.message.bytes={limit}\n{text}")
    rows = []
    for t, append in workload.appends:
        first = append.batches[0]
        base = first.offset.distance if first.offset else 0
        size = max(batch.size_in_bytes(START_MS) for batch in append.batches)
        count = sum(batch.count for batch in append.batches)
        rows.append((t, len(append.batches), base, count, size, first.damage != "crc"))

    def answer(observations: Observations) -> list[tuple[int, int | None]]:
        ends = [0, *observations.column("log_end_offset")]
        return [(t, ends[t] if ends[t + 1] > ends[t] else None) for t, _ in workload.appends]

    table = frame(
        rows, "t BIGINT, batches BIGINT, base_offset BIGINT, records BIGINT, bytes BIGINT, crc_ok BOOLEAN", draw
    )
    return WitnessedCase(name, (table, limit), workload, answer, ("log_end_offset",))


def _records_accepted(row, accepted: bool) -> int:
    return row.records if accepted else 0


def _offsets_given(appends, accepts, step=_records_accepted) -> list[tuple[int, int | None]]:
    """First offsets if `accepts(row)` decides, and the log end moves by `step(row, accepted)`."""
    end, given = 0, []
    for row in appends.orderBy("t").collect():
        accepted = accepts(row)
        given.append((row.t, end if accepted else None))
        end += step(row, accepted)
    return given


def _sound(row, limit: int) -> bool:
    return row.batches == 1 and row.base_offset == 0 and row.crc_ok and row.bytes <= limit


def _by_the_rules(appends, limit: int) -> list[tuple[int, int | None]]:
    return _offsets_given(appends, lambda row: _sound(row, limit))


def _drawn(draw: random.Random) -> WitnessedCase:
    sound = ("[2x10]", "[3x5]", "[1x10]", "[1x32]")
    refused = ("[1x33]", "[4x5]", "[2x5 damage=crc]", "[1x5 offset=1]", "[2x5 offset=40]")
    several = ("[1x5] [1x5]", "[1x5] [2x5] [1x5]", "[1x5 offset=2] [1x5]", "[1x5] [4x5]")
    appends = [draw.choice(draw.choice((sound, refused, several))) for _ in range(30)]
    text = "\n".join(f"append_as_leader {append}" for append in appends)
    return _accepted("", text, 100, draw)


first_offsets = Exercise(
    "Exercise 1, the offsets that a leader gives",
    lambda: [
        _accepted("sound batches", "append_as_leader [3x10]\nappend_as_leader [5x10]\nappend_as_leader [2x10]", 1000),
        _accepted(
            "a flipped bit, a base offset, a batch of exactly max.message.bytes",
            "append_as_leader [2x10]\nappend_as_leader [2x10 damage=crc]\nappend_as_leader [1x32]\n"
            "append_as_leader [1x33]\nappend_as_leader [2x5 offset=3]\nappend_as_leader [2x5]",
            100,
        ),
        _accepted(
            "two batches in one append",
            "append_as_leader [4x5]\nappend_as_leader [1x5] [1x5]\nappend_as_leader [4x5]",
            1000,
        ),
    ],
    judged_by_spark,
    solutions.offsets_given,
    drawn=_drawn,
    draws=6,
    hints=[
        "First a column that says whether the append is accepted; then a running sum over the accepted ones.",
        "Accepted: one batch, base offset 0, CRC right, bytes not above the limit (equal is fine).",
        "First offset = records accepted *before* this row: ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING.",
    ],
    beliefs=[
        Belief(
            lambda appends, limit: _offsets_given(appends, lambda row: _sound(row, limit), lambda row, _: row.records),
            "Refused batches use up offsets in your log. LEO moves only when records are written, so a refused "
            "append leaves no gap.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(appends, lambda row: _sound(row, limit - 1)),
            "You refuse a batch of exactly max.message.bytes. The limit is inclusive.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends, lambda row: _sound(row, limit), lambda row, accepted: 1 if accepted else 0
            ),
            "You give an offset to each batch. Every record has its own offset: LEO moves by the number of records.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends,
                lambda row: row.base_offset == 0 and row.crc_ok and row.bytes <= limit,
            ),
            "You accept two batches from a producer in one append. Since magic 2 the leader's validator requires "
            "exactly one.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends,
                lambda row: row.batches == 1 and row.crc_ok and row.bytes <= limit,
            ),
            "You accept a client's batch that begins at an offset other than 0. Only the leader assigns offsets, so "
            "the batch is refused.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends,
                lambda row: row.batches == 1 and row.base_offset == 0 and row.bytes <= limit,
            ),
            "You accept a batch whose CRC is wrong. It is refused with CorruptRecordException.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends,
                lambda row: row.batches == 1 and row.base_offset == 0 and row.crc_ok,
            ),
            "You accept a batch of any size. Above max.message.bytes it is refused.",
        ),
        Belief(
            lambda appends, limit: [(t, first or None) for t, first in _by_the_rules(appends, limit)],
            "You give null to the first batch: a sum over no rows is null in SQL. The log begins at 0 (coalesce).",
        ),
        Belief(
            lambda appends, limit: [row for row in _by_the_rules(appends, limit) if row[1] is not None],
            "You leave refused appends out. Each append has a row; for a refused one the first offset is null.",
        ),
        Belief(
            lambda appends, limit: [
                (t, None if first is None else first + row.records)
                for (t, first), row in zip(_by_the_rules(appends, limit), appends.orderBy("t").collect(), strict=True)
            ],
            "You return LEO after the append. The first offset is LEO before it: sum only the records of the earlier "
            "rows.",
        ),
    ],
    normal=as_rows,
)
