"""A partition that several threads use at once, as behind a socket server."""

import threading
from concurrent.futures import Future

import pytest

from minikafka.metadata.leader_and_isr import LeaderAndIsr
from tests.cluster.stand import offsets


class Agreeing:
    """A controller that agrees at once, in the thread that asks."""

    def submit(self, topic_id_partition, leader_and_isr):
        fields = {name: getattr(leader_and_isr, name) for name in LeaderAndIsr.__slots__}
        fields["partition_epoch"] += 1
        future = Future()
        future.set_result(LeaderAndIsr(**fields))
        return future


@pytest.mark.slow
def test_producers_followers_and_consumers_at_once(stand):
    one = stand(min__insync__replicas=2)
    one.partition._alter_partition_manager = Agreeing()
    one.leader(isr=(0, 1))
    failures, done = [], threading.Event()
    appends = 200

    def thread(work):
        def run():
            try:
                work()
            except Exception as failure:
                failures.append(failure)
                done.set()

        return threading.Thread(target=run)

    def produce():
        for _ in range(appends):
            one.produce(acks=-1)

    def follow(broker):
        def work():
            end = 0
            while not done.is_set() and end < 2 * appends:
                read = one.follow(broker, end)
                end += len(offsets(read))
                assert read.high_watermark <= read.log_end_offset
            one.follow(broker, end)

        return work

    def consume():
        seen = 0
        while not done.is_set() and seen < 2 * appends:
            read = one.consume(seen)
            assert offsets(read) == list(range(seen, seen + len(offsets(read))))
            seen += len(offsets(read))

    def shrink():
        while not done.is_set() and one.hw < 2 * appends:
            one.partition.maybe_shrink_isr()
            one.partition.fetch_offset_snapshot(None, True)

    threads = [thread(work) for work in (produce, produce, follow(1), follow(2), consume, shrink)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert failures == [] and not any(each.is_alive() for each in threads)
    assert one.hw == one.log.log_end_offset == 2 * appends
    assert one.partition.in_sync_replica_ids == {0, 1, 2}
