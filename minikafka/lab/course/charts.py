"""Charts of what a query has found, drawn by matplotlib: the same bytes each time, in the colours of the page.

Letters are drawn as shapes, so a chart needs no font; its text equivalent has the numbers.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from io import StringIO
from typing import Any

from minikafka.lab.course.diagrams import Picture
from minikafka.lab.widgets import drawing

_ROLES = {role: f"#{number:02x}fe{number:02x}" for number, role in enumerate(drawing.LIGHT, 1)}
"""A colour of no meaning for each role: matplotlib draws in it, and it becomes the role afterwards."""

_SETTINGS = {
    "svg.hashsalt": "minikafka", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 11,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8,
}  # fmt: skip
_INCHES = drawing.WIDTH / 72


def bars_over_time(rows: Iterable[Sequence[Any]], title: str) -> Picture:
    """Bars side by side over time, each with its number, a strip for each series, all on one scale.

    `rows`: a DataFrame's or a list's (series, moment, number), the moments in order; a missing one is 0.
    """
    found = [tuple(row) for row in _collected(rows)]
    moments = list(dict.fromkeys(str(moment) for _, moment, _ in found))
    series: dict[str, dict[str, float]] = {}
    for name, moment, number in found:
        series.setdefault(str(name), {})[str(moment)] = float(number)
    most = max(number for _, _, number in found)
    words = [f"{name}: " + ", ".join(f"{m} {numbers.get(m, 0):g}" for m in moments) for name, numbers in series.items()]

    def draw(figure: Any) -> None:
        for axes, (name, numbers) in zip(
            figure.subplots(len(series), sharex=True, squeeze=False)[:, 0], series.items()
        ):
            heights = [numbers.get(moment, 0) for moment in moments]
            axes.bar(range(len(moments)), heights, color=_ROLES["a"], edgecolor=_ROLES["leo"], linewidth=0.8)
            for place, height in enumerate(heights):
                axes.text(place, height + most * 0.03, f"{height:,.0f}", ha="center", va="bottom", color=_ROLES["ink"])
            axes.set_ylim(0, most * 1.3)
            axes.set_yticks([0, most], ["0", f"{most:,.0f}"])
            axes.set_title(name, loc="left", fontsize=12, fontweight="bold", color=_ROLES["ink"])
            axes.set_xticks(range(len(moments)), moments)

    return _picture(draw, 1.3 * len(series) + 0.5, title, words)


def bars_by_name(rows: Iterable[Sequence[Any]], title: str) -> Picture:
    """For each name a bar of each series, one below the other, each with its series and number; all on one scale.

    `rows`: a DataFrame's or a list's (name, series, number).
    """
    found = [tuple(row) for row in _collected(rows)]
    names = list(dict.fromkeys(str(name) for name, _, _ in found))
    colours = dict(zip(dict.fromkeys(series for _, series, _ in found), ("a", "b", "c", "d"), strict=False))
    own = {name: [(series, float(number)) for each, series, number in found if str(each) == name] for name in names}
    words = [f"{name}: " + ", ".join(f"{series} {number:g}" for series, number in own[name]) for name in names]
    most = max(float(number) for _, _, number in found)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        place, middles = 0.0, []
        for name in names:
            middles.append(place + (len(own[name]) - 1) / 2)
            for series, number in own[name]:
                axes.barh(place, number, color=_ROLES[colours[series]], edgecolor=_ROLES["leo"], linewidth=0.8)
                axes.text(number + most * 0.01, place, f"{series} {number:,.0f}", va="center", color=_ROLES["ink"])
                place += 1
            place += 0.6
        axes.set_yticks(middles, names)
        axes.set_ylim(place - 0.9, -0.7)
        axes.set_xlim(0, most * 1.25)

    return _picture(draw, 0.28 * (len(found) + 0.6 * len(names)) + 0.5, title, words)


def spans_of_time(rows: Iterable[Sequence[Any]], title: str) -> Picture:
    """A bar from one moment to another for each name, on one axis of hours.

    `rows`: (name, begin, end, words at the bar's end); begin and end are timestamps.
    """
    found = [tuple(row) for row in _collected(rows)]
    first = min(begin for _, begin, _, _ in found).replace(minute=0, second=0, microsecond=0)
    hours = [[(moment - first).total_seconds() / 3600 for moment in (begin, end)] for _, begin, end, _ in found]
    words = [f"{name}: from {begin:%H:%M} to {end:%H:%M}, {note}" for name, begin, end, note in found]
    last = int(max(end for _, end in hours)) + 2

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, ((begin, end), (_, _, _, note)) in enumerate(zip(hours, found, strict=True)):
            axes.barh(
                place, end - begin, left=begin, height=0.5, color=_ROLES["b"], edgecolor=_ROLES["hw"], linewidth=0.8
            )
            axes.plot([end], [place], marker="|", markersize=16, color=_ROLES["ink"])
            axes.text(end + 0.15, place, note, va="center", color=_ROLES["ink"])
        axes.set_yticks(range(len(found)), [str(name) for name, *_ in found])
        axes.set_ylim(len(found) - 0.5, -0.5)
        axes.set_xlim(0, last + 2.5)
        axes.set_xticks(range(last), [f"{(first.hour + hour) % 24:02d}:00" for hour in range(last)])

    return _picture(draw, 0.45 * len(found) + 0.7, title, words)


def _collected(rows: Any) -> Any:
    return rows.collect() if hasattr(rows, "collect") else rows


def _picture(draw: Any, inches: float, title: str, words: list[str]) -> Picture:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    ink = _ROLES["ink"]
    colours = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), ink)
    with mpl.rc_context(_SETTINGS | colours):
        figure = Figure(figsize=(_INCHES, inches), layout="constrained")
        FigureCanvasSVG(figure)
        figure.patch.set_alpha(0)
        draw(figure)
        for axes in figure.axes:
            axes.patch.set_alpha(0)
        drawn = StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(_themed(drawn.getvalue(), title), "\n".join([title, *words]))


def _themed(drawn: str, title: str) -> str:
    """matplotlib's SVG in the page's colours, without what only a file of its own needs."""
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r"<!--.*?-->\s*", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r"\s*<style.*?</style>", "", drawn, count=1, flags=re.DOTALL)  # it would reach the whole page
    for role, colour in _ROLES.items():
        drawn = drawn.replace(colour, f"var(--mk-{role})")
    drawn = re.sub(r'width="([\d.]+)pt" height="([\d.]+)pt"', r'width="\1" height="\2"', drawn, count=1)
    drawn = drawn.replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"',
        'xmlns:xlink="http://www.w3.org/1999/xlink" role="img" stroke-linejoin="round"',
        1,
    )
    return drawn.replace(">", f">\n<title>{escape(title)}</title>", 1)
