"""A walk beside a map that marks where we are: in the produce path, or on the way of a query."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from minikafka.lab.stepper.stepper import Walk, render_step
from minikafka.lab.widgets.offset_ruler import scale_of
from minikafka.lab.widgets.plan_map import plan_frames, render_plan_map
from minikafka.lab.widgets.player import Player
from minikafka.lab.widgets.produce_map import map_frames, render_produce_map


class PathWalk:
    """A `Walk`, shown with a map above each step: by default the six classes of the produce path.

    `places` makes a frame of the map for each method in turn, `render_map` draws one. `pictured`: the steps (numbers
    from 0) that a page without a kernel shows as well.
    """

    def __init__(
        self,
        walk: Walk,
        places: Callable[[Sequence[str]], Sequence[Any]] = map_frames,
        render_map: Callable[[Any], str] = render_produce_map,
        *,
        pictured: Collection[int] = (),
    ):
        self.walk, self._render_map, self._pictured = walk, render_map, pictured
        self.places = places([frame.method.name for frame in walk.frames])

    def play(self) -> Player:
        """The replay: a slider over the steps."""
        frames = self.walk.frames
        moments = [offsets for frame in frames for offsets in (frame.before, frame.after) if offsets]
        scale = scale_of(moments) if moments else None
        numbers = {id(frame): number for number, frame in enumerate(frames)}

        def render(frame: object) -> str:
            number = numbers[id(frame)]
            return self._render_map(self.places[number]) + render_step(frames[number], frames, number, scale)

        return Player(frames, render, title=self.walk.title, pictured=self._pictured)


def query_walk(walk: Walk) -> PathWalk:
    """The walk with the map of a query's way above each step."""
    return PathWalk(walk, plan_frames, render_plan_map)
