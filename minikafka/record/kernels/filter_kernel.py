"""The kernel of filtering: which records of a batch or a run stay, counted and found column by column.

Like `kernel`, it is plain Python over integers and flat buffers, and numba compiles the very same functions. `places`
are places of records in columns, in ascending order.
"""

from collections.abc import Sequence

from minikafka.record.kernels.column import Column


def retain(
    offsets: Column,
    key_end: Column,
    value_end: Column,
    newest: Column,
    latest_offset: int,
    retains_deletes: bool,
    stays: Column,
) -> None:
    """Write to `stays` 1 for each record that compaction keeps, 0 for the others.

    `newest`: the offset that the map has for the record's key, -1 for none; `latest_offset`: the last one in the map.
    Kafka: `Cleaner.shouldRetainRecord`.
    """
    for i in range(len(offsets)):
        is_latest_of_key = key_end[i] >= 0 and offsets[i] >= newest[i]
        has_value = value_end[i] >= 0
        stays[i] = offsets[i] > latest_offset or (is_latest_of_key and (has_value or retains_deletes))


def split(stays: Sequence[int], key_end: Column, places: Column, invalid_places: Column) -> tuple[int, int]:
    """Write the places of the records that stay, and of those that go and have no key; returns how many of each."""
    retained = invalid = 0
    for i in range(len(stays)):
        if stays[i]:
            places[retained] = i
            retained += 1
        elif key_end[i] < 0:
            invalid_places[invalid] = i
            invalid += 1
    return retained, invalid


def tombstones(value_end: Column, places: Column, out: Column) -> int:
    """Write those of `places` whose records have no value; returns how many they are."""
    count = 0
    for i in range(len(places)):
        if value_end[places[i]] < 0:
            out[count] = places[i]
            count += 1
    return count


def count_before(places: Column, firsts: Sequence[int], before: Column) -> None:
    """Write how many of `places` lie before each of `firsts`, which ascend."""
    count = 0
    for i in range(len(firsts)):
        while count < len(places) and places[count] < firsts[i]:
            count += 1
        before[i] = count


def shift(places: Column, begin: int, end: int, by: int, out: Column) -> None:
    """Write the places number `begin` … `end` (exclusive), each less by `by`."""
    for i in range(begin, end):
        out[i - begin] = places[i] - by


def place_of_largest(numbers: Column, places: Column) -> int:
    """The first of `places`, of which there is at least one, that has the largest number."""
    best = places[0]
    for i in range(1, len(places)):
        if numbers[places[i]] > numbers[best]:
            best = places[i]
    return best
