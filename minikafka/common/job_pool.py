"""Jobs that may run at the same time, and whose results are taken in the order in which they were handed in."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class JobPool:
    """Runs jobs on a number of threads, or a job at a time in the thread that asks for its result.

    With one thread every run is the same: a test can watch each effect on the disk in order, and a clock that is moved
    by hand stands still meanwhile.

    Kafka: `Executors.newFixedThreadPool`.
    """

    def __init__(self, threads: int, name: str):
        """`threads` >= 1; `name` begins the names of the threads."""
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name) if threads > 1 else None

    def submit(self, job: Callable[[], T]) -> Callable[[], T]:
        """Hand a job in. Call what is returned, once, to wait for the job: it gives or raises what the job did.

        Kafka: `ExecutorService.submit`, `Future.get`.
        """
        return job if self._executor is None else self._executor.submit(job).result

    def shutdown(self) -> None:
        """Let the threads end when their jobs have. Kafka: `ExecutorService.shutdown`."""
        if self._executor is not None:
            self._executor.shutdown()
