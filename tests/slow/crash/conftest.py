"""How many worlds the tests of power cuts open."""

from typing import NamedTuple

import pytest


class Cuts(NamedTuple):
    """How many worlds of each life are opened, and the seed that they are drawn from."""

    worlds: int
    seed: int


@pytest.fixture
def cuts(request) -> Cuts:
    """What was asked for on the command line."""
    return Cuts(request.config.getoption("--worlds"), request.config.getoption("--seed") or 1)
