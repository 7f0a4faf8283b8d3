"""The guard that turns a failure of the disk into Kafka's exception."""

from pathlib import Path
from types import TracebackType

from minikafka.common import errors
from minikafka.common.errors import KafkaStorageException
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel


class maybe_handle_io_exception:
    """`with maybe_handle_io_exception(channel, log_dir, message): …` takes `log_dir` offline on an OSError inside.

    The error is reported to the channel, and the block raises KafkaStorageException with the text `message`. When
    `log_dir` is already offline, the block is not entered, and KafkaStorageException is raised as well.

    Ctrl-C, a timeout by a signal, or a lack of memory can end a block anywhere. One that changes the log (`is_change`)
    may then have written records and not have moved the log's end: the directory goes offline at every exception that
    is none of Kafka's, too, and the next start finds out what is in the files.

    Kafka: `LocalLog.maybeHandleIOException`.
    """

    __slots__ = ("_channel", "_is_change", "_log_dir", "_message")

    def __init__(self, channel: LogDirFailureChannel, log_dir: Path, message: str, is_change: bool = True):
        self._channel = channel
        self._log_dir = log_dir
        self._message = message
        self._is_change = is_change

    def __enter__(self) -> None:
        if self._channel.has_offline_log_dir(self._log_dir):
            raise KafkaStorageException(
                f"The log dir {self._log_dir} is already offline due to a previous IO exception."
            )

    def __exit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(exception, OSError):
            self._channel.maybe_add_offline_log_dir(self._log_dir, self._message, exception)
            raise KafkaStorageException(self._message) from exception
        if self._is_change and exception is not None and type(exception).__module__ != errors.__name__:
            interrupted = f"{self._message}: interrupted in the midst of a change ({type(exception).__name__})"
            self._channel.maybe_add_offline_log_dir(self._log_dir, interrupted, exception)
