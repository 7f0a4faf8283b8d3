"""What the metadata log in a partition's log directory says of its topic, for jobs that judge by a topic's settings."""

from pathlib import Path

from minikafka.spark.jobs.byte_ranges import sound
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.local_storage import LocalStorage
from minikafka.spark.source.log_segments_on_disk import DiskPartition
from minikafka.tools.dump_log.cluster_messages import METADATA_DIRECTORY
from minikafka.tools.recover.cluster_settings import ClusterSettings, read_cluster_settings


class SettingsBeside:
    """Settings of topics by the metadata logs of log directories on a disk; each log is read once.

    One that cannot be read ends the job in mode FAILFAST, and says nothing in others.
    """

    def __init__(self, mode: str):
        self._mode = mode
        self._clusters: dict[Path, ClusterSettings | None] = {}

    def of(self, partition: DiskPartition) -> dict[str, object] | None:
        """The settings of the partition's topic, over those of all brokers; None if no metadata log beside it names the
        topic, and in an object store. Raises CorruptRecordException.
        """
        if not isinstance(partition.storage, LocalStorage):
            return None
        metadata = Path(partition.directory).parent / METADATA_DIRECTORY
        if metadata not in self._clusters:
            self._clusters[metadata] = self._read(metadata)
        cluster = self._clusters[metadata]
        return None if cluster is None else cluster.of_topic(partition.topic_partition.topic)

    def _read(self, metadata: Path) -> ClusterSettings | None:
        try:
            return read_cluster_settings(metadata) if metadata.is_dir() else None
        except DAMAGE as error:
            list(sound([Damage.of(str(metadata), 0, error)], self._mode))
            return None
