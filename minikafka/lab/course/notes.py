"""Boxes in a lesson: an erratum with the run that settles it, folded, for only some readers know the older text."""

from html import escape
from typing import Any

from minikafka.lab.widgets import drawing


class Erratum:
    """What an older text says, what the source does, and what a run shows."""

    def __init__(self, claim: str, truth: str, shown: Any):
        self.claim, self.truth, self.shown = claim, truth, shown

    def __str__(self) -> str:
        return f"Erratum\n  older text: {self.claim}\n  the source: {self.truth}\n  the run:    {self.shown}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = (("older text", self.claim), ("the source", self.truth), ("the run", self.shown))
        body = "".join(
            f"<tr><td class='mk-faint'>{name}</td><td>{escape(str(words))}</td></tr>" for name, words in rows
        )
        title = f"<b>Erratum</b>, for those who know an older text: <i>{escape(self.claim)}</i>"
        return drawing.page(f'<details class="mk-box"><summary>{title}</summary><table>{body}</table></details>')


def erratum(claim: str, truth: str, shown: Any) -> Erratum:
    """The box; `shown` is the result of a run in the same cell."""
    return Erratum(claim, truth, shown)
