"""A slice of `make fuzz-tools`, and that its mutations are what they say."""

import pytest

from tests.slow.fuzz.fuzz_tools import fuzzer
from tests.slow.fuzz.mutations import DAMAGES
from tests.slow.fuzz.tool_runs import tree

FIRST_SEED = 20_000
DIRECTORIES = 15
"""In each slice; `make fuzz-tools` has thousands."""


@pytest.fixture(scope="module")
def fuzz():
    with fuzzer() as made:
        yield made


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize("part", range(4))
def test_damaged_directories(fuzz, part):
    demand_no_fault(fuzz, FIRST_SEED + part * DIRECTORIES)


def test_kafka_makes_the_same_of_them(kafka):
    with fuzzer(kafka, kafka_every=1) as fuzz:
        demand_no_fault(fuzz, FIRST_SEED + 4 * DIRECTORIES)


def demand_no_fault(fuzz, first_seed: int) -> None:
    if faults := list(filter(None, map(fuzz.told_of, range(first_seed, first_seed + DIRECTORIES)))):
        pytest.fail("\n".join([f"{len(faults)} directories fell", *faults]), pytrace=False)


def test_a_seed_makes_the_same_directory_again(fuzz):
    made = []
    for _ in range(2):
        with fuzz.directory(7) as (mutation, _):
            made.append((str(mutation), tree(mutation.partition.parent)))
    assert made[0] == made[1]


@pytest.mark.slow
def test_every_kind_of_damage_is_drawn(fuzz):
    seen = set()
    for seed in range(60):
        with fuzz.directory(seed) as (mutation, _):
            seen.update(told.partition(":")[0] for told in mutation.damages)
    assert {damage.__name__.strip("_").replace("_", " ") for damage in DAMAGES} <= seen
