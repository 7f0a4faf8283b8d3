"""The states of a partition that is not free to be cleaned."""

from enum import Enum
from typing import NamedTuple


class LogCleaningState(Enum):
    """Somebody works on the partition (`IN_PROGRESS`), or has been asked to stop (`ABORTED`).

    Kafka: `LogCleaningState.LogCleaningInProgress`, `LogCleaningState.LogCleaningAborted`.
    """

    IN_PROGRESS = "LogCleaningInProgress"
    ABORTED = "LogCleaningAborted"

    def __str__(self) -> str:
        return self.value


class LogCleaningPaused(NamedTuple):
    """Nobody may clean the partition until each of `paused_count` (≥ 1) pauses has been undone.

    Kafka: `LogCleaningState.LogCleaningPaused`.
    """

    paused_count: int

    def __str__(self) -> str:
        return f"LogCleaningPaused{{pausedCount={self.paused_count}}}"
