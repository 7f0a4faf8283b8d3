"""A metadata log that names topics and their settings, for tools that read it beside the partitions."""

import struct
from collections.abc import Mapping
from pathlib import Path

from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord


def note_topics(log_dir: Path, topics: Mapping[str, Mapping[str, str]]) -> None:
    """Make the log directory's metadata log; `topics`: the settings by the topic's name."""
    with Log.open(log_dir / "__cluster_metadata-0", {"internal.segment.bytes": 10**6}) as log:
        for number, (topic, settings) in enumerate(topics.items(), 1):
            messages = [b"\1\2\0" + _text(topic) + struct.pack(">QQ", 0, number) + b"\0"]
            messages += [b"\1\4\0\2" + _text(topic) + _text(k) + _text(v) + b"\0" for k, v in settings.items()]
            records = [SimpleRecord(0, None, message) for message in messages]
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, *records), 0)


def _text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()
