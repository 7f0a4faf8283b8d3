"""My log: Kafka's storage layer, written from nothing. `minikafka exam my_log.py` compares it with Apache Kafka's.

Copy this file to where you work. Only the standard library and crc32c may be imported; where your log runs there is
nothing else, and it can start no process. All numbers in files are big-endian. Nine questions, each asks for more; fail
one, and the first difference is told: a step of the story, or the first byte of a file. With `--keep DIR` the story,
your directory and the right one are laid into DIR, where `minikafka dump-log` can look at them. Lessons to have at
hand: *Records* and *Segments* (questions 1 to 4), *Read* (5), *Crash and recovery* (6), *Replication* (7), and for
those who go on *Producers and transactions* (8, 9).

The questions: 1. the .log of one segment, 2. the offset index, 3. the time index, 4. rolling, 5. reads, 6. recovery,
7. leader epochs, 8. producer snapshots, 9. transactions. `read` is called in 5 alone, `clean=False` is given in 6
alone. From 5 on the log is also closed and opened again within a story. Not asked are batches that a producer repeats
or sends in the wrong order, epochs lower than the last one, of a leader or a producer, markers with a newer epoch than
their producer's batches, rolling by age, and what a recovery finds of epochs and transactions.

The files are Kafka's: `.log` (1), `.index` (2) and `.timeindex` (3) for each segment, `leader-epoch-checkpoint` (7), a
`.snapshot` of the producers wherever a segment begins and at the log's end when it is closed (8), a `.txnindex` for a
segment with markers of aborted transactions (9). The lessons do not show the bytes of the last two:

- `.snapshot`: int16 version (1), uint32 CRC-32C of all bytes behind it, int32 number of producers; and for each, in
  ascending order of the ids: int64 producer id, int16 epoch, int32 last sequence, int64 last offset, int32 last offset
  minus first of that batch, int64 largest timestamp of that batch, int32 epoch of the coordinator, int64 first offset
  of its open transaction. A marker's timestamp counts as well (and its epoch, where the producer is unknown), its
  offset does not. -1 stands for what there is not, 0 for the difference. A log that is opened deletes the snapshots at
  whose offset no segment begins, but for the newest of these, unless that lies before the last segment.
- `.txnindex`: for each aborted transaction int16 version (0), int64 producer id, int64 first offset, int64 offset of
  its marker, int64 last stable offset after it.
"""


class MyLog:
    """A partition's log in one directory."""

    def __init__(self, directory: str, settings: dict[str, int], clean: bool):
        """Open the log in `directory`, which exists and may be empty.

        settings: segment.bytes, index.interval.bytes, segment.index.bytes (all in bytes).
        clean: True when the log is new, or was closed; False after a kill: then the end of the newest segment may be
        torn or damaged, and the indexes of all segments have to be made again. A kill ends the process: it loses all
        that Python holds, also in a file's buffer, and keeps the files in `directory`, as far as they were flushed.
        In `directory` there may be files and directories, and no links.
        """
        raise NotImplementedError

    def append(self, batch: bytes, leader_epoch: int) -> int:
        """Append a record batch (magic 2) as a producer sent it, with base offset 0; returns the offset it is given.

        From question 8 on the batch may have a producer id and a sequence number, and a producer may begin anew, with a
        higher epoch and the sequence 0; from question 9 on the batch may belong to a transaction, or be a marker that
        ends one (a control batch; its coordinator's epoch is 0).
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
