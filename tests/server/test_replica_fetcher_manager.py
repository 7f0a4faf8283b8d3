"""The followers of a broker: which fetcher has which partition."""

import pytest

from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ONE_UUID
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.initial_fetch_state import BrokerEndPoint, InitialFetchState
from minikafka.server.replica_fetcher_manager import BrokerIdAndFetcherId, ReplicaFetcherManager
from tests.server.followers import Follower

PARTITIONS = [TopicPartition(topic, number) for topic in "ab" for number in range(3)]
BROKERS = [BrokerEndPoint(number, "localhost", 9092 + number) for number in range(3)]


class Connection:
    """A connection that notes whether it was closed, and in which order requests were sent."""

    def __init__(self, broker_end_point, fetcher_id, made):
        self.broker_end_point = broker_end_point
        self.fetcher_id = fetcher_id
        self.closed = False
        self.made = made

    def send_request(self, api_key, version, body):
        self.made.sent.append((self.fetcher_id, self.broker_end_point.id))
        raise ConnectionError("nobody there")

    def initiate_close(self):
        self.closed = True

    def close(self):
        assert self.closed


class Made(list):
    """The connections that were made."""

    def __init__(self):
        self.sent = []


@pytest.fixture
def follower(tmp_path):
    follower = Follower(tmp_path)
    follower.open_logs(*PARTITIONS)
    for tp in PARTITIONS:
        follower.append(tp, 1, to=follower.logs[tp])
    return follower


@pytest.fixture
def manager(follower):
    return manager_of(follower)


def manager_of(follower, fetchers=1):
    made = Made()

    def connect(broker_end_point, fetcher_id):
        made.append(Connection(broker_end_point, fetcher_id, made))
        return made[-1]

    config = BrokerConfig({"node.id": 9, "num.replica.fetchers": fetchers})
    manager = ReplicaFetcherManager(config, follower, follower.time, lambda: 1, connect)
    manager.made = made
    return manager


def begin(broker, epoch=0, offset=1, topic_id=None):
    return InitialFetchState(topic_id, broker, epoch, offset)


def test_partitions_of_one_leader_share_a_fetcher(manager):
    manager.add_fetcher_for_partitions({tp: begin(BROKERS[tp.partition % 2]) for tp in PARTITIONS})
    assert set(manager.fetcher_thread_map) == {BrokerIdAndFetcherId(0, 0), BrokerIdAndFetcherId(1, 0)}
    fetchers = {tp: manager.get_fetcher(tp) for tp in PARTITIONS}
    assert all(fetchers[tp] is fetchers[PARTITIONS[tp.partition % 2]] for tp in PARTITIONS)
    assert manager.get_fetcher(TopicPartition("c", 0)) is None


def test_a_leader_at_another_address_gets_another_fetcher(manager):
    manager.add_fetcher_for_partitions({PARTITIONS[0]: begin(BROKERS[0])})
    first = manager.get_fetcher(PARTITIONS[0])
    manager.add_fetcher_for_partitions({PARTITIONS[1]: begin(BROKERS[0])})
    assert manager.get_fetcher(PARTITIONS[1]) is first
    moved = BROKERS[0]._replace(port=1)
    manager.add_fetcher_for_partitions({PARTITIONS[2]: begin(moved)})
    assert manager.made[0].closed and not manager.made[1].closed
    assert manager.get_fetcher(PARTITIONS[0]) is None  # the metadata that brings the address brings all partitions
    assert manager.get_fetcher(PARTITIONS[2]).leader.broker_end_point == moved


def test_removed_partitions_leave_their_place_and_idle_fetchers_end(manager):
    manager.add_fetcher_for_partitions({tp: begin(BROKERS[tp.partition]) for tp in PARTITIONS})
    zero, one = PARTITIONS[0], PARTITIONS[1]
    manager.failed_partitions.add(one)
    removed = manager.remove_fetcher_for_partitions([zero, TopicPartition("b", 0), one])
    assert {tp: state.fetch_offset for tp, state in removed.items()} == dict.fromkeys(
        [zero, TopicPartition("b", 0), one], 1
    )
    assert len(manager.failed_partitions) == 0
    manager.shutdown_idle_fetcher_threads()
    assert {key.broker_id for key in manager.fetcher_thread_map} == {1, 2}
    assert [connection.closed for connection in manager.made] == [True, False, False]


def test_a_partition_that_was_given_up_is_taken_up_again(manager):
    manager.add_failed_partition(PARTITIONS[0])
    assert manager.failed_partitions.contains(PARTITIONS[0])
    manager.add_fetcher_for_partitions({PARTITIONS[0]: begin(BROKERS[0])})
    assert not manager.failed_partitions.contains(PARTITIONS[0])


def test_a_round_asks_by_the_numbers_of_fetchers_then_of_leaders(follower):
    manager = manager_of(follower, fetchers=2)
    manager.add_fetcher_for_partitions({tp: begin(BROKERS[2 - tp.partition]) for tp in PARTITIONS})
    manager.do_work()
    assert (
        manager.made.sent == sorted(manager.made.sent) and len(manager.made.sent) == len(manager.fetcher_thread_map) > 3
    )


def test_more_fetchers_divide_the_partitions_anew_and_keep_their_places(follower):
    manager = manager_of(follower)
    manager.add_fetcher_for_partitions({tp: begin(BROKERS[0], epoch=3, topic_id=ONE_UUID) for tp in PARTITIONS})
    manager.resize_thread_pool(3)
    assert {key.fetcher_id for key in manager.fetcher_thread_map} == {manager.get_fetcher_id(tp) for tp in PARTITIONS}
    for tp in PARTITIONS:
        state = manager.get_fetcher(tp).fetch_state(tp)
        assert (state.fetch_offset, state.current_leader_epoch, state.topic_id) == (1, 3, ONE_UUID)
    manager.resize_thread_pool(1)
    assert set(manager.fetcher_thread_map) == {BrokerIdAndFetcherId(0, 0)}
    assert sum(not connection.closed for connection in manager.made) == 1


def test_topic_ids_reach_the_fetcher_of_the_leader(manager):
    manager.add_fetcher_for_partitions({tp: begin(BROKERS[0]) for tp in PARTITIONS})
    manager.maybe_update_topic_ids({PARTITIONS[0]: 0, PARTITIONS[1]: 1}, {"a": ONE_UUID}.get)
    ids = [manager.get_fetcher(tp).fetch_state(tp).topic_id for tp in PARTITIONS[:2]]
    assert ids == [ONE_UUID, None]


def test_all_fetchers_end_with_the_broker(manager):
    manager.add_fetcher_for_partitions({tp: begin(BROKERS[tp.partition]) for tp in PARTITIONS})
    manager.shutdown()
    assert manager.fetcher_thread_map == {} and all(connection.closed for connection in manager.made)


def test_kafka_gives_partitions_the_same_fetchers(kafka, follower):
    topics = ["t", "orders", "ö", "payments-2024", "__consumer_offsets", "x" * 249]
    utils = kafka.find_class("org.apache.kafka.common.utils.Utils")
    objects = kafka.find_class("java.util.Objects")
    for fetchers in (1, 3, 7):
        manager = manager_of(follower, fetchers)
        for topic in topics:
            for number in range(4):
                # The formula of AbstractFetcherManager, which is private: its parts are asked.
                code = (31 * objects.hashCode(topic) + number + 2**31) % 2**32 - 2**31
                assert manager.get_fetcher_id(TopicPartition(topic, number)) == utils.abs(code) % fetchers
