"""minikafka: Apache Kafka's storage layer as readable Python, byte for byte.

    from minikafka import Compression, Log, MemoryRecords, SimpleRecord

    with Log.open("orders-0") as log:
        log.append_as_leader(MemoryRecords.with_records(Compression.NONE, SimpleRecord(value=b"a")), leader_epoch=0)
        print([record.value for record in log.read(0).records.records()])

The rooms, from the bottom up: `common`, `record`, `checkpoint`, `log`; on top of them `spark`, `witness` and `lab`.
Importing this package imports none of them: a name is imported when it is first used.
"""

import logging
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# What Kafka writes to its server log goes to Python's `logging`; a program that wants to see it says so.
logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOMES = {
    "Compression": "record.compression",
    "CompressionType": "record.compression",
    "FetchIsolation": "log.fetch_isolation",
    "FileRecords": "record.file_records",
    "Header": "record.record",
    "KafkaScheduler": "common.scheduler",
    "Log": "log.log",
    "LogConfig": "log.log_config",
    "ManualScheduler": "common.scheduler",
    "ManualTime": "common.time",
    "MemoryRecords": "record.memory_records",
    "SimpleRecord": "record.record",
    "SystemTime": "common.time",
    "TopicPartition": "common.topic_partition",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
