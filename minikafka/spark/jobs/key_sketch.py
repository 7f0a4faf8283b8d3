"""How many different keys there are, from a few of their hashes."""

from typing import TYPE_CHECKING

import numpy as np

from minikafka.record.kernels.record_columns import RecordColumns, compiled_functions
from minikafka.spark.jobs import key_hash_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMPILED = "minikafka.spark.jobs.compiled_key_hash_kernel"
_REMEMBERED = 1 << 14


def hashes_of_keys(columns: RecordColumns) -> "NDArray[np.int64]":
    """The hash of each record's key, 64 bits; 0 without a key."""
    hashes = np.zeros(columns.count, np.int64)
    compiled = compiled_functions(_COMPILED)
    if compiled is None:
        key_hash_kernel.hash_keys(columns.data, columns.key_start, columns.key_end, hashes.data)
    else:
        starts, ends = np.asarray(columns.key_start), np.asarray(columns.key_end)
        compiled.hash_keys(np.frombuffer(columns.data, np.uint8), starts, ends, hashes)
    return hashes


class KeySketch:
    """The `SIZE` smallest different hashes of the keys that were added.

    As long as there are fewer, there are as many keys as hashes. Hashes fall evenly over 64 bits, so in the share s of
    that range below the largest of the sketch lies the share s of all hashes: there are (SIZE - 1) / s keys, with a
    standard error of 1.6 %. Sketches of parts are one of the whole: the smallest hashes of all of them.

    This is the *k minimum values* of Bar-Yossef and others (2002), which DataSketches calls a theta sketch.
    """

    SIZE = 4096

    def __init__(self) -> None:
        self._smallest: NDArray[np.int64] = np.empty(0, np.int64)
        # At its last bits stands a hash that was added, or else one that does not belong there.
        self._remembered = np.arange(_REMEMBERED, dtype=np.int64) ^ 1

    def add(self, hashes: "NDArray[np.int64]") -> None:
        """Add the hashes of some keys, in any order, also repeated ones."""
        if len(self._smallest) == self.SIZE:
            hashes = hashes[hashes < self._smallest[-1]]
        else:  # to know a hash again is cheaper than to sort it
            places = hashes & (_REMEMBERED - 1)
            is_new = self._remembered[places] != hashes
            hashes = hashes[is_new]
            self._remembered[places[is_new]] = hashes
        if len(hashes):
            ordered = np.sort(np.concatenate([self._smallest, hashes]))
            is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
            self._smallest = ordered[is_first][: self.SIZE]

    @property
    def hashes(self) -> "NDArray[np.int64]":
        """The hashes of the sketch, ascending."""
        return self._smallest
