"""How often each value occurs, closely enough for quantiles."""

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BITS = 12
_EXACT = 1 << _BITS


class Histogram:
    """The values 0 to 4095 exactly, larger ones rounded down to their first twelve bits, which is at most 1/2048 less.

    Histograms of parts add up to one of the whole.
    """

    def __init__(self) -> None:
        self._small = np.zeros(_EXACT, np.int64)
        self._large: Counter[int] = Counter()

    def add(self, values: "NDArray[np.int64]") -> None:
        """Count values of 0 and more."""
        is_small = values < _EXACT
        if not is_small.all():
            _, exponents = np.frexp(values[~is_small].astype(np.float64))
            shifts = np.minimum(exponents.astype(np.int64), 63) - _BITS
            rounded, counts = np.unique(values[~is_small] >> shifts << shifts, return_counts=True)
            for value, count in zip(rounded.tolist(), counts.tolist(), strict=True):
                self._large[value] += count
            values = values[is_small]
        if len(values):
            counts = np.bincount(values)
            self._small[: len(counts)] += counts

    @property
    def counts(self) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """The rounded values that occur, and how often each does."""
        small = np.flatnonzero(self._small)
        values = np.concatenate([small, np.fromiter(self._large.keys(), np.int64)])
        return values, np.concatenate([self._small[small], np.fromiter(self._large.values(), np.int64)])
