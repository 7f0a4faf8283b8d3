"""What is made on demand and must be the same for all threads: classes, above all."""

import functools
import threading
from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")


def made_once(make: Callable[..., T]) -> Callable[..., T]:
    """`make` with each result kept, by its arguments: made for the first who asks, while other threads wait for it.

    `functools.cache` lets threads that ask at the same time each make one, and keeps the last.
    """
    kept = functools.cache(make)
    making = threading.RLock()  # what is made may be part of itself

    @functools.wraps(make)
    def made(*arguments: Hashable) -> T:
        with making:
            return kept(*arguments)

    return made
