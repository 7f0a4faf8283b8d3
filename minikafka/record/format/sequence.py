"""Sequence numbers of producers: 0 … 2147483647, and around."""

from minikafka.common.java.java_numbers import INT_MAX, to_int


def increment_sequence(sequence: int, increment: int) -> int:
    """`sequence` + `increment`, where 0 follows 2147483647. Kafka: `DefaultRecordBatch.incrementSequence`."""
    if sequence > to_int(INT_MAX - increment):
        return to_int(increment - (INT_MAX - sequence) - 1)
    return to_int(sequence + increment)


def decrement_sequence(sequence: int, decrement: int) -> int:
    """`sequence` - `decrement`, where 2147483647 precedes 0. Kafka: `DefaultRecordBatch.decrementSequence`."""
    if sequence < decrement:
        return to_int(INT_MAX - (decrement - sequence) + 1)
    return to_int(sequence - decrement)
