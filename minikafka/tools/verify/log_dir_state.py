"""How a start of Kafka will load the partitions of a log directory, by what its files say."""

import os
import time
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY, CLUSTER_METADATA_TOPIC_NAME
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_lock import LogDirLock
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import FUTURE_DIR_SUFFIX
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.log.partition_files import require_regular
from minikafka.tools.checkpoints import checkpointed_offsets
from minikafka.tools.failure import TOLD
from minikafka.tools.log_dir_entries import PUT_ASIDE
from minikafka.tools.recover.cluster_settings import known_cluster_settings, node_id_in
from minikafka.tools.verify.findings import Fate, Finding, NextStart
from minikafka.tools.verify.log_dir_files import verify_files_of_a_start
from minikafka.tools.verify.partition_verifier import PartitionVerifier


class LogDir:
    """What the files of a log directory say about its partitions: how Kafka will load them.

    A damaged checkpoint counts as empty, as in Kafka. A metadata log that cannot be read says nothing about topics;
    what is wrong with it is found when it is verified itself.
    """

    def __init__(self, directory: Path):
        """Raises OSError when one of the files cannot be read, and KafkaException where a broker is running: what it is
        writing would look like damage.
        """
        require_no_broker(directory)
        self._clean = CleanShutdownFileHandler(directory).exists()
        self._recovery_points = checkpointed_offsets(directory / RECOVERY_POINT_CHECKPOINT_FILE)
        self._log_start_offsets = checkpointed_offsets(directory / LOG_START_OFFSET_CHECKPOINT_FILE)
        self._cluster = known_cluster_settings(directory)
        self._node_id = _node_id_of(directory)
        self._noted = {
            RECOVERY_POINT_CHECKPOINT_FILE: self._recovery_points,
            HIGH_WATERMARK_CHECKPOINT_FILE: checkpointed_offsets(directory / HIGH_WATERMARK_CHECKPOINT_FILE),
            CLEANER_OFFSET_CHECKPOINT_FILE: checkpointed_offsets(directory / CLEANER_OFFSET_CHECKPOINT_FILE),
        }

    def noted_of(self, partition: Path) -> dict[str, int]:
        """What the checkpoints say of the partition, by their names, but for the log start offset.

        Nothing for a directory that is put aside, or is to become the partition's.
        """
        partition = Path(os.path.abspath(partition))
        if partition.name.endswith((*PUT_ASIDE, FUTURE_DIR_SUFFIX)):
            return {}
        of = parse_topic_partition_name(partition)
        return {name: offsets[of] for name, offsets in self._noted.items() if of in offsets}

    def next_start_of(self, partition: Path, config: LogConfig) -> NextStart:
        """How Kafka will load the partition; `config` has the settings of its topic that were given.

        Below them count those in the metadata log of the log directory. What neither names is the broker's, which
        stands in no file of the directory.
        """
        topic_partition = parse_topic_partition_name(Path(os.path.abspath(partition)))
        settings = {} if self._cluster is None else self._cluster.topics.get(topic_partition.topic, {})
        config = LogConfig.from_props(settings, config.props)
        is_metadata_log = topic_partition.topic == CLUSTER_METADATA_TOPIC_NAME  # Kafka: `KafkaRaftLog.createLog`
        return NextStart(
            self._clean and not is_metadata_log,
            0 if is_metadata_log else self._recovery_points.get(topic_partition, 0),
            0 if is_metadata_log else self._log_start_offsets.get(topic_partition, 0),
            config,
            time.time_ns() // 1_000_000,
            why_stray=self.why_stray(partition),
        )

    def why_stray(self, partition: Path) -> str | None:
        """Why a broker that starts here puts the partition's directory aside as a stray; None where it does not, or
        nobody knows. Kafka: `LogManager.addLog`.
        """
        if self._cluster is None or not self._node_id or partition.name.endswith(PUT_ASIDE):
            return None
        topic_partition = parse_topic_partition_name(Path(os.path.abspath(partition)))
        if topic_partition.topic == CLUSTER_METADATA_TOPIC_NAME:
            return None
        file = PartitionMetadataFile.new_file(partition)
        topic_id = None
        try:
            if os.path.lexists(file):
                require_regular(file, follow_links=True)
                topic_id = PartitionMetadataFile(file).read().topic_id
        except TOLD:  # the load fails
            return None
        return self._cluster.why_stray(topic_id, topic_partition.partition, self._node_id)


def require_no_broker(log_dir: Path) -> None:
    """Raises KafkaException where a broker is running in the log directory, and OSError."""
    LogDirLock(log_dir, shared=True, changes=False).release()


def _node_id_of(log_dir: Path) -> str:
    """The number of its broker, "" where nobody knows."""
    try:
        return node_id_in(log_dir)
    except TOLD:
        return ""


def what_ends_a_start(log_dir: Path, known: LogDir) -> list[Finding]:
    """What stands in a log directory, beside its partitions, with which no broker starts there. Raises OSError."""
    metadata = log_dir / CLUSTER_METADATA_DIRECTORY
    if not metadata.is_dir():
        return []
    found: list[Finding] = []
    verify_files_of_a_start(log_dir, found.append, lambda line: None)
    next_start = known.next_start_of(metadata, LogConfig({}))
    PartitionVerifier(metadata, next_start, report=found.append, unread=lambda line: None).verify()
    return [finding for finding in found if finding.fate in (Fate.OFFLINE, Fate.LOAD_FAILS)]
