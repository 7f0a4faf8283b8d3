"""Fetch sessions by themselves: which of them stay, in which order they are read, and what they tell."""

import pytest

from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.error_codes import Errors
from minikafka.common.errors import IndexOutOfBoundsException
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID, random_uuid
from minikafka.server.fetch_manager import FetchManager
from minikafka.server.fetch_metadata import FINAL_EPOCH, INITIAL_EPOCH, FetchMetadata, next_epoch
from minikafka.server.fetch_session import PartitionData
from minikafka.server.fetch_session_cache import MIN_EVICTION_MS, SHARDS, FetchSessionCache
from minikafka.server.fetch_session_cache_shard import FetchSessionCacheShard

BY_NAME, BY_ID = 12, 13
BEGIN = FetchMetadata(0, INITIAL_EPOCH)


def partition(topic="t", index=0, topic_id=ZERO_UUID):
    return TopicIdPartition(topic_id, TopicPartition(topic, index))


def asked(*partitions, offset=0):
    return {key: FetchRequestPartitionData(key.topic_id, offset, 0, 100, None, None) for key in partitions}


def told(*partitions, high_watermark=0, records=b"", error_code=0):
    return {
        key: PartitionData(
            partition_index=key.partition, high_watermark=high_watermark, records=records, error_code=error_code
        )
        for key in partitions
    }


class Sessions:
    """A manager with a cache of one shard."""

    def __init__(self, slots):
        self.time = ManualTime(1_000_000)
        self.shard = FetchSessionCacheShard(slots, MIN_EVICTION_MS, INT_MAX, 0)
        self.manager = FetchManager(self.time, FetchSessionCache([self.shard]))
        self.names = {}

    def context(self, metadata, *partitions, forget=(), version=BY_NAME, follower=False):
        return self.manager.new_context(version, metadata, follower, asked(*partitions), forget, self.names.get)

    def begin(self, partitions=1, follower=False):
        """The id of a session with so many partitions."""
        keys = [partition(index=index) for index in range(partitions)]
        context = self.context(BEGIN, *keys, follower=follower)
        return context.update_and_generate_response_data(told(*keys), []).session_id

    def use(self, session_id):
        self.context(FetchMetadata(session_id, self.shard.get(session_id).epoch))


@pytest.fixture
def sessions():
    return Sessions(2)


def test_epochs_count_and_begin_again_with_1():
    assert [next_epoch(epoch) for epoch in (FINAL_EPOCH, INITIAL_EPOCH, 1, INT_MAX)] == [-1, 1, 2, 1]


def test_without_room_there_is_no_session(sessions):
    ids = [sessions.begin(3), sessions.begin(1)]
    assert 0 not in ids and sessions.begin(9) == 0
    assert len(sessions.shard) == 2


def test_the_session_that_was_not_used_for_longest_goes_first(sessions):
    first, second = sessions.begin(3), sessions.begin(9)
    sessions.time.sleep(MIN_EVICTION_MS)
    assert sessions.begin() == 0
    sessions.use(second)
    sessions.time.sleep(1)
    third = sessions.begin()
    assert [sessions.shard.get(id) is None for id in (first, second, third)] == [True, False, False]


def test_an_old_session_goes_for_a_larger_one(sessions):
    first, second = sessions.begin(3), sessions.begin(2)
    sessions.time.sleep(MIN_EVICTION_MS + 1)
    sessions.use(first)
    sessions.use(second)
    assert sessions.begin(1) == 0
    assert sessions.begin(3) != 0
    assert [sessions.shard.get(id) is None for id in (first, second)] == [False, True]


def test_a_follower_takes_the_place_of_a_consumer_and_never_the_other_way(sessions):
    consumer, follower = sessions.begin(9), sessions.begin(1, follower=True)
    second = sessions.begin(1, follower=True)
    assert [sessions.shard.get(id) is None for id in (consumer, follower, second)] == [True, False, False]
    assert sessions.begin(9) == 0 and sessions.begin(9, follower=True) == 0


def test_a_session_reads_what_it_has_in_its_order(sessions):
    a, b, c = (partition(index=index) for index in range(3))
    id = sessions.context(BEGIN, a, b, c).update_and_generate_response_data(told(a, b, c), []).session_id
    context = sessions.context(FetchMetadata(id, 1))
    answer = context.update_and_generate_response_data({**told(a, records=b"r"), **told(b, c)}, [])
    assert [part.partition_index for topic in answer.responses for part in topic.partitions] == [0]
    # A partition with records is read last from now on; a new one comes behind it.
    d = partition("u")
    context = sessions.context(FetchMetadata(id, 2), d, forget=[c])
    assert [key for key, _ in context.partitions()] == [b, a, d]
    answer = context.update_and_generate_response_data(told(b, a, d), [])
    assert [topic.topic for topic in answer.responses] == ["u"]


def test_an_error_is_told_each_time_and_once_more_when_it_is_over(sessions):
    a = partition()
    id = sessions.context(BEGIN, a).update_and_generate_response_data(told(a), []).session_id
    answers = []
    for epoch, error in enumerate((Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_LEADER_OR_FOLLOWER, 0, 0), 1):
        context = sessions.context(FetchMetadata(id, epoch))
        answers.append(len(context.update_and_generate_response_data(told(a, error_code=error), []).responses))
    assert answers == [1, 1, 1, 0]


def test_a_session_without_partitions_ends(sessions):
    a = partition()
    id = sessions.context(BEGIN, a).update_and_generate_response_data(told(a), []).session_id
    context = sessions.context(FetchMetadata(id, 1), forget=[a])
    assert context.partitions() == []
    assert context.update_and_generate_response_data({}, []).session_id == 0
    assert sessions.shard.get(id) is None


def test_a_topic_gets_its_name_when_it_is_there(sessions):
    topic_id = random_uuid()
    unknown = partition("", topic_id=topic_id)
    context = sessions.context(BEGIN, unknown, version=BY_ID)
    id = context.update_and_generate_response_data(told(unknown), []).session_id
    assert [key.topic for key, _ in sessions.context(FetchMetadata(id, 1), version=BY_ID).partitions()] == [""]
    sessions.names[topic_id] = "t"
    assert [key.topic for key, _ in sessions.context(FetchMetadata(id, 2), version=BY_ID).partitions()] == ["t"]
    refused = sessions.context(FetchMetadata(id, 3), version=BY_NAME).update_and_generate_response_data({}, [])
    assert refused.error_code == Errors.FETCH_SESSION_TOPIC_ID_ERROR


def test_an_id_tells_the_shard():
    cache = FetchSessionCache.with_slots(1000)
    for _ in range(3 * SHARDS):
        shard = cache.get_next_cache_shard()
        id = shard.maybe_create_session(0, False, False, [])
        assert cache.get_cache_shard(id) is shard
    assert len(cache) == 3 * SHARDS
    assert cache.get_cache_shard(-1) is cache.get_cache_shard(1)
    for id in (INT_MAX, -INT_MAX // SHARDS):
        with pytest.raises(IndexOutOfBoundsException):
            cache.get_cache_shard(id)
