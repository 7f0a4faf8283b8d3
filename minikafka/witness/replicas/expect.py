"""The Spark witness of replication: what must come of a trace of requests, from its lines alone.

For each partition and operation it says, while the partition's first leader runs in its first epoch:

- `log_end_offset`, `log_start_offset`: of the leader's log;
- `followers`: (id, log end) of each follower as the leader knows it, and `caught_up`: (id, ms) when it was last known
  to have everything;
- `isr`, `maximal_isr`: the in-sync replicas that the controller has agreed to, and those that the high watermark waits
  for; `high_watermark`;
- `acknowledged`, `timed_out`: the numbers of the acks=all requests that are answered now, and what they are told of the
  partition.

Sets suffice for who has heard of what, for the verdict on a batch, and, given the high watermark, for when a request is
answered. ISR and high watermark depend on each other: they are folded (`replica_fold`). Blank are all quantities of a
partition from the operation on after which the answer depends on something that is not followed: another leader or
leader epoch, producers with ids, transactions, a deleted topic, a coordinator's appends, a fetch that cannot carry or
a segment that does not hold everything, a first sleep after the leader's start that is longer than the lag time, and
an answer of the controller where it is open which proposals it is about.
"""

import threading
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from minikafka.spark import session
from minikafka.witness.observation import Observations
from minikafka.witness.replicas.fold import states_after_each
from minikafka.witness.replicas.trace import create_views
from minikafka.witness.replicas.workload import ReplicaWorkload

EVENTS = """
WITH running AS (  -- whether the broker was running before the operation
    SELECT *, coalesce(last_value(IF(kind IN ('start', 'crash', 'stop'), kind, NULL)) IGNORE NULLS OVER (
                  PARTITION BY workload, broker ORDER BY op ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
              'stop') = 'start' AS was_up
    FROM replica_operations),
possible AS (  -- what a broker that does not run is to do is passed over, and so is starting one that runs
    SELECT * FROM running
    WHERE broker IS NULL OR kind IN ('fence', 'unfence') OR IF(kind = 'start', NOT was_up, was_up)),
placed AS (  -- the broker epoch grows with each registration; a broker sees all metadata when it is published to
    SELECT *, 10 * (broker + 1) + count_if(kind = 'start') OVER so_far AS own_epoch,
           max(IF(kind IN ('start', 'publish'), op, NULL)) OVER so_far AS own_seen
    FROM possible WINDOW so_far AS (PARTITION BY workload, broker ORDER BY op)),
registrations AS (
    SELECT workload, op, broker, own_epoch AS epoch, kind = 'fence' AS fenced FROM placed
    WHERE kind IN ('start', 'fence', 'unfence') AND own_epoch > 10 * (broker + 1)),
views AS (  -- every operation as each partition sees it: has its leader heard of it, does it run, since when?
    SELECT o.*, p.* EXCEPT (workload, partition, topic), p.partition AS name, p.topic AS its_topic,
           max(IF(o.broker = p.leader, o.own_seen, NULL)) OVER so_far AS seen,
           last_value(IF(o.broker = p.leader AND kind IN ('start', 'crash', 'stop'), kind, NULL)) IGNORE NULLS
               OVER so_far = 'start' AS leader_is_up,
           last_value(IF(o.broker = p.leader AND kind = 'start', now, NULL)) IGNORE NULLS OVER so_far AS started,
           last_value(IF(o.broker = p.leader AND kind = 'start', op, NULL)) IGNORE NULLS OVER so_far AS start_op,
           last_value(IF(kind = 'sleep', op, NULL)) IGNORE NULLS OVER (
               PARTITION BY p.workload, p.partition ORDER BY op
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS slept,
           filter(targets, target -> target.partition = p.partition) AS asked
    FROM placed o JOIN replica_partitions p ON o.workload = p.workload
    WINDOW so_far AS (PARTITION BY p.workload, p.partition ORDER BY op)),
informed AS (  -- and the topic's settings that the leader has seen
    SELECT v.workload, v.op, v.name, max(struct(s.op, s.* EXCEPT (workload, op, topic))) AS settings
    FROM views v JOIN replica_settings s ON s.workload = v.workload AND s.topic = v.its_topic AND s.op <= v.seen
    GROUP BY v.workload, v.op, v.name),
brokers AS (  -- and the brokers that it takes to be alive, with their epochs
    SELECT workload, op, name, collect_list(struct(broker, last.epoch AS epoch)) AS alive
    FROM (SELECT v.workload, v.op, v.name, r.broker, max(struct(r.op, r.epoch, r.fenced)) AS last
          FROM views v JOIN registrations r ON r.workload = v.workload AND r.op <= v.seen
          GROUP BY v.workload, v.op, v.name, r.broker)
    WHERE NOT last.fenced
    GROUP BY workload, op, name),
judged AS (  -- a batch is taken if it is alone and sound, not too large, with keys and timestamps as they must be
    SELECT *, try_element_at(asked, -1) AS target, coalesce(seen >= made, false) AS knows,
           try_element_at(asked, -1).batches = 1
           AND NOT try_element_at(asked, -1).damaged
           AND NOT (try_element_at(asked, -1).zstd AND version < 7) AS sound
    FROM views LEFT JOIN informed USING (workload, op, name) LEFT JOIN brokers USING (workload, op, name)),
verdicts AS (
    SELECT *, coalesce(sound AND target.bytes <= settings.max_bytes
        AND NOT (settings.compacted AND target.keyless)
        AND NOT (target.log_append_time AND (settings.stamped OR target.undated))
        AND (settings.stamped OR target.earliest IS NULL
             OR now - target.earliest <= settings.before_max_ms AND target.latest - now <= settings.after_max_ms),
        false) AS accepted
    FROM judged),
steps AS (  -- what befalls the partition
    SELECT *, CASE
        WHEN kind = 'change' AND partition = name THEN IF(elects, 'lost', 'given')
        WHEN kind IN ('delete_topic', 'topic') AND topic = its_topic AND op <> made THEN 'lost'
        WHEN kind = 'truncate' AND target IS NOT NULL THEN 'lost'
        WHEN kind IN ('crash', 'stop') AND broker = leader AND knows THEN 'lost'
        WHEN kind IN ('start', 'publish') AND broker = leader AND knows THEN 'publish'
        WHEN kind = 'append' AND broker = leader AND target IS NOT NULL THEN 'lost'
        WHEN kind = 'produce' AND broker = leader AND target IS NOT NULL AND knows AND acks IN (-1, 0, 1) THEN CASE
            WHEN exists(asked, each -> each.producer) OR size(asked) > 1 AND NOT accepted THEN 'lost'
            WHEN accepted THEN 'append' END
        WHEN kind = 'follow' AND leader_is_up AND array_contains(followers, broker) AND own_seen >= made THEN 'follow'
        WHEN kind = 'fetch' AND broker = leader AND target IS NOT NULL AND array_contains(followers, replica)
                AND (version >= 12 OR target.last = -1)  -- which an older version cannot say: it is never sent
            THEN 'fetch'
        WHEN kind = 'delete_records' AND broker = leader AND target IS NOT NULL THEN 'delete'
        WHEN kind = 'answer' AND broker = leader THEN 'answer'
        WHEN kind = 'sleep' AND leader_is_up THEN
            -- from the first look at what is too old on, segments may go; and what a broker is to do at once it does
            -- when the clock first moves, however far that is
            IF(NOT one_segment AND now + ms >= started + 30000 OR ms > lag_ms AND coalesce(slept < start_op, true),
               'lost', 'sleep')
        END AS step
    FROM verdicts),
told AS (  -- old versions of a fetch carry less
    SELECT workload, op, kind, broker, name, struct(
            name, coalesce(step, 'nothing') AS step, now, ms, acks, started, lag_ms, lag_ms DIV 2 AS look_ms, turn,
            target.records, target.anchor, target.distance, isr, error, whole,
            IF(kind = 'follow', broker, replica) AS replica,
            CASE WHEN kind = 'follow' THEN own_epoch WHEN version >= 15 THEN replica_epoch ELSE -1 END AS replica_epoch,
            IF(version >= 9, target.epoch, -1) AS epoch, target.last AS last_epoch,
            one_segment AND fits AS carries_all,
            settings.min_isr, settings.deletes OR NOT settings.compacted AS deletes,
            coalesce(alive, array()) AS alive) AS view
    FROM steps)
SELECT workload, op, kind, broker, array_sort(collect_list(view)) AS views
FROM told GROUP BY workload, op, kind, broker HAVING exists(views, view -> view.step <> 'nothing')
"""

STATES = """
SELECT o.workload, o.op, o.kind, o.now, o.ms, o.acks, o.timeout, o.targets, p.partition,
       last_value(s.state) IGNORE NULLS OVER so_far AS state
FROM replica_operations o JOIN replica_partitions p ON o.workload = p.workload
LEFT JOIN replica_events s ON s.workload = o.workload AND s.op = o.op AND s.state.partition = p.partition
WINDOW so_far AS (PARTITION BY o.workload, p.partition ORDER BY o.op)
"""

QUANTITIES = """
WITH growing AS (
    SELECT workload, op, kind, now, ms, acks, timeout, targets, partition, state.* EXCEPT (partition),
           coalesce(
               state.log_end > lag(state.log_end) OVER (PARTITION BY workload, partition ORDER BY op), false) AS grown,
           min(IF(NOT state.known, op, NULL)) OVER (PARTITION BY workload, partition) AS unknown_from
    FROM replica_states),
waiting AS (  -- acks=all requests that appended something, each with the offset that the high watermark has to reach
    SELECT workload, op, partition, log_end AS required, now, now + timeout AS due FROM growing
    WHERE kind = 'produce' AND acks = -1 AND grown),
reached AS (
    SELECT w.workload, w.op, w.partition, w.now, w.due, min(g.op) AS reached
    FROM waiting w LEFT JOIN growing g
        ON g.workload = w.workload AND g.partition = w.partition AND g.op >= w.op AND g.high_watermark >= w.required
    GROUP BY w.workload, w.op, w.partition, w.now, w.due),
expiring AS (
    SELECT r.*, IF(r.due <= r.now, r.op, min(o.op)) AS expired FROM reached r LEFT JOIN replica_operations o
        ON o.workload = r.workload AND o.op > r.op AND o.kind = 'sleep' AND o.now + o.ms >= r.due
    GROUP BY r.workload, r.op, r.partition, r.now, r.due, r.reached),
answered AS (  -- a request is answered when all of its partitions have got there, or when its time is over
    SELECT *, least(IF(bool_and(reached IS NOT NULL) OVER of_request, max(reached) OVER of_request, NULL), expired)
               AS answered
    FROM expiring WINDOW of_request AS (PARTITION BY workload, op)),
told AS (
    SELECT workload, partition, answered AS op,
           array_sort(collect_list(op) FILTER (WHERE reached <= answered)) AS acknowledged,
           array_sort(collect_list(op) FILTER (WHERE coalesce(reached > answered, true))) AS timed_out
    FROM answered WHERE answered IS NOT NULL GROUP BY workload, partition, answered),
unsure AS (  -- while a request waits, one of its partitions may become unknown
    SELECT w.workload, w.partition, min(greatest(g.unknown_from, w.op)) AS unsure_from
    FROM growing g JOIN answered w
        ON w.workload = g.workload AND w.op = g.op AND exists(g.targets, target -> target.partition = g.partition)
    WHERE g.unknown_from <= coalesce(w.answered, g.unknown_from)
    GROUP BY w.workload, w.partition)
SELECT g.workload, g.op, g.partition, g.log_end AS log_end_offset, g.log_start AS log_start_offset,
       g.high_watermark, g.isr,
       IF(size(g.asked) > size(g.isr), g.asked, g.isr) AS maximal_isr,
       transform(g.followers, follower -> struct(follower.id, follower.log_end)) AS followers,
       transform(g.followers, follower -> struct(follower.id, follower.caught_up_at)) AS caught_up,
       IF(g.op >= u.unsure_from, NULL, coalesce(t.acknowledged, array())) AS acknowledged,
       IF(g.op >= u.unsure_from, NULL, coalesce(t.timed_out, array())) AS timed_out
FROM growing g LEFT JOIN told t USING (workload, op, partition) LEFT JOIN unsure u USING (workload, partition)
WHERE g.leads AND g.known
"""

OF_A_PARTITION = (
    "log_end_offset", "log_start_offset", "followers", "caught_up", "isr", "maximal_isr", "high_watermark",
    "acknowledged", "timed_out",
)  # fmt: skip

_one_question_at_a_time = threading.Lock()  # the session has one set of views


def replica_expected(workloads: Sequence[ReplicaWorkload], spark=None) -> list[Observations]:
    """What Spark expects after each operation of each workload; a quantity's name ends with its partition.

    Many workloads cost little more than one: Spark plans one question for all of them.
    """
    if spark is None:
        spark = session()
    rows: list[list[dict]] = [[{} for _ in workload] for workload in workloads]
    with _one_question_at_a_time:
        for row in _quantities(workloads, spark).collect():
            for quantity in OF_A_PARTITION:
                if row[quantity] is not None:
                    rows[row.workload][row.op][f"{quantity} {row.partition}"] = _plain(row[quantity])
    return [Observations("spark", workload, tuple(said)) for workload, said in zip(workloads, rows, strict=True)]


def _quantities(workloads: Sequence[ReplicaWorkload], spark) -> DataFrame:
    """A row for each operation and partition of which something is known."""
    create_views(workloads, spark)
    partitions = F.array_sort(F.collect_list(F.struct("partition", "leader", "followers"))).alias("partitions")
    placed = spark.table("replica_partitions").groupBy("workload").agg(partitions)
    of_workload = F.array_sort(F.collect_list(F.struct("op", "kind", "broker", "views"))).alias("events")
    events = spark.sql(EVENTS).groupBy("workload").agg(of_workload)
    history = events.join(placed, "workload").select(
        "workload", F.explode(states_after_each(F.col("events"), F.col("partitions"))).alias("after")
    )
    states = history.select("workload", "after.op", F.explode("after.states").alias("state"))
    spark.createDataFrame(states.toArrow()).createOrReplaceTempView("replica_events")
    spark.sql(STATES).createOrReplaceTempView("replica_states")
    return spark.sql(QUANTITIES)


def _plain(value):
    """Spark's rows and arrays as tuples."""
    return tuple(_plain(item) for item in value) if isinstance(value, (list, tuple)) else value
