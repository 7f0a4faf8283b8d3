"""The kernel of filtering, compiled by numba; see `record.kernels.compiled_kernel`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minikafka.record.kernels import filter_kernel
from minikafka.record.kernels.compiled_kernel import compile_function


def _on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled, which takes its columns without a copy, whichever kernel has made them."""
    compiled = compile_function(function)

    def on_arrays(*arguments: Any) -> Any:
        return compiled(*(each if isinstance(each, int) else np.asarray(each) for each in arguments))

    return on_arrays


retain = _on_arrays(filter_kernel.retain)
split = _on_arrays(filter_kernel.split)
tombstones = _on_arrays(filter_kernel.tombstones)
count_before = _on_arrays(filter_kernel.count_before)
shift = _on_arrays(filter_kernel.shift)
place_of_largest = _on_arrays(filter_kernel.place_of_largest)
