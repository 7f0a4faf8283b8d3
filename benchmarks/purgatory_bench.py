"""A produce request that waits among 100,000 others, against one among ten: the cost must not grow with the crowd.

Each request waits for a partition of its own, and for its time to be over. One after another, drawn at random, has its
high watermark reach its offset, is completed, and a new one takes its place. *Completing* is the check of the
partition, the answer, and leaving the timer; *watching* is finding out that the request must wait, entering its list,
and entering the timer. The peer is minikafka itself among ten requests; the goal is that a request's whole way costs
at most twice as much. Both do the same steps (a test counts them): what is left of the difference is the memory of
100,000 requests, which the processor's caches cannot hold.

Requests that wait for one and the same partition are all asked when it changes, in Kafka as here: the last line says
what one of them costs then.

    python benchmarks/purgatory_bench.py
"""

import random
import time
from statistics import median

from minikafka.common.error_codes import Errors
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ONE_UUID
from minikafka.server.delayed_operation_purgatory import DelayedOperationPurgatory
from minikafka.server.delayed_produce import DelayedProduce
from minikafka.server.produce_partition_status import PartitionResponse, ProducePartitionStatus
from minikafka.server.timer import SystemTimer
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey

FEW, MANY = 10, 100_000
COMPLETIONS = 5_000
TIMEOUT_MS = 30_000
GOAL = 2.0
ROUNDS = 3


class Crowd:
    """`waiting` produce requests, and the high watermarks that they wait for."""

    def __init__(self, waiting: int, partitions: int):
        self.clock = ManualTime()
        self.purgatory = DelayedOperationPurgatory("Produce", SystemTimer("P", self.clock, ManualScheduler(self.clock)))
        self.high_watermarks = [0] * partitions
        self.required = [0] * partitions
        self.answered = 0
        for number in range(waiting):
            self.watch(number % partitions)

    def watch(self, partition: int) -> None:
        """One more request waits for the partition."""
        self.required[partition] = self.high_watermarks[partition] + 1
        status = ProducePartitionStatus(self.required[partition], PartitionResponse(Errors.NONE))
        key = TopicIdPartition(ONE_UUID, TopicPartition("t", partition))
        produce = DelayedProduce(TIMEOUT_MS, {key: status}, self.validate, self.answer)
        self.purgatory.try_complete_else_watch(produce, [TopicPartitionOperationKey("t", partition)])

    def validate(self, topic_partition: TopicPartition, required_offset: int) -> tuple[bool, Errors]:
        return self.high_watermarks[topic_partition.partition] >= required_offset, Errors.NONE

    def answer(self, responses: object) -> None:
        self.answered += 1

    def check(self, partition: int) -> int:
        return self.purgatory.check_and_complete(TopicPartitionOperationKey("t", partition))


def completing(waiting: int) -> tuple[float, float]:
    """Median seconds of completing one of `waiting` requests, and of watching the next one."""
    crowd, draw = Crowd(waiting, waiting), random.Random(1)
    completions, watches = [], []
    for _ in range(COMPLETIONS):
        partition = draw.randrange(waiting)
        crowd.high_watermarks[partition] += 1
        start = time.perf_counter()
        completed = crowd.check(partition)
        middle = time.perf_counter()
        crowd.watch(partition)
        completions.append(middle - start)
        watches.append(time.perf_counter() - middle)
        assert completed == 1
    assert crowd.answered == COMPLETIONS and crowd.purgatory.num_delayed == waiting
    return median(completions), median(watches)


def asking(waiting: int) -> float:
    """Seconds that one of `waiting` requests for the same partition takes when all are asked in vain."""
    crowd = Crowd(waiting, 1)
    start = time.perf_counter()
    assert crowd.check(0) == 0
    return (time.perf_counter() - start) / waiting


def main() -> None:
    print(f"{'':34} {f'among {FEW}':>14} {f'among {MANY:,}':>16} {'ratio':>7}")
    few, many = ([min(each) for each in zip(*(completing(size) for _ in range(ROUNDS)))] for size in (FEW, MANY))
    rows = [("completing one", few[0], many[0]), ("watching one more", few[1], many[1])]
    rows.append(("a request's whole way", sum(few), sum(many)))
    rows.append(("asking one, all of one partition", asking(FEW), asking(MANY)))
    for name, one, other in rows:
        print(f"{name:34} {one * 1e6:11.2f} µs {other * 1e6:13.2f} µs {other / one:7.2f}")
    assert sum(many) <= GOAL * sum(few), f"among {MANY:,} a request costs {sum(many) / sum(few):.1f} times as much"


if __name__ == "__main__":
    main()
