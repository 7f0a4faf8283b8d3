"""One way to solve each exercise of the lesson *Storage layer*."""


def next_log_dirs(live_log_dirs, cordoned_log_dirs, log_counts):
    candidates = [name for name in live_log_dirs if name not in cordoned_log_dirs]
    return sorted(candidates, key=lambda name: log_counts.get(name, 0)) or live_log_dirs[:1]


def parse_topic_partition_name(name):
    kind = "current"
    for ending in ("delete", "future", "stray"):
        if name.endswith(f"-{ending}"):
            kind, name = ending, name.rpartition(".")[0]
    topic, _, partition = name.rpartition("-")
    return (kind, topic, int(partition)) if topic and partition.isdigit() else ("refused", "", -1)


def recovery_points(events, now):
    return events.sparkSession.sql(
        """SELECT partition, max(IF(kind = 'roll', log_end, 0)) AS offset
           FROM {events} JOIN (SELECT max(id) AS tick FROM range(30, {now} + 1, 60)) ON second < tick
           GROUP BY partition ORDER BY partition""",
        events=events,
        now=now,
    )


def deleted(segments, now):
    return segments.sparkSession.sql(
        """WITH placed AS (
               SELECT *, lead(base) OVER (PARTITION BY partition ORDER BY base) AS next FROM {segments}),
           judged AS (
               SELECT partition, base, NOT contains(policy, 'compact')
                      AND (coalesce(next <= log_start, false)
                           OR policy = 'delete' AND retention_ms >= 0 AND {now} - newest > retention_ms) AS may_go
               FROM placed)
           SELECT partition, base
           FROM (SELECT *, min(may_go) OVER (PARTITION BY partition ORDER BY base) AS goes FROM judged)
           WHERE goes ORDER BY partition, base""",
        segments=segments,
        now=now,
    )


def read_recovery_points(text):
    lines = text.splitlines()
    if not lines:
        return {}
    if lines[0] != "0":
        return "offline"
    offsets = {}
    for line in lines[2:]:
        words = line.split()
        if len(words) != 3:
            return "offline"
        if not words[1].isdigit() or not words[2].isdigit():
            return {}
        offsets[f"{words[0]}-{words[1]}"] = int(words[2])
    return offsets if len(offsets) == int(lines[1]) else "offline"
