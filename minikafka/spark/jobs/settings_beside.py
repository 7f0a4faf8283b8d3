"""What the metadata log in a partition's log directory says of its topic, for jobs that judge by a topic's settings."""

from pathlib import Path

from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.spark.jobs.byte_ranges import sound
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.local_storage import LocalStorage
from minikafka.spark.source.log_segments_on_disk import DiskPartition
from minikafka.tools.recover.cluster_settings import cluster_settings_in, node_id_in


def settings_beside(partition: DiskPartition, mode: str) -> dict[str, object] | None:
    """The settings of the partition's topic, over those of its broker and of all brokers.

    None if no metadata log beside it names the topic, and in an object store.

    A metadata log that cannot be read raises CorruptRecordException in mode FAILFAST, and says nothing in others.
    """
    if not isinstance(partition.storage, LocalStorage):
        return None
    log_dir = Path(partition.directory).parent
    try:
        cluster = cluster_settings_in(log_dir)
        return None if cluster is None else cluster.of_topic(partition.topic_partition.topic, node_id_in(log_dir))
    except DAMAGE as error:
        list(sound([Damage.of(str(log_dir / CLUSTER_METADATA_DIRECTORY), 0, error)], mode))
        return None
