"""What waits in a broker's produce purgatory at one moment."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartitionMark:
    """A partition that the broker leads: its high watermark and log end (both exclusive), and its in-sync replicas."""

    name: str
    high_watermark: int
    log_end: int
    isr: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}: HW {self.high_watermark}, LEO {self.log_end}, ISR {', '.join(map(str, self.isr))}"


@dataclass(frozen=True, slots=True)
class WaitingProduce:
    """A request that waits: its number, when its time is over (ms), and for each partition that it names the high
    watermark at which it is acknowledged; 0 for a partition that has refused its records.
    """

    number: int
    deadline_ms: int
    required: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        wants = " and ".join(f"HW {offset} of {name}" for name, offset in self.required if offset)
        return f"request {self.number} waits for {wants}, until {self.deadline_ms} ms"


@dataclass(frozen=True, slots=True)
class PurgatoryMoment:
    """A moment: the marks, the requests that wait, and the answers so far."""

    caption: str
    now_ms: int
    marks: tuple[PartitionMark, ...]
    waiting: tuple[WaitingProduce, ...]
    answered: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.now_ms} ms: {self.caption}", *map(str, self.marks)]
        lines += [*map(str, self.waiting)] or ["nothing waits"]
        return "\n   ".join([*lines, *self.answered])
