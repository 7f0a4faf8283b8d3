"""A log whose first batch has a timestamp that no client of Kafka's writes, and that a broker takes all the same."""

from pathlib import Path
from struct import pack_into

from crc32c import crc32c

BEFORE_1970 = -(2**63)


def put_first_batch_before_1970(partition: Path) -> None:
    """Give the first batch of the first segment the smallest of all timestamps, and its checksum."""
    log = min(partition.glob("*.log"))
    data = bytearray(log.read_bytes())
    end = 12 + int.from_bytes(data[8:12], "big")
    pack_into(">qq", data, 27, BEFORE_1970, BEFORE_1970)
    pack_into(">I", data, 17, crc32c(bytes(data[21:end])))
    log.write_bytes(data)
