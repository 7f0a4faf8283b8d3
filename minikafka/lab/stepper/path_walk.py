"""A walk through the produce path: each step beside the map that marks where the request is."""

from minikafka.lab.stepper.stepper import Walk, render_step
from minikafka.lab.widgets.offset_ruler import scale_of
from minikafka.lab.widgets.player import Player
from minikafka.lab.widgets.produce_map import map_frames, render_produce_map


class PathWalk:
    """A `Walk`, shown with the map of the six classes above each step."""

    def __init__(self, walk: Walk):
        self.walk = walk
        self.places = map_frames([frame.method.name for frame in walk.frames])

    def play(self) -> Player:
        """The replay: a slider over the steps."""
        frames = self.walk.frames
        moments = [offsets for frame in frames for offsets in (frame.before, frame.after) if offsets]
        scale = scale_of(moments) if moments else None
        numbers = {id(frame): number for number, frame in enumerate(frames)}

        def render(frame: object) -> str:
            number = numbers[id(frame)]
            return render_produce_map(self.places[number]) + render_step(frames[number], frames, number, scale)

        return Player(frames, render, title=self.walk.title)
