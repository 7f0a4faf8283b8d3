"""Compares the files that minikafka leaves with those that Apache Kafka leaves, or left when the lesson was built."""

from collections.abc import Callable
from pathlib import Path

from minikafka.common.at_hand import HAS_SPARK
from minikafka.lab.stage.recorded_answers import ALONE_WITH_FILES, files_left_by_kafka
from minikafka.witness.directory_diff import NOT_DETERMINED, DirectoryDiff, FilesOf, files_diff
from minikafka.witness.spoken import say


class NotCompared:
    """Stands in for a comparison with Kafka where Kafka cannot be asked, and has not been asked before."""

    equal = None

    def __repr__(self) -> str:
        return say(ALONE_WITH_FILES) if not HAS_SPARK else "Apache Kafka is not at hand: run `minikafka fetch`."


def beside_kafkas_files(ours: Path, question: str, kafka: Callable[[], Path | None]) -> DirectoryDiff | NotCompared:
    """Compare minikafka's directory byte by byte with the one that `kafka` returns (`files_left_by_kafka`)."""
    theirs = files_left_by_kafka(question, kafka)
    if theirs is None:
        return NotCompared()
    return files_diff(FilesOf(ours), theirs, ("minikafka", "Apache Kafka"), NOT_DETERMINED)
