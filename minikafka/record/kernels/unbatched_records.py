"""Records that are in no batch yet, as columns; `writing_kernel` makes batches of them."""

from typing import NamedTuple

from minikafka.common.bytes_like import BytesLike
from minikafka.record.kernels.column import Column


class UnbatchedRecords(NamedTuple):
    """Records as columns with one entry for each, laid out as Arrow lays out columns of bytes.

    - `offsets` (ascending), `timestamps`: absolute; ms since 1970, -1 for none.
    - `key_data`, `key_edges`, `key_nulls`: key i is `key_data` from edge i to edge i + 1 (exclusive), unless null i is
      true. There is one edge more than there are records. Values likewise.
    - `headers_data`, `headers_edges`, `headers_counts`: the headers of record i, as they stand in a record, and how
      many they are (`headers_as_bytes` in `batch_encoder`).
    """

    offsets: Column
    timestamps: Column
    key_data: BytesLike
    key_edges: Column
    key_nulls: Column
    value_data: BytesLike
    value_edges: Column
    value_nulls: Column
    headers_data: BytesLike
    headers_edges: Column
    headers_counts: Column


class UnbatchedHeaders(NamedTuple):
    """Headers as columns: those of record i are the ones from `edges` i to i + 1 (exclusive).

    Their keys (UTF-8, never null) and values have the form of the keys and values in `UnbatchedRecords`.
    """

    edges: Column
    key_data: BytesLike
    key_edges: Column
    value_data: BytesLike
    value_edges: Column
    value_nulls: Column
