"""What counts where several directories have the same partition, as those of several brokers do."""

from collections.abc import Iterable

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.source.log_segments_on_disk import DiskPartition
from minikafka.spark.source.partition_bounds import log_end_of


def chosen_copies(found: list[DiskPartition], copies: str) -> list[DiskPartition]:
    """Those of `found` that the option `copies` chooses: `all`; of each partition the one whose log end is `furthest`,
    the first one of equals. Raises IllegalArgumentException where it says `refuse` and a partition has several.
    """
    if copies == "refuse":
        require_single_copies(found)
    if copies != "furthest":
        return found
    furthest: dict[TopicPartition, DiskPartition] = {}
    for each in found:
        other = furthest.setdefault(each.topic_partition, each)
        if other is not each and _log_end(each) > _log_end(other):
            furthest[each.topic_partition] = each
    return list(furthest.values())


def require_single_copies(found: Iterable[DiskPartition]) -> None:
    """Raises IllegalArgumentException for a partition in several directories: its records are there several times."""
    seen: dict[TopicPartition, str] = {}
    for each in found:
        other = seen.setdefault(each.topic_partition, each.directory) if each.chosen else each.directory
        if other != each.directory:
            raise IllegalArgumentException(
                f"{each.topic_partition} is in {other} and in {each.directory}: its records would count several times, "
                "so name the directories of one copy; copies=all counts each copy"
            )


def _log_end(partition: DiskPartition) -> int:
    """-1 where there is no segment, or the last one is gone. Raises as `log_end_of`."""
    end = log_end_of(partition.segments[-1]) if partition.segments else None
    return -1 if end is None else end
