"""A reader that fetches again and again, each time from where it stands."""

from typing import Any

from minikafka.log.fetch_isolation import FetchIsolation


def positions(log: Any, limit: int, *, fetches: int, min_one_message: bool) -> list[int]:
    """The offset from which a reader fetches next, after each of its first `fetches` answers of at most `limit` bytes.

    It begins at offset 0, may read up to the log end, and can use whole batches only.
    """
    position, stood = 0, []
    for _ in range(fetches):
        found = log.read(position, limit, FetchIsolation.LOG_END, min_one_message=min_one_message)
        for batch in found.records.batches():
            position = batch.next_offset
        stood.append(position)
    return stood
