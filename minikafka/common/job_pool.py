"""Jobs that may run at the same time, whose results are taken in the order in which the jobs were submitted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from minikafka.common.at_hand import HAS_THREADS

T = TypeVar("T")


class JobPool:
    """Runs jobs on several threads or, if one is asked for or none can be started, each in the thread that asks for its
    result.

    With one thread every run is the same: a test can watch each effect on the disk in order, and a manual clock stands
    still meanwhile.

    Kafka: `Executors.newFixedThreadPool`.
    """

    def __init__(self, threads: int, name: str):
        """`threads` >= 1; the names of the threads begin with `name`."""
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name) if threads > 1 and HAS_THREADS else None

    def submit(self, job: Callable[[], T]) -> Callable[[], T]:
        """Submit a job; call the returned function once, to wait for the job and get what it returns or raises.

        Kafka: `ExecutorService.submit`, `Future.get`.
        """
        return job if self._executor is None else self._executor.submit(job).result

    def shutdown(self) -> None:
        """Let the threads end once their jobs are done. Kafka: `ExecutorService.shutdown`."""
        if self._executor is not None:
            self._executor.shutdown()
