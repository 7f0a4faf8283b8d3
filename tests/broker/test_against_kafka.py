"""The answers of KafkaApis are Kafka's own, byte by byte: drawn requests of all kinds and versions to both.

Lists whose order is that of Kafka's hash maps (`minikafka.witness.unordered_lists`) are compared in any order.
"""

import pytest

from tests.broker.both_sides import BothSides
from tests.broker.request_drawer import RequestDrawer

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
def both(kafka, tmp_path):
    both = BothSides(kafka, tmp_path)
    yield both
    both.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_drawn_requests_get_the_same_answers(both, seed):
    compare_drawn_requests(both, seed, 2700)


def compare_drawn_requests(both, seed, count):
    """Ask both sides `count` requests, and compare each answer."""
    drawer = RequestDrawer(seed, both.ids)
    for _ in range(count):
        both.handle(drawer.draw.choice((0, 0, 0, 1)), drawer.request())
        both.compare()
        if drawer.draw.random() < 0.3:
            both.follow()
            both.compare()
        if drawer.draw.random() < 0.2:
            both.sleep(drawer.draw.choice((1, 6, 40)))
            both.compare()
