"""What one response says of each partition of a request, in Spark."""

import random
from collections.abc import Sequence
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.asked_brokers import brokers_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.produce_path import solutions

_REQUESTED = "place INT, partition STRING, batches INT, records BIGINT"
_KNOWN = "partition STRING, leader INT"
_LEADERS = [("t-0", 0), ("t-1", 0), ("t-2", 1)]


def _case(
    name: str, text: str, leaders: Sequence[tuple[str, int]] = _LEADERS, draw: random.Random | None = None
) -> AskedCase:
    """`text`: the partitions of the request in their order, each with the records of its batches: `t-0:3`, `t-0:1+1`
    for two batches of one record. `leaders`: each partition of the topic t, and who of two brokers leads it. `draw`
    brings the rows of a drawn case into any order.
    """
    rows, words = [], []
    for place, word in enumerate(text.split()):
        partition, _, sizes = word.partition(":")
        batches = [int(size) for size in sizes.split("+")]
        rows.append((place, partition, len(batches), sum(batches)))
        words.append(f"{partition}: {sizes.replace('+', ' + ')}" + " in two batches" * (len(batches) == 2))
    requested = frame(rows, _REQUESTED, draw)
    known = frame(leaders, _KNOWN, draw)

    def expected() -> list[tuple[str, str, int]]:
        return as_rows(
            requested.sparkSession.sql(
                """WITH judged AS (
                       SELECT r.*, k.leader,
                              CASE WHEN k.leader IS NULL THEN 'UNKNOWN_TOPIC_OR_PARTITION'
                                   WHEN r.batches <> 1 THEN 'INVALID_RECORD' END AS refused
                       FROM {requested} r LEFT JOIN {known} k USING (partition)),
                   taken AS (SELECT partition, max_by(records, place) AS records, any_value(leader) AS leader
                             FROM judged WHERE refused IS NULL GROUP BY partition),
                   named AS (SELECT partition, max(refused) AS refused FROM judged GROUP BY partition)
                   SELECT n.partition,
                          coalesce(n.refused, IF(t.leader = 0, 'NONE', 'NOT_LEADER_OR_FOLLOWER')) AS error,
                          coalesce(IF(t.leader = 0, t.records, 0), 0) AS appended
                   FROM named n LEFT JOIN taken t USING (partition) ORDER BY n.partition""",
                requested=requested,
                known=known,
            )
        )

    def asked(factory: Any) -> list[tuple[str, str, int]]:
        targets = []
        for word in text.split():
            partition, _, sizes = word.partition(":")
            targets.append(" ".join([partition, *(f"[{size}x10]" for size in sizes.split("+"))]))
        replicas = "/".join(f"{leader},{1 - leader}" for _, leader in leaders)
        with brokers_of(factory, 2, f"topic t {replicas} min.insync.replicas=1") as brokers:
            brokers.do(f"produce 0 version=11 acks=1 {' '.join(targets)}")
            hosted = dict(leaders)
            return sorted(
                (name, Errors(code).name, brokers.log_end(name) if name in hosted else 0)
                for topic, partition, code in brokers.parts_of_last()
                for name in [f"{topic}-{partition}"]
            )

    return AskedCase(name and f"{name} (records for {'; '.join(words)})", (requested, known), expected, asked)


def _sorted(
    *,
    keep=lambda rows: rows[-1],
    one_batch=True,
    all_or_nothing=False,
    away="NOT_LEADER_OR_FOLLOWER",
    unknown="UNKNOWN_TOPIC_OR_PARTITION",
    hidden=False,
):
    """A wrong answer, where not told otherwise the right one."""

    def answered(requested, known):
        leaders = {row.partition: row.leader for row in known.collect()}
        rows = requested.orderBy("place").collect()
        found = []
        for partition in sorted({row.partition for row in rows}):
            mine = [row for row in rows if row.partition == partition]
            valid = [row for row in mine if row.batches == 1 or not one_batch]
            if partition not in leaders:
                found.append((partition, unknown, 0))
                continue
            error = "INVALID_RECORD" if len(valid) < len(mine) and not (hidden and valid) else None
            here = leaders[partition] == 0
            error = error or ("NONE" if here else away)
            kept = keep(valid) if valid and here else None
            count = 0 if kept is None else sum(row.records for row in kept) if isinstance(kept, list) else kept.records
            found.append((partition, error, count))
        if all_or_nothing and any(error != "NONE" for _, error, _ in found):
            found = [(partition, error, 0) for partition, error, _ in found]
        return found

    return answered


def _drawn(draw: random.Random) -> AskedCase:
    leaders = [(f"t-{partition}", draw.choice((0, 0, 1))) for partition in range(14)]
    names = [*(name for name, _ in leaders), "t-14", "t-20", "x-0"]
    rows = [name for name in names for _ in range(draw.choice((0, 1, 1, 2, 2, 3)))]
    sizes = ("1", "2", "3", "5", "40", "1+1", "2+3", "1+2+1")
    text = " ".join(f"{name}:{draw.choice(sizes)}" for name in draw.sample(rows, len(rows)))
    return _case("", text, leaders, draw)


sorted_partitions = Exercise(
    "Exercise 2, one response, many answers",
    lambda: [
        _case("two good ones", "t-0:2 t-1:3"),
        _case("one of each kind", "t-0:1 t-9:1 t-2:1 t-1:1+1"),
        _case("an unknown topic", "x-0:2 t-1:1"),
        _case("twice", "t-0:1 t-0:3"),
        _case("twice, and once more", "t-1:4 t-0:1 t-1:2 t-1:1"),
        _case("twice, the second invalid", "t-0:2 t-0:1+1"),
        _case("twice, the first invalid", "t-1:1+1 t-1:3 t-0:1"),
        _case("invalid, and led elsewhere", "t-2:1+1 t-0:1"),
    ],
    judged_by_spark,
    solutions.answered,
    drawn=_drawn,
    draws=6,
    hints=[
        "A LEFT JOIN with `known` shows which partitions exist. Kafka first checks whether the partition is known, "
        "then how many batches a row has. It checks who leads at the end, when it appends the remaining rows.",
        "max_by(records, place) gives the last one of several rows. Use only rows with one batch.",
        "If one of a partition's rows is invalid, the response says INVALID_RECORD. A valid row of the same "
        "partition is appended all the same.",
    ],
    beliefs=[
        Belief(
            _sorted(keep=lambda rows: rows[0]),
            "You append the first of two rows of a partition. Kafka puts the rows into a map by partition, so the "
            "last one stays.",
        ),
        Belief(
            _sorted(keep=lambda rows: list(rows)),
            "You append all rows of a partition. Kafka puts the rows into a map by partition, so only the last one "
            "stays.",
        ),
        Belief(
            _sorted(all_or_nothing=True),
            "You append nothing if one partition fails. Each partition is handled separately.",
        ),
        Belief(
            _sorted(one_batch=False),
            "You accept several batches for a partition. A row may have only one batch; otherwise the error is "
            "INVALID_RECORD.",
        ),
        Belief(
            _sorted(away="UNKNOWN_TOPIC_OR_PARTITION"),
            "You say that a partition is unknown although another broker leads it. The error is "
            "NOT_LEADER_OR_FOLLOWER: the producer must find the leader.",
        ),
        Belief(
            _sorted(hidden=True),
            "You return NONE although one row of the partition was invalid and another was appended. The error "
            "replaces the success.",
        ),
    ],
    normal=as_rows,
)
