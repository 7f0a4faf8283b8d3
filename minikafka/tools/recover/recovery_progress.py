"""A progress bar for the recovery of a long log, on a terminal or in a notebook."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class RecoveryProgress(dict):
    """A mapping for `num_remaining_segments` of `Log.create` that is drawn as a bar: the segments recovered, out of all
    to recover.

        with RecoveryProgress("orders-0") as remaining:
            log = Log.create(directory, config, ..., num_remaining_segments=remaining)

    A log that needs no recovery draws nothing. `console` is rich's (None: stderr, or the cell of a notebook).
    """

    def __init__(self, title: str, console: Console | None = None):
        super().__init__()
        self._title = title
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=console or Console(stderr=True))
        self._tasks = {}

    def __enter__(self) -> "RecoveryProgress":
        return self

    def __exit__(self, *failure) -> None:
        if self._tasks:
            self._progress.stop()

    def __setitem__(self, thread_name: str, remaining: int) -> None:
        super().__setitem__(thread_name, remaining)
        if thread_name not in self._tasks:
            self._progress.start()
            self._tasks[thread_name] = self._progress.add_task(f"recovering {self._title}", total=remaining)
        task = self._tasks[thread_name]
        total = self._progress.tasks[self._progress.task_ids.index(task)].total
        self._progress.update(task, completed=total - remaining)
