"""A process that was forked from the one that opened files must not change them. Not in Kafka: Java does not fork."""

import os

from minikafka.common.at_hand import call_after_fork
from minikafka.common.errors import KafkaStorageException

_this_process = os.getpid()


def _after_fork() -> None:
    global _this_process
    _this_process = os.getpid()


# Each append asks which process this is: the system is asked after a fork alone.
call_after_fork(_after_fork)


class OwnProcess:
    """The process that made this object. It and a forked one would write over each other."""

    def __init__(self) -> None:
        self._id = _this_process

    @property
    def is_this(self) -> bool:
        """Whether the caller is in that process."""
        return self._id == _this_process

    def require(self, what: str, place: object) -> None:
        """Raises KafkaStorageException in another process; `what` at `place` was opened, as words for the message."""
        if self._id != _this_process:
            raise KafkaStorageException(
                f"{what} {place} was opened by process {self._id}; process {_this_process}, which was forked from it, "
                "must not change it"
            )
