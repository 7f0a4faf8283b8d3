"""One way to solve each exercise of the lesson *Start and stop*."""


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


def read_recovery_points(text):
    lines = text.splitlines()
    if lines and lines[0] != "0":
        return "offline"
    if len(lines) < 2:
        return {}
    if not lines[1].isdigit():
        return "offline"
    offsets = {}
    for line in lines[2:]:
        words = line.split()
        if len(words) != 3:
            return "offline"
        if not words[1].isdigit() or not words[2].isdigit():
            return {}
        offsets[f"{words[0]}-{words[1]}"] = int(words[2])
    return offsets if len(lines) - 2 == int(lines[1]) else "offline"
