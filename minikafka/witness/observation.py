"""What a witness says about a log after each operation of a workload, as one table."""

import html
from dataclasses import dataclass, field, fields

from minikafka.witness.spoken import say


class _Blank:
    """Stands where a witness says nothing. It equals no value and never counts as agreement."""

    def __repr__(self) -> str:
        return "—"

    def __bool__(self) -> bool:
        return False


BLANK = _Blank()


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of one operation and the state of the log after it. Offsets as in Kafka; all upper bounds exclusive.

    `result`: what the method returned, as text; "" when it raised. `error`: the exception's class name, "" for none;
    `message`: its message. The offsets are None while no log is open (its load failed).
    `segments`: (base offset, size in bytes) of each segment. `index_entries`: (offset, position in bytes) of all
    entries of the offset indexes. `epochs`: (leader epoch, start offset). `producers`: (id, epoch, last sequence, last
    offset, last timestamp in ms, coordinator epoch, first offset of the open transaction or −1), ordered by id.
    """

    result: str = ""
    error: str = ""
    message: str = ""
    log_start_offset: int | None = None
    recovery_point: int | None = None
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    log_end_offset: int | None = None
    segments: tuple[tuple[int, int], ...] = ()
    index_entries: tuple[tuple[int, int], ...] = ()
    epochs: tuple[tuple[int, int], ...] = ()
    producers: tuple[tuple[int, ...], ...] = ()


QUANTITIES = tuple(f.name for f in fields(Observation))


@dataclass(frozen=True)
class Observations:
    """One witness's table. `rows[i]` maps quantities to their values after operation `i`; a quantity that is missing
    there is BLANK.
    """

    witness: str
    workload: object
    rows: tuple[dict, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, witness: str, workload, observations) -> "Observations":
        """The table of these observations, one for each operation."""
        return cls(witness, workload, tuple({name: getattr(o, name) for name in QUANTITIES} for o in observations))

    @property
    def quantities(self) -> list[str]:
        """The quantities that the witness says something about, in the order of first mention."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def value(self, operation: int, quantity: str):
        """The value of `quantity` after operation number `operation` (−1: the last), BLANK where nothing is said."""
        return self.rows[operation].get(quantity, BLANK) if operation < len(self.rows) else BLANK

    def column(self, quantity: str) -> list:
        """The values of one quantity, one for each operation."""
        return [self.value(i, quantity) for i in range(len(self.workload))]

    def __getitem__(self, operation: int) -> dict:
        return self.rows[operation]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = [f"{self.witness}: {len(self)} operations"]
        for i, operation in enumerate(self.workload):
            said = " ".join(f"{name}={show(self.value(i, name))}" for name in self.quantities if self._worth(i, name))
            lines.append(f"{i:4} {operation}\n       {said}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        names = [name for name in self.quantities if any(self._worth(i, name) for i in range(len(self)))]
        head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in names)
        body = "".join(
            f"<tr><td>{i}</td><td><code>{html.escape(str(operation))}</code></td>"
            + "".join(f"<td>{html.escape(show(self.value(i, name)))}</td>" for name in names)
            + "</tr>"
            for i, operation in enumerate(self.workload)
        )
        head = f"<caption>{self.witness}</caption><tr><th>#</th><th>operation</th>{head}</tr>"
        return f'<table class="witness">{head}{body}</table>'

    def _worth(self, operation: int, quantity: str) -> bool:
        return self.value(operation, quantity) not in (BLANK, "", (), None)


def show(value) -> str:
    """A value as short text: segments and pairs as `0:300 3:450`."""
    if isinstance(value, tuple):
        return " ".join(":".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value) or say(
            "none"
        )
    return str(value)
