"""From which offset on to read for a moment, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.drawn_logs import after_lines, consumed, read_from
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.log_directory import solutions
from minikafka.witness.log.workload import START_MS


def _case(name: str, story: str, second: int, draw: random.Random | None = None) -> AskedCase:
    """`story`: the seconds of the records, batches by semicolons, `|` for a roll, `!` for a marker, which has an offset
    and no record. `draw` brings the rows of a drawn case into any order.
    """
    lines = []
    for batch in story.replace("|", "; | ;").replace("!", "; ! ;").split(";"):
        seconds = batch.replace(",", " ").split()
        if seconds == ["|"]:
            lines.append("roll")
        elif seconds == ["!"]:
            lines.append("append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]")
        elif seconds:
            times = ",".join(f"now+{int(each) * 1000}" for each in seconds)
            lines.append(f"append_as_leader [{len(seconds)}x10 ts={times}]")
    lines.append("update_high_watermark leo")
    records = frame(read_from(lines, "offset, timestamp"), "offset BIGINT, timestamp BIGINT", draw)
    moment = START_MS + second * 1000

    def expected() -> list[tuple[int, int]]:
        return as_rows(
            records.sparkSession.sql(
                """WITH begun AS (
                       SELECT *, max(timestamp >= {moment}) OVER (ORDER BY offset) AS begins FROM {records})
                   SELECT min(offset) AS offset, count_if(timestamp < {moment}) AS older FROM begun
                   WHERE begins HAVING count(*) > 0""",
                records=records,
                moment=moment,
            )
        )

    def asked(factory: Any) -> list[tuple[int, int]]:
        runner = after_lines(lines, factory)
        found = runner.log.fetch_offset_by_timestamp(moment)
        runner.let_go()
        found = getattr(found, "timestamp_and_offset_opt", found)
        if found is None:
            return []
        older = sum(offset >= found.offset and t < moment for offset, t, *_ in consumed(lines, factory))
        return [(found.offset, older)]

    return AskedCase(f"{name} (seconds {story}; from second {second} on)", (records, moment), expected, asked)


def _drawn(draw: random.Random) -> AskedCase:
    """Times that mostly rise; the moment is one of them, or between two."""
    seconds = [place // 2 * 2 + draw.choice((0, 0, 0, 8, -8, -14)) for place in range(14, 54)]
    story = "".join(f"{second}{draw.choice((',', ',', ',', ';', ' | ', ' ! '))}" for second in seconds)
    moment = draw.choice(seconds) + draw.choice((0, 0, 1))
    return _case("", story, moment, draw)


def _from(
    *,
    begin=lambda rows, moment: next((row.offset for row in rows if row.timestamp >= moment), None),
    older=lambda rows, first, moment: sum(row.offset >= first and row.timestamp < moment for row in rows),
    nothing=(),
):
    """A wrong answer, where not told otherwise the right one."""

    def reading_from(records, moment):
        rows = records.orderBy("offset").collect()
        first = begin(rows, moment)
        return list(nothing) if first is None else [(first, older(rows, first, moment))]

    return reading_from


moment = Exercise(
    "Exercise 2, from a moment on",
    lambda: [
        _case("in order", "0,10,20; 30,40", 20),
        _case("between two records", "0,10,20 | 30,40", 25),
        _case("late ones", "0,30; 5,10,40 | 20,50", 25),
        _case("late ones before", "10; 0,20 | 30,40", 20),
        _case("a late one that is exactly it", "0,10; 40 | 20,50", 20),
        _case("nothing so late", "0,10; 20", 30),
        _case("offsets without a record", "0 ! 30; 5 | ! 40", 20),
        _case("the last one", "0,10; 20", 15),
    ],
    judged_by_spark,
    solutions.reading_from,
    drawn=_drawn,
    draws=6,
    hints=[
        "Read from the first offset whose record is not older than the moment. No record before it has such a "
        "timestamp, so nothing is missed.",
        "SELECT min(offset) … WHERE timestamp >= {moment} is that offset. Older records may come after it.",
        "Join it with the records at or above it, and count those with timestamp < {moment}. If nothing is found, a "
        "GROUP BY (or HAVING) leaves no row.",
    ],
    beliefs=[
        Belief(
            _from(begin=lambda rows, moment: max((r.offset + 1 for r in rows if r.timestamp < moment), default=0)),
            "You begin after the last record that is older. An older record may come late, and then you miss the "
            "records before it.",
        ),
        Belief(
            _from(
                begin=lambda rows, moment: min(
                    ((r.timestamp, r.offset) for r in rows if r.timestamp >= moment), default=(0, None)
                )[1]
            ),
            "You begin at the record with the least timestamp that fits. Another record with a greater timestamp may "
            "have a lower offset.",
        ),
        Belief(
            _from(begin=lambda rows, moment: next((row.offset for row in rows if row.timestamp > moment), None)),
            "You leave out a record of exactly that moment.",
        ),
        Belief(
            _from(older=lambda rows, first, moment: sum(row.timestamp < moment for row in rows)),
            "You count every older record of the partition. Count only those at or above the offset.",
        ),
        Belief(
            _from(older=lambda rows, first, moment: 0),
            "You always return 0 for older. After the offset there may be older records, and the reader gets them as "
            "well.",
        ),
        Belief(
            _from(nothing=[(None, 0)]),
            "You return a row if no record fits: an aggregate without GROUP BY always has one row.",
        ),
    ],
    normal=as_rows,
)
