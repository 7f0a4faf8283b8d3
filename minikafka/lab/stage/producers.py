"""Senders for the lessons: batches written as a workload writes them, a producer's own counters, end markers,
fetches.
"""

from typing import Any

from minikafka.lab.stage.workbench import NOON
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.log.batch import Batch


def sent(*batches: str, now: int = NOON) -> Any:
    """The bytes of these batches as they reach the log, `MemoryRecords`; each is written as in a workload: "3x10 pid=7
    seq=0".

    `3x10`: three records with values of 10 bytes; `pid`, `epoch`, `seq`, `txn`: the producer's; `offset`,
    `leader_epoch`: what a leader has set; `ts=now-5`, `codec=gzip`, `damage=crc`. Raises ValueError that names a word
    it does not know.
    """
    data = b""
    for text in batches:
        batch = Batch.parse(text)
        base = batch.offset.distance if batch.offset else 0
        data += batch.encode(now, base, batch.last.distance if batch.last else None)
    return MemoryRecords.readable_records(bytearray(data))


class Producer:
    """A producer with id and epoch that counts its records: sequences go on from batch to batch.

    Only its batches reach the log. `last`: the words of its last batch, to send it a second time.
    """

    def __init__(self, log: Any, producer_id: int, epoch: int = 0, *, transactional: bool = False):
        self.log, self.producer_id, self.epoch = log, producer_id, epoch
        self.next_sequence = 0
        self.last = ""
        self._txn = " txn" if transactional else ""

    def send(self, count: int = 1) -> Any:
        """Append `count` records in one batch; returns the log's answer."""
        self.last = f"{count}x1 pid={self.producer_id} epoch={self.epoch} seq={self.next_sequence}{self._txn}"
        self.next_sequence += count
        return self.send_again()

    def send_again(self) -> Any:
        """Append the last batch once more, as after an answer that got lost."""
        return self.log.append_as_leader(sent(self.last), 0)

    def end(self, how: str) -> Any:
        """The coordinator writes this producer's marker: `how` is "commit" or "abort"."""
        marker = sent(f"{how} pid={self.producer_id} epoch={self.epoch}")
        return self.log.append_as_leader(marker, 0, AppendOrigin.COORDINATOR, transaction_version=0)


def fetched(log: Any, offset: int = 0) -> Any:
    """What a follower's fetch from `offset` brings: the log's batches as they lie on its disk, in memory."""
    data = log.read(offset, 1_048_576, FetchIsolation.LOG_END).records
    return MemoryRecords.readable_records(b"".join(bytes(batch.load_full_batch().buffer) for batch in data.batches()))
