"""The ids of log directories that stand for something else than a directory. Kafka: `DirectoryId`.

A replica is assigned to a directory of its broker by the directory's id, a text as `minikafka.common.uuid` makes it.
"""

from collections.abc import Collection

from minikafka.common.uuid import uuid_from_bytes, uuid_to_bytes

MIGRATING_DIR = uuid_from_bytes((0).to_bytes(16, "big"))  # not known yet, as in a cluster from before directory ids
UNASSIGNED_DIR = uuid_from_bytes((1).to_bytes(16, "big"))  # the broker has not chosen a directory yet
LOST_DIR = uuid_from_bytes((2).to_bytes(16, "big"))  # in a directory that can no longer be used


def is_reserved(directory: str) -> bool:
    """Whether the id is one of the first hundred, which no directory has. Kafka: `DirectoryId.reserved`."""
    most, least = uuid_to_bytes(directory)[:8], uuid_to_bytes(directory)[8:]
    return int.from_bytes(most) == 0 and int.from_bytes(least, signed=True) < 100


def is_online(directory: str, online_directories: Collection[str]) -> bool:
    """Whether a replica in `directory` can be used on a broker whose usable directories are `online_directories`.

    A broker that names no directory is believed to have all of them. Kafka: `DirectoryId.isOnline`.
    """
    if directory in {UNASSIGNED_DIR, MIGRATING_DIR}:
        return True
    if directory == LOST_DIR:
        return False
    return not online_directories or directory in online_directories
