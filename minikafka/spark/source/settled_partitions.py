"""The partitions of a query, seen while no write moves new ones to their places.

A write of a topic (`minikafka.spark.write_log_dir`) puts the old partitions aside, and then moves the new ones to their
places, one after the other. Who looks meanwhile, or after its driver was killed, sees a part of the old or of the new
ones. So a query waits a moment, and is then refused, in every mode: no byte is damaged, but nobody
can say which rows were meant. The next write into the log directory ends this.
"""

import os
import time
from contextlib import suppress

from minikafka.common.errors import (
    IllegalArgumentException,
    KafkaException,
    KafkaStorageException,
    UnknownTopicOrPartitionException,
)
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.spark.source.damage import by_names_of_java
from minikafka.spark.source.log_segments_on_disk import DiskPartition, find_partitions
from minikafka.spark.source.partition_names import log_dir_of, partition_of
from minikafka.spark.source.several_copies import chosen_copies
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.storage import Storage, joined
from minikafka.spark.source.storage_of import storage_of
from minikafka.spark.source.subscription import Subscription
from minikafka.tools.interrupted_work import topic_in_part
from minikafka.tools.log_dir_entries import is_mark_of_write

_Place = tuple[str, Storage]
_LOOKS = 20
_PAUSE_S = 0.05


def settled_partitions(options: SourceOptions, subscription: Subscription) -> list[DiskPartition]:
    """What `find_partitions` finds below the options' paths, and raises.

    Raises KafkaStorageException for a topic of which a write has maybe moved some partitions and others not, and what
    `chosen_copies` raises.
    """
    for looks_left in reversed(range(_LOOKS)):
        found, failure = list[DiskPartition](), None
        with by_names_of_java():
            places = _places(options)
            marks = [(mark, place) for place in _log_dirs_of(places) for mark in _marks_in(*place)]
            try:
                found = find_partitions(options.paths, subscription, options.storage_settings)
            except (IllegalArgumentException, UnknownTopicOrPartitionException) as error:
                failure = error  # maybe because a directory is between two renames
            has_ended, half_written = False, None
            for mark, place in marks:
                try:
                    with place[1].on_disk(mark) as file:
                        topic = topic_in_part(file)
                except FileNotFoundError:  # maybe not all was seen before the write ended, or after it
                    has_ended = True
                    continue
                if topic is not None and subscription.includes_topic(topic):
                    if place in places or topic in _topics_in(place, found):
                        half_written = mark, topic
        if half_written is None and not (has_ended and looks_left):
            if failure is not None:
                raise failure
            return chosen_copies(found, options.copies)
        time.sleep(_PAUSE_S)
    assert half_written is not None
    mark, topic = half_written
    raise KafkaStorageException(
        f"{mark}: a write of topic {topic} was interrupted, or is under way, and its partitions may be old and new; "
        "the next write into the log directory finishes it"
    )


def _places(options: SourceOptions) -> set[_Place]:
    """What the options' paths name."""
    places = set()
    for given in options.paths:
        storage, pattern = storage_of(given, options.storage_settings)
        places |= {(path, storage) for path in storage.expanded(pattern)}
    return places


def _log_dirs_of(places: set[_Place]) -> set[_Place]:
    """The log directories that the places are, or may lie in."""
    log_dirs = set()
    for path, storage in places:
        if path.endswith(LOG_FILE_SUFFIX):
            path = os.path.dirname(path)
        log_dirs.add((path, storage))
        with suppress(KafkaException):  # a log directory may be called broker-0, but then it lies in none
            partition_of(path)
            log_dirs.add((log_dir_of(path), storage))
    return log_dirs


def _marks_in(directory: str, storage: Storage) -> list[str]:
    try:
        entries = storage.entries(directory)
    except (NotADirectoryError, FileNotFoundError, PermissionError):
        return []
    return [joined(directory, entry.name) for entry in entries if is_mark_of_write(entry.name)]


def _topics_in(log_dir: _Place, partitions: list[DiskPartition]) -> set[str]:
    return {each.topic_partition.topic for each in partitions if (log_dir_of(each.directory), each.storage) == log_dir}
