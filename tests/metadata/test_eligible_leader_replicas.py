"""What eligible leader replicas (KIP-966) change, decided by minikafka's controller and by Kafka's, at both levels."""

import pytest

from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from tests.metadata.test_beside_kafka import TwoControllers, an_id

pytestmark = pytest.mark.kafka


class TwoReplicas:
    """Partition e-0 on brokers 0 and 1, broker 0 leads; what is done is done to both controllers, and compared."""

    def __init__(self, kafka, level, **configs):
        self.two = TwoControllers(kafka, 1, level)
        configs = {name.replace("__", "."): value for name, value in configs.items()}
        self.two.compare(
            lambda: self.two.create_topic(creatable_topic("e", assignments=[(0, [0, 1])], configs=configs))
        )
        self._incarnations = 0

    def fence(self, id):
        both = self.two.ours, self.two.theirs
        self.two.compare(lambda: tuple(controller.fence_broker(id) for controller in both))

    def start(self, id, *, after_clean_stop):
        """The broker's next incarnation begins; `after_clean_stop`: it tells the epoch of the one before."""
        two, self._incarnations = self.two, self._incarnations + 1
        previous = two.ours.image.cluster.broker_epoch(id) if after_clean_stop else -1
        incarnation_id, log_dirs = an_id("J", self._incarnations), [an_id("D", id)]

        def register():
            epoch = two.ours.register_broker(id, incarnation_id, log_dirs=log_dirs, previous_broker_epoch=previous)
            return epoch, two.theirs.register_broker(id, incarnation_id, log_dirs, previous)

        two.compare(register)
        two.compare(lambda: two.unfence(id))

    @property
    def partition(self):
        return self.two.ours.image.topics.get_topic("e").partitions[0]

    @property
    def leader_isr_elr(self):
        it = self.partition
        return it.leader, it.isr, it.elr


@pytest.mark.parametrize(("level", "isr", "elr"), [(0, (0,), ()), (1, (), (0,))])
def test_the_last_member_stays_in_the_isr_only_without_eligible_leaders(kafka, level, isr, elr):
    it = TwoReplicas(kafka, level)
    it.fence(1)
    assert it.leader_isr_elr == (0, (0,), ())
    it.fence(0)
    assert it.leader_isr_elr == (-1, isr, elr)
    assert it.partition.last_known_elr == (0,) * level


@pytest.mark.parametrize(("level", "isr", "elr"), [(0, (0,), ()), (1, (), (0,))])
def test_who_is_neither_in_sync_nor_eligible_does_not_lead(kafka, level, isr, elr):
    it = TwoReplicas(kafka, level)
    it.fence(1)
    it.fence(0)
    it.start(1, after_clean_stop=False)
    assert it.leader_isr_elr == (-1, isr, elr)


@pytest.mark.parametrize("level", [0, 1])
def test_a_broker_that_stopped_cleanly_leads_again_and_need_not_recover(kafka, level):
    """At level 1 it is elected from the eligible leader replicas, and that election is clean."""
    it = TwoReplicas(kafka, level)
    it.fence(1)
    it.fence(0)
    it.start(0, after_clean_stop=True)
    assert it.leader_isr_elr == (0, (0,), ())
    assert it.partition.leader_recovery_state is LeaderRecoveryState.RECOVERED


def test_an_eligible_replica_that_did_not_lead_is_elected_cleanly(kafka):
    it = TwoReplicas(kafka, 1, min__insync__replicas="2")
    it.fence(1)
    it.fence(0)
    assert it.leader_isr_elr == (-1, (), (0, 1))
    it.start(1, after_clean_stop=True)
    assert it.leader_isr_elr == (1, (1,), (0,))
    assert it.partition.leader_recovery_state is LeaderRecoveryState.RECOVERED


@pytest.mark.parametrize(("level", "state"), [(0, LeaderRecoveryState.RECOVERED), (1, LeaderRecoveryState.RECOVERING)])
def test_the_last_known_leader_returns_from_a_crash(kafka, level, state):
    """Unclean elections are off. At level 1 its return is one all the same: it may have lost what it had not synced."""
    it = TwoReplicas(kafka, level)
    it.fence(1)
    it.fence(0)
    it.start(0, after_clean_stop=False)
    assert it.leader_isr_elr == (0, (0,), ())
    assert it.partition.leader_recovery_state is state and it.partition.last_known_elr == ()
    assert int(LeaderRecoveryState.RECOVERING) == 1
