"""Drawn workloads of brokers: equal answers, states and files, of minikafka's brokers and Kafka's own."""

import itertools

import pytest

from minikafka.cluster.partition import Partition
from minikafka.witness.drawn_comparisons import drawn_workloads
from minikafka.witness.replicas.differ import PROFILES, compare, draw, smallest
from minikafka.witness.replicas.workload import ReplicaWorkload

pytestmark = pytest.mark.slow

OPERATIONS_IN_MAKE_TEST = 1600  # two workloads of each profile; `make fuzz-replicas` draws more
SIZE = 80


@pytest.fixture(scope="module")
def seed(request):
    chosen = request.config.getoption("--seed")
    return 20_000 if chosen is None else chosen


def test_no_difference_in_drawn_workloads(kafka, silent, seed, request):
    wanted = request.config.getoption("--operations") or OPERATIONS_IN_MAKE_TEST
    done = 0
    for profile, number, workload in drawn_workloads(PROFILES, draw, seed, SIZE):
        comparison = compare(kafka, workload)
        assert comparison.same, f"{profile}, seed {number}\n{smallest(kafka, comparison)}"
        done += comparison.operations
        if done >= wanted:
            break


def test_workloads_do_what_they_should(kafka, silent):
    """Requests wait, followers leave the in-sync replicas and come back, leaders change."""
    workloads = [draw("brokers that come and go", seed, 2 * SIZE) for seed in range(6)]
    seen = [step for workload in workloads for step in compare(kafka, workload).seen]
    partitions = [
        partition for step in seen for state in step.states.values() for partition in state["partitions"].values()
    ]
    states = {partition["state"] for partition in partitions}
    assert states == {"CommittedPartitionState", "PendingExpandIsr", "PendingShrinkIsr"}
    assert max(partition["leader_epoch"] for partition in partitions) > 3
    waiting = [[state["waiting"] for state in step.states.values()] for step in seen]
    for purgatory in range(2):
        assert any(counts[purgatory] for brokers in waiting for counts in brokers)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_workload_is_its_text(profile):
    for seed in range(20):
        workload = draw(profile, seed, SIZE)
        assert str(ReplicaWorkload.parse(str(workload))) == str(workload)
        assert str(draw(profile, seed, SIZE)) == str(workload)


def test_a_planted_bug_is_found_and_made_small(kafka, silent, monkeypatch):
    """A leader that counts only the in-sync replicas, and not the one that is about to become one."""

    def too_early(self, leader_log, current_time_ms):
        return leader_log.maybe_increment_high_watermark(leader_log.log_end_offset_metadata) is not None

    monkeypatch.setattr(Partition, "_maybe_increment_leader_hw", too_early)
    comparisons = (
        compare(kafka, workload) for _, _, workload in itertools.islice(drawn_workloads(PROFILES, draw, 0, SIZE), 5)
    )
    different = next(comparison for comparison in comparisons if not comparison.same)
    least = smallest(kafka, different)
    assert len(least.workload) <= 8, least
    assert "broker" in str(least.difference)
