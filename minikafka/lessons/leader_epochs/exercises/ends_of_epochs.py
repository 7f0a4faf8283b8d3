"""What a leader answers when it is asked where an epoch ended, in Spark."""

import random
import re
from dataclasses import replace
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.leader_epochs import solutions
from minikafka.witness.log.workload import Workload


def _case(led: list[tuple[int, int]], asked_for: list[int], start: int = 0) -> AskedCase:
    """`led`: the epochs of a log that begins at `start`, and how many records it got in each; `asked_for`: the epochs that
    it is asked for.
    """
    rows, lines, end = [], [f"truncate_fully_and_start_at {start}"], start
    for epoch, count in led:
        rows.append((epoch, end))
        lines.append(f"append_as_leader leader_epoch={epoch} [{count}x10]")
        end += count
    lines += [f"end_offset_for_epoch {epoch}" for epoch in asked_for]
    epochs = frame(rows, "epoch INT, start_offset BIGINT")
    asking = frame([(epoch,) for epoch in asked_for], "epoch INT")

    def expected() -> list[tuple[int, int | None, int | None]]:
        return as_rows(
            epochs.sparkSession.sql(
                """WITH ranges AS (
                       SELECT epoch AS found, epoch AS lowest, coalesce(lead(epoch) OVER w - 1, epoch) AS highest,
                              coalesce(lead(start_offset) OVER w, {log_end}) AS end_offset
                       FROM {epochs} WINDOW w AS (ORDER BY epoch)
                       UNION ALL
                       SELECT NULL, 0, min(epoch) - 1, min(start_offset) FROM {epochs})
                   SELECT epoch, IF(end_offset IS NULL, NULL, coalesce(found, epoch)) AS found, end_offset
                   FROM {asked} LEFT JOIN ranges ON epoch BETWEEN lowest AND highest ORDER BY epoch""",
                epochs=epochs,
                log_end=end,
                asked=asking,
            )
        )

    def asked(factory: Any) -> list[tuple[int, int | None, int | None]]:
        from minikafka.lab.stage.workbench import scratch
        from minikafka.witness import run

        told = run(Workload.parse("\n".join(lines)), factory, scratch())
        answers = []
        for place, epoch in enumerate(asked_for, len(led) + 1):
            named = re.fullmatch(r"epoch (\d+) ends at (\d+)", told.value(place, "result"))
            answers.append((epoch, int(named[1]), int(named[2])) if named else (epoch, None, None))
        return sorted(answers)

    words = ", ".join(f"{epoch} from {start} on" for epoch, start in rows)
    return AskedCase(f"epochs {words}; log end {end}", (epochs, end, asking), expected, asked)


def _ended(
    *,
    above=lambda epoch, log_end: (None, None),
    below=lambda epoch, entries: (epoch, entries[0][1]),
    found=lambda epoch, older, newer: older[0],
    end=lambda older, newer, log_end: newer[1] if newer else log_end,
):
    """A wrong answer, where not told otherwise the right one. `older`, `newer`: the leader's epochs, with their start
    offsets, up to the one asked for and after it.
    """

    def epoch_ends(epochs, log_end, asked):
        entries, answers = [tuple(row) for row in epochs.orderBy("epoch").collect()], []
        for (epoch,) in asked.orderBy("epoch").collect():
            older = [entry for entry in entries if entry[0] <= epoch]
            newer = next((entry for entry in entries if entry[0] > epoch), None)
            if not newer and older[-1][0] < epoch:
                answer = above(epoch, log_end)
            elif not older:
                answer = below(epoch, entries)
            else:
                answer = found(epoch, older[-1], newer), end(older[-1], newer, log_end)
            answers.append((epoch, *answer))
        return answers

    return epoch_ends


def _only_known(epochs, log_end, asked):
    """A wrong answer: null for every epoch that the leader does not have."""
    known = {epoch for epoch, _ in epochs.collect()}
    right = as_rows(solutions.epoch_ends(epochs, log_end, asked))
    return [row if row[0] in known else (row[0], None, None) for row in right]


def _drawn(draw: random.Random) -> AskedCase:
    led = [(epoch, draw.randint(1, 5)) for epoch in sorted(draw.sample(range(2, 40), 10))]
    return replace(_case(led, draw.sample(range(43), 20), draw.choice((7, 2**40))), name="")


ends_of_epochs = Exercise(
    "Exercise 2, where an epoch ended",
    lambda: [
        _case([(0, 3), (1, 2), (2, 4)], [0, 1, 2]),
        _case([(0, 2), (3, 1), (7, 5)], [0, 1, 2, 3, 5, 7]),
        _case([(2, 4), (3, 1)], [0, 1, 2, 3, 4]),
        _case([(5, 3)], [4, 5, 6, 9]),
    ],
    judged_by_spark,
    solutions.epoch_ends,
    drawn=_drawn,
    draws=6,
    hints=[
        "An epoch ends where the leader's next epoch begins. The latest epoch ends at the log end.",
        "If the leader does not have the epoch, it answers with its greatest older one. CROSS JOIN both tables, and use "
        "`max(e.epoch) FILTER (WHERE e.epoch <= a.epoch)` and `min(e.start_offset) FILTER (WHERE e.epoch > a.epoch)`.",
        "There are two special cases. Above the leader's latest epoch: null and null. Below its first epoch: the epoch "
        "that was asked for, and the start offset of the first one.",
    ],
    beliefs=[
        Belief(
            _ended(end=lambda older, newer, log_end: older[1]),
            "You return the offset at which the epoch begins. It ends where the leader's next epoch begins.",
        ),
        Belief(
            _ended(end=lambda older, newer, log_end: (newer[1] if newer else log_end) - 1),
            "You return the last offset of the epoch. The end is exclusive: one more.",
        ),
        Belief(
            _ended(found=lambda epoch, older, newer: epoch),
            "You always return the epoch that was asked for. If the leader does not have it, return the older epoch whose "
            "end this is: the follower must know which one it is.",
        ),
        Belief(
            _only_known,
            "You return null for every epoch that the leader does not have. It answers with its greatest older epoch.",
        ),
        Belief(
            _ended(above=lambda epoch, log_end: (epoch, log_end)),
            "You return the log end for an epoch above the leader's latest one. The leader does not know this epoch: null.",
        ),
        Belief(
            _ended(below=lambda epoch, entries: (None, None)),
            "You return null for an epoch below the leader's first one. Its end is the start offset of the first epoch.",
        ),
        Belief(
            _ended(found=lambda epoch, older, newer: older[0] if older[0] == epoch else newer[0]),
            "If the leader does not have the epoch, you return its next newer one. Return its greatest older one.",
        ),
    ],
    normal=as_rows,
)
