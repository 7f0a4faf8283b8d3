"""Where the witnesses agree, and the first place where they do not."""

import html
from dataclasses import dataclass

from minikafka.witness.observation import BLANK, Observations, show
from minikafka.witness.spoken import say

IGNORED = ("message",)


@dataclass(frozen=True)
class Difference:
    """A difference between the witnesses: after operation number `operation`, in `quantity`; `values` has each
    witness's value.
    """

    operation: int
    text: str
    quantity: str
    values: dict[str, object]

    def __str__(self) -> str:
        said = say("; ").join(
            say("{witness} says {value}", witness=witness, value=show(value) or say("nothing"))
            for witness, value in self.values.items()
        )
        return say(
            "after operation {operation} ({text}), {quantity}: {said}",
            operation=self.operation,
            text=self.text,
            quantity=self.quantity,
            said=said,
        )


@dataclass(frozen=True)
class Line:
    """The outcome of comparing one quantity: `cells` is the number of values compared, `witnesses` names those that
    spoke, `difference` is the first one or None.
    """

    quantity: str
    cells: int
    witnesses: tuple[str, ...]
    difference: Difference | None

    @property
    def agreed(self) -> bool:
        """True when at least one value was compared and none differs."""
        return self.cells > 0 and self.difference is None


@dataclass(frozen=True)
class Agreement:
    """The comparison of two or more witnesses of one workload, one line for each quantity of which two of them speak.

    `bool(agreement)`: all lines agree. Blanks are never compared, so they never count as agreement.
    """

    witnesses: tuple[str, ...]
    operations: int
    lines: tuple[Line, ...]

    @property
    def agreed(self) -> bool:
        """True when no compared value differs; the same as `bool(agreement)`."""
        return self.first_difference is None

    @property
    def agreed_quantities(self) -> list[str]:
        """The quantities on which all witnesses that speak of them agree."""
        return [line.quantity for line in self.lines if line.agreed]

    @property
    def cells(self) -> int:
        """How many pairs of values were compared."""
        return sum(line.cells for line in self.lines)

    @property
    def first_difference(self) -> Difference | None:
        """The difference at the earliest operation (among several there, the one in the first quantity), or None."""
        return min(
            (line.difference for line in self.lines if line.difference),
            key=lambda difference: difference.operation,
            default=None,
        )

    def __bool__(self) -> bool:
        return self.agreed

    def summary(self) -> dict:
        """The outcome as data: counts, the agreed quantities, and the first difference as text (None for none)."""
        first = self.first_difference
        return {
            "witnesses": list(self.witnesses),
            "operations": self.operations,
            "quantities": len(self.agreed_quantities),
            "agreed": self.agreed_quantities,
            "cells": self.cells,
            "first_difference": None if first is None else str(first),
        }

    def check(self) -> "Agreement":
        """Return self when the witnesses agree. Raises AssertionError with the first difference otherwise."""
        if not self:
            raise AssertionError(str(self.first_difference))
        return self

    def __str__(self) -> str:
        width = max(len(line.quantity) for line in self.lines)
        lines = [f"{' · '.join(self.witnesses)}: {self._compared()}"]
        for line in self.lines:
            sign, cells = say("agree" if line.agreed else "DIFFER"), say("{cells:4} values", cells=line.cells)
            lines.append(f"  {sign:6} {line.quantity:{width}}  {cells}  {' · '.join(line.witnesses)}")
        first = self.first_difference
        lines.append(say("First difference: {difference}", difference=first) if first else say("No difference."))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in self.witnesses)
        rows = []
        for line in self.lines:
            spoke = "".join(f"<td>{'✓' if name in line.witnesses else '—'}</td>" for name in self.witnesses)
            verdict = say("agree") if line.agreed else f"<b>{say('differ')}</b>"
            name = say(line.quantity.replace("_", " "))
            rows.append(f"<tr><td>{name}</td>{spoke}<td>{line.cells}</td><td>{verdict}</td></tr>")
        first = self.first_difference
        last = f"<b>{say('First difference')}</b> {html.escape(str(first))}" if first else say("No difference.")
        return (
            f'<table class="agreement"><caption style="text-align:left">{self._compared()}</caption>'
            f"<tr><th>{say('quantity')}</th>{head}<th>{say('values')}</th><th>{say('agree?')}</th></tr>"
            f"{''.join(rows)}</table><p>{last}</p>"
        )

    def _compared(self) -> str:
        return say("{operations} operations, {cells} values compared", operations=self.operations, cells=self.cells)


def agree(*witnesses: Observations | None, ignore=IGNORED) -> Agreement:
    """Compare the tables of two or three witnesses of the same workload, quantity by quantity, operation by operation.

    None stands for a witness that is absent. `ignore`: quantities left out; by default the messages of exceptions,
    which name files and objects. Raises ValueError when there are fewer than two witnesses, when they saw different
    workloads, or when nothing could be compared: comparing nothing proves nothing.
    """
    present = [witness for witness in witnesses if witness is not None]
    if len(present) < 2:
        raise ValueError("agree() compares at least two witnesses")
    names = tuple(witness.witness for witness in present)
    if len(set(names)) < len(names):
        raise ValueError(f"two witnesses have one name: {', '.join(names)}")
    if any(witness.workload != present[0].workload for witness in present):
        raise ValueError("the witnesses saw different workloads")
    quantities = dict.fromkeys(name for witness in present for name in witness.quantities if name not in ignore)
    lines = tuple(line for line in (_compare(present, name) for name in quantities) if line.cells)
    if not lines:
        raise ValueError("nothing was compared: no two witnesses speak of the same quantity after the same operation")
    return Agreement(names, len(present[0].workload), lines)


def _compare(witnesses, quantity: str) -> Line:
    cells, spoke, difference = 0, {}, None
    for number, operation in enumerate(witnesses[0].workload):
        said = {
            witness.witness: value for witness in witnesses if (value := witness.value(number, quantity)) is not BLANK
        }
        if len(said) < 2:
            continue
        cells += len(said) - 1
        spoke.update(dict.fromkeys(said))
        if difference is None and any(value != next(iter(said.values())) for value in said.values()):
            difference = Difference(number, str(operation), quantity, said)
    return Line(
        quantity, cells, tuple(witness.witness for witness in witnesses if witness.witness in spoke), difference
    )
