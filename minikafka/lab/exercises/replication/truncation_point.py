"""Where a follower cuts its log."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Belief, Exercise
from minikafka.lab.exercises.solutions import replication as solutions
from minikafka.server.offset_truncation_state import get_offset_truncation_state


@dataclass(frozen=True)
class _Asked:
    """A follower that holds records up to `log_end` and would fetch on from `fetch_offset`, and its leader's answer.

    `epochs`: (leader epoch, first offset) of the follower's own log. `leader_epoch`, `end_offset`: the greatest epoch of
    the leader that is not above the follower's last one, and where that one ends at the leader; −1 for unknown.
    """

    name: str
    epochs: tuple[tuple[int, int], ...]
    log_end: int
    leader_epoch: int
    end_offset: int
    fetch_offset: int = 0

    def __str__(self) -> str:
        own = " ".join(map(str, self.epochs)) or "none"
        answer = f"the leader answers ({self.leader_epoch}, {self.end_offset})"
        return f"{self.name}: own epochs {own}, log end {self.log_end}; {answer}"


_ASKED = (
    _Asked("a record too many", ((0, 0),), 2, 0, 1),
    _Asked("nothing to cut", ((0, 0),), 2, 0, 2),
    _Asked("the leader has more of that epoch", ((0, 0), (3, 5)), 6, 3, 9),
    _Asked("an epoch that the leader has, shorter there", ((0, 0), (2, 4)), 9, 2, 6),
    _Asked("an older epoch that both have", ((0, 0), (2, 4)), 9, 0, 3),
    _Asked("an older epoch, longer at the leader", ((0, 0), (2, 4)), 9, 0, 7),
    _Asked("KIP-279: an epoch that the follower does not have", ((0, 0), (2, 10)), 11, 1, 12),
    _Asked("an unknown epoch between two known ones", ((0, 0), (2, 4), (5, 8)), 10, 4, 20),
    _Asked("an unknown epoch that ends below the own one", ((0, 0), (5, 8)), 10, 3, 4),
    _Asked("an epoch below all that it knows", ((4, 2), (6, 7)), 9, 1, 5),
    _Asked("below all that it knows, shorter at the leader", ((4, 2),), 6, 1, 1),
    _Asked("a log without epochs", (), 6, 2, 4),
    _Asked("a log without epochs, shorter than the leader's", (), 3, 2, 4),
    _Asked("the leader knows nothing so old", ((0, 0),), 6, -1, -1, fetch_offset=6),
    _Asked("a leader that names no epoch", ((0, 0), (2, 3)), 6, -1, 4, fetch_offset=6),
)


@cache
def _spark_says() -> dict[int, tuple[int, bool]]:
    asked = [(number, a.log_end, a.leader_epoch, a.end_offset, a.fetch_offset) for number, a in enumerate(_ASKED)]
    epochs = [(number, epoch, start) for number, a in enumerate(_ASKED) for epoch, start in a.epochs]
    return answers_of(
        """WITH ranges AS (
               SELECT number, epoch, start, lead(start) OVER (PARTITION BY number ORDER BY epoch) AS next FROM {epochs}),
           matched AS (
               SELECT number, log_end, leader_epoch, end_offset, fetch_offset,
                      max(epoch) FILTER (WHERE epoch <= leader_epoch) AS older,
                      max_by(coalesce(next, log_end), epoch) FILTER (WHERE epoch <= leader_epoch) AS older_end,
                      min(start) AS first
               FROM {asked} LEFT JOIN ranges USING (number)
               GROUP BY number, log_end, leader_epoch, end_offset, fetch_offset)
           SELECT number,
                  CASE WHEN end_offset < 0 THEN fetch_offset
                       WHEN leader_epoch < 0 THEN least(end_offset, log_end)
                       WHEN older < leader_epoch THEN least(older_end, log_end)
                       ELSE least(coalesce(older_end, first, end_offset), end_offset, log_end) END,
                  NOT coalesce(leader_epoch >= 0 AND older < leader_epoch, false)
           FROM matched""",
        asked=(asked, "number INT, log_end BIGINT, leader_epoch INT, end_offset BIGINT, fetch_offset BIGINT"),
        epochs=(epochs, "number INT, epoch INT, start BIGINT"),
    )


def _case(number: int) -> AskedCase:
    asked = _ASKED[number]
    leaders = EpochEndOffset(asked.leader_epoch, asked.end_offset)

    def answered(factory: Any) -> tuple[int, bool]:
        kafka = jvm_of(factory)
        if kafka is None:
            return tuple(get_offset_truncation_state(_log(number), leaders, asked.fetch_offset))
        return _kafka_says(kafka)[number]

    return AskedCase(str(asked), (_log(number), leaders, asked.fetch_offset), lambda: _spark_says()[number], answered)


@cache
def _log(number: int) -> Any:
    """The follower's log."""
    from minikafka.lab.stage.workbench import open_log, scratch

    directory = scratch(_topic(number) + "-0")
    _write(number, directory)
    return open_log(directory)


def _write(number: int, directory: Path) -> None:
    """Write the log's records, and its leader epochs as they are asked for."""
    from minikafka.lab.stage.workbench import open_log, records

    log = open_log(directory)
    for offset in range(_ASKED[number].log_end):
        epoch = max((epoch for epoch, start in _ASKED[number].epochs if start <= offset), default=0)
        log.append_as_leader(records(first=offset), epoch)
    log.close()
    lines = [f"{epoch} {start}\n" for epoch, start in _ASKED[number].epochs]
    (directory / "leader-epoch-checkpoint").write_text(f"0\n{len(lines)}\n{''.join(lines)}")


def _topic(number: int) -> str:
    return f"cut{number}"


def _kafka_says(kafka: Any) -> list[tuple[int, bool]]:
    """The answers of a broker of Kafka's that follows in all cases at once; it is started once for a JVM."""
    from minikafka.lab.exercises.replication.kafka_partitions import KafkaPartitions
    from minikafka.lab.stage.workbench import scratch

    if (found := vars(kafka).get("_truncation_points")) is not None:
        return found
    disk = scratch("1")
    for number in range(len(_ASKED)):
        _write(number, disk / f"{_topic(number)}-0")
    partitions = KafkaPartitions(kafka, 1, disk, (0,))
    for number in range(len(_ASKED)):
        partitions.controller.create_topic(_topic(number), [[0, 1]])
    with partitions:
        found = [
            partitions.truncation_state(_topic(number), asked.leader_epoch, asked.end_offset)
            for number, asked in enumerate(_ASKED)
        ]
    kafka._truncation_points = found
    return found


def _cut(
    *,
    unknown=lambda own_end, end_offset, log_end: (min(own_end, log_end), False),
    known=lambda own_end, end_offset, log_end: (min(own_end, end_offset, log_end), True),
    none=lambda end_offset, log_end: (min(end_offset, log_end), True),
    nothing=lambda log, fetch_offset: (fetch_offset, True),
):
    """A wrong answer, where not told otherwise the right one."""

    def truncation_state(log, leader_epoch_offset, fetch_offset):
        leader_epoch, end_offset, _ = leader_epoch_offset
        if end_offset == -1:
            return nothing(log, fetch_offset)
        own = log.end_offset_for_epoch(leader_epoch) if leader_epoch != -1 else None
        if own is None:
            return none(end_offset, log.log_end_offset)
        answer = known if own.epoch == leader_epoch else unknown
        return answer(own.offset, end_offset, log.log_end_offset)

    return truncation_state


truncation_point = Exercise(
    "Exercise 4, where a follower cuts",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.get_offset_truncation_state,
    hints=[
        "First the two answers that tell little: an end of −1 leaves you at `fetch_offset`; an epoch of −1 leaves you the"
        " leader's end, if that is below your own.",
        "Then ask your own log for the leader's epoch: `log.end_offset_for_epoch(leader_epoch)`. None: your log knows no"
        " epochs, and again only the leader's end is left to go by.",
        "The same epoch on both sides: up to the smaller of the two ends the logs are one. That settles it (True).",
        "An older one: you never had the leader's epoch. Nothing above your end of that older epoch can be the leader's."
        " Cut there, and ask again (False). In no case cut above your own log end.",
    ],
    beliefs=[
        Belief(
            _cut(
                known=lambda own_end, end_offset, log_end: (min(end_offset, log_end), True),
                unknown=lambda own_end, end_offset, log_end: (min(end_offset, log_end), True),
            ),
            "You go by the leader's end alone, as KIP-101 had it. Of an epoch that the follower never had that end says"
            " nothing about the follower's records: that is what KIP-279 mended.",
        ),
        Belief(
            _cut(unknown=lambda own_end, end_offset, log_end: (min(own_end, log_end), True)),
            "You stop after the first cut, although the leader's epoch was unknown. The epochs below may differ as well:"
            " ask again.",
        ),
        Belief(
            _cut(unknown=lambda own_end, end_offset, log_end: (min(own_end, end_offset, log_end), False)),
            "You mix the ends of two different epochs. Where the leader's epoch is unknown, only the own end of the older"
            " one counts.",
        ),
        Belief(
            _cut(known=lambda own_end, end_offset, log_end: (min(own_end, log_end), True)),
            "You forget the leader's end. Where its share of the epoch is shorter, the rest of yours is not in its log.",
        ),
        Belief(
            _cut(known=lambda own_end, end_offset, log_end: (min(end_offset, log_end), True)),
            "You forget your own end of the epoch. Above it lie your records of a later one, which the leader does not have.",
        ),
        Belief(
            _cut(none=lambda end_offset, log_end: (0, True)),
            "You throw everything away where your log knows no epochs. The leader's end still says up to where its log"
            " goes.",
        ),
        Belief(
            _cut(nothing=lambda log, fetch_offset: (0, True)),
            "You throw everything away where the leader knows nothing so old. The follower goes on from `fetch_offset`.",
        ),
        Belief(
            _cut(none=lambda end_offset, log_end: (end_offset, True)),
            "You cut above your own log end. There is nothing to cut.",
        ),
    ],
    normal=lambda answer: tuple(answer) if isinstance(answer, list | tuple) else answer,
)
