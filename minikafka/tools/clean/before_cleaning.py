"""What `clean` asks of a log before it touches it."""

from pathlib import Path

from minikafka.common.errors import CorruptRecordException, InvalidRecordException
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.record.files.file_records import FileRecords


def require_sound_batches(directory: Path) -> None:
    """Check every batch of the partition's segments. Only the last segment may end in the midst of one, or in zeros.

    Raises CorruptRecordException, with file and position, for a damaged batch and for what follows no whole one.
    """
    segments = sorted(directory.glob(f"*{LOG_FILE_SUFFIX}"))
    for file in segments:
        position = 0
        records = FileRecords.open(file, mutable=False)
        try:
            for batch in records.whole_batches():
                batch.ensure_valid()
                position += batch.size_in_bytes
            if position < records.size_in_bytes and file != segments[-1]:
                raise CorruptRecordException("the segment ends in the midst of a batch")
        except (CorruptRecordException, InvalidRecordException) as error:
            if file == segments[-1] and not any(records.read(position, records.size_in_bytes - position)):
                continue  # room that was given in advance
            raise CorruptRecordException(
                f"{file}, position {position}: {error}; minikafka verify tells more, recover cuts there, and "
                "--even-damaged cleans as Kafka would"
            ) from None
        finally:
            records.close()
