"""Codecs, in the framings in which Kafka stores them.

Batches that are compressed here have the bytes of those that Kafka 4.3.0 compresses, at every level, because the same
releases compress them: libzstd 1.5.6 (pyzstd), liblz4 1.10.0 (cramjam), and snappy 1.1.10 (`snappy_kernel`). gzip is
Python's zlib, and the JDK's in Kafka: both write the same bytes where they are the original zlib, and other ones where
one of them is a replacement, such as zlib-ng.

Whoever reads accepts whatever is sound, and what was compressed by another library has the same records.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import (
    IllegalArgumentException,
    IOException,
    KafkaException,
    RecordTooLargeException,
)
from minikafka.record.files.stream_window import MAX_DECOMPRESSED_BYTES, StreamWindow


class CompressionType(enum.Enum):
    """A codec: its number in the attributes, its name in configs. Kafka: `CompressionType`."""

    NONE = (0, "none")
    GZIP = (1, "gzip")
    SNAPPY = (2, "snappy")
    LZ4 = (3, "lz4")
    ZSTD = (4, "zstd")

    def __init__(self, type_id: int, type_name: str):
        self.id = type_id
        self.type_name = type_name

    @staticmethod
    def for_id(type_id: int) -> "CompressionType":
        """The codec with that number; IllegalArgumentException otherwise. Kafka: `CompressionType.forId`."""
        if not 0 <= type_id < len(_BY_ID):
            raise IllegalArgumentException(f"Unknown compression type id: {type_id}")
        return _BY_ID[type_id]

    @staticmethod
    def for_name(name: str) -> "CompressionType":
        """The codec with that name; IllegalArgumentException otherwise. Kafka: `CompressionType.forName`."""
        for compression_type in _BY_ID:
            if compression_type.type_name == name:
                return compression_type
        raise IllegalArgumentException(f"Unknown compression name: {name}")

    def __str__(self) -> str:
        return self.type_name


_BY_ID = tuple(CompressionType)


# Smallest, largest and default level of the codecs that have levels; gzip's default lies outside its range.
_LEVELS = {CompressionType.GZIP: (1, 9, -1), CompressionType.LZ4: (1, 17, 9), CompressionType.ZSTD: (-131072, 22, 3)}
_NO_LEVELS = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Compression:
    """A codec and its level, None for the codec's default. Kafka: `Compression`, `GzipCompression` …

    Raises IllegalArgumentException for a level that the codec does not have.
    """

    type: CompressionType
    level: int | None = None

    NONE: ClassVar["Compression"]

    def __post_init__(self) -> None:
        if self.level is None or self.type not in _LEVELS:
            return
        smallest, largest, default = _LEVELS[self.type]
        if not smallest <= self.level <= largest and self.level != default:
            raise IllegalArgumentException(f"{self.type} doesn't support given compression level: {self.level}")

    @staticmethod
    def of(compression: "Compression | CompressionType | str") -> "Compression":
        """The codec of that type or name with its default level. Kafka: `Compression.of`."""
        if isinstance(compression, Compression):
            return compression
        if isinstance(compression, str):
            compression = CompressionType.for_name(compression)
        return Compression(compression)

    def compress(self, data: BytesLike, magic: int) -> bytes:
        """`data` as the stream that Kafka writes into a batch of that magic. Kafka: `Compression.wrapForOutput`."""
        if self.type is CompressionType.NONE:
            return bytes(data)
        level = _LEVELS.get(self.type, _NO_LEVELS)[2] if self.level is None else self.level
        return _codec(self.type).compress(data, level, magic)


Compression.NONE = Compression(CompressionType.NONE)


def pieces(compression_type: CompressionType, data: BytesLike, magic: int) -> Iterator[BytesLike]:
    """The bytes of the stream `data`, a few hundred KB at a time, because a small stream can become a huge one.

    Raises KafkaException at once for a stream that cannot even be opened. For damage further on, the iterator raises
    KafkaException or BufferUnderflowException after the bytes before it. With codec NONE there is one piece.
    Kafka: `Compression.wrapForInput`.
    """
    if compression_type is CompressionType.NONE:
        return iter((data,))
    try:
        chunks = _codec(compression_type).open_stream(data, magic)
    except IOException as error:
        raise KafkaException(str(error)) from error
    return _checked(chunks)


def _checked(chunks: Iterator[BytesLike]) -> Iterator[BytesLike]:
    try:
        yield from chunks
    except IOException as error:
        raise KafkaException(f"Failed to decompress record stream: {error}") from error


def decompress(
    compression_type: CompressionType, data: BytesLike, magic: int, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> tuple[BytesLike, Exception | None]:
    """All bytes of the stream `data`, and the exception that a reader meets after them (None for a sound stream).

    Raises KafkaException for a stream that cannot even be opened, RecordTooLargeException for more than `max_bytes`.
    """
    window = StreamWindow(pieces(compression_type, data, magic), max_bytes)
    window.fill(max_bytes + 1)
    return window.data, window.error


def decompress_at_once(
    compression_type: CompressionType, data: BytesLike, magic: int, max_bytes: int
) -> BytesLike | None:
    """All bytes of the stream `data`; None for one that is not sound, or may have more than `max_bytes`.

    This is quicker than `decompress`, which can also tell what is wrong.
    """
    if compression_type is CompressionType.ZSTD:
        from minikafka.record.codecs import zstd_compression

        return zstd_compression.decompress_at_once(data, max_bytes)
    try:
        decompressed, error = decompress(compression_type, data, magic, max_bytes)
    except (KafkaException, RecordTooLargeException):
        return None
    return decompressed if error is None else None


class _Codec(Protocol):
    """What the module of a codec offers."""

    def compress(self, data: BytesLike, level: int, magic: int) -> bytes:
        """`data` as one stream; a codec without levels does not look at `level`."""

    def open_stream(self, data: BytesLike, magic: int) -> Iterator[BytesLike]:
        """The uncompressed pieces of `data`; IOException for a bad header at once, for other damage in the iterator."""


def _codec(compression_type: CompressionType) -> _Codec:
    """The codec's module, imported when it is first needed, as Kafka loads its classes."""
    match compression_type:
        case CompressionType.GZIP:
            from minikafka.record.codecs import gzip_compression

            return gzip_compression
        case CompressionType.SNAPPY:
            from minikafka.record.codecs import snappy_compression

            return snappy_compression
        case CompressionType.LZ4:
            from minikafka.record.codecs import lz4_compression

            return lz4_compression
        case CompressionType.ZSTD:
            from minikafka.record.codecs import zstd_compression

            return zstd_compression
    raise IllegalArgumentException(f"{compression_type} does not compress")
