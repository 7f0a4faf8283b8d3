"""A table kept in a log: rows are written as keyed records, and a reader builds the table again.

A row is written in few words: `a=1` sets key `a` to `1`, `-a` deletes it (a record with the key and no value: a
tombstone), `=1` is a value without a key.
"""

from typing import Any

from minikafka.lab.stage.producers import sent
from minikafka.lab.stage.readers import SEEN, delivered
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord


def write(
    log: Any, words: str, *, producer: int = -1, transaction: str = "", replicated: bool = True, roll: bool = False
) -> Any:
    """Append the rows of `words` ("a=1 b=2 -c") as one batch, stamped with the log's clock; returns the log's answer.

    `producer`: the id of an idempotent producer, whose sequence numbers go on from those that the log knows.
    `transaction`: "commit" or "abort" makes the batch a transaction and appends that marker, "open" appends no marker;
    "" for no transaction. `replicated`: raise the high watermark to the log end. `roll`: then begin a new segment.
    """
    answer = log.append_as_leader(_batch(log, words, producer, bool(transaction)), 0)
    if transaction in ("commit", "abort"):
        marker = sent(f"{transaction} pid={producer} epoch=0", now=log.time.milliseconds())
        log.append_as_leader(marker, 0, AppendOrigin.COORDINATOR, transaction_version=0)
    if replicated:
        log.update_high_watermark(log.log_end_offset)
    if roll:
        log.roll()
    return answer


def rows(log: Any, start: int | None = None) -> list[tuple[int, str, str | None]]:
    """Offset, key and value (None: a tombstone) of each record that a read_committed consumer gets from `start` on
    (None: from the log start).
    """
    found, end = [], log.log_start_offset if start is None else start
    while True:
        data = log.read(end, 1_048_576, FetchIsolation.TXN_COMMITTED, min_one_message=True)
        batches = list(data.records.batches())
        if not batches:
            return found
        for record, fate in delivered(data, end):
            if fate == SEEN:
                found.append((record.offset, _text(record.key), _text(record.value)))
        end = batches[-1].next_offset


def table(log: Any, start: int | None = None, so_far: dict[str, str] | None = None) -> dict[str, str]:
    """The table of a consumer that reads on from `start` (None: the log start), given its table `so_far`.

    Keys are sorted.
    """
    known = dict(so_far or {})
    for _, key, value in rows(log, start):
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value
    return dict(sorted(known.items()))


def _batch(log: Any, words: str, producer: int, transactional: bool) -> Any:
    now = log.time.milliseconds()
    records = [SimpleRecord(now, *_key_and_value(word)) for word in words.split()]
    if producer < 0:
        return MemoryRecords.with_records(Compression.NONE, *records)
    known = log.producer_state_manager.active_producers.get(producer)
    make = MemoryRecords.with_transactional_records if transactional else MemoryRecords.with_idempotent_records
    return make(Compression.NONE, producer, 0, known.last_seq + 1 if known else 0, *records)


def _key_and_value(word: str) -> tuple[bytes | None, bytes | None]:
    if word.startswith("-"):
        return word[1:].encode(), None
    key, _, value = word.partition("=")
    return key.encode() or None, value.encode()


def _text(data: Any) -> str | None:
    return None if data is None else bytes(data).decode()
