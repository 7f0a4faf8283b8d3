"""The exercises of the lesson *High watermark*."""

from minikafka.lab.exercises.exercise import Belief, Exercise, answered_early
from minikafka.lab.exercises.solutions import high_watermark as solutions
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.witness.operations import AppendAsLeader, Fetch, Isr
from minikafka.witness.workload import Workload

# 1. The high watermark of a leader, in Spark


def ends_of(workload: Workload) -> list[tuple[int, int, int | None]]:
    """(t, replica, end) after each operation t: the leader is replica 0; only in-sync followers; None before a first
    fetch.

    Follows appends of one batch, fetches from plain offsets and changes of the ISR, which is all that the exercises
    use.
    """
    leader, fetched, isr, rows = 0, {}, workload.isr, []
    for t, operation in enumerate(workload):
        if isinstance(operation, AppendAsLeader):
            leader += operation.batches[0].count
        elif isinstance(operation, Fetch):
            fetched[operation.replica] = operation.offset.distance
        elif isinstance(operation, Isr):
            isr = operation.replicas
        rows += [(t, 0, leader), *((t, replica, fetched.get(replica)) for replica in isr)]
    return rows


def _watermarks(observations) -> list[tuple[int, int]]:
    return list(enumerate(observations.column("high_watermark")))


def _fetches(name: str, text: str) -> WitnessedCase:
    workload = Workload.parse(text)
    ends = frame(ends_of(workload), "t BIGINT, replica BIGINT, end BIGINT")
    return WitnessedCase(name, (ends,), workload, _watermarks, ("high_watermark",))


_TWO_FOLLOWERS = """
isr 1,2
append_as_leader [1x10]
fetch 1 0
fetch 2 0
append_as_leader [1x10]
append_as_leader [1x10]
fetch 1 3
fetch 2 2
fetch 2 3
"""
_SLOW_FOLLOWER = """
isr 1,2
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [1x10]
fetch 1 4
fetch 2 1
isr 1
isr 1,2
fetch 2 3
"""
_LATE_FOLLOWER = """
isr 1,2,3
append_as_leader [1x10]
append_as_leader [1x10]
fetch 1 2
fetch 2 1
fetch 3 0
fetch 3 2
fetch 2 2
"""


def _by_t(ends, choose):
    rows = {}
    for row in ends.collect():
        rows.setdefault(row.t, []).append(row.end)
    return [(t, choose(found)) for t, found in sorted(rows.items())]


def _running(pairs):
    highest, result = 0, []
    for t, value in pairs:
        highest = max(highest, value)
        result.append((t, highest))
    return result


def _least(found):
    return 0 if None in found else min(found)


def _highest(ends):
    return _running(_by_t(ends, lambda found: max(end or 0 for end in found)))


def _majority(ends):
    return _running(_by_t(ends, lambda found: sorted((end or 0 for end in found), reverse=True)[len(found) // 2]))


def _falls(ends):
    return _by_t(ends, _least)


def _least_known(ends):
    return _by_t(ends, lambda found: min(end for end in found if end is not None))


def _ignores_the_unknown(ends):
    return _running(_least_known(ends))


least_end = Exercise(
    "Exercise 1, the least end of the in-sync replicas",
    lambda: [
        _fetches("two followers", _TWO_FOLLOWERS),
        _fetches("a slow follower leaves the ISR and comes back", _SLOW_FOLLOWER),
        _fetches("a third follower fetches last", _LATE_FOLLOWER),
    ],
    judged_by_spark,
    solutions.high_watermarks,
    hints=[
        "First one row for each t: the least end. Then a window over t.",
        "While any in-sync follower has not fetched (a null end), the leader raises nothing: count(end) < count(*).",
        "The mark never falls: `max(…) OVER (ORDER BY t)`.",
    ],
    beliefs=[
        Belief(
            _highest,
            "HW is not the highest LEO: what only one replica has can be lost with it. It is the least end in the ISR.",
        ),
        Belief(
            _majority,
            "You count a majority, as Raft does. Kafka waits for every replica in the ISR, and shrinks the ISR.",
        ),
        Belief(
            _falls,
            "Your mark falls when a slow follower joins the ISR. maybe_increment_high_watermark only lets it grow.",
        ),
        Belief(
            _least_known,
            "min skips nulls: you leave out followers that have not fetched yet, for whom the leader waits. And nothing"
            " keeps your mark from falling.",
        ),
        Belief(
            _ignores_the_unknown,
            "You leave out followers that have not fetched yet. The leader waits for each one in the ISR.",
        ),
    ],
    normal=as_rows,
)


# 2. The clamp


def _set_to(suggested: int, *, old: int, log_start: int, records: int = 10) -> WitnessedCase:
    lines = ["append_as_leader [1x10]\n" * records + f"update_high_watermark {max(old, log_start)}"]
    lines += [f"maybe_increment_log_start_offset {log_start}"] if log_start else []
    lines += [f"update_high_watermark {old}", f"update_high_watermark {suggested}"]
    name = f"HW {old}, suggested {suggested}, log start {log_start}, LEO {records}"

    def answer(observations):
        return observations.value(len(observations) - 1, "high_watermark")

    return WitnessedCase(name, (old, suggested, log_start, records), Workload.parse("\n".join(lines)), answer)


clamp = Exercise(
    "Exercise 2, update_high_watermark",
    lambda: [
        _set_to(7, old=5, log_start=0),
        _set_to(3, old=8, log_start=0),
        _set_to(1, old=6, log_start=4),
        _set_to(10, old=4, log_start=4),
        _set_to(12, old=6, log_start=0),
    ],
    judged_by_spark,
    solutions.updated,
    hints=[
        "Two bounds: nothing below the log start, nothing above the log end offset.",
        "Both bounds are allowed values. The old mark plays no part: this method may move it back.",
    ],
    beliefs=[
        Belief(
            lambda old, suggested, log_start, log_end: max(old, solutions.updated(old, suggested, log_start, log_end)),
            "You never let the mark fall. That is maybe_increment_high_watermark; update_high_watermark may move it"
            " back.",
        ),
        Belief(
            lambda old, suggested, log_start, log_end: max(log_start, min(suggested, log_end - 1)),
            "You stop at the last record. The mark is an exclusive bound: it may stand at LEO, where no record is yet.",
        ),
        Belief(
            lambda old, suggested, log_start, log_end: max(log_start, suggested),
            "You let the mark go above LEO. What is not written is not replicated: the mark is lowered to LEO.",
        ),
        Belief(
            lambda old, suggested, log_start, log_end: min(suggested, log_end),
            "You let the mark go below the log start. It is lifted to the log start.",
        ),
        Belief(
            lambda old, suggested, log_start, log_end: suggested if log_start <= suggested <= log_end else old,
            "You keep the old mark when the suggestion lies outside of the log. It is bent to the nearest bound.",
        ),
    ],
)


# 3. The increment


def _increment_to(new: int, *, old: int, records: int = 10) -> WitnessedCase:
    text = "append_as_leader [1x10]\n" * records + f"update_high_watermark {old}\nmaybe_increment_high_watermark {new}"

    def answer(observations):
        last = len(observations) - 1
        before, after = (observations.value(i, "high_watermark") for i in (last - 1, last))
        if new > records:  # Spark says nothing of exceptions; that the mark stays is for it to say
            return "refused" if before == after else "moved"
        return "moved" if after != before else "stays"

    return WitnessedCase(f"HW {old}, new {new}, LEO {records}", (old, new, records), Workload.parse(text), answer)


increment = Exercise(
    "Exercise 3, maybe_increment_high_watermark",
    lambda: [
        _increment_to(6, old=4),
        _increment_to(2, old=4),
        _increment_to(10, old=4),
        _increment_to(11, old=4),
        _increment_to(4, old=4),
    ],
    judged_by_spark,
    solutions.incremented,
    hints=[
        "Three outcomes. Which one comes first, before the old mark is even looked at?",
        "Above LEO is refused with an exception, not clamped. At LEO is fine.",
    ],
    beliefs=[
        Belief(
            lambda old, new, log_end: "refused" if new > log_end else "moved" if new >= old else "stays",
            "You count the same mark again as a move. It is where it was, so it stays.",
        ),
        Belief(
            lambda old, new, log_end: "moved" if min(new, log_end) > old else "stays",
            "You let a mark above LEO pass, or bend it to LEO. The leader's method refuses with"
            " IllegalArgumentException: such a mark is a bug.",
        ),
        Belief(
            lambda old, new, log_end: "moved" if old < new <= log_end else "stays",
            "You leave the mark where it is when it would go above LEO. Silence would hide a bug: it is refused with an"
            " exception.",
        ),
        Belief(
            lambda old, new, log_end: "refused" if not old <= new <= log_end else "moved" if new > old else "stays",
            "You refuse a lower mark. It is no error (a slow follower joins the ISR, say): the mark stays.",
        ),
        Belief(
            lambda old, new, log_end: "refused" if new > log_end else "moved" if new != old else "stays",
            "You let the mark fall. maybe_increment_high_watermark only lets it grow.",
        ),
        Belief(
            lambda old, new, log_end: "refused" if new >= log_end else "moved" if new > old else "stays",
            "You refuse a mark at LEO. The bound is exclusive: at LEO everything is committed.",
        ),
    ],
)


# 4. When acks=all is answered, in Spark


def _answered(name: str, text: str) -> WitnessedCase:
    workload = Workload.parse(text)
    appends, end = [], 0
    for t, operation in enumerate(workload):
        if isinstance(operation, AppendAsLeader):
            end += operation.batches[0].count
            appends.append((t, end - 1))

    def answer(observations):
        marks = observations.column("high_watermark")
        return [(t, next((i for i, hw in enumerate(marks) if i >= t and hw > last), None)) for t, last in appends]

    marks = [(t, hw) for t, hw in _simulated_marks(workload)]
    arguments = (frame(appends, "t BIGINT, last_offset BIGINT"), frame(marks, "t BIGINT, hw BIGINT"))
    return WitnessedCase(name, arguments, workload, answer, ("high_watermark",))


def _simulated_marks(workload: Workload) -> list[tuple[int, int]]:
    rows = {}
    for t, _, end in ends_of(workload):
        rows.setdefault(t, []).append(end)
    return _running([(t, _least(found)) for t, found in sorted(rows.items())])


def _joined(appends, watermarks, reached):
    marks = [tuple(row) for row in watermarks.orderBy("t").collect()]
    rows = [tuple(row) for row in appends.orderBy("t").collect()]
    return [(t, next((i for i, hw in marks if i >= t and reached(hw, last)), None)) for t, last in rows]


acks_all = Exercise(
    "Exercise 4, when acks=all is answered",
    lambda: [
        _answered("two followers", _TWO_FOLLOWERS),
        _answered("a slow follower", _SLOW_FOLLOWER),
        _answered("the last append is never answered", _LATE_FOLLOWER + "append_as_leader [2x10]\nfetch 1 4"),
    ],
    judged_by_spark,
    solutions.answered,
    hints=[
        "Join each append with the marks that came at or after it, and keep the first that is high enough.",
        "The append of last offset x is answered when HW >= x + 1, in other words HW > x.",
        "A LEFT JOIN keeps the appends that are never answered, with null.",
    ],
    beliefs=[
        Belief(
            lambda appends, watermarks: _joined(appends, watermarks, lambda hw, last: hw >= last),
            "You answer when HW reaches the last offset. HW is exclusive: offset x is committed when HW is x + 1.",
        ),
        Belief(
            lambda appends, watermarks: [
                row for row in _joined(appends, watermarks, lambda hw, last: hw > last) if row[1] is not None
            ],
            "You leave out the appends that are never answered. Their producers are waiting: keep them, with null.",
        ),
        Belief(
            lambda appends, watermarks: [(t, t) for t, _ in (tuple(row) for row in appends.orderBy("t").collect())],
            "You answer as soon as the leader has the records. That is acks=1.",
        ),
    ],
    normal=as_rows,
)

EXERCISES = answered_early(least_end, clamp, increment, acks_all)
