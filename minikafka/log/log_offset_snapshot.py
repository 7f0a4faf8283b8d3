"""The four offsets of a log at one moment."""

from typing import NamedTuple

from minikafka.log.log_offset_metadata import LogOffsetMetadata


class LogOffsetSnapshot(NamedTuple):
    """The offsets of a log that belong together, three of them with their places. Kafka: `LogOffsetSnapshot`."""

    log_start_offset: int
    log_end_offset: LogOffsetMetadata
    high_watermark: LogOffsetMetadata
    last_stable_offset: LogOffsetMetadata
