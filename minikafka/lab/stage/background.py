"""Work that a notebook does while its reader reads, and what a cell says that has to wait for it."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from html import escape
from typing import Any, TypeVar

from minikafka.common.at_hand import HAS_SPARK, HAS_THREADS, IN_A_BROWSER
from minikafka.witness.spoken import say

T = TypeVar("T")

SPARK_AND_KAFKA = "This cell waits for Spark and Apache Kafka, which are starting: about 10 seconds."
FOR_THE_FIRST_TIME = (
    "This cell waits for Spark and Apache Kafka, which start on this machine for the first time: a minute or longer."
)
_SOON_S = 1.0
"""A cell that is ready sooner says nothing."""

_somebody_reads = True
_doing: list[threading.Thread] = []
_telling = threading.Lock()
_told: dict[str, int] = {}
"""What `told_beside` has shown, by the number of the cell below which it was last."""


def while_the_reader_reads(*work: Callable[[], object]) -> None:
    """In a notebook's kernel, do each of `work` in a thread of its own; elsewhere, do nothing.

    A later cell then need not wait for what it needs; that cell, not this call, reports what went wrong. What the work
    prints shows in no cell.
    """
    if not (_in_a_notebook() and HAS_THREADS and _somebody_reads):
        return
    _import_spark()
    from ipykernel.iostream import OutStream

    def run(task: Callable[[], object]) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, OutStream):
                stream.set_thread_parent({"header": {}})  # else it would belong to the cell that is running
        with suppress(Exception):
            task()

    for task in work:
        thread = threading.Thread(target=run, args=[task], name="while-the-reader-reads", daemon=True)
        _doing.append(thread)
        thread.start()


@contextmanager
def asked_beside(ask: Callable[..., T], *arguments: object) -> Iterator[Future[T]]:
    """Within the block a thread of its own calls `ask(*arguments)`, which may need Spark; the future has its result."""
    _import_spark()
    with ThreadPoolExecutor(1) as beside:
        yield beside.submit(ask, *arguments)


def _import_spark() -> None:
    """Import Spark whole, where it is at hand, before there are two threads that may both need it.

    `pyspark` and `pyspark.sql` import each other: of two threads that begin with different ones of them, each would
    wait for the other, or find a module without its names.
    """
    if HAS_SPARK:
        import pyspark  # noqa: F401


def nobody_reads() -> None:
    """From now on `while_the_reader_reads` does nothing: this kernel's cells run without a pause, and what one needs is
    done when it asks.
    """
    global _somebody_reads
    _somebody_reads = False


@contextmanager
def told_while_starting() -> Iterator[None]:
    """In a notebook, say what the cell waits for if the block takes longer than a second and Spark and Kafka are not
    awake yet; when the block ends, the words go, and nothing of them is stored with the cell.

    Elsewhere, and in a block within such a block, nothing is said.
    """
    in_a_cell = _in_a_notebook() and HAS_THREADS and threading.current_thread() is threading.main_thread()
    if _awake() or not in_a_cell or not _telling.acquire(blocking=False):
        yield
        return
    line = _Line()
    timer = threading.Timer(_SOON_S, lambda: line.say(say(_what_starts())))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        line.clear()
        _telling.release()


def _what_starts() -> str:
    """What a cell waits for, and how long."""
    from minikafka.jvm.kafka_jars import COORDINATES, cached_classpath
    from minikafka.witness.kafka.scala_objects import to_compile

    is_fetched = all(cached_classpath(part) is not None for part in COORDINATES)
    return SPARK_AND_KAFKA if is_fetched and not to_compile() else FOR_THE_FIRST_TIME


def told_beside(words: str) -> None:
    """In a notebook, show `words` below the running cell, once; they belong to nothing that it shows."""
    if not _in_a_notebook():
        return
    from IPython.core.getipython import get_ipython

    cell = get_ipython().execution_count
    if _told.get(words) != cell:
        _told[words] = cell
        _Line().say(words)


@contextmanager
def told_meanwhile() -> Iterator[Callable[[str], None]]:
    """Gives what shows how far the block has come, below the running cell of a browser, where work takes several times
    as long: nothing for the first second, and nothing when the block has ended. Elsewhere nothing is shown.
    """
    if not (IN_A_BROWSER and _in_a_notebook()):
        yield lambda words: None
        return
    line, soon = _Line(), time.monotonic() + _SOON_S

    def tell(words: str) -> None:
        if time.monotonic() > soon:
            line.say(words)

    try:
        yield tell
    finally:
        line.clear()


class _Line:
    """A line below the running cell. It is a widget without any other form, and an output without content once it is
    cleared: neither is compared or stored.
    """

    def __init__(self) -> None:
        self._shown: Any = None
        self._cleared = False
        self._changing = threading.Lock()

    def say(self, words: str) -> None:
        """Show these words from now on, unless the line is cleared."""
        import ipywidgets
        from IPython.display import display

        with self._changing:
            if self._cleared:
                return
            if self._shown is not None:
                self._shown[0].value = _as_html(words)
                return
            widget = ipywidgets.HTML(_as_html(words))
            view = {"application/vnd.jupyter.widget-view+json": dict(_VIEW, model_id=widget.model_id)}
            self._shown = widget, display(view, raw=True, display_id=True)

    def clear(self) -> None:
        with self._changing:
            self._cleared = True
            if self._shown is not None:
                widget, output = self._shown
                output.update({}, raw=True)
                widget.close()


def _as_html(words: str) -> str:
    return f"<i>{escape(words)}</i>"


_VIEW = {"version_major": 2, "version_minor": 0}


def _awake() -> bool:
    """Whether Spark runs, and nothing is being done while the reader reads."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)  # None where it is not imported
    runs = context is not None and context._active_spark_context is not None
    return runs and not any(thread.is_alive() for thread in _doing)


def _in_a_notebook() -> bool:
    if IN_A_BROWSER:
        from IPython.core.getipython import get_ipython

        return get_ipython() is not None
    application = sys.modules.get("ipykernel.kernelapp")
    return application is not None and application.IPKernelApp.initialized()
