"""Where a fetch that waits stands in one partition."""

from typing import NamedTuple

from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.log.log_offset_metadata import LogOffsetMetadata


class FetchPartitionStatus(NamedTuple):
    """The place from which the fetch reads a partition, and what it asked of it.

    Kafka: `org.apache.kafka.storage.internals.log.FetchPartitionStatus`.
    """

    start_offset_metadata: LogOffsetMetadata
    fetch_info: FetchRequestPartitionData
