"""What pytest finds of minikafka by itself: the fixture `minikafka_broker`.

Nothing else of minikafka is imported before a test uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from minikafka.testing import Broker

MARKER = "minikafka_broker"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(...): what the fixture `{MARKER}` is made with, as `minikafka.testing.Broker` takes it"
    )


@pytest.fixture
def minikafka_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A `minikafka.testing.Broker` that runs, for one test. `@pytest.mark.minikafka_broker(topics={"orders": 2})` says
    how it is made.
    """
    from minikafka.testing import Broker

    marker = request.node.get_closest_marker(MARKER)
    with Broker(*marker.args, **marker.kwargs) if marker else Broker() as broker:
        yield broker
