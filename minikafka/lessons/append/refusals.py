"""Appends that are refused: what was sent, the step that refused it, and what the refusal left behind in the log.

Each is a workload whose last line is refused, so that Apache Kafka can be asked the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from minikafka.lab.stage.workbench import scratch
from minikafka.lab.stepper.stepper import Walk, step_through
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.append_tables import LEFT

APPENDS = {
    "a client's batch does not begin at offset 0": "append_as_leader [1x10 offset=5]",
    "a follower is sent offsets out of order": "append_as_follower [3x10] [2x10 offset=1]",
    "a batch is above max.message.bytes": "config max.message.bytes=100\nappend_as_leader [1x100]",
    "a bit has flipped on the way": "append_as_leader [1x10 damage=crc]",
    "two batches in one append": "append_as_leader [1x10] [1x10]",
    "a timestamp from the far future": "append_as_leader [3x10 ts=now,now+7200000,now]",
    "no key for a compacted topic": "config cleanup.policy=compact\nappend_as_leader [2x10]",
    "a follower is sent records that it already has": (
        "append_as_leader [3x10]\nappend_as_follower leader_epoch=1 [2x10 offset=1]"
    ),
    "a batch is too large without its compression": (
        "config max.message.bytes=200 compression.type=uncompressed\nappend_as_leader [40xnull codec=gzip]"
    ),
    "a new leader's batch is larger than a segment": (
        "config internal.segment.bytes=200\nappend_as_leader [1x10]\nappend_as_leader leader_epoch=1 [1x200]"
    ),
    "a new leader gets a sequence out of order, and the segment is full": (
        "config internal.segment.bytes=300\n"
        "append_as_leader [9x10 pid=7 epoch=0 seq=0]\n"
        "append_as_leader leader_epoch=1 [9x10 pid=7 epoch=0 seq=12]"
    ),
    "a producer that has been replaced": (
        "append_as_leader [1x10 pid=7 epoch=1 seq=0]\nappend_as_leader [1x10 pid=7 epoch=0 seq=0]"
    ),
    "a batch outside of the transaction that is open": (
        "append_as_leader [1x10 pid=7 epoch=0 seq=0 txn]\nappend_as_leader [1x10 pid=7 epoch=0 seq=1]"
    ),
    "a follower is sent a batch outside of the transaction that is open": (
        "append_as_leader [1x10 pid=7 epoch=0 seq=0 txn]\nappend_as_follower leader_epoch=1 [1x10 pid=7 epoch=0 seq=1"
        " offset=1]"
    ),
    "a marker without the transaction version": "append_as_leader origin=coordinator [commit pid=7 epoch=0]",
    "a marker of a coordinator that has been replaced": (
        "append_as_leader [1x10 pid=7 epoch=0 seq=0 txn]\n"
        "append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0 coordinator_epoch=5]\n"
        "append_as_leader [1x10 pid=7 epoch=0 seq=1 txn]\n"
        "append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0 coordinator_epoch=4]"
    ),
    "one append spans more offsets than a segment can hold": (
        "append_as_leader [1x10]\nappend_as_follower leader_epoch=1 [1x10 offset=1] [1x10 offset=3000000000]"
    ),
}
"""What is wrong → the workload whose last line is refused for it, in the order of the steps that refuse."""


@dataclass(frozen=True)
class Refusal:
    """One refused append: what was `wrong`, the `line` that was refused, `error` and `message`, the `step` of
    `Log._append` that raised, what is `left` behind in words (empty: nothing), and the `walk` through the steps.
    """

    wrong: str
    line: str
    error: str
    message: str
    step: str
    left: tuple[str, ...]
    walk: Walk

    def __str__(self) -> str:
        left = "; ".join(self.left) or "nothing"
        return f"step {self.step:>2}  {self.error}: {self.wrong}\n         left behind: {left}"


class Refusals:
    """A table of refused appends; `refusals[error]` is the first one of that exception."""

    def __init__(self, refusals: list[Refusal]):
        self.refusals = tuple(refusals)

    def __iter__(self) -> Iterator[Refusal]:
        return iter(self.refusals)

    def __getitem__(self, error: str) -> Refusal:
        return next(refusal for refusal in self.refusals if refusal.error == error)

    def __str__(self) -> str:
        return "\n".join(map(str, self.refusals))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th {LEFT}>{word}</th>" for word in ("step", "what is wrong", "exception", "left behind"))
        rows = "".join(
            f"<tr><td {LEFT}>{r.step}</td><td {LEFT}>{escape(r.wrong)}</td><td {LEFT}><code>{r.error}</code></td>"
            f"<td {LEFT}>{'<br>'.join(map(escape, r.left)) or '<span class=mk-faint>nothing</span>'}</td></tr>"
            for r in self.refusals
        )
        return drawing.page(f"<table><tr>{head}</tr>{rows}</table>")


def refused_appends() -> Refusals:
    """Run every workload of `APPENDS` on a log of its own, the last line through the stepper.

    Raises AssertionError when a last line is not refused, or an earlier one is.
    """
    return Refusals([refuse(wrong, text) for wrong, text in APPENDS.items()])


def refuse(wrong: str, text: str) -> Refusal:
    """Run the workload `text`, whose last line must be refused. Raises AssertionError when it is not."""
    from minikafka.witness import Workload, minikafka_log
    from minikafka.witness.log.run import Runner

    workload = Workload.parse(text)
    *before, last = workload
    runner = Runner(minikafka_log, scratch(), workload)
    try:
        states = [runner.apply(operation) for operation in before] or [
            runner.apply(Workload.parse("tick 0").operations[0])
        ]
        walk = step_through(runner.apply, last, watch=runner.log, into={"Log._append"})
        walk.title, told = f"A refused append: {wrong}", walk.result
        log_steps = [frame for frame in walk.frames if frame.raised]
        if not told.error or not log_steps or any(state.error for state in states):
            raise AssertionError(f"{wrong}: {last} was to be refused, and no line before it")
        left = _left_behind(states[-1], told)
        return Refusal(wrong, str(last), told.error, told.message, log_steps[-1].step.number, left, walk)
    finally:
        runner.let_go()


def _left_behind(before: Any, after: Any) -> tuple[str, ...]:
    """What has changed in the log although nothing was appended."""
    found = [
        f"leader epoch {epoch} from offset {start}"
        for epoch, start in after.epochs
        if (epoch, start) not in before.epochs
    ]
    old = dict(before.segments)
    for base, size in after.segments:
        if base not in old:
            found.append(f"segment {base}, {size} bytes")
        elif old[base] != size:
            found.append(f"segment {base}: {old[base]} → {size} bytes")
    for name in ("producers", "log_start_offset", "last_stable_offset", "high_watermark", "log_end_offset"):
        if getattr(before, name) != getattr(after, name):
            found.append(f"{name.replace('_', ' ')} {getattr(before, name)} → {getattr(after, name)}")
    return tuple(found)
