"""The messages in the metadata log of a cluster (`__cluster_metadata`) and in its snapshots."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager

from minikafka.common.errors import CorruptRecordException, KafkaException, MetadataParseException
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.messages.framed_message import read_framed
from minikafka.messages.message_codec import Message
from minikafka.metadata import metadata_image
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.record.files.file_records import FileRecords

SNAPSHOT_SUFFIX = ".checkpoint"
_OFFSET_DIGITS = 20

NamedMessage = tuple[str, Message]
"""The name of a message's schema, `TopicRecord` for instance, and the message."""


def snapshot_end(name: str) -> int | None:
    """The offset up to which (exclusive) a snapshot of that name tells the state; None for another file's name.

    Names of snapshots in the order of their offsets are in the order of the alphabet. Kafka: `Snapshots.parse`.
    """
    offset, dash = name[:_OFFSET_DIGITS], name[_OFFSET_DIGITS : _OFFSET_DIGITS + 1]
    return int(offset) if name.endswith(SNAPSHOT_SUFFIX) and dash == "-" and offset.isdecimal() else None


def newest_snapshot(names: Iterable[str]) -> str | None:
    """The file among those of these names that a start reads first, None for none."""
    return max((name for name in names if snapshot_end(name) is not None), default=None)


def messages_of(
    names: Collection[str], records_of: Callable[[str], AbstractContextManager[FileRecords]]
) -> Iterator[NamedMessage]:
    """The messages in files of these names: all of the newest snapshot, and those of the log behind it.

    `records_of` opens one of the files. Raises what it raises, what damaged batches raise, and KafkaException with file
    and offset for an unreadable record.
    """
    segments = sorted(name for name in names if name.endswith(LOG_FILE_SUFFIX))
    newest = newest_snapshot(names)
    read_from = {} if newest is None else {newest: 0}
    read_from |= dict.fromkeys(segments, 0 if newest is None else snapshot_end(newest) or 0)
    for name, first_offset in read_from.items():
        with records_of(name) as records:
            yield from _messages_in(records, first_offset)


def _messages_in(records: FileRecords, first_offset: int) -> Iterator[NamedMessage]:
    for batch in records.batches():
        if batch.is_control_batch or batch.last_offset < first_offset:
            continue
        try:
            batch.ensure_valid()
        except CorruptRecordException as error:
            raise CorruptRecordException(f"{records.file}, position {batch.position}: {error}") from error
        for record in batch.records():
            if record.offset >= first_offset:
                try:
                    schema, _, message = read_framed("cluster-metadata", record.value)
                except MetadataParseException as error:
                    where = f"The record at offset {record.offset} in {records.file}"
                    raise KafkaException(f"{where} cannot be read: {error}") from error
                yield schema.name, message


class ReplayedImage:
    """The state to which messages of some kinds lead; the others are passed over.

    A delta of Kafka's keeps the settings of a topic that is made and deleted in it, so it matters where one ends.
    """

    def __init__(self, kinds: tuple[type[Message], ...]):
        self._kinds = kinds
        self._delta = MetadataDelta(metadata_image.EMPTY)

    def replay(self, message: Message) -> None:
        """Raises RuntimeException and IllegalStateException for one that changes what is not there."""
        if isinstance(message, self._kinds):
            self._delta.replay(message)

    def end_delta(self) -> MetadataImage:
        """What comes now belongs to another delta; returns the state up to here."""
        self._delta = MetadataDelta(self._delta.apply())
        return self._delta.image

    def image(self) -> MetadataImage:
        """The state now."""
        return self._delta.apply()


def decided(messages: Iterable[NamedMessage]) -> Iterator[NamedMessage]:
    """The messages that count: those of a transaction from its end on, and never those of an aborted or open one."""
    waiting: list[NamedMessage] | None = None
    for each in messages:
        match each[0]:
            case "BeginTransactionRecord":
                waiting = []
            case "AbortTransactionRecord":
                waiting = None
            case "EndTransactionRecord":
                yield from waiting or []
                waiting = None
            case _ if waiting is not None:
                waiting.append(each)
            case _:
                yield each
