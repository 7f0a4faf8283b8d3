"""The leader epochs of a partition, each with the offset at which it began."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.checkpoint_file import CheckpointFile, split_fields
from minikafka.common.java.java_numbers import parse_int, parse_long
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel

LEADER_EPOCH_CHECKPOINT_FILENAME = "leader-epoch-checkpoint"
CURRENT_VERSION = 0


class EpochEntry(NamedTuple):
    """A leader epoch and the first offset written in it. Kafka: `EpochEntry`."""

    epoch: int
    start_offset: int


class LeaderEpochCheckpointFile:
    """The list of epochs in the partition's directory, `<epoch> <start offset>` a line.

    Kafka: `LeaderEpochCheckpointFile`.
    """

    def __init__(self, file: Path, log_dir_failure_channel: LogDirFailureChannel | None = None):
        self.file = file
        self._checkpoint = CheckpointFile(
            file, CURRENT_VERSION, _Formatter, log_dir_failure_channel, file.parent.parent
        )

    def write(self, epochs: Iterable[EpochEntry]) -> None:
        """Replace all entries. Raises KafkaStorageException. Kafka: `LeaderEpochCheckpointFile.write`."""
        self._checkpoint.write(epochs)

    def write_if_dir_exists(self, epochs: Iterable[EpochEntry]) -> None:
        """`write`, with a warning when the directory is gone. Kafka: `LeaderEpochCheckpointFile.writeIfDirExists`."""
        self._checkpoint.write_if_dir_exists(epochs)

    def read(self) -> list[EpochEntry]:
        """The entries in the order of the file; raises what `CheckpointFile.read` raises.

        Kafka: `LeaderEpochCheckpointFile.read`.
        """
        return self._checkpoint.read()

    @staticmethod
    def new_file(directory: Path) -> Path:
        """Where a partition's `directory` keeps its epochs. Kafka: `LeaderEpochCheckpointFile.newFile`."""
        return directory / LEADER_EPOCH_CHECKPOINT_FILENAME


class _Formatter:
    """`<epoch> <start offset>`. Kafka: `LeaderEpochCheckpointFile.Formatter`."""

    @staticmethod
    def to_string(entry: EpochEntry) -> str:
        return f"{entry.epoch} {entry.start_offset}"

    @staticmethod
    def from_string(line: str) -> EpochEntry | None:
        fields = split_fields(line)
        return EpochEntry(parse_int(fields[0]), parse_long(fields[1])) if len(fields) == 2 else None
