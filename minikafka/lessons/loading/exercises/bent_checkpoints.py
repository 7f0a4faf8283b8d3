"""What the checkpoints are bent to when a log is loaded."""

import random
from pathlib import Path

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import frame
from minikafka.lab.exercises.wrecked import WreckedCase, judged_by_spark, sql
from minikafka.lab.stage.damage import SMALL, kill
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lessons.loading import solutions


def _checkpointed(
    recovery_point: int, log_start: int, *, clean: bool, first_base: int = 4, batches: int = 5
) -> WreckedCase:
    """A log of so many batches of two records from `first_base` on is loaded with these checkpoints."""
    log_end = first_base + 2 * batches

    def wreck() -> Path:
        log = fresh_log(SMALL)
        log.truncate_fully_and_start_at(first_base)
        for number in range(batches):
            log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
        return kill(log)

    def expected() -> tuple[int, int]:
        return sql(
            """SELECT start, greatest(start, IF(clean AND NOT emptied, end, least(point, end)))
               FROM (SELECT *, greatest(checkpoint, IF(emptied, checkpoint, first_base)) AS start,
                            IF(emptied, checkpoint, log_end) AS end
                     FROM (SELECT *, log_end < checkpoint AS emptied FROM {case}))""",
            case=frame(
                [(clean, recovery_point, log_start, first_base, log_end)],
                "clean BOOLEAN, point BIGINT, checkpoint BIGINT, first_base BIGINT, log_end BIGINT",
            ),
        )[0]

    stop = "clean" if clean else "unclean"
    name = (
        f"{stop} stop; recovery point {recovery_point}, log start {log_start}; first segment {first_base}, log end"
        f" {log_end}"
    )
    arguments = (clean, recovery_point, log_start, first_base, log_end)
    checkpoints = {"clean": clean, "recovery_point": recovery_point, "log_start": log_start}
    return WreckedCase(
        name, arguments, expected, wreck, lambda state: (state.log_start_offset, state.recovery_point), checkpoints
    )


def _drawn(draw: random.Random) -> WreckedCase:
    first_base, batches = draw.choice((0, 4, 9)), draw.randint(1, 6)
    near = (0, first_base, first_base + batches, first_base + 2 * batches, 20)
    recovery_point, log_start = (max(0, draw.choice(near) + draw.randint(-2, 3)) for _ in range(2))
    return _checkpointed(recovery_point, log_start, clean=draw.random() < 0.5, first_base=first_base, batches=batches)


bent = Exercise(
    "Exercise 3, what the checkpoints are bent to",
    lambda: [
        _checkpointed(8, 0, clean=False),
        _checkpointed(99, 6, clean=False),
        _checkpointed(8, 0, clean=True),
        _checkpointed(0, 6, clean=False),
        _checkpointed(0, 0, clean=False),
        _checkpointed(8, 40, clean=False),
        _checkpointed(8, 40, clean=True),
    ],
    judged_by_spark,
    solutions.loaded,
    drawn=_drawn,
    hints=[
        "The log start is never below the base offset of the first segment, and never below its checkpoint.",
        (
            "After a clean stop everything is flushed, so the recovery point is the log end. After an unclean stop "
            "it is the checkpoint, but never above the log end."
        ),
        (
            "If the checkpointed log start is above the log end, segments were lost. The log becomes empty and "
            "begins there. At the end: the recovery point is never below the log start."
        ),
    ],
    beliefs=[
        Belief(
            lambda clean, point, start, base, end: (
                solutions.loaded(clean, point, start, base, end)[0],
                max(end, start),
            ),
            "You move the recovery point to the log end. Up to 2.7 Kafka did so; now recovered records do not count "
            "as flushed.",
        ),
        Belief(
            lambda clean, point, start, base, end: (
                max(start, base),
                start if clean and start > end else max(start, end if clean else min(point, end)),
            ),
            "You raise the recovery point only to the checkpointed log start. The log may begin above that, at its "
            "first segment.",
        ),
        Belief(
            lambda clean, point, start, base, end: (
                start,
                max(start, start if start > end else end if clean else min(point, end)),
            ),
            "You leave the log start below the first segment. There are no records: it is never below the first "
            "segment's base offset.",
        ),
        Belief(
            lambda clean, point, start, base, end: (base, max(base, end if clean else min(point, end))),
            "Your log always begins at its first segment. The checkpoint may be higher: DeleteRecords can move the "
            "log start inside a segment.",
        ),
        Belief(
            lambda clean, point, start, base, end: (
                max(start, base),
                end if clean and end >= start else min(point, max(start, end)),
            ),
            "You leave the recovery point below the log start. Kafka raises it to the log start, because deleted "
            "records need no recovery.",
        ),
        Belief(
            lambda clean, point, start, base, end: (max(start, base), max(start, base, min(point, end))),
            "You treat both kinds of stop alike. A clean stop has flushed everything, so the recovery point is the "
            "log end.",
        ),
        Belief(
            lambda clean, point, start, base, end: (
                min(max(start, base), end),
                max(min(max(start, base), end), end if clean else min(point, end)),
            ),
            "You lower the log start to the log end. Kafka does the opposite: it deletes the segments, and the empty "
            "log begins at the checkpoint.",
        ),
        Belief(
            lambda clean, point, start, base, end: (start, point),
            "You use the checkpoints as they are. They were not written at the same moment as the files, so they "
            "must be changed to fit the files.",
        ),
    ],
    normal=lambda answer: tuple(answer) if isinstance(answer, list | tuple) else answer,
)
