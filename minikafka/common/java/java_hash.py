"""Hashes as Java computes them, from which the order of its and Scala's maps follows."""

from functools import lru_cache

from minikafka.common.topic_partition import TopicPartition

_REMEMBERED = 4096
"""A broker's topics are asked for again and again: so many hashes of names are not computed anew."""


def java_hash(key: int | str | TopicPartition) -> int:
    """Java's `HashMap.hash`, as an unsigned 32-bit number; an int is a Long."""
    code = java_hash_code(key)
    return code ^ (code >> 16)


def java_hash_code(key: int | str | TopicPartition) -> int:
    """`hashCode` of a Long, a String or a TopicPartition, unsigned."""
    if isinstance(key, str):
        return string_hash_code(key)
    if isinstance(key, TopicPartition):
        return (31 * (31 + key.partition) + string_hash_code(key.topic)) & 0xFFFF_FFFF
    return (key ^ (key >> 32)) & 0xFFFF_FFFF


@lru_cache(_REMEMBERED)
def string_hash_code(text: str) -> int:
    """`String.hashCode`, unsigned."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFF_FFFF
    return code
