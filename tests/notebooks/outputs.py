"""What the code cells of a notebook show, in a form that can be compared."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat

LIVE_WIDGET = "application/vnd.jupyter.widget-view+json"
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
Shown = list[tuple[str, str]]
"""Of each output its kind (`stdout`, or a MIME type) and its text."""


def code_cells(notebook: Path) -> list[tuple[str, Shown]]:
    """The source of each code cell, and what its stored outputs show."""
    cells = nbformat.read(notebook, as_version=4).cells
    return [(cell.source, shown(cell.outputs)) for cell in cells if cell.cell_type == "code"]


def shown(outputs: Iterable[Mapping[str, Any]]) -> Shown:
    """What outputs show, without live widgets; prints that follow each other are one, addresses of objects are alike.

    An error is an output of the kind `error`.
    """
    all_shown: Shown = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            data = {output["name"]: output["text"]}
        else:
            data = {"error": output["evalue"]} if kind == "error" else output["data"]
        for name in sorted(data.keys() - {LIVE_WIDGET}):
            text = data[name] if isinstance(data[name], str) else "".join(data[name])
            text = _ADDRESS.sub("0xADDRESS", text)
            if kind == "stream" and all_shown and all_shown[-1][0] == name:
                text = all_shown.pop()[1] + text
            all_shown.append((name, text))
    return all_shown
