"""Replicas whose fetches, deaths and elections the reader deals out: each button is one thing that happens."""

from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as widgets

from minikafka.lab.stage.replica_moments import ReplicaMoment
from minikafka.lab.stage.replication import Replication
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.replica_lanes import ReplicaLanes, render_replica_lanes, span_of

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PAUSE_S = 15
_LEAST_SPAN = 8
"""For how many records there is room at first, so that the picture does not jump with each one."""


class ReplicaDeal:
    """The shell: buttons, and the picture of what has come of them. `errors`: what callbacks raised.

    `brokers`, `min_isr`: as of a `Replication`. A button that can do nothing at the moment is disabled.
    """

    def __init__(self, brokers: int = 3, min_isr: int = 2, title: str = "Deal the cards"):
        self.title = title
        self.errors: list[Exception] = []
        self._make = lambda: Replication(brokers, min_isr=min_isr)
        self._picture = widgets.HTML(layout=widgets.Layout(width="100%", margin="0"))
        self._alarm = widgets.HTML("")
        self.buttons: dict[str, widgets.Button] = {}
        rows = [self._row("append", "time", "anew")]
        for broker in range(brokers):
            rows.append(self._row(f"fetch {broker}", f"power {broker}"))
        self.widget = widgets.VBox([*rows, self._picture, self._alarm])
        self._begin()

    def deal(self, *names: str) -> None:
        """Press these buttons ("append", "time", "fetch 1", "power 0") one after the other.

        Raises ValueError for one that can do nothing at that moment, and what an action raises.
        """
        for name in names:
            if self.buttons[name].disabled:
                raise ValueError(f"{name} can do nothing after: {self.frame.caption}")
            self._press(name)
            if self.errors:
                raise self.errors.pop()

    def play(self) -> "ReplicaDeal":
        """The shell itself, as the last line of a cell."""
        return self

    @property
    def frame(self) -> ReplicaMoment:
        """The current state."""
        return self.lanes.frames[-1]

    def static_html(self) -> str:
        """The current state for a page without a kernel, and what led to it as text."""
        hint = '<span class="mk-faint">(the buttons need a kernel)</span>'
        moments = f"<details><summary>all moments so far as text</summary><pre>{escape(str(self))}</pre></details>"
        return drawing.page(f"<b>{escape(self.title)}</b> {hint}{drawing.static_page(self._drawn())}{moments}")

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"{number}. {frame}" for number, frame in enumerate(self.lanes.frames, 1))])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        live = self.widget._repr_mimebundle_() or {}
        return {**live, "text/html": self.static_html(), "text/plain": str(self)}

    def _row(self, *names: str) -> widgets.HBox:
        """A button for each name, below each other where the page is narrow."""
        return widgets.HBox([self._button(name) for name in names], layout=widgets.Layout(flex_flow="row wrap"))

    def _button(self, name: str) -> widgets.Button:
        button = widgets.Button(layout=widgets.Layout(width="210px"))
        button.on_click(lambda _: self._press(name))
        self.buttons[name] = button
        return button

    def _begin(self) -> None:
        self.replication = self._make()
        self.lanes = ReplicaLanes(self.replication, self.title)
        self.lanes.after("nothing has happened yet", lambda: None)
        self._show()

    def _press(self, name: str) -> None:
        try:
            if name == "anew":
                self._begin()
            else:
                self.lanes.after(self.buttons[name].description, self._action(name))
            self._show()
            self._alarm.value = ""
        except Exception as error:  # a callback has no caller to tell
            self.errors.append(error)
            words = f"{type(error).__name__}: {escape(str(error))}"
            self._alarm.value = drawing.page(f'<span class="mk-bad">{words}</span>')

    def _action(self, name: str) -> Callable[[], Any]:
        replication = self.replication
        if name == "append":
            return lambda: replication.append(self._next_value())
        if name == "time":
            return lambda: replication.sleep(_PAUSE_S)
        what, broker = name.split()
        crash_or_start = replication.crash if replication.is_up(int(broker)) else replication.start
        action = replication.fetch if what == "fetch" else crash_or_start
        return lambda: action(int(broker))

    def _next_value(self) -> str:
        return _LETTERS[len(self.replication.sent) % len(_LETTERS)]

    def _show(self) -> None:
        """Draw the picture, and say on each button what it would do now."""
        replication = self.replication
        self._label("append", f"append {self._next_value()}, acks=all", replication.has_leader)
        self._label("time", f"{_PAUSE_S} seconds pass")
        self._label("anew", "begin anew")
        for broker in replication.brokers:
            up = replication.is_up(broker)
            self._label(f"fetch {broker}", f"broker {broker} fetches", up and broker != replication.leader)
            self._label(f"power {broker}", f"broker {broker} {'dies' if up else 'starts again'}")
        self._picture.value = drawing.page(self._drawn())

    def _label(self, name: str, words: str, possible: bool = True) -> None:
        self.buttons[name].description, self.buttons[name].disabled = words, not possible

    def _drawn(self) -> str:
        low, high = span_of([self.frame])
        return render_replica_lanes(self.frame, low, max(high, low + _LEAST_SPAN))
