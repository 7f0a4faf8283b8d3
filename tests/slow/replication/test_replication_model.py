"""What replication promises, tried on drawn examples; and how it is lost where its conditions are not met."""

import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from minikafka.lab.stage.planted_bugs import planted
from tests.slow.replication.replicas import Replicas
from tests.slow.replication.replication_machine import OnlyDivergence, OnlyLosses, Replication, examples

pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.slow
def test_replication_keeps_its_promises(share):
    """A run tries one of four seeds, each of which draws twenty examples."""
    seeds = share(range(4), 4)
    Replication.acknowledged = 0
    for number in seeds:
        run_state_machine_as_test(seed(number)(Replication), settings=examples(20))
    assert Replication.acknowledged > 15 * len(seeds)  # or there was too little to keep


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "found"), [(OnlyLosses, "acknowledged or read, and lost"), (OnlyDivergence, "logs differ between")]
)
def test_truncation_to_the_high_watermark_is_found_out(machine, found):
    """The rule before KIP-101: a follower that knows no epochs cuts its log to its own high watermark."""
    with planted("a follower knows no leader epochs"), pytest.raises(AssertionError, match=found):
        # With this seed a few examples are enough; with others it takes hundreds.
        run_state_machine_as_test(seed(5)(machine), settings=examples(2000))


def the_last_in_sync_loses_power(replicas):
    """A batch is acknowledged, two brokers stop in order, and the third comes back without what it had not synced."""
    replicas.produce(0, 1, -1)
    for broker_id in (1, 2, 1, 2):
        replicas.follow(broker_id)
    replicas.collect_answers()
    assert replicas.acknowledged
    replicas.stop(2)
    replicas.stop(1)
    assert replicas.registration().isr == (0,)
    assert not replicas.may_lose_power(0)
    replicas.cut_power(0)
    replicas.start(0)


@pytest.mark.slow
def test_the_last_in_sync_may_come_back_without_its_tail_and_lead(tmp_path):
    """So the drawn examples are right not to let it lose power: there the promise does not hold, in Kafka either."""
    replicas = Replicas(tmp_path / "brokers", eligible_leader_replicas_version=0)
    the_last_in_sync_loses_power(replicas)
    assert replicas.registration().leader == 0
    replicas.heal()
    assert [replicas.batches(broker_id) for broker_id in replicas.brokers] == [[], [], []]


def test_eligible_leader_replicas_wait_for_one_that_has_it_all(tmp_path):
    """The same with KIP-966: who comes back from an unclean end may not lead, and who left in order may."""
    replicas = Replicas(tmp_path / "brokers", eligible_leader_replicas_version=1)
    the_last_in_sync_loses_power(replicas)
    assert (replicas.registration().leader, replicas.registration().elr) == (-1, (1,))
    replicas.start(1)
    assert replicas.registration().leader == 1
    replicas.heal()
    assert [replicas.batches(broker_id) for broker_id in replicas.brokers] == [list(replicas.acknowledged.values())] * 3
