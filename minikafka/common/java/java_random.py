"""Random numbers and shuffles as Java makes them: the same seed gives the same ones."""

from typing import TypeVar

from minikafka.common.errors import IllegalArgumentException

T = TypeVar("T")
_MULTIPLIER = 0x5DEECE66D
_MASK = (1 << 48) - 1


class JavaRandom:
    """A linear congruential generator of 48 bits. Kafka: `java.util.Random`."""

    def __init__(self, seed: int):
        self._seed = (seed ^ _MULTIPLIER) & _MASK

    def next_int(self, bound: int) -> int:
        """A number from 0 to `bound`, exclusive; raises IllegalArgumentException below 1. Kafka: `Random.nextInt`."""
        if bound <= 0:
            raise IllegalArgumentException("bound must be positive")
        if bound & -bound == bound:  # a power of two: the upper bits are the better ones
            return (bound * self._next_31_bits()) >> 31
        while True:
            bits = self._next_31_bits()
            if bits - bits % bound + (bound - 1) < 1 << 31:  # else the last, shorter row of remainders
                return bits % bound

    def shuffle(self, items: list[T]) -> None:
        """Puts `items` into a random order. Kafka: `Collections.shuffle`."""
        for size in range(len(items), 1, -1):
            other = self.next_int(size)
            items[size - 1], items[other] = items[other], items[size - 1]

    def _next_31_bits(self) -> int:
        self._seed = (self._seed * _MULTIPLIER + 0xB) & _MASK
        return self._seed >> 17
