"""The token that ties an append to the verification of its transaction."""

import itertools


class VerificationGuard:
    """Handed out when the verification of a transaction begins and shown again when its first batch is appended.

    Two guards are equal when they are the same one; `SENTINEL` stands for "no guard" and verifies nothing.
    Kafka: `VerificationGuard`.
    """

    __slots__ = ("_value",)

    _next_value = itertools.count(1).__next__

    def __init__(self):
        self._value = VerificationGuard._next_value()

    def verify(self, verifying_guard: "VerificationGuard") -> bool:
        """True when `verifying_guard` is this very guard. Kafka: `VerificationGuard.verify`."""
        return verifying_guard is not SENTINEL and verifying_guard is self

    def __repr__(self) -> str:
        return f"VerificationGuard(value={self._value})"


SENTINEL = VerificationGuard.SENTINEL = VerificationGuard.__new__(VerificationGuard)
SENTINEL._value = 0
