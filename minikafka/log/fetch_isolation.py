"""How far a read may see."""

from enum import Enum

FUTURE_LOCAL_REPLICA_ID = -3


class FetchIsolation(Enum):
    """The upper bound of a read: log end, high watermark, or last stable offset. Kafka: `FetchIsolation`."""

    LOG_END = "LOG_END"
    HIGH_WATERMARK = "HIGH_WATERMARK"
    TXN_COMMITTED = "TXN_COMMITTED"

    @staticmethod
    def of(replica_id: int, read_committed: bool) -> "FetchIsolation":
        """The bound for a reader: the log end for a replica (id >= 0, or -3 for a future one), less for a consumer.

        Kafka: `FetchIsolation.of`.
        """
        if replica_id >= 0 or replica_id == FUTURE_LOCAL_REPLICA_ID:
            return FetchIsolation.LOG_END
        return FetchIsolation.TXN_COMMITTED if read_committed else FetchIsolation.HIGH_WATERMARK
