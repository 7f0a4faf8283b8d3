"""Which followers the leader takes out of the in-sync replicas, in Spark."""

import random
from dataclasses import dataclass
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.replication import solutions
from minikafka.witness.log.workload import START_MS

_SCHEMA = "replica INT, t BIGINT, offset BIGINT, end BIGINT"
_MAX_LAG = 30_000


@dataclass(frozen=True)
class _Trace:
    """Fetches of followers that were in the ISR when the leader began, at `START_MS`.

    `fetches`: (replica, ms after the beginning, offset asked for, the leader's end at that moment), by time.
    `leader_end`: the leader's end at `now`, ms after the beginning.
    """

    name: str
    fetches: tuple[tuple[int, int, int, int], ...]
    leader_end: int
    now: int


def _case(trace: _Trace, draw: random.Random | None = None) -> AskedCase:
    """`draw` brings the rows of a drawn case into any order."""
    rows = [(replica, START_MS + ms, offset, end) for replica, ms, offset, end in trace.fetches]
    fetches, now = frame(rows, _SCHEMA, draw), START_MS + trace.now

    def expected() -> list[int]:
        return as_rows(
            fetches.sparkSession.sql(
                """WITH numbered AS (
                       SELECT *, row_number() OVER (PARTITION BY replica ORDER BY t) AS number,
                              row_number() OVER (PARTITION BY replica ORDER BY t DESC) AS from_the_end
                       FROM {fetches}),
                   vouched AS (
                       SELECT seen.replica, max(seen.t) AS caught_up
                       FROM numbered seen JOIN numbered vouching
                            ON vouching.replica = seen.replica AND vouching.number - seen.number IN (0, 1)
                               AND vouching.offset >= seen.end
                       GROUP BY seen.replica)
                   SELECT last.replica FROM numbered last LEFT JOIN vouched USING (replica)
                   WHERE last.from_the_end = 1 AND last.offset <> {leader_end}
                     AND greatest({began}, coalesce(caught_up, 0)) < {now} - {max_lag}
                   ORDER BY last.replica""",
                fetches=fetches,
                began=START_MS,
                leader_end=trace.leader_end,
                now=now,
                max_lag=_MAX_LAG,
            )
        )

    def asked(factory: Any) -> list[int]:
        kafka = jvm_of(factory)
        replicas = sorted({replica for replica, *_ in rows})
        caught_up = _caught_up if kafka is None else lambda *given: _kafkas_caught_up(kafka, *given)
        return [replica for replica in replicas if not caught_up(replica, rows, trace.leader_end, now)]

    arguments = (fetches, START_MS, trace.leader_end, now, _MAX_LAG)
    told = ", ".join(f"{replica} at {ms}: {offset}/{end}" for replica, ms, offset, end in trace.fetches)
    name = (
        trace.name
        and f"{trace.name} (fetches, replica at ms: offset/end: {told}; at {trace.now} the leader ends at {trace.leader_end})"
    )
    return AskedCase(name, arguments, expected, asked)


def _caught_up(replica: int, rows: list[tuple[int, int, int, int]], leader_end: int, now: int) -> bool:
    from minikafka.cluster.replica import Replica
    from minikafka.common.topic_partition import TopicPartition
    from minikafka.log.log_offset_metadata import LogOffsetMetadata
    from minikafka.metadata.metadata_cache import MetadataCache

    follower = Replica(replica, TopicPartition("orders", 0), MetadataCache(0))
    follower.reset_replica_state(START_MS, 0, is_new_leader=True, is_follower_in_sync=True)
    for _, t, offset, end in (row for row in rows if row[0] == replica):
        follower.update_fetch_state_or_throw(LogOffsetMetadata(offset), 0, t, end, -1)
    return follower.state_snapshot.is_caught_up(leader_end, now, _MAX_LAG)


def _kafkas_caught_up(
    kafka: Any, replica: int, rows: list[tuple[int, int, int, int]], leader_end: int, now: int
) -> bool:
    """Kafka: `Replica.updateFetchStateOrThrow`, `ReplicaState.isCaughtUp`."""
    partition = kafka.find_class("org.apache.kafka.common.TopicPartition")("orders", 0)
    cache = kafka.find_class("org.apache.kafka.metadata.KRaftMetadataCache")(0, None)
    follower = kafka.find_class("org.apache.kafka.server.replica.Replica")(replica, partition, cache)
    follower.resetReplicaState(START_MS, 0, True, True)
    for _, t, offset, end in (row for row in rows if row[0] == replica):
        follower.updateFetchStateOrThrow(kafka.log_class("LogOffsetMetadata")(offset), 0, t, end, -1)
    return follower.stateSnapshot().isCaughtUp(leader_end, now, _MAX_LAG)


def _lagging(
    *,
    vouches=lambda offset, t, end, before: (
        t if offset >= end else before[1] if before and offset >= before[2] else None
    ),
    at_the_end=lambda offset, leader_end: offset == leader_end,
    too_long=lambda lag, max_lag: lag > max_lag,
    first=lambda began: began,
):
    """A wrong answer, where not told otherwise the right one. `before`: offset, time, end of the fetch before."""

    def lagging(fetches, began, leader_end, now, max_lag):
        caught_up, last = {}, {}
        for row in fetches.orderBy("t").collect():
            found = vouches(row.offset, row.t, row.end, last.get(row.replica))
            caught_up[row.replica] = max(caught_up.get(row.replica, first(began)), found or 0)
            last[row.replica] = row.offset, row.t, row.end
        return [
            replica
            for replica, (offset, _, _) in sorted(last.items())
            if not at_the_end(offset, leader_end) and too_long(now - caught_up[replica], max_lag)
        ]

    return lagging


def _a_later_fetch_vouches(fetches, began, leader_end, now, max_lag):
    """A wrong answer: any later fetch shows that the follower was caught up at an earlier one."""
    rows = fetches.orderBy("t").collect()
    found = []
    for replica in sorted({row.replica for row in rows}):
        own = [row for row in rows if row.replica == replica]
        times = [seen.t for seen in own for vouching in own if vouching.t >= seen.t and vouching.offset >= seen.end]
        if own[-1].offset != leader_end and now - max([began, *times]) > max_lag:
            found.append(replica)
    return found


def _drawn(draw: random.Random) -> AskedCase:
    """Twelve followers, and times at or beside the last moment at which one must have been caught up."""
    now = draw.choice((45_000, 60_000, 75_000))
    times = sorted({0, 1, now - _MAX_LAG - 1, now - _MAX_LAG, now - _MAX_LAG + 1, now, *draw.sample(range(now), 8)})
    end, ends, fetches = 0, {}, []
    for ms in times:
        end += draw.choice((0, 0, 1, 5))
        ends[ms] = end
    leader_end = end + draw.choice((0, 3))
    for replica in (1, 2, 3, 7, 8, 9, 10, 11, 20, 21, 90, 100):
        offset, before = 0, 0
        for ms in sorted(draw.sample(times, draw.randint(1, 5))):
            offset = max(offset, draw.choice((0, before - 1, before, before, before, ends[ms])))
            before = ends[ms]
            fetches.append((replica, ms, offset, before))
    return _case(_Trace("", tuple(sorted(fetches, key=lambda fetch: fetch[1])), leader_end, now), draw)


out_of_sync = Exercise(
    "Exercise 1, who lags",
    lambda: [
        _case(_Trace("one keeps up, one has stopped", ((1, 0, 0, 5), (2, 0, 0, 5), (1, 500, 5, 8), (2, 500, 5, 8),
                     (1, 31_000, 8, 12)), 12, 32_000)),
        _case(_Trace("silent, but at the end", ((1, 0, 0, 0), (1, 100, 5, 5)), 5, 90_000)),
        _case(_Trace("to the millisecond", ((1, 0, 0, 3), (2, 1, 3, 3)), 4, 30_001)),
        _case(_Trace("never at the end, and never late", ((1, 0, 0, 5), (1, 15_000, 5, 10), (1, 30_000, 10, 15),
                     (1, 45_000, 15, 20)), 25, 59_000)),
        _case(_Trace("the leader is new", ((1, 0, 0, 5), (1, 10_000, 3, 9)), 12, 29_000)),
        _case(_Trace("falls back more and more", ((1, 0, 0, 4), (1, 25_000, 3, 10), (1, 30_000, 8, 40),
                     (1, 40_000, 12, 60)), 95, 50_000)),
        _case(_Trace("fetches all the time, and too little", ((1, 0, 0, 10), (1, 10_000, 4, 30), (1, 20_000, 9, 50),
                     (1, 31_000, 14, 70)), 70, 31_001)),
    ],
    judged_by_spark,
    solutions.lagging,
    drawn=_drawn,
    draws=6,
    hints=[
        "For each fetch: what does it prove? If its offset is at or above `end`, the follower was caught up at `t`. "
        "If it is only at or above the `end` of the fetch before (`lag(end) OVER …`), the follower was caught up at "
        "the `t` of that fetch.",
        "The last moment at which a replica was caught up counts, but at least the moment at which the leader began: "
        "greatest(began, max(…)).",
        "A replica must leave if that moment was more than `max_lag` before `now`, and the offset of its last fetch "
        "is not `leader_end`: GROUP BY replica HAVING max_by(offset, t) <> {leader_end} AND …",
    ],
    beliefs=[
        Belief(
            _lagging(vouches=lambda offset, t, end, before: t),
            "You treat every fetch as a proof. A follower that fetches often but copies too little is behind all the "
            "same.",
        ),
        Belief(
            _lagging(vouches=lambda offset, t, end, before: t if offset >= end else None),
            "You count only a fetch that reaches the leader's end at its own moment. Under steady writes no fetch "
            "does. A fetch that reaches the end of the fetch before shows that the follower was caught up then.",
        ),
        Belief(
            _lagging(
                vouches=lambda offset, t, end, before: t if offset >= end or before and offset >= before[2] else None
            ),
            "Your moment is too late. If a fetch reaches the end of the fetch before, the follower was caught up at "
            "the time of the fetch before.",
        ),
        Belief(
            _lagging(at_the_end=lambda offset, leader_end: False),
            "You remove a follower whose log ends where the leader's does. It has every record, even if it has not "
            "fetched for a long time.",
        ),
        Belief(
            _lagging(too_long=lambda lag, max_lag: lag >= max_lag),
            "You remove a follower after exactly `max_lag`. It must be more.",
        ),
        Belief(
            _lagging(first=lambda began: 0),
            "You forget `began`: a new leader treats every member of the ISR as caught up at that moment.",
        ),
        Belief(
            _a_later_fetch_vouches,
            "You let any later fetch prove something about an earlier moment. The leader remembers its end of one "
            "fetch only, the one before.",
        ),
    ],
    normal=as_rows,
)  # fmt: skip
