"""What the replicas of a partition hold at one moment."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """A record in a replica: its offset, the leader epoch of its batch, its value as text.

    `sign`: "+" for one that is new, "−" for one that has just been cut, "" for the others.
    """

    offset: int
    epoch: int
    value: str
    sign: str = ""

    def __str__(self) -> str:
        return f"{self.sign}{self.value}/{self.epoch}"


@dataclass(frozen=True, slots=True)
class ReplicaLane:
    """One broker: its `role` ("leads", "follows" or "is down"), its records, its own high watermark and log end.

    `standing`: "in the ISR", "not in the ISR", "joining" or "leaving", by the leader. `known_end`: the end that the
    leader knows of, from its last fetch (None: of the leader itself, or without a fetch so far). `epochs`: leader epoch
    and first offset, of each epoch that the log knows.
    """

    broker: int
    role: str
    standing: str
    records: tuple[HeldRecord, ...]
    high_watermark: int
    log_end: int
    known_end: int | None = None
    epochs: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        held = " ".join(map(str, self.records)) or "nothing"
        marks = f"HW {self.high_watermark}, LEO {self.log_end}"
        standing = f", {self.standing}" if self.standing else ""
        known = "" if self.known_end is None else f"; has fetched from {self.known_end}"
        marks += "".join(f", epoch {epoch} from {start}" for epoch, start in self.epochs)
        return f"broker {self.broker} {self.role}{standing}: {held}; {marks}{known}"


@dataclass(frozen=True, slots=True)
class ReplicaMoment:
    """A moment: who leads by the controller (None: nobody), in which epoch, the ISR; the lanes; who waits.

    `producers`: for each request with acks=all its values, and the answer so far ("waits", or the error's name, which
    is NONE for success).
    """

    caption: str
    second: int
    leader: int | None
    leader_epoch: int
    isr: tuple[int, ...]
    lanes: tuple[ReplicaLane, ...]
    producers: tuple[tuple[str, str], ...] = ()

    @property
    def controller(self) -> str:
        """What the controller has decided, in words."""
        who = "nobody leads" if self.leader is None else f"broker {self.leader} leads"
        return f"controller: {who}, epoch {self.leader_epoch}, ISR {', '.join(map(str, self.isr)) or 'empty'}"

    @property
    def told(self) -> str:
        """What the latest producers with acks=all were told, in words."""
        return ", ".join(f"{values} {_ANSWERS.get(answer, answer)}" for values, answer in self.producers[-_LATEST:])

    def __str__(self) -> str:
        lines = [f"second {self.second}: {self.caption}; {self.controller}", *map(str, self.lanes)]
        lines += [f"acks=all: {self.told}"] if self.producers else []
        return "\n   ".join(lines)


_ANSWERS = {"NONE": "acknowledged"}
_LATEST = 5
