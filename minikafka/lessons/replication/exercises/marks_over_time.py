"""The high watermark from moment to moment, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.replication import solutions
from minikafka.witness.log.workload import START_MS
from minikafka.witness.replicas.workload import ReplicaWorkload

_STEP_MS = 100
_SCHEMA = "t INT, replica INT, end BIGINT, in_isr BOOLEAN"
_EXPECTED = """
    WITH known AS (
        SELECT moment.t, told.replica, max_by(told.end, told.t) FILTER (WHERE told.end IS NOT NULL) AS end,
               max_by(told.in_isr, told.t) FILTER (WHERE told.in_isr IS NOT NULL) AS in_isr
        FROM (SELECT DISTINCT t FROM {events}) moment JOIN {events} told ON told.t <= moment.t
        GROUP BY moment.t, told.replica),
    allowed AS (SELECT t, min(end) AS end FROM known WHERE in_isr GROUP BY t HAVING count(*) >= {min_isr})
    SELECT moment.t, greatest(0, coalesce(max(allowed.end), 0)) AS hw
    FROM (SELECT DISTINCT t FROM {events}) moment LEFT JOIN allowed ON allowed.t <= moment.t
    GROUP BY moment.t ORDER BY moment.t
"""


def _case(
    name: str, story: str, *, min_isr: int = 1, followers: int = 2, draw: random.Random | None = None
) -> AskedCase:
    """`story`: steps by commas, each a moment: `+2` the leader appends two records, `1:3` follower 1 fetches from offset
    3, `isr 01` the ISR becomes these brokers. Moment 0 is the beginning: all are in the ISR, nobody has fetched.
    `draw` brings the rows of a drawn case into any order.
    """
    rows = _events(story, followers)
    events = frame(rows, _SCHEMA, draw)

    def expected() -> list[tuple[int, int]]:
        return as_rows(events.sparkSession.sql(_EXPECTED, events=events, min_isr=min_isr))

    def asked(factory: Any) -> list[tuple[int, int]]:
        from minikafka.lab.stage.workbench import scratch
        from minikafka.witness.replicas.run import ReplicaRunner

        directory, workloads, kafka = scratch("brokers"), _workloads(story, min_isr, followers), jvm_of(factory)
        if kafka is None:
            from minikafka.witness.replicas.minikafka_cluster import MinikafkaCluster

            cluster = MinikafkaCluster(directory, START_MS)
        else:
            from minikafka.witness.kafka.kafka_cluster import KafkaCluster

            cluster = KafkaCluster(kafka, directory, START_MS)
        runner, marks = ReplicaRunner(cluster, directory, workloads[0]), []
        for t, workload in enumerate(workloads):
            observed = [runner.apply(operation) for operation in workload]
            marks.append((t, observed[-1].states[0]["partitions"]["t-0"]["log"][1]))
        for broker in range(followers + 1):
            cluster.crash(broker)
        return marks

    told = name and f"{name} (from t 1 on: {_in_words(story)}; at least {min_isr} in the ISR)"
    return AskedCase(told, (events, min_isr), expected, asked)


def _in_words(story: str) -> str:
    """What a message says of a story: whose end is known to be where, moment by moment."""
    said = []
    for step in story.split(", "):
        if step.startswith("+"):
            said.append(f"the leader adds {int(step)}")
        elif step.startswith("isr "):
            said.append(f"ISR {step.removeprefix('isr ')}")
        else:
            follower, offset = step.split(":")
            said.append(f"{follower} has {offset}")
    return ", ".join(said)


def _workloads(story: str, min_isr: int, followers: int) -> list[ReplicaWorkload]:
    """What leads to each moment. The leader waits for nobody outside of the ISR: each has been behind for longer than
    it may, before the next moment.
    """
    brokers = range(followers + 1)
    begin = [f"broker replica.lag.time.max.ms={_STEP_MS // 10}", *(f"start {broker}" for broker in brokers)]
    begin += [f"topic t {','.join(map(str, brokers))} min.insync.replicas={min_isr}", "publish 0"]
    found = [begin]
    for step in story.split(", "):
        if step.startswith("+"):
            lines = ["produce 0 acks=1 t-0 [1x10]"] * int(step)
        elif step.startswith("isr "):
            lines = [f"change t-0 isr={','.join(step.removeprefix('isr '))}", "publish 0"]
        else:
            follower, offset = map(int, step.split(":"))
            epoch = 10 * (follower + 1) + 1  # as the scripted controller gives them
            lines = [f"fetch 0 replica={follower} replica_epoch={epoch} t-0@{offset}:epoch=0:start=0"]
        found.append([f"sleep {_STEP_MS}", *lines])
    return [ReplicaWorkload.parse("\n".join(lines)) for lines in found]


def _events(story: str, followers: int) -> list[tuple[int, int, int | None, bool | None]]:
    """One row for each replica that a moment tells something of."""
    rows: list[tuple[int, int, int | None, bool | None]] = [(0, 0, 0, True)]
    rows += [(0, follower, -1, True) for follower in range(1, followers + 1)]
    end, isr = 0, set(range(followers + 1))
    for t, step in enumerate(story.split(", "), 1):
        if step.startswith("+"):
            end += int(step)
            rows.append((t, 0, end, None))
        elif step.startswith("isr "):
            members = set(map(int, step.removeprefix("isr ")))
            rows += [(t, replica, None, replica in members) for replica in sorted(isr ^ members)]
            isr = members
        else:
            follower, offset = map(int, step.split(":"))
            rows.append((t, follower, offset, None))
    return rows


def _marks(
    *,
    choose=min,
    members=lambda known: [replica for replica, (_, in_isr) in known.items() if in_isr],
    unknown=lambda ends: ends,
    enough=lambda members, min_isr: len(members) >= min_isr,
    rises=max,
    below=lambda before: before,
):
    """A wrong answer, where not told otherwise the right one."""

    def high_watermarks(events, min_isr):
        known: dict[int, tuple[int, bool]] = {}
        marks: dict[int, int] = {}
        hw, rows = 0, events.orderBy("t", "replica").collect()
        for t in sorted({row.t for row in rows}):
            for row in (row for row in rows if row.t == t):
                end, in_isr = known.get(row.replica, (None, None))
                known[row.replica] = (
                    end if row.end is None else row.end,
                    in_isr if row.in_isr is None else row.in_isr,
                )
            counted = members(known)
            ends = unknown([known[replica][0] for replica in counted])
            hw = rises(hw, choose(ends)) if enough(counted, min_isr) else below(hw)
            marks[t] = hw
        return list(marks.items())

    return high_watermarks


def _drawn(draw: random.Random) -> AskedCase:
    """Members of the ISR only advance. Who comes back may have lost records, and is in the ISR in the next moment."""
    end, isr, ends, story = 0, {0, 1, 2, 3}, {1: 0, 2: 0, 3: 0}, []
    for _ in range(30):
        follower, kind = draw.randint(1, 3), draw.choice(("append", "fetch", "fetch", "change"))
        if kind == "append":
            story.append(f"+{draw.randint(1, 3)}")
            end += int(story[-1])
            continue
        if kind == "fetch":
            ends[follower] = draw.choice((end, draw.randint(ends[follower] if follower in isr else 0, end)))
            story.append(f"{follower}:{ends[follower]}")
        if kind == "change" or follower not in isr:
            isr ^= {follower}
            story.append(f"isr {''.join(map(str, sorted(isr)))}")
    return _case("", ", ".join(story), min_isr=draw.choice((2, 3)), followers=3, draw=draw)


marks_over_time = Exercise(
    "Exercise 2, the mark over time",
    lambda: [
        _case("two followers", "+3, 1:0, 2:0, 1:3, 2:2, 2:3"),
        _case("one is slow and leaves", "+2, 1:0, 1:2, 2:0, +2, 1:4, isr 01, +1, 1:5"),
        _case("one comes back", "+2, 1:0, 2:0, isr 01, 1:2, +3, 1:5, 2:5, isr 012, +1, 1:6, 2:6"),
        _case("one is let in too early", "+4, 1:0, 2:0, isr 01, 1:4, isr 012, 2:2, 2:4"),
        _case("below the minimum", "+1, 1:0, 2:0, 1:1, 2:1, isr 0, +2, 1:3, isr 01, 1:3", min_isr=2),
        _case("alone", "isr 0, +2, +1"),
        _case("below the minimum from the beginning", "isr 0, +2, isr 01, 1:2", min_isr=2),
    ],
    judged_by_spark,
    solutions.high_watermarks,
    drawn=_drawn,
    draws=6,
    hints=[
        "First make a grid: every t with every replica. `LEFT JOIN {events} USING (t, replica)` leaves nulls in it.",
        "last_value(end, true) OVER (PARTITION BY replica ORDER BY t) replaces a null by the last known value. Do "
        "the same for in_isr.",
        "For each t compute the least end of the members, and the number of members. Then take the running maximum, "
        "max(…) OVER (ORDER BY t), over those t that have enough members.",
    ],
    beliefs=[
        Belief(
            _marks(rises=lambda hw, end: max(end, 0)),
            "Your high watermark falls. When a follower that is behind joins the ISR, the high watermark does not "
            "change.",
        ),
        Belief(
            _marks(choose=max),
            "You take the greatest end. Only one replica may have these records: take the least end.",
        ),
        Belief(
            _marks(members=lambda known: list(known)),
            "You also count followers that have left the ISR. In these cases they are far behind, so only members "
            "count.",
        ),
        Belief(
            _marks(enough=lambda members, min_isr: True),
            "Your high watermark rises while the ISR is smaller than the minimum. It must not rise until the ISR is "
            "large enough again.",
        ),
        Belief(
            _marks(unknown=lambda ends: [end for end in ends if end >= 0]),
            "You leave out a member that has not fetched yet. The leader does not know its end, so the high "
            "watermark does not rise.",
        ),
        Belief(
            _marks(below=lambda hw: 0),
            "You set the high watermark to 0 while there are too few members. It must not change: committed records "
            "stay committed.",
        ),
    ],
    normal=as_rows,
)
