"""What Spark calls to write rows with `format("minikafka")`: in the driver before and after, in each task between."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from minikafka.common.errors import IllegalArgumentException
from minikafka.spark.shared_directory import delete_staged
from minikafka.spark.sink import staged_write
from minikafka.spark.sink.partition_writer import PartitionWriter
from minikafka.spark.sink.sink_options import SinkOptions
from minikafka.spark.sink.write_mark import StagedPartition

COLUMNS: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "headers": ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
    "timestamp": TimestampType(),
    "partition": IntegerType(),
}
OFFSET: dict[str, DataType] = {"offset": LongType()}


@dataclass
class WrittenPartitions(WriterCommitMessage):
    """What a task has staged."""

    partitions: list[StagedPartition]


class KafkaLogWriter(DataSourceArrowWriter):
    """Writes rows that are distributed and sorted: those of a partition come to one task, in their order.

    Making the writer begins the write (`staged_write`): Spark makes it right before the first task starts. It travels
    to the tasks and, with what they return, back to the driver.
    """

    def __init__(self, schema: StructType, options: SinkOptions, *, overwrite: bool):
        """Begin. Raises IllegalArgumentException for other columns than `COLUMNS`, maybe with `OFFSET`; what
        `staged_write.begin` raises."""
        types = {field.name: field.dataType.simpleString() for field in schema}
        if types not in [
            {name: kind.simpleString() for name, kind in some.items()} for some in (COLUMNS, COLUMNS | OFFSET)
        ]:
            raise IllegalArgumentException(
                f"The writer takes {', '.join(COLUMNS)} and maybe offset, not {schema.simpleString()}: "
                "minikafka.spark.write_log_dir prepares rows"
            )
        self._options = options
        self._mark = staged_write.begin(options, overwrite=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPartitions:
        """Write the rows of a task. Raises what `PartitionWriter.append` raises, as one line."""
        staged: list[StagedPartition] = []
        writer: PartitionWriter | None = None
        with staged_write.storage_errors(self._options.log_dir):
            try:
                for rows in iterator:
                    for partition, part in _by_partition(rows):
                        if writer is None or partition != writer.partition:
                            if writer is not None:
                                staged.append(writer.close())
                            writer = self._writer(partition, part)
                        writer.append(part)
                if writer is not None:
                    staged.append(writer.close())
            except BaseException:
                if writer is not None:
                    writer.abandon()
                for each in staged:
                    delete_staged(self._options.log_dir / each.staged)
                raise
        return WrittenPartitions(staged)

    def commit(self, messages: "list[WriterCommitMessage | None]") -> None:
        """Make the topic visible. Raises what `staged_write.commit` raises."""
        written = [
            each for message in messages if isinstance(message, WrittenPartitions) for each in message.partitions
        ]
        staged_write.commit(self._mark, self._options, written)

    def abort(self, messages: "list[WriterCommitMessage | None]") -> None:
        """Leave nothing. Raises KafkaStorageException."""
        staged_write.abort(self._mark)

    def _writer(self, partition: int, rows: pa.RecordBatch) -> PartitionWriter:
        if not 0 <= partition < self._options.partitions:
            raise IllegalArgumentException(
                f"A row is of partition {partition}; {self._options.topic} has {self._options.partitions}"
            )
        first_offset = 0
        if "offset" in rows.schema.names:
            first_offset = max(0, rows.column("offset")[0].as_py() or 0)
        return PartitionWriter(self._mark, self._options, partition, first_offset)


def _by_partition(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The neighbouring rows of each partition."""
    partitions = np.asarray(rows.column("partition").fill_null(-1))
    borders = np.flatnonzero(np.diff(partitions)) + 1
    for first, stop in zip([0, *borders], [*borders, len(partitions)], strict=True):
        if stop > first:
            yield int(partitions[first]), rows.slice(first, stop - first)
