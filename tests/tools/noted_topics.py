"""A metadata log that names topics and their settings, for tools that read it beside the partitions."""

import struct
from collections.abc import Mapping
from pathlib import Path

from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord


def note_topics(log_dir: Path, topics: Mapping[str, Mapping[str, str]], brokers: Mapping[str, Mapping[str, str]] = {}):
    """Make the log directory's metadata log; `topics`, `brokers`: the settings by the topic's or broker's name."""
    note(log_dir, *(noted for number, each in enumerate(topics.items(), 1) for noted in topic(number, *each)))
    note(log_dir, *(config(4, broker, *each) for broker, settings in brokers.items() for each in settings.items()))


def note(log_dir: Path, *messages: bytes, in_a_new_file: bool = False) -> None:
    """Write further messages into the metadata log, each as a batch."""
    with Log.open(log_dir / "__cluster_metadata-0", {"internal.segment.bytes": 10**6}) as log:
        if in_a_new_file:
            log.roll()
        for message in messages:
            batch = MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(0, None, message))
            log.append_as_leader(batch, 0)


def topic(number: int, name: str, settings: Mapping[str, str]) -> list[bytes]:
    """A topic is made, and has these settings; `number` stands for its id."""
    made = b"\1\2\0" + _text(name) + struct.pack(">QQ", 0, number) + b"\0"
    return [made, *(config(2, name, *each) for each in settings.items())]


def no_topic(number: int) -> bytes:
    """The topic is deleted."""
    return b"\1\x09\0" + struct.pack(">QQ", 0, number) + b"\0"


def config(kind: int, resource: str, name: str, value: str | None) -> bytes:
    """A setting of a topic (kind 2) or broker (4); None: it goes."""
    return b"\1\4\0" + bytes([kind]) + _text(resource) + _text(name) + (_text(value) if value else b"\0") + b"\0"


def _text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()
