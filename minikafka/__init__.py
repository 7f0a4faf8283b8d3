"""minikafka: Apache Kafka's storage layer as readable Python, byte for byte.

    from minikafka import Compression, Log, MemoryRecords, SimpleRecord

    with Log.open("orders-0") as log:
        log.append_as_leader(MemoryRecords.with_records(Compression.NONE, SimpleRecord(value=b"a")), leader_epoch=0)
        print([record.value for record in log.read(0).records.records()])

The rooms, from the bottom up: `common`, `messages`, `record`, `checkpoint` and `log`, the storage layer; `network`
beside them; `raft`, `metadata`, `cluster`, `server` and `broker`, what a cluster of brokers adds; `tools`, which open
log directories; `testing`, a broker for tests; `jvm` and `spark`, Java and log directories as tables; `twins` and
`witness`, which hold all of it against Kafka; `lab` and `lessons`, the course. `cli`, the command, stands above all.
Importing this package imports none of them: a name is imported when it is first used.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# What Kafka writes to its server log goes to Python's `logging`; a program that wants to see it says so.
logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOMES = {
    "Compression": "record.codecs.compression",
    "CompressionType": "record.codecs.compression",
    "FetchIsolation": "log.fetch_isolation",
    "FileRecords": "record.files.file_records",
    "Header": "record.format.record",
    "KafkaScheduler": "common.scheduler",
    "Log": "log.log",
    "LogConfig": "log.log_config",
    "ManualScheduler": "common.scheduler",
    "ManualTime": "common.time",
    "MemoryRecords": "record.format.memory_records",
    "SimpleRecord": "record.format.record",
    "SystemTime": "common.time",
    "TopicPartition": "common.topic_partition",
}

__all__ = list(_HOMES)

if TYPE_CHECKING:  # the same names, for type checkers and editors, which do not run `__getattr__`
    from minikafka.common.scheduler import KafkaScheduler as KafkaScheduler
    from minikafka.common.scheduler import ManualScheduler as ManualScheduler
    from minikafka.common.time import ManualTime as ManualTime
    from minikafka.common.time import SystemTime as SystemTime
    from minikafka.common.topic_partition import TopicPartition as TopicPartition
    from minikafka.log.fetch_isolation import FetchIsolation as FetchIsolation
    from minikafka.log.log import Log as Log
    from minikafka.log.log_config import LogConfig as LogConfig
    from minikafka.record.codecs.compression import Compression as Compression
    from minikafka.record.codecs.compression import CompressionType as CompressionType
    from minikafka.record.files.file_records import FileRecords as FileRecords
    from minikafka.record.format.memory_records import MemoryRecords as MemoryRecords
    from minikafka.record.format.record import Header as Header
    from minikafka.record.format.record import SimpleRecord as SimpleRecord


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
