"""Consumers that are sent to the replica in their rack."""

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.errors import ConfigException
from minikafka.server.replica_selector import replica_selector
from tests.server.one_broker import CONSUMER_OF_VERSION_11, OneBroker

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@pytest.fixture
def broker(tmp_path):
    """Broker N stands in rack N; two records are below the high watermark."""
    one = OneBroker([tmp_path / "a"], replica__selector__class=RACK_AWARE)
    one.create()
    for _ in range(2):
        one.produce("t-0")
    one.follow(1, 2)
    yield one
    one.crash()


def preferred(broker, rack, offset=0, **more):
    answers = broker.fetch({"t-0": offset}, client_metadata=CONSUMER_OF_VERSION_11._replace(rack_id=rack), **more)
    return answers["t-0"].preferred_read_replica


def test_a_consumer_is_sent_to_the_replica_in_its_rack(broker):
    assert preferred(broker, "rack1") == 1
    assert preferred(broker, "rack2") == 2
    assert preferred(broker, "rack1", max_wait_ms=1000, offset=2) == 1, "at once"


def test_it_gets_offsets_and_no_records(broker):
    consumer = CONSUMER_OF_VERSION_11._replace(rack_id="rack1")
    answer = broker.fetch({"t-0": 0}, client_metadata=consumer)["t-0"]
    assert (answer.error, answer.high_watermark, answer.log_start_offset) == (Errors.NONE, 2, 0)
    assert (answer.last_stable_offset, answer.records.size_in_bytes) == (2, 0)


@pytest.mark.parametrize("rack", ["rack0", "rack9", ""])
def test_the_leader_serves_its_own_rack_and_all_that_have_no_replica(broker, rack):
    assert preferred(broker, rack) is None


def test_nobody_is_sent_to_a_replica_that_is_out_of_sync_or_lacks_the_offset(broker):
    broker.produce("t-0")
    assert preferred(broker, "rack1", offset=3) is None
    broker.shrink_isr(0, 2)
    assert (preferred(broker, "rack1"), preferred(broker, "rack2")) == (None, 2)


def test_nobody_is_sent_to_a_broker_that_is_away(broker):
    broker.fence(1)
    assert preferred(broker, "rack1") is None


def test_old_consumers_and_followers_are_served_here(broker):
    assert broker.fetch({"t-0": 0})["t-0"].preferred_read_replica is None
    assert broker.fetch({"t-0": 0}, replica=1)["t-0"].preferred_read_replica is None


def test_a_follower_sends_nobody_elsewhere(broker):
    broker.change(leader=1)
    assert preferred(broker, "rack1") is None


def test_an_unknown_selector_is_refused():
    with pytest.raises(ConfigException, match=r"replica\.selector\.class"):
        replica_selector("org.example.Mine")
