"""Boxes in a lesson: an erratum with the run that settles it, folded, for only some readers know the older text."""

from html import escape
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.witness.spoken import say


class Erratum:
    """What an older text says, what the source does, and what a run shows."""

    def __init__(self, claim: str, truth: str, shown: Any):
        self.claim, self.truth, self.shown = claim, truth, shown

    def __str__(self) -> str:
        rows = "".join(f"\n  {f'{name}:':11} {words}" for name, words in self._rows())
        return say("Erratum") + rows

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(
            f'<tr><td class="mk-faint">{name}</td><td>{escape(str(words))}</td></tr>' for name, words in self._rows()
        )
        title = f"<b>{say('Erratum')}</b>{say(', for those who know an older text: ')}<i>{escape(self.claim)}</i>"
        return drawing.page(f'<details class="mk-box"><summary>{title}</summary><table>{body}</table></details>')

    def _rows(self) -> tuple[tuple[str, Any], ...]:
        return (say("older text"), self.claim), (say("the source"), self.truth), (say("the run"), self.shown)


def erratum(claim: str, truth: str, shown: Any) -> Erratum:
    """The box; `shown` is the result of a run in the same cell."""
    return Erratum(claim, truth, shown)
