"""How a broker that cannot go on ends its process: as whoever runs it has said."""

from collections.abc import Callable
from typing import TypeAlias

from minikafka.common.errors import FatalExitError

Halt: TypeAlias = Callable[[FatalExitError], object]
"""Ends the process, or whatever stands for it, and says why. It is called in the thread that cannot go on, which may
hold locks; the thread goes on if it returns. Kafka: `Exit.halt`, with the `Exit.Procedure` that a test sets.
"""


def raise_fatal(fatal: FatalExitError) -> None:
    """Raise it where the failure is handled: for brokers in the process of whoever moves their clock. Not in Kafka."""
    raise fatal
