"""A progress bar on stderr for work on many bytes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from minikafka.tools.printable import printable

LONG_WORK = 64 * 1024 * 1024
"""This many bytes take long enough for a progress bar."""


@contextmanager
def progress_bar(work: str, total_bytes: int, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with the number of bytes by which the work has advanced.

    `work` is the text in front of the bar. Nothing is drawn for fewer than LONG_WORK bytes, without a terminal, or
    unless `shown`.
    """
    if total_bytes < LONG_WORK or not sys.stderr.isatty() or not shown:
        yield lambda size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(work), total=total_bytes)
        yield lambda size: progress.update(task, advance=size)
