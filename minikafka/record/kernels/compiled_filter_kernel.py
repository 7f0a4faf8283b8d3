"""The kernel of filtering, compiled by numba; see `record.kernels.compiled_kernel`."""

from minikafka.record.kernels import filter_kernel
from minikafka.record.kernels.compiled_kernel import compile_function, on_arrays

retain = on_arrays(compile_function(filter_kernel.retain))
split = on_arrays(compile_function(filter_kernel.split))
tombstones = on_arrays(compile_function(filter_kernel.tombstones))
count_before = on_arrays(compile_function(filter_kernel.count_before))
shift = on_arrays(compile_function(filter_kernel.shift))
place_of_largest = on_arrays(compile_function(filter_kernel.place_of_largest))
