"""The shell around every lab piece that has frames: a slider, two buttons, and the picture of the chosen frame."""

from collections.abc import Callable, Collection, Sequence
from html import escape
from typing import Any

import ipywidgets as widgets

from minikafka.lab.widgets import drawing
from minikafka.witness.spoken import say

_PICTURES = 4
"""How many frames a page without a kernel shows as pictures, at even distances."""

# When pressed, a button does in the browser what an arrow key does on the slider beside it.
_BUTTON = """<button type="button" class="jupyter-button widget-button" title="{title}" style="width:90px" \
onclick="this.closest('.widget-hbox').querySelector('.noUi-handle')\
.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))">{words}</button>"""


class Player:
    """Shows one of `frames` at a time; `render(frame)` gives its HTML or SVG, `str(frame)` its text.

    - All frames are drawn before the first is shown. Slider and buttons only choose one, and they do so in the browser:
      at once, and also in an exported page that has no kernel. Arrow keys move the slider when it has the focus.
    - Where nothing can run, the notebook shows `static_html()`: a few frames as pictures, those of `pictured` (numbers
      from 0) among them, all but the last folded away, and all of them as text.
    """

    def __init__(
        self,
        frames: Sequence[Any],
        render: Callable[[Any], str],
        *,
        title: str,
        start: int = 0,
        pictured: Collection[int] = (),
    ):
        if not frames:
            raise ValueError(f"{title}: no frame was recorded")
        self.title = title
        self.frames = tuple(frames)
        self._pictured = set(pictured)
        self.pictures = tuple(render(frame) for frame in self.frames)
        last = len(self.frames) - 1
        self.slider = widgets.IntSlider(
            value=start,
            min=0,
            max=last,
            readout=False,
            continuous_update=True,
            layout=widgets.Layout(width="420px"),
        )
        back = widgets.HTML(_BUTTON.format(words=say("◀ back"), title=say("one frame back"), key="ArrowLeft"))
        next_ = widgets.HTML(_BUTTON.format(words=say("next ▶"), title=say("one frame on"), key="ArrowRight"))
        wide = widgets.Layout(width="100%", margin="0")
        pages = [widgets.HTML(drawing.page(self._headed(i)), layout=wide) for i in range(last + 1)]
        stack = widgets.Stack(pages, selected_index=start, layout=wide)
        self.link = widgets.jslink((self.slider, "value"), (stack, "selected_index"))
        controls = widgets.HBox([back, self.slider, next_])
        self.widget = widgets.VBox([controls, stack] if last else [stack])

    @property
    def frame(self) -> Any:
        """The frame that the slider points at."""
        return self.frames[self.slider.value]

    def static_html(self) -> str:
        """The frames for a page without a kernel: a few as pictures, all of them as text."""
        last = len(self.frames) - 1
        shown = sorted({round(last * part / (_PICTURES - 1)) for part in range(_PICTURES)} | self._pictured)
        parts = []
        for i in shown:
            summary = escape(self.title)
            if last:
                summary += f"{say(', ')}{self._place(i)}{say(': ')}{escape(_first_line(self.frames[i]))}"
            picture = drawing.static_page(self.pictures[i])
            parts.append(f"<details{' open' if i == last else ''}><summary>{summary}</summary>{picture}</details>")
        if len(shown) <= last:
            summary = say("all {count} frames as text", count=last + 1)
            parts.append(f"<details><summary>{summary}</summary><pre>{escape(str(self))}</pre></details>")
        return drawing.page("".join(parts))

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"{i}. {frame}" for i, frame in enumerate(self.frames, 1))])

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        live = self.widget._repr_mimebundle_() or {}
        return {**live, "text/html": self.static_html(), "text/plain": str(self)}

    def _place(self, index: int) -> str:
        return say("frame {number} of {count}", number=index + 1, count=len(self.frames))

    def _headed(self, index: int) -> str:
        count = f'<span class="mk-faint">{self._place(index)}</span>'
        return f"<div><b>{escape(self.title)}</b> &nbsp; {count}</div>{self.pictures[index]}"


def _first_line(frame: Any) -> str:
    return str(frame).split("\n", 1)[0]
