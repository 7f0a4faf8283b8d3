"""What replication promises, tried on drawn lives; and how it is lost where its conditions are not met."""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from minikafka.lab.stage.planted_bugs import planted
from tests.replication.replica_world import World
from tests.replication.replication_machine import OnlyDivergence, OnlyLosses, Replication, lives

pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.slow
def test_replication_keeps_its_promises():
    Replication.acknowledged = 0
    run_state_machine_as_test(Replication, settings=lives(80))
    assert Replication.acknowledged > 60  # or there was too little to keep


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "found"), [(OnlyLosses, "acknowledged or read, and lost"), (OnlyDivergence, "logs differ between")]
)
def test_truncation_to_the_high_watermark_is_found_out(machine, found):
    """The rule before KIP-101: a follower that knows no epochs cuts its log to its own high watermark."""
    with planted("a follower knows no leader epochs"), pytest.raises(AssertionError, match=found):
        run_state_machine_as_test(machine, settings=lives(2000))


def the_last_in_sync_loses_power(world):
    """A batch is acknowledged, two brokers stop in order, and the third comes back without what it had not synced."""
    world.produce(0, 1, -1)
    for broker_id in (1, 2, 1, 2):
        world.follow(broker_id)
    world.collect_answers()
    assert world.acknowledged
    world.stop(2)
    world.stop(1)
    assert world.registration().isr == (0,)
    assert not world.may_lose_power(0)
    world.cut_power(0)
    world.start(0)


def test_the_last_in_sync_may_come_back_without_its_tail_and_lead(tmp_path):
    """So the drawn lives are right not to let it lose power: there the promise does not hold, in Kafka either."""
    world = World(tmp_path / "brokers", eligible_leader_replicas_version=0)
    the_last_in_sync_loses_power(world)
    assert world.registration().leader == 0
    world.heal()
    assert [world.batches(broker_id) for broker_id in world.brokers] == [[], [], []]


def test_eligible_leader_replicas_wait_for_one_that_has_it_all(tmp_path):
    """The same with KIP-966: who comes back from an unclean end may not lead, and who left in order may."""
    world = World(tmp_path / "brokers", eligible_leader_replicas_version=1)
    the_last_in_sync_loses_power(world)
    assert (world.registration().leader, world.registration().elr) == (-1, (1,))
    world.start(1)
    assert world.registration().leader == 1
    world.heal()
    assert [world.batches(broker_id) for broker_id in world.brokers] == [list(world.acknowledged.values())] * 3
