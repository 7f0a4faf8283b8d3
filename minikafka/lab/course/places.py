"""Where the course lies: its notebooks and diagrams, and the learner's own copy of them."""

from pathlib import Path

_CARRIED = Path(__file__).parent / "carried"
"""What a wheel carries; a clone has the same three directories beside the package."""
_HOME = _CARRIED if _CARRIED.is_dir() else Path(__file__).parents[3]

COURSE = _HOME / "notebooks"
"""The lessons as the course has them."""
DIAGRAMS = _HOME / "diagrams"
"""The drawn diagrams and their sources."""
DESK = Path("my-lessons")
"""The learner's working copy, where one stands; `make` stands at the top of the clone."""
