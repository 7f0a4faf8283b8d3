"""A process that was forked from the one that opened files must not change them. Not in Kafka: Java does not fork."""

import os

from minikafka.common.errors import KafkaStorageException


class OwnProcess:
    """The process that made this object. It and a forked one would write over each other."""

    def __init__(self) -> None:
        self._id = os.getpid()

    @property
    def is_this(self) -> bool:
        """Whether the caller is in that process."""
        return os.getpid() == self._id

    def require(self, what: str, place: object) -> None:
        """Raises KafkaStorageException in another process; `what` at `place` was opened, as words for the message."""
        if os.getpid() != self._id:
            raise KafkaStorageException(
                f"{what} {place} was opened by process {self._id}; process {os.getpid()}, which was forked from it, must not "
                "change it"
            )
