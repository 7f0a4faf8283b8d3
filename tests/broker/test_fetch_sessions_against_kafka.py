"""Fetch sessions are Kafka's own, byte by byte: drawn sequences of fetches, appends and pauses to both."""

import collections
import os

import pytest

from minikafka.common.topic_partition import TopicPartition
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.witness.replicas.scripted_controller import fixed_id
from tests.broker.both_sides import SETTINGS, TOPICS, BothSides, as_text, first_difference
from tests.broker.request_drawer import RequestDrawer

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SESSIONS = int(os.environ.get("MINIKAFKA_DRAWN_SESSIONS", "2"))
"""How many sequences of requests are drawn for each size of the cache."""

STEPS = 600
SLOTS = (8, 16, 1000)
EVICTION_MS = 120_000
LATE_TOPIC = "late"  # is made in the middle, and deleted later
STRANGE_IDS = (8, -5, -(2**28), 2**31 - 1, 2**28 - 1)
FETCH = request_class(ApiKeys.FETCH)


class SessionsOnBothSides(BothSides):
    """Brokers whose sessions have the same ids: Kafka, which draws them by chance, answers first."""

    def __init__(self, kafka, directory, slots):
        never = {"replica.lag.time.max.ms": 10**9}  # no ISR shrinks while a session gets old
        super().__init__(kafka, directory, {**SETTINGS, **never, "max.incremental.fetch.session.cache.slots": slots})
        self._versions = {}
        self._answered = {}
        self._seen = set()
        self._ids = collections.deque()
        for shard in self.ours[0].fetch_manager.cache._shards:
            shard.new_session_id = self._ids.popleft

    def handle(self, broker_id, request):
        number = self.kafkas.handle(broker_id, request)
        self._versions[number] = ApiKeys(int.from_bytes(request[:2], "big")), int.from_bytes(request[2:4], "big")
        self._take()
        self._waiting[number] = (self.ours[broker_id].handle(bytearray(request)), request)
        return self.both_have_answered().get(number)

    def sleep(self, ms):
        self.kafkas.sleep(ms)
        self._take()
        self.time.sleep(ms)
        self.both_have_answered()

    def publish(self):
        for broker_id, broker in self.ours.items():
            self.kafkas.publish(broker_id, self.script.records[broker.metadata_cache.image.offset + 1 :])
            self._take()
            broker.publish()

    def _take(self):
        """Keep what Kafka has answered, and the ids of sessions that have begun."""
        for number, answer in self.kafkas.take_answers().items():
            api, version = self._versions.pop(number)
            body = parse_response(api, version, answer)[1] if isinstance(answer, bytes) else None
            self._answered[number] = (answer, body)
            has_session = api is ApiKeys.FETCH and body.error_code == 0
            if has_session and body.session_id not in (0, *self._seen):
                self._seen.add(body.session_id)
                self._ids.append(body.session_id)

    def end_of(self, topic, index):
        """Where the log ends of a partition that broker 0 leads; None for another one."""
        partition = self.ours[0].replica_manager.online_partition(TopicPartition(topic, index))
        return partition.local_log_or_exception.log_end_offset if partition and partition.is_leader else None

    def both_have_answered(self):
        """The same requests, with the same bytes; the bodies of the answers by the numbers of the requests."""
        answered, self._answered = self._answered, {}
        for number, (ticket, request) in list(self._waiting.items()):
            assert ticket.done == (number in answered), request.hex()
            if ticket.done:
                del self._waiting[number]
                our_answer, kafkas = (as_text(answer, request) for answer in (ticket.result, answered[number][0]))
                assert our_answer == kafkas, first_difference(str(our_answer), str(kafkas))
        assert not self._ids
        return {number: body for number, (_, body) in answered.items()}


class Reader:
    """A session as its reader knows it, which is now and then wrong.

    A careful reader asks for partitions that are there, and has read most of them to the end.
    """

    def __init__(self, by_id, replica_id, careful=False):
        self.by_id, self.replica_id, self.is_careful = by_id, replica_id, careful
        self.epoch = 1


class SessionDrawer(RequestDrawer):
    """Draws fetches that begin, continue and end sessions, and what makes these tell something."""

    def __init__(self, seed, ids, epochs):
        super().__init__(seed, ids)
        self.readers = {}
        self._epochs = epochs
        self.told = collections.Counter()

    def step(self, both):
        draw = self.draw
        match draw.choices(
            ("begin", "continue", "end", "stranger", "append", "delete", "pause"), (4, 12, 1, 1, 6, 1, 1)
        )[0]:
            case "begin":
                self.begin(both)
            case "continue" if self.readers:
                self.go_on(both, draw.choice(list(self.readers)))
            case "end" if self.readers:
                session_id = draw.choice(list(self.readers))
                reader = self.readers.pop(session_id)
                self.fetch_in_session(both, reader, session_id, draw.choice((0, -1, -1)), self.topics()[:2])
            case "stranger":
                session_id = draw.choice(STRANGE_IDS)
                reader = Reader(draw.random() < 0.5, -1)
                self.fetch_in_session(both, reader, session_id, draw.choice((0, -1, 1, 3)), self.topics()[:2])
            case "append":
                self.append(both)
            case "delete":
                body = request_class(ApiKeys.DELETE_RECORDS)(timeout_ms=0)
                topic = body.DeleteRecordsTopic
                asked = [topic.DeleteRecordsPartition(partition_index=0, offset=draw.choice((-1, 1, 2)))]
                body.topics = [topic(name=draw.choice(list(TOPICS)), partitions=asked)]
                both.handle(0, request_bytes(ApiKeys.DELETE_RECORDS, 2, body, correlation_id=1, client_id="c"))
            case "pause":
                both.sleep(EVICTION_MS + 1)
        both.sleep(draw.choice((1, 1, 6)))

    def begin(self, both):
        replica_id = self.draw.choice((-1, -1, -1, 1))
        reader = Reader(self.draw.random() < 0.6, replica_id, careful=self.draw.random() < 0.6)
        old = self.draw.choice((0, 0, *list(self.readers)[:1]))
        self.readers.pop(old, None)
        answer = self.fetch_in_session(both, reader, old, 0, self.topics())
        self.told["session" if answer is not None and answer.session_id else "no session"] += 1
        if answer is not None and answer.session_id:
            self.readers[answer.session_id] = reader

    def go_on(self, both, session_id):
        draw, reader = self.draw, self.readers[session_id]
        epoch = reader.epoch if draw.random() < 0.93 else draw.choice((reader.epoch - 1, reader.epoch + 1, 1, -7))
        used = reader if draw.random() < 0.96 else Reader(not reader.by_id, reader.replica_id, reader.is_careful)
        forget = draw.sample([*TOPICS, LATE_TOPIC], draw.choice((0, 0, 0, 1, 6)))
        answer = self.fetch_in_session(both, used, session_id, epoch, self.topics()[: draw.choice((0, 1, 2))], forget)
        if answer is None:
            reader.epoch += 1  # it waits, so it was taken
            return
        if answer.error_code == 0 and answer.session_id:
            reader.epoch += 1
            self.told["nothing new" if not answer.responses else "news"] += 1
        elif answer.error_code not in (71, 106):
            del self.readers[session_id]  # closed, or evicted

    def fetch_in_session(self, both, reader, session_id, epoch, topics, forget=()):
        draw = self.draw
        version = draw.randint(13, 18) if reader.by_id else draw.randint(7, 12)
        body = FETCH(
            max_wait_ms=draw.choice((0, 0, 0, 5)),
            min_bytes=draw.choice((0, 0, 1, 500)),
            max_bytes=draw.choice((1, 200, 1 << 20)),
            session_id=session_id,
            session_epoch=epoch,
        )
        if version >= 15:
            body.replica_state = FETCH.ReplicaState(
                replica_id=reader.replica_id, replica_epoch=self._epochs[1] if reader.replica_id == 1 else -1
            )
        else:
            body.replica_id = reader.replica_id
        partition = FETCH.FetchTopic.FetchPartition
        for name in topics:
            if reader.is_careful:
                asked = [
                    partition(partition=index, fetch_offset=draw.choice((0, end, end, end)), partition_max_bytes=1000)
                    for index in range(TOPICS.get(name, 0))
                    if (end := both.end_of(name, index)) is not None
                ]
            else:
                asked = [
                    partition(
                        partition=index,
                        fetch_offset=draw.choice((0, 0, 1, 1, 2, 3, 5, 100)),
                        partition_max_bytes=draw.choice((1, 100, 1 << 20)),
                        current_leader_epoch=draw.choice((-1, -1, -1, 0, 1)),
                        last_fetched_epoch=draw.choice((-1, -1, 0, 1)) if version >= 12 else -1,
                    )
                    for index in self.indexes()
                ]
            names = self.named(name, reader.by_id) or {"topic": name}
            body.topics.append(FETCH.FetchTopic(partitions=asked, **names))
        for name in forget:
            names = self.named(name, reader.by_id) or {"topic": name}
            body.forgotten_topics_data.append(FETCH.ForgottenTopic(partitions=self.indexes(), **names))
        answer = both.handle(0, request_bytes(ApiKeys.FETCH, version, body, correlation_id=7, client_id="c"))
        if answer is not None:
            self.told[answer.error_code] += 1
        return answer

    def topics(self):
        known = super().topics()
        if self.draw.random() < 0.4:
            known.insert(self.draw.randint(0, len(known)), LATE_TOPIC)
        return known

    def append(self, both):
        body = self.produce(12)
        body.acks = 1
        both.handle(0, request_bytes(ApiKeys.PRODUCE, 12, body, correlation_id=1, client_id="c"))


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("seed", range(1, SESSIONS + 1))
def test_drawn_sessions_get_the_same_bytes(kafka, tmp_path, seed, slots):
    told = compare_drawn_sessions(kafka, tmp_path, seed, slots)
    assert {"session", "news", "nothing new", 0, 70, 71, 106} <= set(told)


def compare_drawn_sessions(kafka, directory, seed, slots):
    """Compare each answer of `STEPS` drawn steps; how often what was answered, by error codes and words."""
    both = SessionsOnBothSides(kafka, directory, slots)
    try:
        epochs = {broker_id: broker.broker_epoch for broker_id, broker in both.ours.items()}
        ids = {**both.ids, LATE_TOPIC: fixed_id(f"topic-{LATE_TOPIC}", len(TOPICS))}
        drawer = SessionDrawer(seed, ids, epochs)
        for step in range(STEPS):
            if step == STEPS // 3:
                both.script.create_topic(LATE_TOPIC, [[0, 1]], {})
                both.publish()
            if step == 2 * STEPS // 3:
                both.script.delete_topic(LATE_TOPIC)
                both.publish()
            drawer.step(both)
        return drawer.told
    finally:
        both.close()
