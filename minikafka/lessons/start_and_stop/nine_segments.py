"""What the first part of *Start and stop* shows."""

from typing import Any

from minikafka.lab.widgets.log_dir_lanes import LogDirLanes


def nine_segments(lanes: LogDirLanes) -> None:
    """A log of nine segments with a record each; the broker is killed a few seconds after the last one was begun.

    The file of recovery points is older than that. `lanes` shows all of it.
    """
    layer = lanes.layer
    lanes.after("the broker starts", layer.start)
    lanes.after("a log is created, and gets a record", _begin, layer)
    for value in "bcdefgh":
        lanes.after("four seconds later: a roll, and a record", _roll_after, layer, 4, value)
    lanes.sleep(2)
    lanes.after("ten seconds later: a roll, and a record", _roll_after, layer, 10, "i")
    lanes.sleep(5)
    lanes.after("the broker is killed", layer.kill)


def _begin(layer: Any) -> None:
    layer.create("orders-0")
    layer.append("orders-0", "a")


def _roll_after(layer: Any, seconds: int, value: str) -> None:
    layer.sleep(seconds)
    layer.roll("orders-0")
    layer.append("orders-0", value)
