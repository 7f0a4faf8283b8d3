"""What the headers of neighbouring batches say, as columns: too many for an object each."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from minikafka.record.format.batch_header import (
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    DELETE_HORIZON_FLAG_MASK,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG_MASK,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The fields of `batch_header.HEADER`.
_HEADER = np.dtype([
    ("base_offset", ">i8"), ("length", ">i4"), ("leader_epoch", ">i4"), ("magic", "i1"), ("crc", ">u4"),
    ("attributes", ">i2"), ("last_offset_delta", ">i4"), ("base_timestamp", ">i8"), ("max_timestamp", ">i8"),
    ("producer_id", ">i8"), ("producer_epoch", ">i2"), ("base_sequence", ">i4"), ("records", ">i4"),
])  # fmt: skip


class BatchFacts(NamedTuple):
    """What a batch's header says; -1 stands for none. `position`: bytes from the beginning of the file.

    `delete_horizon`: from when on (ms) a compaction drops the batch's tombstones.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    max_timestamp: int
    timestamp_type: int
    transactional: bool
    control: bool
    codec: int
    records: int
    delete_horizon: int
    crc: int


_KINDS: dict[str, type[np.generic]] = dict.fromkeys(BatchFacts._fields, np.int64)
_KINDS |= {"transactional": np.bool_, "control": np.bool_}


class BatchColumns:
    """The `BatchFacts` of neighbouring batches, an array for each fact: `batches.codec`, `batches.last_offset`, …

    A number picks one batch's facts; a slice, or an array of truth values or of numbers, picks some of the batches.
    """

    __slots__ = ("_arrays",)

    def __init__(self, arrays: "dict[str, NDArray[Any]]"):
        self._arrays = arrays

    @staticmethod
    def of(batches: Sequence[BatchFacts]) -> "BatchColumns":
        """The columns of these facts."""
        columns = zip(*batches, strict=True) if batches else ((),) * len(_KINDS)
        return BatchColumns(
            {name: np.array(column, kind) for (name, kind), column in zip(_KINDS.items(), columns, strict=True)}
        )

    @staticmethod
    def of_headers(view: memoryview, starts: "NDArray[np.int64]", positions: "NDArray[np.int64]") -> "BatchColumns":
        """Batches of magic 2 whose headers begin at `starts` in `view`, and the batches at `positions` in the file."""
        octets = np.frombuffer(view, np.uint8)
        header = np.lib.stride_tricks.sliding_window_view(octets, RECORD_BATCH_OVERHEAD)[starts].view(_HEADER)[:, 0]
        long = {
            name: header[name].astype(np.int64)
            for name in (
                "magic", "base_offset", "leader_epoch", "producer_id", "producer_epoch", "base_sequence",
                "max_timestamp", "records", "crc",
            )
        }  # fmt: skip
        attributes = header["attributes"].astype(np.int64)
        return BatchColumns({
            **long,
            "position": positions,
            "size": header["length"].astype(np.int64) + LOG_OVERHEAD,
            "last_offset": long["base_offset"] + header["last_offset_delta"],
            "timestamp_type": (attributes & TIMESTAMP_TYPE_MASK != 0).astype(np.int64),
            "transactional": attributes & TRANSACTIONAL_FLAG_MASK != 0,
            "control": attributes & CONTROL_FLAG_MASK != 0,
            "codec": attributes & COMPRESSION_CODEC_MASK,
            "delete_horizon": np.where(attributes & DELETE_HORIZON_FLAG_MASK, header["base_timestamp"], -1),
        })  # fmt: skip

    @staticmethod
    def joined(parts: "Sequence[BatchColumns]") -> "BatchColumns":
        """The batches of all parts, in their order."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return BatchColumns.of(())
        return BatchColumns({name: np.concatenate([part._arrays[name] for part in parts]) for name in _KINDS})

    def __len__(self) -> int:
        return len(self._arrays["position"])

    def __getattr__(self, name: str) -> "NDArray[Any]":
        try:
            return self._arrays[name]
        except KeyError:
            raise AttributeError(name) from None

    @overload
    def __getitem__(self, which: int) -> BatchFacts: ...

    @overload
    def __getitem__(self, which: "slice | NDArray[np.bool_] | NDArray[np.int64]") -> "BatchColumns": ...

    def __getitem__(self, which: "int | slice | NDArray[np.bool_] | NDArray[np.int64]") -> "BatchFacts | BatchColumns":
        if isinstance(which, int):
            return BatchFacts(*(self._arrays[name][which].item() for name in _KINDS))
        return BatchColumns({name: array[which] for name, array in self._arrays.items()})

    def __iter__(self) -> Iterator[BatchFacts]:
        columns = (self._arrays[name].tolist() for name in _KINDS)
        return (BatchFacts(*facts) for facts in zip(*columns, strict=True))
