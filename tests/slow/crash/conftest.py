"""How many disk states the tests of power cuts open."""

from typing import NamedTuple

import pytest


class Cuts(NamedTuple):
    """How many disk states of each scenario are opened, and the seed that they are drawn from."""

    disk_states: int
    seed: int


@pytest.fixture
def cuts(request) -> Cuts:
    """What was asked for on the command line."""
    return Cuts(request.config.getoption("--disk-states"), request.config.getoption("--seed") or 1)
