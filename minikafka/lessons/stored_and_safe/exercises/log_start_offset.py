"""The log start offset: what moves it, and what does not."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, judged_by_spark
from minikafka.lessons.stored_and_safe import solutions
from minikafka.witness.log.workload import Workload

_EVENTS = {
    "delete records": "maybe_increment_log_start_offset {}",
    "leader's log start": "maybe_increment_log_start_offset {} reason=leader_offset_incremented",
    "segments deleted": "delete_old_segments",
    "truncate": "truncate_to {}",
    "truncate fully": "truncate_fully_and_start_at {}",
}


def _log_starts(before: list[str], *events: tuple[str, int, int, int]) -> list[WitnessedCase]:
    """A case for each (event, offset, log start before it, HW before it), all on one log, after the lines `before`."""
    lines = [*before, *(_EVENTS[event].format(offset) for event, offset, _, _ in events)]
    workload, cases = Workload.parse("\n".join(lines)), []
    for number, (event, offset, start, hw) in enumerate(events, len(workload) - len(events)):
        answer = lambda observations, number=number: observations.value(number, "log_start_offset")  # noqa: E731
        name = f"{event} {offset}, log start {start}, HW {hw}"
        cases.append(WitnessedCase(name, (event, offset, start, hw), workload, answer))
    return cases


def _moments() -> list[WitnessedCase]:
    five, header = ["append_as_leader [1x10]"] * 5, "config retention.bytes=390"
    raised = ["update_high_watermark 8", "maybe_increment_log_start_offset {}"]
    at = lambda start: [line.format(start) for line in raised]  # noqa: E731
    return [
        *_log_starts(
            [*five, *five, *at(2)],
            ("delete records", 9, 2, 8),
            ("delete records", 1, 2, 8),
            ("delete records", 6, 2, 8),
            ("leader's log start", 8, 6, 8),
            ("leader's log start", 9, 8, 8),
            ("leader's log start", 3, 8, 8),
            ("truncate", 9, 8, 8),
            ("truncate", 5, 8, 8),
            ("truncate fully", 20, 5, 5),
            ("truncate fully", 1, 20, 20),
        ),
        *_log_starts([header, *five, "roll", *five, *at(2)], ("segments deleted", 5, 2, 8)),
        *_log_starts([header, *five, "roll", *five, *at(7)], ("segments deleted", 5, 7, 8)),
    ]


_INCREMENTS = ("delete records", "leader's log start", "segments deleted")


def _wrong_at(events: tuple[str, ...], answer):
    """Right but for some events, whose log start is `answer(offset, log start before, HW)`."""
    return lambda event, offset, start, hw: (
        answer(offset, start, hw) if event in events else solutions.new_log_start(event, offset, start, hw)
    )


def _drawn(draw: random.Random) -> WitnessedCase:
    """One event; segments are deleted at a roll that the high watermark has passed."""
    hw = draw.randint(1, 10)
    start, roll = draw.randint(0, hw), draw.randint(1, min(hw, 6))
    event, append = draw.choice([*_EVENTS]), "append_as_leader [1x10]"
    before = [append] * 10
    if event == "segments deleted":
        before = ["config retention.bytes=390", *[append] * roll, "roll", *[append] * max(5, 10 - roll)]
    before += [f"update_high_watermark {hw}", f"maybe_increment_log_start_offset {start}"]
    [case] = _log_starts(before, (event, roll if event == "segments deleted" else draw.randint(0, 13), start, hw))
    return case


log_start = Exercise(
    "Exercise 2, the log start's moments",
    _moments,
    judged_by_spark,
    solutions.new_log_start,
    drawn=_drawn,
    hints=[
        "Three of the five events call maybe_increment_log_start_offset. It only raises the log start, and refuses "
        "an offset above HW.",
        "A truncation can only lower the log start, to the new log end. A full truncation sets it.",
    ],
    beliefs=[
        Belief(
            _wrong_at(_INCREMENTS, lambda offset, start, hw: max(start, min(offset, hw))),
            "If the offset is above HW, you use HW. Kafka refuses it with OffsetOutOfRangeException, and nothing "
            "moves.",
        ),
        Belief(
            _wrong_at(("leader's log start",), lambda offset, start, hw: offset),
            "You take the leader's log start without a check. A follower applies the same two rules to it: not above "
            "HW, and only upwards.",
        ),
        Belief(
            _wrong_at(("leader's log start",), lambda offset, start, hw: max(offset, start)),
            "You let the log start go above the follower's HW. A follower refuses this as well.",
        ),
        Belief(
            _wrong_at(("truncate",), lambda offset, start, hw: start),
            "Your log start stays although the log is truncated below it. Then it would be above LEO, so Kafka "
            "lowers it to the new end.",
        ),
        Belief(
            lambda event, offset, start, hw: start if offset > hw and event != "truncate fully" else offset,
            "You accept every value that is not above HW. The log start only grows, except by a truncation below it.",
        ),
        Belief(
            _wrong_at(("truncate",), lambda offset, start, hw: offset),
            "Your log start moves to the target of every truncation. A truncation can only lower it; a target above "
            "the log start does not change it.",
        ),
        Belief(
            _wrong_at(("segments deleted",), lambda offset, start, hw: offset),
            "Your log start falls back to a segment's base offset. DeleteRecords may have raised it above that, and "
            "it only grows.",
        ),
        Belief(
            _wrong_at(_INCREMENTS, lambda offset, start, hw: max(start, offset)),
            "You raise the log start above HW. Kafka refuses this, because records that are not replicated would "
            "count as deleted.",
        ),
        Belief(
            _wrong_at(("truncate fully",), lambda offset, start, hw: max(start, offset)),
            "You let a full truncation only raise the log start. It sets the log start, also to a lower offset: a "
            "follower begins again where its leader's log begins.",
        ),
    ],
)
