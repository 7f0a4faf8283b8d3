"""Steps drawn at random, done to minikafka's log manager and to Kafka's: the same after each, to the byte."""

import random

import pytest

from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason

PARTITIONS = [*(TopicPartition("topic", number) for number in range(4)), TopicPartition("other", 0)]
TOPIC_IDS = {"topic": "PpIMd8oaSBmIYZ7G-q3OmQ", "other": "QpIMd8oaSBmIYZ7G-q3OmQ"}
CONFIGS = [
    {},
    {"cleanup.policy": "compact"},
    {"cleanup.policy": "compact,delete", "retention.bytes": 800},
    {"retention.ms": 100_000},
    {"retention.bytes": 1500, "flush.ms": 20_000},
    {"internal.segment.bytes": 300, "file.delete.delay.ms": 5_000},
]
BATCHES = ["[4x100]", "[1x10]", "[3x60 keys=2]", "[2x20 codec=gzip]"]
SEEDS = 12
STEPS_A_SEED = 60


class Drawer:
    """Draws steps that the managers' present state allows, some of them with errors."""

    def __init__(self, seed, managers):
        self.rng = random.Random(seed)
        self.managers = managers

    def step(self):
        steps = {
            self.create: 4,
            self.append: 10,
            self.tick: 8,
            self.delete: 2,
            self.delete_many: 1,
            self.truncate: 3,
            self.truncate_fully: 1,
            self.begin_move: 2,
            self.end_move: 2,
            self.update_config: 2,
            self.raise_log_start: 2,
            self.note_cleaned: 2,
            self.stop_and_start: 2,
            self.kill_and_start: 2,
        }
        (step,) = self.rng.choices(list(steps), steps.values())
        return step.__name__, step()

    def log(self, partition, is_future=False):
        return self.managers.minikafka.manager.get_log(partition, is_future=is_future)

    def partition(self):
        return self.rng.choice(PARTITIONS)

    def offset(self, log):
        return self.rng.randint(0, log.log_end_offset + 3) if log else 3

    def create(self):
        partition = self.partition()
        topic_id = TOPIC_IDS[partition.topic] if self.rng.random() < 0.9 else TOPIC_IDS["other"]
        return self.managers.call("get_or_create_log", partition, is_new=True, topic_id=topic_id)

    def append(self):
        candidates = [(partition, future) for partition in PARTITIONS for future in (False, True)]
        there = [candidate for candidate in candidates if self.log(*candidate)]
        if there:
            partition, is_future = self.rng.choice(there)
            batches = self.rng.choices(BATCHES, k=self.rng.randint(1, 6))
            return self.managers.append(partition, *batches, is_future=is_future)

    def tick(self):
        return self.managers.tick(self.rng.choice([0, 1, 999, 10_000, 30_000, 60_000, 61_234, 300_000]))

    def delete(self):
        how = {name: self.rng.random() < 0.3 for name in ("is_future", "is_stray")}
        return self.managers.call("async_delete", self.partition(), checkpoint=self.rng.random() < 0.7, **how)

    def delete_many(self):
        partitions = self.rng.sample(PARTITIONS, self.rng.randint(1, 3))
        is_stray = self.rng.random() < 0.3
        return self.managers.call("async_delete_all", partitions, lambda *failure: None, is_stray=is_stray)

    def truncate(self):
        is_future = self.rng.random() < 0.3
        partitions = self.rng.sample(PARTITIONS, self.rng.randint(1, 3))
        offsets = {partition: self.offset(self.log(partition, is_future)) for partition in partitions}
        return self.managers.call("truncate_to", offsets, is_future=is_future)

    def truncate_fully(self):
        partition, is_future = self.partition(), self.rng.random() < 0.3
        offset = self.offset(self.log(partition, is_future))
        log_start = self.rng.choice([None, offset // 2])
        return self.managers.call("truncate_fully_and_start_at", partition, offset, log_start, is_future=is_future)

    def begin_move(self):
        partition = self.partition()
        log = self.log(partition)
        if log is not None and self.log(partition, True) is None:
            target = self.rng.choice([name for name in "abc" if name != log.dir.parent.name])
            self.managers.call("maybe_update_preferred_log_dir", partition, f"DIR/{target}")
            return self.managers.call("get_or_create_log", partition, is_future=True)

    def end_move(self):
        """With the cleaner paused: without, it fails half way and leaves two directories of the partition."""
        moving = [partition for partition in PARTITIONS if self.log(partition, True)]
        partition = self.rng.choice(moving or PARTITIONS)
        if self.log(partition) and moving:
            self.managers.call("abort_and_pause_cleaning", partition)
        return self.managers.call("replace_current_with_future_log", partition)

    def update_config(self):
        topic, config = self.rng.choice(["topic", "other"]), self.rng.choice(CONFIGS)
        for one in self.managers.both:
            one.topic_configs[topic] = config
        return self.managers.call("update_topic_config", topic, config)

    def raise_log_start(self):
        partition = self.partition()
        if log := self.log(partition):
            offset = self.rng.randint(log.log_start_offset, log.high_watermark)

            def step(one):
                reason = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
                return one.manager.get_log(partition).maybe_increment_log_start_offset(offset, reason)

            return self.managers.do(step)

    def note_cleaned(self):
        partition = self.partition()
        if log := self.log(partition):
            return self.managers.note_cleaned(partition, self.offset(log))

    def stop_and_start(self):
        self.managers.stop()
        return self.start()

    def kill_and_start(self):
        self.managers.kill()
        return self.start()

    def start(self):
        stray = self.rng.choice([None, None, None, *PARTITIONS])
        return self.managers.start(is_stray=lambda log: log.topic_partition == stray)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_drawn_steps(two_live_managers, seed):
    managers = two_live_managers("a", "b", "c", flush_check_ms=15_000)
    managers.start()
    drawer, done = Drawer(seed, managers), []
    for _ in range(STEPS_A_SEED):
        try:
            done.append(drawer.step())
        except AssertionError as difference:
            raise AssertionError(f"seed {seed}, after {done[-8:]}: {difference}") from None
    managers.stop()
