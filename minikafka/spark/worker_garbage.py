"""Python workers that do not search all that they have imported for garbage after each task.

A worker of Spark's runs many tasks, and collects garbage after each of them. With pandas, pyarrow and numba imported
that is a search through some 300,000 objects which stay for good: 60 ms, as long as it takes to read 256 MB. In workers
that have come across minikafka, what is alive after a collection is taken out of the next search (`gc.freeze`) if
modules were imported since the last one. Garbage is still collected after each task, in a millisecond.
"""

import gc
import sys

_OLDEST_GENERATION = 2
_modules = 0


def spare_modules_in_a_worker() -> None:
    """Let collections of garbage pass over modules, if this process is one of Spark's Python workers."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    if main is not None and main.name == "pyspark.daemon" and _spare_modules not in gc.callbacks:
        gc.callbacks.append(_spare_modules)


def _spare_modules(phase: str, info: dict[str, int]) -> None:
    global _modules
    if phase == "stop" and info["generation"] == _OLDEST_GENERATION and len(sys.modules) > _modules:
        _modules = len(sys.modules)
        gc.freeze()
