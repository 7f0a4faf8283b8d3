"""Kafka's own record classes, fed with the bytes that minikafka gets."""

import random

import pytest

from minikafka.common.errors import NoSuchElementException
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import Header
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.witness.kafka.kafka_errors import kafka_errors

RECORD_PACKAGE = "org.apache.kafka.common.record.internal"


class KafkaRecords:
    """What Kafka 4.3.0 makes of given bytes, and the bytes that it makes of given records."""

    def __init__(self, kafka):
        self.kafka = kafka
        self.find = kafka.find_class
        self.no_caching = self.kafka.constant("org.apache.kafka.common.utils.BufferSupplier", "NO_CACHING")

    def bytes_in_java(self, data):
        return None if data is None else self.find("java.nio.ByteBuffer").wrap(bytes(data))

    def memory_records(self, data):
        return self.find(f"{RECORD_PACKAGE}.MemoryRecords").readableRecords(self.bytes_in_java(data))

    def first_batch(self, data):
        """Kafka's first batch; NoSuchElementException when the bytes end before it does."""
        batch = self.memory_records(data).firstBatch()
        if batch is None:
            raise NoSuchElementException("no complete batch")
        return batch

    def records_text(self, data, way: str = "iterator") -> str:
        """Kafka's text for the list of records of the first batch; raises minikafka's twin of what Kafka raises."""
        with kafka_errors():
            batch = self.first_batch(data)
            records = batch.iterator() if way == "iterator" else getattr(batch, way)(self.no_caching)
            return self.find("org.apache.kafka.common.utils.Utils").toList(records).toString()

    def compression(self, compression: Compression):
        builder = self.find("org.apache.kafka.common.compress.Compression").of(compression.type.type_name)
        return (builder if compression.level is None else builder.level(compression.level)).build()

    def compress(self, compression: Compression, data: bytes, directory) -> bytes:
        """The stream that Kafka writes for `data` into a batch of magic 2. Files carry the bytes: py4j is slow."""
        given, made = directory / "given", directory / "made"
        given.write_bytes(data)
        buffer = self.find("org.apache.kafka.common.utils.ByteBufferOutputStream")(1024)
        stream = self.compression(compression).wrapForOutput(buffer, 2)
        source = self.find("java.io.FileInputStream")(str(given))
        source.transferTo(stream)
        source.close()
        stream.close()
        target = self.find("java.io.FileOutputStream")(str(made))
        target.getChannel().write(buffer.buffer().flip())
        target.close()
        return made.read_bytes()

    def timestamp_type(self, timestamp_type: TimestampType):
        return self.kafka.constant("org.apache.kafka.common.record.TimestampType", timestamp_type.name)

    def headers(self, headers):
        cls = self.find("org.apache.kafka.common.header.internals.RecordHeader")
        array = self.kafka.gateway.new_array(self.find("org.apache.kafka.common.header.Header"), len(headers))
        for index, header in enumerate(headers):
            array[index] = cls(header.key, header.value)
        return array

    def build(self, settings: dict, records: list, last_offset: int | None) -> bytes:
        """The bytes of Kafka's builder with the same arguments as minikafka's."""
        number = self.find("java.lang.Long").valueOf
        with kafka_errors():
            builder = self.find(f"{RECORD_PACKAGE}.MemoryRecordsBuilder")(
                self.find("org.apache.kafka.common.utils.ByteBufferOutputStream")(1024),
                settings["magic"],
                self.compression(settings["compression"]),
                self.timestamp_type(settings["timestamp_type"]),
                *map(number, (settings["base_offset"], settings["log_append_time"], settings["producer_id"])),
                settings["producer_epoch"],
                settings["base_sequence"],
                settings["is_transactional"],
                settings["is_control_batch"],
                settings["partition_leader_epoch"],
                2**31 - 1,
                number(settings["delete_horizon_ms"]),
            )
            for offset, timestamp, key, value, headers in records:
                builder.appendWithOffset(
                    number(offset),
                    number(timestamp),
                    self.bytes_in_java(key),
                    self.bytes_in_java(value),
                    self.headers(headers),
                )
            if last_offset is not None:
                builder.overrideLastOffset(number(last_offset))
            return bytes(self.find("org.apache.kafka.common.utils.Utils").toArray(builder.build().buffer()))


@pytest.fixture(scope="module")
def kafka_records(kafka):
    return KafkaRecords(kafka)


class Batches:
    """Random batches, minikafka's builder, and Kafka's text for what minikafka reads."""

    @staticmethod
    def random(rng: random.Random, magic: int = 2, compression: Compression | None = None, **fixed):
        """Arguments for a builder, records as (offset, timestamp, key, value, headers), and perhaps a later last
        offset.
        """
        if compression is None:
            types = [t for t in CompressionType if magic == 2 or t is not CompressionType.ZSTD]
            compression = Compression(rng.choice(types))
        with_producer = magic == 2 and rng.random() < 0.5
        base_offset = rng.choice([0, 7, 100, 2**31, 2**60])
        settings = {
            "compression": compression,
            "magic": magic,
            "timestamp_type": rng.choice([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]),
            "base_offset": base_offset,
            "log_append_time": 1_700_000_000_000,
            "producer_id": rng.choice([0, 5, 2**40]) if with_producer else -1,
            "producer_epoch": rng.choice([0, 3, 32767]) if with_producer else -1,
            "base_sequence": rng.choice([0, 9, 2**31 - 2]) if with_producer else -1,
            "is_transactional": with_producer and rng.random() < 0.5,
            "is_control_batch": False,
            "partition_leader_epoch": rng.choice([-1, 0, 12]) if magic == 2 else -1,
            "delete_horizon_ms": rng.choice([-1, -1, 1_800_000_000_000]) if magic == 2 else -1,
            **fixed,
        }
        records = []
        offset = base_offset + rng.choice([0, 0, 3])
        for _ in range(rng.choice([1, 2, 3, 10])):
            headers = tuple(
                Header(rng.choice(["", "h", "schlüssel", "键"]), rng.choice([None, b"", rng.randbytes(5)]))
                for _ in range(rng.choice([0, 0, 1, 3]) if magic == 2 else 0)
            )
            key = rng.choice([None, b"", b"k", rng.randbytes(rng.choice([3, 64, 200]))])
            value = rng.choice([None, b"", b"v" * 300, rng.randbytes(rng.choice([3, 63, 64, 9000]))])
            timestamp = rng.choice([-1, 0, 1_000, 1_700_000_000_000 + rng.randrange(100_000), 2**63 - 1])
            records.append((offset, timestamp, key, value, headers))
            offset += rng.choice([1, 1, 1, 50, 2**20])
        last_offset = records[-1][0] + 5 if magic == 2 and rng.random() < 0.2 else None
        return settings, records, last_offset

    @staticmethod
    def build(settings: dict, records: list, last_offset: int | None) -> MemoryRecords:
        """The batch by minikafka's builder."""
        builder = MemoryRecordsBuilder(**settings)
        for record in records:
            builder.append_with_offset(*record)
        if last_offset is not None:
            builder.override_last_offset(last_offset)
        return builder.build()

    @staticmethod
    def text(records) -> str:
        """A list of records as Kafka's `toString` tells it."""
        return "[" + ", ".join(map(_record_text, records)) + "]"


def _record_text(record) -> str:
    sizes = f"key={len(record.key or b'')} bytes, value={len(record.value or b'')} bytes"
    if record.has_magic(2):
        return f"DefaultRecord(offset={record.offset}, timestamp={record.timestamp}, {sizes})"
    stamp = f", {record.timestamp_type}={record.timestamp}" if record.magic > 0 else ""
    message = record.outer_record
    return (
        f"LegacyRecordBatch(offset={record.offset}, Record(magic={record.magic}, attributes={message.attributes}, "
        f"compression={message.compression_type}, crc={message.checksum}{stamp}, {sizes}))"
    )


@pytest.fixture(scope="session")
def batches():
    return Batches
