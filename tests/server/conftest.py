"""The broker that tests of this room work with."""

import pytest

from tests.server.one_broker import OneBroker


@pytest.fixture
def broker(tmp_path):
    """A broker with one log directory, and no topic yet."""
    one = OneBroker([tmp_path / "logs"])
    yield one
    one.crash()
