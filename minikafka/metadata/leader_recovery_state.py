"""Whether a leader was elected although it may lack records."""

from enum import IntEnum


class LeaderRecoveryState(IntEnum):
    """How the leader of a partition came to be elected. Kafka: `org.apache.kafka.metadata.LeaderRecoveryState`.

    `RECOVERED`: by a clean election, or the leader has recovered since. `RECOVERING`: by an unclean election.
    """

    RECOVERED = 0
    RECOVERING = 1


NO_CHANGE = -1
"""In a record: the state stays as it is. Kafka: `LeaderRecoveryState.NO_CHANGE`."""
