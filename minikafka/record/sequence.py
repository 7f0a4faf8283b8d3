"""Sequence numbers of producers: 0 … 2147483647, and around."""

_MAX_INT = 2**31 - 1


def increment_sequence(sequence: int, increment: int) -> int:
    """`sequence` + `increment`, where 0 follows 2147483647. Kafka: `DefaultRecordBatch.incrementSequence`."""
    if sequence > _to_int(_MAX_INT - increment):
        return _to_int(increment - (_MAX_INT - sequence) - 1)
    return _to_int(sequence + increment)


def decrement_sequence(sequence: int, decrement: int) -> int:
    """`sequence` - `decrement`, where 2147483647 precedes 0. Kafka: `DefaultRecordBatch.decrementSequence`."""
    if sequence < decrement:
        return _to_int(_MAX_INT - (decrement - sequence) + 1)
    return _to_int(sequence - decrement)


def _to_int(number: int) -> int:
    """The low 32 bits, signed, as Java's int keeps them."""
    return ((number + 2**31) & 0xFFFFFFFF) - 2**31
