"""What a start believes of a file of recovery points."""

import random
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.managed import managed
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.start_and_stop import solutions

_OFFLINE = "offline"
_PARTITIONS = ("orders-0", "users-1")
_RECORDS = 9
"""How many records each log has: no offset in a text is greater."""

_TEXTS = (
    ("two lines", "0\n2\norders 0 4\nusers 1 6\n"),
    ("no byte", ""),
    ("the version alone", "0\n"),
    ("another version, alone", "1\n"),
    ("another version", "1\n1\norders 0 4\n"),
    ("a version that is no number", "zero\n1\norders 0 4\n"),
    ("a number of entries that is no number", "0\none\norders 0 4\n"),
    ("a line too few", "0\n2\norders 0 4\n"),
    ("a line too many", "0\n1\norders 0 4\nusers 1 6\n"),
    ("an offset that is no number", "0\n2\norders 0 4\nusers 1 six\n"),
    ("a line of two words", "0\n2\norders 0 4\nusers 1\n"),
    ("a line of two words behind a bad number", "0\n2\norders 0 four\nusers 1\n"),
    ("a bad number behind a line of two words", "0\n2\norders 0\nusers 1 six\n"),
    ("a bad number and a line too few", "0\n3\norders zero 4\nusers 1 6\n"),
    ("a partition twice", "0\n2\norders 0 6\norders 0 4\n"),
    ("two lines too few, and no other", "0\n2\n"),
)


@cache
def _spark_says() -> dict[int, Any]:
    lines = [
        (number, place, line) for number, (_, text) in enumerate(_TEXTS) for place, line in enumerate(text.split("\n"))
    ]
    found = answers_of(
        """WITH words AS (SELECT *, split(line, ' ') AS w FROM {lines} WHERE line <> ''),
           judged AS (SELECT *, CASE WHEN place = 0 THEN IF(line = '0', 'good', 'offline')
                                     WHEN place = 1 THEN IF(line RLIKE '^[0-9]+$', 'good', 'offline')
                                     WHEN size(w) <> 3 THEN 'offline'
                                     WHEN concat(w[1], w[2]) RLIKE '^[0-9]+$' THEN 'good' ELSE 'nothing' END AS verdict
                      FROM words),
           first_bad AS (SELECT number, min_by(verdict, place) AS bad FROM judged WHERE verdict <> 'good' GROUP BY number),
           counted AS (SELECT number, count_if(place > 1) AS n, max(IF(place = 1, try_cast(line AS INT), NULL)) AS said,
                              array_sort(collect_list(struct(place, concat(w[0], '-', get(w, 1)) AS p, get(w, 2) AS o))
                                         FILTER (WHERE place > 1)) AS entries
                       FROM judged GROUP BY number)
           SELECT number, coalesce(bad, IF(n <> said, 'offline', 'good')), entries
           FROM counted LEFT JOIN first_bad USING (number)""",
        lines=(lines, "number INT, place INT, line STRING"),
    )
    return {
        number: _OFFLINE if verdict == _OFFLINE else {p: int(o) for _, p, o in entries} if verdict == "good" else {}
        for number, (verdict, entries) in found.items()
    }


def _case(number: int) -> AskedCase:
    name, text = _TEXTS[number]
    return AskedCase(name, (text,), lambda: _spark_says().get(number, {}), lambda factory: _manager_says(factory, text))


def _manager_says(factory: Any, text: str) -> Any:
    """What a manager makes of the text when it starts after a kill: the recovery points of its logs tell."""
    from minikafka.checkpoint.offset_checkpoint_file import RECOVERY_POINT_CHECKPOINT_FILE
    from minikafka.witness.log_dir.workload import parse_partition

    with managed(factory) as one:
        one.start()
        for partition in map(parse_partition, _PARTITIONS):
            one.manager.get_or_create_log(partition, is_new=True)
            one.append(partition, f"[{_RECORDS}x10]")
        one.kill()
        (one.log_dirs[0] / RECOVERY_POINT_CHECKPOINT_FILE).write_text(text)
        one.start()
        channel = one.manager.log_dir_failure_channel
        is_ours = jvm_of(factory) is None
        if channel.has_offline_log_dir(one.log_dirs[0]) if is_ours else channel.hasOfflineLogDir(str(one.log_dirs[0])):
            return _OFFLINE
        points = {name: one.manager.get_log(parse_partition(name)).recovery_point for name in _PARTITIONS}
        return {name: offset for name, offset in points.items() if offset}


def _read(
    *,
    bad_number="file",
    bad_line=_OFFLINE,
    count=_OFFLINE,
    version=_OFFLINE,
    head=_OFFLINE,
    empty="nothing",
    cut="nothing",
    twice="nothing",
):
    """A wrong answer, where not told otherwise the right one. A fault is `offline`, or costs the `file`, the `line`, or
    `nothing`. `head`: the version or the number of entries is no number. `cut`: the file ends after the version.
    `twice`: two lines name one partition.
    """

    def read_recovery_points(text):
        lines, found = text.splitlines(), {}
        if not lines:
            return _OFFLINE if empty == _OFFLINE else {}
        faults = [version] if lines[0] != "0" and lines[0].isdigit() else []
        if not "".join(lines[:2]).isdigit():
            faults.append(head)
        if len(lines) == 1:
            return _OFFLINE if _OFFLINE in (*faults, cut) else {}
        for line in lines[2:]:
            words = line.split()
            fault = bad_line if len(words) != 3 else bad_number if not (words[1] + words[2]).isdigit() else None
            if fault is None:
                found[f"{words[0]}-{words[1]}"] = int(words[2])
            elif fault != "line":
                faults.append(fault)
        if lines[1].isdigit() and len(lines) - 2 != int(lines[1]):
            faults.append(count)
        if len(found) < len(lines) - 2:
            faults.append(twice)
        fault = next((fault for fault in faults if fault != "nothing"), None)
        return {} if fault == "file" else found if fault is None else fault

    return read_recovery_points


def _drawn(draw: random.Random) -> AskedCase:
    """Mostly lines as they should be; a line may come twice, and some have a fault."""
    lines = []
    for _ in range(draw.randint(0, 4)):
        topic, partition = draw.choice(("orders 0", "users 1")).split()
        offset = str(draw.randint(1, _RECORDS))
        fault = draw.choice((*[""] * 12, "partition", "offset", "short", "long"))
        words = [topic, "x" if fault == "partition" else partition, "four" if fault == "offset" else offset]
        lines.append(" ".join({"short": words[:2], "long": [*words, "1"]}.get(fault, words)))
    count = draw.choice((*[str(len(lines))] * 6, str(len(lines) + 1), "one"))
    head = [draw.choice((*["0"] * 8, "1", "zero")), count]
    text = "".join(f"{line}\n" for line in ([*head, *lines] if draw.random() < 0.9 else head[: draw.randint(0, 1)]))
    return AskedCase("", (text,), lambda: None, lambda factory: _manager_says(factory, text))


believed_checkpoint = Exercise(
    "Exercise 3, what a start believes",
    lambda: [_case(number) for number in range(len(_TEXTS))],
    judged_by_spark,
    solutions.read_recovery_points,
    drawn=_drawn,
    hints=[
        "The file has version 0, the number of entries, then the entries. An empty file is not damaged, nor is one that "
        "ends after its version: it has no recovery points.",
        "The directory goes offline if the version is not 0, if the second line is not a number, if an entry does not "
        "have three words, or if there are more or fewer entries than announced. If a partition or an offset is not a "
        "number, only the file is ignored.",
        "The lines are read in order, and the first fault counts. The number of entries is compared at the end. Count the "
        "lines, not the partitions: two lines may name the same one.",
    ],
    beliefs=[
        Belief(
            _read(bad_number="line"),
            "You ignore the bad line and use the others. If a partition or an offset is not a number, the start "
            "ignores the whole file.",
        ),
        Belief(
            _read(bad_number=_OFFLINE),
            "You take the directory offline because an entry's word is not a number. The start only ignores the file, "
            "and reads all logs from their beginning.",
        ),
        Belief(
            _read(bad_line="file"),
            "You only ignore the file if a line does not have three words. The start takes this as a sign of a "
            "failing disk: the directory goes offline.",
        ),
        Belief(
            _read(bad_number="file", bad_line="file", count="file", version="file", head="file"),
            "You never take the directory offline. The start takes a file of another form as a sign of a failing "
            "disk. It only ignores the file if a partition or an offset is not a number.",
        ),
        Belief(
            _read(head="file"),
            "You only ignore the file if its version or its number of entries is not a number. The start does so with "
            "the numbers of an entry. If one of the first two lines is not a number, the directory goes offline.",
        ),
        Belief(
            _read(count="nothing"),
            "You do not count the entries. If their number is not the one in the second line, the directory goes "
            "offline.",
        ),
        Belief(
            _read(version="nothing"),
            "You do not check the version. If it is not 0, the directory goes offline.",
        ),
        Belief(
            _read(empty=_OFFLINE),
            "You take the directory offline because of an empty file. Kafka's log manager creates an empty file in "
            "each new directory; it has no entries.",
        ),
        Belief(
            _read(cut=_OFFLINE),
            "You take the directory offline because the file ends after its version. Kafka reads such a file as one "
            "without entries.",
        ),
        Belief(
            _read(twice=_OFFLINE),
            "You count partitions. Kafka counts the lines of the file: two lines may name the same partition.",
        ),
    ],
)
