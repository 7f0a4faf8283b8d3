"""The kernel of the offset map, compiled by numba; see `record.kernels.compiled_kernel`."""

from array import array

from minikafka.log.cleaner import offset_map_kernel
from minikafka.record.kernels.column import Column
from minikafka.record.kernels.compiled_kernel import compile_function, octets, on_arrays, room_for
from minikafka.record.kernels.record_columns import RecordColumns

_find = compile_function(offset_map_kernel.find, slot_of=compile_function(offset_map_kernel.slot_of))
_is_empty = compile_function(offset_map_kernel.is_empty)

_put_all = on_arrays(compile_function(offset_map_kernel.put_all, find=_find, is_empty=_is_empty))

_get_all = on_arrays(compile_function(offset_map_kernel.get_all, find=_find, is_empty=_is_empty))

_hash_keys = on_arrays(
    compile_function(
        offset_map_kernel.hash_keys,
        md5=compile_function(
            offset_map_kernel.md5,
            md5_of_block=compile_function(offset_map_kernel.md5_of_block),
            swap_bytes=compile_function(offset_map_kernel.swap_bytes),
            signed_long=compile_function(offset_map_kernel.signed_long),
        ),
    )
)


def put_columns(
    table: memoryview,
    slots: int,
    entries: int,
    latest_offset: int,
    columns: RecordColumns,
    start_offset: int,
    limit: int,
) -> tuple[int, int, int]:
    """`offset_map_kernel.put_all` of the keys of `columns`."""
    highs, lows, key_end = _hashes_of_keys(columns)
    return _put_all(table, slots, entries, latest_offset, highs, lows, key_end, columns.offsets, start_offset, limit)


def get_columns(table: memoryview, slots: int, columns: RecordColumns, found: "array[int]") -> None:
    """`offset_map_kernel.get_all` of the keys of `columns`."""
    _get_all(table, slots, *_hashes_of_keys(columns), found)


def _hashes_of_keys(columns: RecordColumns) -> tuple[Column, Column, Column]:
    """Both halves of each key's hash, nothing where there is no key, and where keys end."""
    highs, lows = room_for(columns.count), room_for(columns.count)
    _hash_keys(octets(columns.data), columns.key_start, columns.key_end, highs, lows, room_for(16))
    return highs, lows, columns.key_end
