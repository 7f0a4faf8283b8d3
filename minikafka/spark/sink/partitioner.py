"""Which partition a record belongs to, by the hash of its key."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from minikafka.common.bytes_like import BytesLike
from minikafka.common.murmur2 import murmur2
from minikafka.record.kernels import record_columns
from minikafka.record.kernels.column import Column
from minikafka.spark.sink.row_columns import bytes_and_edges

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn


def partition_of(key: "SparkColumn", partitions: int) -> "SparkColumn":
    """The partition, from 0 to `partitions` (exclusive), that a producer chooses for each of the (not null) keys.

    Kafka: `BuiltInPartitioner.partitionForKey`.
    """
    from pyspark.sql.functions import arrow_udf

    @arrow_udf("int")
    def chosen(keys: pa.Array) -> pa.Array:
        return partitions_of(keys, partitions)

    return chosen(key)


def partitions_of(keys: pa.Array, partitions: int) -> pa.Array:
    """`partition_of` for a column of bytes."""
    data, edges = bytes_and_edges(keys)
    hashes = np.empty(len(keys), np.int64)
    record_columns.compiled_kernel_for(len(keys))
    compiled = record_columns.compiled_functions("minikafka.spark.sink.compiled_partitioner")
    if compiled is None:
        hashes_of(data.data, edges.tolist(), hashes)
    else:
        compiled.hashes_of(data, edges, hashes)
    return pa.array((hashes % partitions).astype(np.int32))


def hashes_of(data: BytesLike, edges: Column, hashes: Column) -> None:
    """Fill `hashes` with the `murmur2` of the bytes between neighbouring edges."""
    for at in range(len(hashes)):
        hashes[at] = murmur2(data, edges[at], edges[at + 1])
