"""Many threads ask one broker: nobody waits for ever, and nobody is answered twice or wrongly."""

import threading
import time

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.time import SystemTime
from tests.server.one_broker import OneBroker

PRODUCERS, REQUESTS, PARTITIONS = 4, 60, 3


class Answer:
    """Waits for the answer of a request, and counts how often it came."""

    def __init__(self):
        self.answers = []
        self._came = threading.Event()

    def __call__(self, answer):
        self.answers.append(answer)
        self._came.set()

    def get(self):
        assert self._came.wait(20), "never answered"
        return dict(self.answers[0])


@pytest.mark.slow
def test_producers_followers_and_consumers_at_once(tmp_path):
    scheduler = KafkaScheduler(2)
    scheduler.startup()
    one = OneBroker([tmp_path / "logs"], SystemTime(), scheduler=scheduler)
    one.create("t", *[[0, 1, 2]] * PARTITIONS)
    names = [f"t-{number}" for number in range(PARTITIONS)]
    expected = dict.fromkeys(names, PRODUCERS * REQUESTS)
    produced = []
    failures = []
    done = threading.Event()

    def fetch(offsets, replica):
        answer = Answer()
        one.fetch(offsets, replica=replica, max_wait_ms=50, callback=answer)
        return {str(key.topic_partition): data for key, data in answer.get().items()}

    def produce():
        for _ in range(REQUESTS):
            answer = Answer()
            one.produce(dict.fromkeys(names, "[1x10]"), acks=-1, timeout_ms=20_000, callback=answer)
            assert {response.error for response in answer.get().values()} == {Errors.NONE}
            produced.append(answer)

    def follow(replica):
        offsets = dict.fromkeys(names, 0)
        while not done.is_set():
            for name, data in fetch(offsets, replica).items():
                assert data.error is Errors.NONE
                offsets[name] = max([offsets[name], *(batch.next_offset for batch in data.records.batches())])

    def consume():
        offsets = dict.fromkeys(names, 0)
        while offsets != expected:
            for name, data in fetch(offsets, -1).items():
                for batch in data.records.batches():
                    assert batch.base_offset == offsets[name] < data.high_watermark
                    offsets[name] = batch.next_offset

    def noting_failures(work, *arguments):
        try:
            work(*arguments)
        except BaseException as failure:
            failures.append(failure)

    def start(work, *arguments):
        thread = threading.Thread(target=noting_failures, args=(work, *arguments), daemon=True)
        thread.start()
        return thread

    followers = [start(follow, replica) for replica in (1, 2)]
    clients = [*(start(produce) for _ in range(PRODUCERS)), start(consume), start(consume)]
    end = time.monotonic() + 60
    for thread in clients:
        thread.join(max(0, end - time.monotonic()))
    done.set()
    for thread in followers:
        thread.join(20)
    assert not failures
    assert not [thread for thread in (*clients, *followers) if thread.is_alive()]
    assert len(produced) == PRODUCERS * REQUESTS
    assert all(len(answer.answers) == 1 for answer in produced)
    assert {name: one.log(name).high_watermark for name in names} == expected
    assert one.replicas.delayed_produce_purgatory.num_delayed == 0
    one.crash()
