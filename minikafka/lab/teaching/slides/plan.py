"""The plan of a deck: ten slides, each with a title, a few short lines, and the name of what it shows of the lesson."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROLES = ("question", "picture", "rules", "walk", "walk", "walk", "prediction", "witnesses", "exercise", "check")
"""What each of the ten slides is for, in their order."""
FILE = "slides.toml"
"""The plan's name in the folder of a lesson."""
_KEYS = {"title", "lines", "shows", "frame", "asks"}


class PlanError(Exception):
    """A plan that can't become a deck; the message names the file and says why."""


@dataclass(frozen=True)
class Planned:
    """One slide of a plan.

    `lines` are Markdown, a line each. `shows` quotes the cell whose output (of an exercise: whose code) is shown,
    `frame` the caption of one of its frames, `asks` the id of a prediction.
    """

    role: str
    title: str
    lines: tuple[str, ...] = ()
    shows: str = ""
    frame: str = ""
    asks: str = ""


def read_plan(file: Path) -> list[Planned]:
    """The ten slides that `file` (TOML, one table `slide` for each) plans. Raises PlanError."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8")).get("slide", [])
    except FileNotFoundError:
        raise PlanError(f"{file} is missing: the lesson has no plan for its slides") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
        raise PlanError(f"{file}: {failure}") from None
    tables = tables if isinstance(tables, list) else []
    if len(tables) != len(ROLES):
        raise PlanError(f"{file} plans {len(tables)} slides, not {len(ROLES)}")
    return [_planned(file, role, table) for role, table in zip(ROLES, tables, strict=True)]


def _planned(file: Path, role: str, table: dict) -> Planned:
    if unknown := table.keys() - _KEYS:
        raise PlanError(f"{file}: a slide knows no {', '.join(sorted(unknown))}")
    if "title" not in table:
        raise PlanError(f"{file}: the slide for the {role} has no title")
    return Planned(role, **{**table, "lines": tuple(table.get("lines", ()))})
