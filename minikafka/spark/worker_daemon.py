"""PySpark's daemon, whose Python workers do not search all that they have imported for garbage after each task.

A worker of Spark's runs many tasks, and collects garbage after each of them. With pandas and pyarrow imported that is a
search through some 300,000 objects which stay for good: 60 ms, longer than most tasks of a small query take. Here what
is alive after a task that has imported something is taken out of that search (`gc.freeze`). Garbage is still collected
after each task, in a millisecond.

Spark starts this module as `spark.python.daemon.module`, in the sessions that minikafka starts on this machine.
"""

import gc
import sys
from types import SimpleNamespace

from pyspark import daemon

_modules = 0


def collect() -> None:
    """Collect garbage, and spare what is alive from the next search, if modules were imported since the last one."""
    global _modules
    gc.collect()
    if len(sys.modules) > _modules:
        _modules = len(sys.modules)
        gc.freeze()


if __name__ == "__main__":
    daemon.gc = SimpleNamespace(collect=collect)
    daemon.manager()
