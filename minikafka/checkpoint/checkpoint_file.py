"""A list of entries in a small text file that is always replaced as a whole."""

import logging
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from minikafka.common import file_ops
from minikafka.common.bounded_file import read_text_file
from minikafka.common.errors import IllegalArgumentException, IOException, KafkaStorageException, NumberFormatException
from minikafka.common.java.java_numbers import parse_int
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel, log_dir_failed

logger = logging.getLogger(__name__)

T = TypeVar("T")
_LINE_END = re.compile(r"\r\n|\r|\n")
_WHITE_SPACES = re.compile(r"\s+", re.ASCII)


class EntryFormatter(Protocol[T]):
    """How one entry becomes a line and back. Kafka: `CheckpointFile.EntryFormatter`."""

    def to_string(self, entry: T) -> str:
        """The line of `entry`, without its end."""

    def from_string(self, line: str) -> T | None:
        """The entry of `line`, None for a wrong number of fields; NumberFormatException for a bad field."""


class CheckpointFile(Generic[T]):
    """A text file of entries: version, number of entries, then one entry a line, each line ended by `\\n`.

    A missing file is created, empty, when it is opened. Writing replaces it by way of `<name>.tmp`, so that a crash
    leaves either the old list or the new one.

    Failures of the disk and malformed contents are reported to the `log_dir_failure_channel`, if there is one, and
    raised as KafkaStorageException. A field that is no number raises NumberFormatException without a report, as in
    Kafka. Simpler than Kafka: one class stands for two, of which the outer only turns the inner's IOException into
    KafkaStorageException.

    Kafka: `CheckpointFile`, `CheckpointFileWithFailureHandler`.
    """

    def __init__(
        self,
        file: Path,
        version: int,
        formatter: EntryFormatter[T],
        log_dir_failure_channel: LogDirFailureChannel | None,
        log_dir: Path,
    ):
        """`log_dir` is the log directory that is reported as offline when the file fails."""
        self.file = file
        self._version = version
        self._formatter = formatter
        self._log_dir_failure_channel = log_dir_failure_channel
        self._log_dir = log_dir
        # Two threads may write at a time, and there is one temporary file. Reentrant, as the monitors of Java are.
        self._lock = threading.RLock()
        file_ops.create_file_if_missing(file)

    def write(self, entries: Iterable[T]) -> None:
        """Replace the file's entries; raises KafkaStorageException. Kafka: `CheckpointFileWithFailureHandler.write`."""
        try:
            self._replace(entries)
        except OSError as error:
            raise self._failed("Error while writing to checkpoint file", error) from error

    def write_if_dir_exists(self, entries: Iterable[T]) -> None:
        """`write`, with only a warning when the directory is gone: the partition may have been renamed for deletion.

        Kafka: `CheckpointFileWithFailureHandler.writeIfDirExists`.
        """
        try:
            self._replace(entries)
        except (FileNotFoundError, IsADirectoryError, PermissionError) as error:  # Java: FileNotFoundException
            logger.warning(
                "Failed to write to checkpoint file %s. This is ok if the topic/partition is being deleted: %s",
                self.file.absolute(),
                error,
            )
        except OSError as error:
            raise self._failed("Error while writing to checkpoint file", error) from error

    def read(self) -> list[T]:
        """The file's entries, none for an empty file.

        Raises KafkaStorageException for another version, line or count than expected and when the file cannot be read,
        NumberFormatException for a field of an entry that should be a number, IllegalArgumentException for a negative
        count. Kafka: `CheckpointFile.read`.
        """
        try:
            with self._lock:
                lines = _read_lines(self.file)
            return self._decode(lines)
        except OSError as error:
            raise self._failed("Error while reading checkpoint file", error) from error

    def _replace(self, entries: Iterable[T]) -> None:
        with self._lock:
            file_ops.replace_file(self.file, self._encode(list(entries)))

    def _encode(self, entries: list[T]) -> bytes:
        lines = [str(self._version), str(len(entries)), *map(self._formatter.to_string, entries)]
        return "".join(line + "\n" for line in lines).encode("utf-8")

    def _decode(self, lines: list[str]) -> list[T]:
        if not lines:
            return []
        read_version = self._to_int(lines[0])
        if read_version != self._version:
            raise IOException(
                f"Unrecognised version:{read_version}, expected version: {self._version}"
                f" in checkpoint file at: {self.file.absolute()}"
            )
        if len(lines) == 1:
            return []
        expected_size = self._to_int(lines[1])
        if expected_size < 0:  # Java allocates a list of this size
            raise IllegalArgumentException(f"Illegal Capacity: {expected_size} in {self.file.absolute()}")
        entries = []
        for line in lines[2:]:
            entry = self._formatter.from_string(line)
            if entry is None:
                raise self._malformed(line)
            entries.append(entry)
        if len(entries) != expected_size:
            raise IOException(
                f"Expected [{expected_size}] entries in checkpoint file [{self.file.absolute()}],"
                f" but found only [{len(entries)}]"
            )
        return entries

    def _to_int(self, line: str) -> int:
        try:
            return parse_int(line)
        except NumberFormatException:
            raise self._malformed(line) from None

    def _malformed(self, line: str) -> IOException:
        return IOException(f"Malformed line in checkpoint file [{self.file.absolute()}]: {line}")

    def _failed(self, what: str, error: OSError) -> KafkaStorageException:
        message = f"{what} {self.file.absolute()}"
        return log_dir_failed(self._log_dir_failure_channel, self._log_dir, message, error)


def split_fields(line: str) -> list[str]:
    """The fields of a line, separated by white space; leading blanks make an empty field, as with `String.split`."""
    fields = _WHITE_SPACES.split(line)
    while fields and not fields[-1]:
        fields.pop()
    return fields


def _read_lines(file: Path) -> list[str]:
    """The lines of a UTF-8 file, as `BufferedReader.readLine` separates them.

    Raises OSError, also for bytes not UTF-8, and OutOfMemoryError for an absurd size.
    """
    try:
        text = read_text_file(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise IOException(f"Malformed input in {file.absolute()} at byte {error.start}") from None
    lines = _LINE_END.split(text)
    return lines[:-1] if not lines[-1] else lines
