"""Java's random numbers: the same seed gives the same ones, in Python and in Java."""

import pytest

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.java.java_random import JavaRandom


def test_numbers_and_shuffles_are_java_s(kafka):
    for seed in (0, 1, -5, 2**40):
        theirs, ours = kafka.find_class("java.util.Random")(seed), JavaRandom(seed)
        for bound in (1, 2, 3, 10, 1 << 20, 2**31 - 1, 2**30 + 1, 2**30 + 1, 2**30 + 1):
            assert ours.next_int(bound) == theirs.nextInt(bound)
        cards = kafka.find_class("java.util.ArrayList")()
        for card in range(20):
            cards.add(card)
        kafka.find_class("java.util.Collections").shuffle(cards, theirs)
        mine = list(range(20))
        ours.shuffle(mine)
        assert mine == list(cards)


def test_a_bound_is_positive():
    with pytest.raises(IllegalArgumentException, match="bound must be positive"):
        JavaRandom(0).next_int(0)
