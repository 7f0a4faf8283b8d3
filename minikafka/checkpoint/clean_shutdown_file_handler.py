"""The marker that says that a log directory was shut down cleanly."""

import json
import os
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.bounded_file import read_text_file
from minikafka.common.java.java_numbers import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

CLEAN_SHUTDOWN_FILE_NAME = ".kafka_cleanshutdown"
CURRENT_VERSION = 0


class CleanShutdownFileHandler:
    """`.kafka_cleanshutdown` in a log directory: when it is there, loading skips recovery.

    It is one line of JSON without a line end, `{"version":0,"brokerEpoch":42}`. Only its presence decides about
    recovery; the broker epoch is for the controller. It is written in place, flushed to the device, and deleted before
    loading begins.

    Kafka: `CleanShutdownFileHandler`.
    """

    def __init__(self, directory: Path):
        self.clean_shutdown_file = directory / CLEAN_SHUTDOWN_FILE_NAME

    def write(self, broker_epoch: int = -1) -> None:
        """Leave the marker; -1 stands for an unknown epoch. Raises OSError. Kafka: `CleanShutdownFileHandler.write`."""
        content = json.dumps({"version": CURRENT_VERSION, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        fd = file_ops.open_file(self.clean_shutdown_file, truncate=True)
        try:
            file_ops.write(fd, content.encode("utf-8"), 0)
            file_ops.fsync(fd)
        finally:
            os.close(fd)

    def read(self) -> int | None:
        """The broker epoch, None when the marker is missing or says nothing. Kafka: `CleanShutdownFileHandler.read`.

        Bytes that are not UTF-8, and whatever follows the object, are ignored, as by Kafka's JSON reader.
        """
        try:
            text = read_text_file(self.clean_shutdown_file).decode("utf-8", "replace")
            content, _ = json.JSONDecoder().raw_decode(text.lstrip())
            version, broker_epoch = content.get("version"), _number(content["brokerEpoch"])
            version = CURRENT_VERSION if version in (None, "") else _number(version)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
            return None
        return broker_epoch if INT_MIN <= version <= INT_MAX and LONG_MIN <= broker_epoch <= LONG_MAX else None

    def delete(self) -> None:
        """Remove the marker if it is there. Raises OSError. Kafka: `CleanShutdownFileHandler.delete`."""
        file_ops.delete_if_exists(self.clean_shutdown_file)

    def exists(self) -> bool:
        """True when the last shutdown was clean. Kafka: `CleanShutdownFileHandler.exists`."""
        return self.clean_shutdown_file.exists()


def _number(value: object) -> int:
    """`value` as Kafka's JSON reader takes it: a string or a fraction may stand for a number, a boolean may not."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{value} is no number")
    return int(value)
