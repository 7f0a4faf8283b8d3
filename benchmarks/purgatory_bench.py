"""A produce request that waits among 100,000 others, against one among ten: the cost must not grow with the crowd.

Each request waits for a partition of its own, and for its time to be over. One after another has its high watermark
reach its offset, is completed, and a new one takes its place. *Completing* is the check of the partition, the answer,
and leaving the timer; *watching* is finding out that the request must wait, entering its list, and entering the timer.
The peer is minikafka itself among ten requests; the goal is at most twice the cost, of completing and of a request's
whole way.

The one that is completed is the one that has waited longest, as on a broker whose followers keep up. Then the same
with one drawn at random. Both do the same steps (a test counts them): what random costs more is the memory of 100,000
requests, all of it in the wrong place, which neither the processor's caches nor its table of pages can hold.

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


def completing(waiting: int, at_random: bool) -> tuple[float, float]:
    """Median seconds of completing one of `waiting` requests, and of watching the next one."""
    crowd, draw = Crowd(waiting, waiting), random.Random(1)
    completions, watches = [], []
    for number in range(COMPLETIONS):
        partition = draw.randrange(waiting) if at_random else number % waiting
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
    for order, at_random in (("the one that waited longest", False), ("one at random", True)):
        few, many = (
            [min(each) for each in zip(*(completing(size, at_random) for _ in range(ROUNDS)))] for size in (FEW, MANY)
        )
        print(order)
        for name, one, other in [*zip(("completing", "watching one more"), few, many), ("both", sum(few), sum(many))]:
            print(f"  {name:32} {one * 1e6:11.2f} µs {other * 1e6:13.2f} µs {other / one:7.2f}")
        assert sum(many) <= GOAL * sum(few), f"{order}: among {MANY:,} a request costs {sum(many) / sum(few):.1f} times"
        assert at_random or many[0] <= GOAL * few[0], f"completing {order} costs {many[0] / few[0]:.1f} times as much"
    few_asked, many_asked = asking(FEW), asking(MANY)
    print("all of one partition")
    print(f"  {'asking one':32} {few_asked * 1e6:11.2f} µs {many_asked * 1e6:13.2f} µs {many_asked / few_asked:7.2f}")


if __name__ == "__main__":
    main()
