"""My log: Kafka's storage layer, written from nothing. `minikafka exam my_log.py` compares it with Apache Kafka's.

Only the standard library and crc32c may be imported. All numbers in files are big-endian. Lessons to have at hand:
*Segments*, *Append*, *Read*, *Crash and recovery*.
"""


class MyLog:
    """A partition's log in one directory."""

    def __init__(self, directory: str, settings: dict[str, int], clean: bool):
        """Open the log in `directory`, which exists and may be empty.

        settings: segment.bytes, index.interval.bytes, segment.index.bytes (all in bytes).
        clean: True when the log is new, or was closed; False after a kill: then the end of the newest segment may be
        torn or damaged, and the indexes of all segments have to be made again.
        """
        raise NotImplementedError

    def append(self, batch: bytes, leader_epoch: int) -> int:
        """Append a record batch (magic 2) as a producer sent it, with base offset 0; returns the offset it is given."""
        raise NotImplementedError

    def roll(self) -> None:
        """Begin a new segment at the log end, unless the active segment is empty."""
        raise NotImplementedError

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Bytes from the batch that holds `offset` on: at most max_bytes, but the first batch whole; from one segment.

        b"" at the log end. The offset is never beyond it.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the log, so that it can be opened again with clean=True."""
        raise NotImplementedError
