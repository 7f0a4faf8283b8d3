"""The kernel that hashes keys, compiled by numba; see `record.kernels.compiled_kernel`."""

from minikafka.record.kernels.compiled_kernel import compile_function
from minikafka.spark.jobs import key_hash_kernel

hash_keys = compile_function(key_hash_kernel.hash_keys, murmur3=compile_function(key_hash_kernel.murmur3))
