"""Hashes as Java computes them, from which the order of its and Scala's maps follows."""

from minikafka.common.topic_partition import TopicPartition


def java_hash(key: int | str | TopicPartition) -> int:
    """Java's `HashMap.hash` of a Long, a String or a TopicPartition, as an unsigned 32-bit number."""
    if isinstance(key, str):
        code = string_hash_code(key)
    elif isinstance(key, TopicPartition):
        code = (31 * (31 + key.partition) + string_hash_code(key.topic)) & 0xFFFF_FFFF
    else:
        code = (key ^ (key >> 32)) & 0xFFFF_FFFF
    return code ^ (code >> 16)


def string_hash_code(text: str) -> int:
    """`String.hashCode`, unsigned."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFF_FFFF
    return code
