"""The token that ties an append to the verification of its transaction."""

import itertools
from typing import ClassVar


class VerificationGuard:
    """Handed out when the verification of a transaction begins, and shown when its first batch is appended.

    Each guard equals only itself; `SENTINEL` stands for "no guard" and verifies nothing.
    Kafka: `VerificationGuard`.
    """

    __slots__ = ("_value",)

    SENTINEL: ClassVar["VerificationGuard"]

    _next_value = itertools.count().__next__

    def __init__(self) -> None:
        self._value = VerificationGuard._next_value()

    def verify(self, verifying_guard: "VerificationGuard") -> bool:
        """True when `verifying_guard` is this very guard. Kafka: `VerificationGuard.verify`."""
        return verifying_guard is not VerificationGuard.SENTINEL and verifying_guard is self

    def __repr__(self) -> str:
        return f"VerificationGuard(value={self._value})"


VerificationGuard.SENTINEL = VerificationGuard()  # the first one: its value is 0
