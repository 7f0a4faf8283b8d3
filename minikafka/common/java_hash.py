"""Hashes as Java computes them, from which the order of its and Scala's maps follows."""

from functools import lru_cache

from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import uuid_to_bytes

_REMEMBERED = 4096
"""A broker's topics are asked for again and again: so many hashes of names, and of ids, are not computed anew."""


def java_hash(key: int | str | TopicPartition | TopicIdPartition) -> int:
    """Java's `HashMap.hash`, as an unsigned 32-bit number; an int is a Long."""
    code = java_hash_code(key)
    return code ^ (code >> 16)


def java_hash_code(key: int | str | TopicPartition | TopicIdPartition) -> int:
    """`hashCode` of a Long, a String, a TopicPartition or a TopicIdPartition, unsigned."""
    if isinstance(key, str):
        return string_hash_code(key)
    if isinstance(key, TopicPartition):
        return (31 * (31 + key.partition) + string_hash_code(key.topic)) & 0xFFFF_FFFF
    if isinstance(key, TopicIdPartition):
        return (31 * (31 + _uuid_hash_code(key.topic_id)) + java_hash_code(key.topic_partition)) & 0xFFFF_FFFF
    return (key ^ (key >> 32)) & 0xFFFF_FFFF


@lru_cache(_REMEMBERED)
def _uuid_hash_code(topic_id: str) -> int:
    raw = uuid_to_bytes(topic_id)
    words = [int.from_bytes(raw[start : start + 4], "big") for start in range(0, 16, 4)]
    return words[0] ^ words[1] ^ words[2] ^ words[3]


@lru_cache(_REMEMBERED)
def string_hash_code(text: str) -> int:
    """`String.hashCode`, unsigned."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFF_FFFF
    return code
