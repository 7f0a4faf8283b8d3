"""My log: Kafka's storage layer, written from nothing. `minikafka exam my_log.py` compares it with Apache Kafka's.

Only the standard library and crc32c may be imported. All numbers in files are big-endian. Nine questions, each asks for
more; fail one, and the first difference is told: a step of the story, or the first byte of a file. With `--keep DIR` the
story, your directory and the right one are laid into DIR, where `minikafka dump-log` can look at them. Lessons to have at
hand: *Records* and *Segments* (questions 1 to 4), *Read* (5), *Crash and recovery* (6), *Replication* (7), and for those
who go on *Producers and transactions* (8, 9).

The files are Kafka's: `.log` (1), `.index` (2) and `.timeindex` (3) for each segment, `leader-epoch-checkpoint` (7), a
`.snapshot` of the producers wherever a segment begins and at the log's end when it is closed (8), a `.txnindex` for a
segment with markers of aborted transactions (9).
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
        """Append a record batch (magic 2) as a producer sent it, with base offset 0; returns the offset it is given.

        From question 8 on the batch may have a producer id and a sequence number, from question 9 on it may belong to a
        transaction, or be a marker that ends one (a control batch; its coordinator's epoch is 0).
        """
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
