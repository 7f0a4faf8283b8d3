"""A table for the lesson *Records*: who notices a bit that flips in each field of a batch."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.stage.batch_bytes import batches_in, flipped
from minikafka.lab.stage.damage import kill, load
from minikafka.lab.stage.workbench import fresh_log
from minikafka.lab.widgets.append_tables import Table
from minikafka.lab.widgets.microscope import fields_of
from minikafka.record.format.memory_records import MemoryRecords


def who_notices(records: Callable[[], MemoryRecords]) -> Table:
    """For each field of a batch: who notices a bit that flips in it, the lowest of the field's last byte.

    *append*: it flips on the way to the leader. *recovery*: it flips on the disk, in the second of three batches, and
    the broker was killed; `log end` is where the log ends afterwards. *read*: it flips on the disk, and a reader takes
    what the file has, without a look at the CRC.
    """
    places = [
        (field.name, field.start + field.size - 1)
        for field in fields_of(bytes(records().buffer))
        if field.name != "record 1"
    ]
    rows = [[name, _append(flipped(records(), at)), *_on_disk(records, at)] for name, at in places]
    return Table(["the bit flips in", "append", "log end after a recovery", "values that are read"], rows)


def _append(records: MemoryRecords) -> str:
    log = fresh_log()
    try:
        log.append_as_leader(records, leader_epoch=0)
    except Exception as error:
        return type(error).__name__
    return "nobody"


def _on_disk(records: Callable[[], MemoryRecords], at: int) -> tuple[str, str]:
    log = fresh_log()
    for _ in range(3):
        log.append_as_leader(records(), leader_epoch=0)
    size = batches_in(log)[0].size_in_bytes
    directory = kill(log)
    file = directory / f"{0:020}.log"
    data = bytearray(file.read_bytes())
    data[size + at] ^= 1
    file.write_bytes(data)
    return _end_of(lambda: load(directory)), _values(data)


def _end_of(open_log: Callable[[], Any]) -> str:
    try:
        log = open_log()
    except Exception as error:
        return type(error).__name__
    try:
        return str(log.log_end_offset)
    finally:
        log.close()


def _values(data: bytearray) -> str:
    found: list[str] = []
    try:
        for batch in MemoryRecords.readable_records(data).batches():
            found += [f"{record.offset}:{(record.value or b'').decode('utf-8', 'replace')}" for record in batch]
    except Exception as error:
        found.append(type(error).__name__)
    return " ".join(found)
