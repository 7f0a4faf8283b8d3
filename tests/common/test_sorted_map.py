"""The map that keeps its keys in order."""

from minikafka.common.sorted_map import SortedMap


def test_parts_of_a_map():
    sorted_map = SortedMap()
    for key in (5, 1, 3):
        sorted_map[key] = f"value {key}"
    assert sorted_map.values_up_to(0) == [] == sorted_map.values_above(5)
    assert sorted_map.values_up_to(3) == ["value 1", "value 3"]
    assert sorted_map.values_above(3) == ["value 5"]
    assert sorted_map.values_up_to(4) + sorted_map.values_above(4) == sorted_map.values()


def test_the_ends_of_a_map():
    sorted_map = SortedMap()
    assert sorted_map.first() is sorted_map.last() is sorted_map.floor(9) is None
    for key in (5, 1, 3):
        sorted_map[key] = f"value {key}"
    assert (sorted_map.first(), sorted_map.last()) == ("value 1", "value 5")
    assert (sorted_map.lower(3), sorted_map.floor(3), sorted_map.higher(3)) == ("value 1", "value 3", "value 5")
