"""Offsets and times as a workload writes them: a number, or a place in the log and a distance from it."""

import re
from typing import NamedTuple

ANCHORS = {
    "start": "the log start offset",
    "hw": "the high watermark",
    "lso": "the last stable offset",
    "leo": "the log end offset",
    "recovery": "the recovery point",
    "active": "the base offset of the active segment",
    "now": "the clock, in ms",
}
_PATTERN = re.compile(rf"({'|'.join(ANCHORS)})?([+-]?\d+)?")


class At(NamedTuple):
    """An offset (or a time in ms): `At("", 17)` is 17, `At("leo", -3)` three below the log end offset when it is used.

    Relative offsets keep their meaning when operations are taken out of a workload. As text: `17`, `leo-3`, `hw`.
    """

    anchor: str
    distance: int

    @classmethod
    def of(cls, value) -> "At":
        """Take `value` as it is (`At`), as a number, or as text. Raises ValueError for anything else."""
        if isinstance(value, At):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return cls("", value)
        match = _PATTERN.fullmatch(value) if isinstance(value, str) else None
        if not match or not (match[1] or match[2]) or (match[1] and match[2] and match[2][0] not in "+-"):
            raise ValueError(f"{value!r} is neither a number nor one of {', '.join(ANCHORS)} with a distance (leo-3)")
        return cls(match[1] or "", int(match[2] or 0))

    def resolve(self, places) -> int:
        """The number that is meant; `places` maps each anchor to its number."""
        return self.distance + (places[self.anchor] if self.anchor else 0)

    def __str__(self) -> str:
        if not self.anchor:
            return str(self.distance)
        return f"{self.anchor}{self.distance:+d}" if self.distance else self.anchor
