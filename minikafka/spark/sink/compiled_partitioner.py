"""The hashes of keys, compiled; importing this module imports numba."""

from minikafka.common.murmur2 import murmur2
from minikafka.record.kernels.compiled_kernel import compile_function
from minikafka.spark.sink import partitioner

hashes_of = compile_function(partitioner.hashes_of, murmur2=compile_function(murmur2))
