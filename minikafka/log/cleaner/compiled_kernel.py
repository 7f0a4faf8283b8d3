"""The kernel of the offset map, compiled by numba; see `record.compiled_kernel`."""

from minikafka.log.cleaner import offset_map_kernel
from minikafka.record.compiled_kernel import compile_function

_find = compile_function(offset_map_kernel.find, slot_of=compile_function(offset_map_kernel.slot_of))
_is_empty = compile_function(offset_map_kernel.is_empty)

put_all = compile_function(offset_map_kernel.put_all, find=_find, is_empty=_is_empty)

get_all = compile_function(offset_map_kernel.get_all, find=_find, is_empty=_is_empty)

hash_keys = compile_function(
    offset_map_kernel.hash_keys,
    md5=compile_function(
        offset_map_kernel.md5,
        md5_of_block=compile_function(offset_map_kernel.md5_of_block),
        swap_bytes=compile_function(offset_map_kernel.swap_bytes),
        signed_long=compile_function(offset_map_kernel.signed_long),
    ),
)
