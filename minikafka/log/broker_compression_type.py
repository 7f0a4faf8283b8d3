"""The values of a topic's `compression.type`."""

from enum import Enum

from minikafka.common.errors import IllegalArgumentException
from minikafka.record.codecs.compression import Compression, CompressionType


class BrokerCompressionType(Enum):
    """A codec by name, `uncompressed`, or `producer` for the codec of the producer. Kafka: `BrokerCompressionType`."""

    UNCOMPRESSED = "uncompressed"
    ZSTD = "zstd"
    LZ4 = "lz4"
    SNAPPY = "snappy"
    GZIP = "gzip"
    PRODUCER = "producer"

    @staticmethod
    def names() -> list[str]:
        """All names. Kafka: `BrokerCompressionType.names`."""
        return [compression_type.value for compression_type in BrokerCompressionType]

    @staticmethod
    def for_name(name: str) -> "BrokerCompressionType":
        """The type called `name` in any case; raises IllegalArgumentException. Kafka: `forName`."""
        try:
            return BrokerCompressionType(name.lower())
        except ValueError:
            raise IllegalArgumentException(f"Unknown broker compression type name: {name.lower()}") from None

    @staticmethod
    def target_compression(
        log_compression: Compression | None, producer_compression_type: CompressionType
    ) -> Compression:
        """How a batch is stored: with the topic's compression, or with the producer's codec if the topic has none.

        Kafka: `BrokerCompressionType.targetCompression`.
        """
        return log_compression if log_compression is not None else _DEFAULT_LEVEL[producer_compression_type]


_DEFAULT_LEVEL = {compression_type: Compression(compression_type) for compression_type in CompressionType}
