"""The stub of a rung: a function with the parameters of the method, which returns the blank."""

import inspect
from collections.abc import Callable
from typing import Any

from minikafka.lab.exercises.prediction import ___
from minikafka.lab.rebuild.mine import function_of
from minikafka.lab.rebuild.rung import Rung


def stub_of(rung: Rung) -> Callable[..., Any]:
    """A stub of `rung`."""
    parameters = inspect.signature(function_of(rung.method)).parameters.values()
    bare = [
        each.replace(annotation=each.empty, default=each.empty if each.default is each.empty else None)
        for each in parameters
    ]
    return eval(f"lambda {str(inspect.Signature(bare))[1:-1]}: blank", {"blank": ___})
