"""One attempt to write one partition: rows in, a log on the device out."""

import time
import uuid

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minikafka.common import file_ops
from minikafka.common.errors import (
    InvalidOffsetException,
    InvalidRecordException,
    KafkaStorageException,
    RecordTooLargeException,
)
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.kernels.batch_encoder import BatchEncoder
from minikafka.spark.shared_directory import delete_staged
from minikafka.spark.sink.row_columns import records_of
from minikafka.spark.sink.sink_options import SinkOptions
from minikafka.spark.sink.write_mark import StagedPartition, WriteMark


class PartitionWriter:
    """Appends rows, in the order in which they come, to a new log in a staged directory.

    - Batches are made of columns (`BatchEncoder`) and appended by `Log`, one at a time as a follower does, so that
      segments, indexes and snapshots are those of a broker that was sent the same batches.
    - What a leader would refuse is refused: a batch above `max.message.bytes`, a record without a key in a compacted
      topic, offsets that do not ascend. How far a timestamp is from now does not matter: a topic that is restored is
      old.
    - `now` (ms) is when the write began; it stands still, so the clock rolls no segment.
    """

    def __init__(self, mark: WriteMark, options: SinkOptions, partition: int, first_offset: int):
        """Make the directory. `first_offset` is where the log starts.

        Raises OSError, and KafkaStorageException when the write has been given up.
        """
        self.partition = partition
        self._config = options.config
        self._staged = options.log_dir / mark.staged_name(partition, uuid.uuid4().hex[:12])
        self._directory = self._staged / mark.final_name(partition)
        self._leader_epoch = options.leader_epoch
        self._first_offset = first_offset
        self._name = mark.final_name(partition)
        self._now = int(time.time() * 1000)
        clock = ManualTime(self._now)
        self._scheduler = ManualScheduler(clock)
        self._encoder = BatchEncoder(
            batch_size=options.batch_size,
            compression=options.compression,
            timestamp_type=self._config.message_timestamp_type,
            partition_leader_epoch=options.leader_epoch,
        )
        if not mark.file.exists():
            raise KafkaStorageException(f"The write of {mark.topic} has ended without this task")
        self._log = Log.create(
            self._directory,
            self._config,
            first_offset,
            scheduler=self._scheduler,
            time=clock,
            topic_id=mark.topic_id,
        )
        self._next_offset = first_offset

    def append(self, rows: pa.RecordBatch) -> None:
        """Append the rows. Raises InvalidOffsetException, InvalidRecordException, RecordTooLargeException,
        InvalidTimestampException, IllegalArgumentException, what `Log.append_as_follower` raises, OSError.
        """
        records = records_of(rows, self._offsets_of(rows), self._now)
        if self._config.compact and np.asarray(records.key_nulls).any():
            raise InvalidRecordException(
                f"Compacted topic cannot accept message without key in topic partition {self._name}."
            )
        for batch in self._encoder.add(records):
            self._append(batch)
        # What a broker does in the background after a roll: the old segment reaches the device.
        self._scheduler.run_due_tasks()

    def close(self) -> StagedPartition:
        """Append the last batch and close the log, with everything on the device. Raises what `append` raises."""
        for batch in self._encoder.finish():
            self._append(batch)
        self._log.flush(force_flush_active_segment=True)
        self._log.close()
        self._scheduler.run_due_tasks()
        for path in sorted(self._directory.iterdir()):
            file_ops.flush_file_if_exists(path)
        file_ops.flush_dir(self._directory)
        file_ops.flush_dir(self._staged)
        return StagedPartition(self.partition, self._staged.name, self._first_offset, self._next_offset)

    def abandon(self) -> None:
        """Remove the directory. Raises OSError."""
        self._log.close_handlers()
        delete_staged(self._staged)

    def _offsets_of(self, rows: pa.RecordBatch) -> NDArray[np.int64]:
        """The offsets that the rows have, or the next ones. Raises InvalidOffsetException."""
        if "offset" not in rows.schema.names:
            offsets = np.arange(self._next_offset, self._next_offset + rows.num_rows)
        else:
            column = rows.column("offset")
            if column.null_count:
                raise InvalidOffsetException(f"A row of {self._name} has no offset, others have one")
            offsets = np.asarray(column)
            wrong = np.flatnonzero(offsets <= np.concatenate(([self._next_offset - 1], offsets[:-1])))
            if len(wrong):
                raise InvalidOffsetException(
                    f"Offset {offsets[wrong[0]]} of {self._name} is negative, occurs twice, or does not ascend"
                )
            if len(offsets) and offsets[-1] == LONG_MAX:
                raise InvalidOffsetException(f"After offset {LONG_MAX} of {self._name} no log can end")
        if rows.num_rows:
            self._next_offset = int(offsets[-1]) + 1
        return offsets

    def _append(self, batch: MemoryRecords) -> None:
        size = batch.size_in_bytes
        if size > self._config.max_message_size:
            first = next(iter(batch.batches())).base_offset
            raise RecordTooLargeException(
                f"The batch at offset {first} of {self._name} has {size} bytes; max.message.bytes allows "
                f"{self._config.max_message_size}"
            )
        self._log.append_as_follower(batch, self._leader_epoch)
