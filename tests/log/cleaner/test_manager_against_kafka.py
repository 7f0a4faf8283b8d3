"""Which log is chosen, and what states and checkpoints become: beside Kafka's own `LogCleanerManager`, step by step."""

import random
import shutil
import tempfile
from pathlib import Path

import pytest

from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.witness.kafka.kafka_errors import kafka_errors
from tests.two_logs import TwoLogs

CONFIG = {
    "cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.3, "internal.segment.bytes": 600,
    "index.interval.bytes": 100, "segment.index.bytes": 1200, "delete.retention.ms": 5000,
}  # fmt: skip
NAMES = "a-0", "a-1", "t1-31", "t2-0", "orders-7", "z-3"
LOG_DIRS = "one", "two"


@pytest.fixture
def pairs(kafka):
    """Six pairs of logs in two log directories, all equally dirty."""
    root = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    made = [TwoLogs(kafka, root / LOG_DIRS[i % 2], CONFIG, name) for i, name in enumerate(NAMES)]
    for pair in made:
        for line in ("append_as_leader [3x60 keys=4]", "append_as_leader [3x60 keys=4]", "roll"):
            pair.observe(line)
        pair.observe("update_high_watermark leo")
    yield made
    for pair in made:
        pair.kill()
    shutil.rmtree(root)


class Managers:
    """Both managers, to which the same calls are made."""

    def __init__(self, kafka, pairs, cleaners):
        self.kafka = kafka
        self.pairs = pairs
        self.cleaners = cleaners
        self.ours, self.theirs = cleaners.ours.manager, cleaners.theirs.manager
        self.partitions = {pair.minikafka.log.topic_partition: pair for pair in pairs}
        self.dirs = [list(dict.fromkeys(pair.directories[side].parent for pair in pairs)) for side in range(2)]

    def call(self, ours, theirs) -> str:
        """What both gave or raised."""
        outcomes = []
        for call in (ours, theirs):
            try:
                with kafka_errors():
                    outcomes.append(str(call()))
            except Exception as failure:
                outcomes.append(f"{type(failure).__name__}: {failure}")
        words = [outcome.split("@")[0].replace("LogCleaningState$", "") for outcome in outcomes]
        assert words[0].split(" is in ")[0] == words[1].split(" is in ")[0]
        self.compare()
        return outcomes[0]

    def compare(self) -> None:
        for ours, theirs in zip(*self.dirs, strict=True):
            texts = [(log_dir / OFFSET_CHECKPOINT_FILE).read_text() for log_dir in (ours, theirs)]
            assert texts[0] == texts[1]
            uncleanable = [str(tp) for tp in self.ours.uncleanable_partitions(ours)]
            assert sorted(uncleanable) == sorted(map(str, self.theirs.uncleanablePartitions(str(theirs))))
        for partition in self.partitions:
            assert self.state_of(partition) == str(self.ours.cleaning_state(partition)), partition

    def state_of(self, partition: TopicPartition) -> str:
        """Kafka's state of a partition: the method is for its own package."""
        cls = self.theirs.getClass()
        partition_class = self.kafka.find_class("java.lang.Class").forName("org.apache.kafka.common.TopicPartition")
        types = self.kafka.gateway.new_array(self.kafka.find_class("java.lang.Class"), 1)
        types[0] = partition_class
        method = cls.getDeclaredMethod("cleaningState", types)
        method.setAccessible(True)
        arguments = self.kafka.gateway.new_array(self.kafka.find_class("java.lang.Object"), 1)
        arguments[0] = self.java(partition)
        state = method.invoke(self.theirs, arguments).orElse(None)
        if state is None:
            return "None"
        name = state.getClass().getSimpleName()
        return state.toString() if name == "LogCleaningPaused" else name

    def java(self, partition: TopicPartition):
        return self.kafka.find_class("org.apache.kafka.common.TopicPartition")(*partition)


@pytest.fixture
def managers(kafka, pairs, two_cleaners):
    return Managers(kafka, pairs, two_cleaners(pairs))


def test_of_equally_dirty_logs_the_first_of_the_map_is_chosen(pairs, two_cleaners):
    cleaners = two_cleaners(pairs)
    chosen = [cleaners.turn().grabbed for _ in range(7)]
    assert sorted(chosen) == ["", *sorted(NAMES)]
    assert chosen[:6] != sorted(NAMES)


def test_the_dirtiest_is_chosen(pairs, two_cleaners):
    cleaners = two_cleaners(pairs)
    cleaners.turns(6)
    draw = random.Random(1)
    for number in range(12):
        for pair in draw.sample(pairs, 3):
            for _ in range(draw.randrange(1, 5)):
                pair.observe(f"append_as_leader [3x60 keys=5 data={number}]")
            pair.observe("roll")
            pair.observe("update_high_watermark leo")
        cleaners.turn()


@pytest.mark.parametrize("seed", range(6))
def test_drawn_calls(managers, seed):
    draw = random.Random(seed)
    kafka, ours, theirs = managers.kafka, managers.ours, managers.theirs
    partitions = list(managers.partitions)
    file = kafka.file
    array_list, hash_set = kafka.find_class("java.util.ArrayList"), kafka.find_class("java.util.HashSet")
    seen = set()
    for _ in range(120):
        partition = draw.choice(partitions)
        side = draw.randrange(2)
        our_dir, their_dir = managers.dirs[0][side], managers.dirs[1][side]
        other_of_ours, other_of_theirs = managers.dirs[0][1 - side], managers.dirs[1][1 - side]
        java = managers.java(partition)
        offset = draw.choice([0, 3, 6, 7, 500])
        state = managers.state_of(partition)
        call = draw.choice(
            "turn pause resume done done_deleting deletable non_compacted remove truncate alter mark maintain check "
            "policy append".split()
        )
        if call == "pause" and state == "LogCleaningInProgress":
            continue  # it would wait for the end of that
        if call == "turn":
            if not any(managers.state_of(p) == "LogCleaningInProgress" for p in partitions):
                managers.cleaners.turn()
        elif call == "pause":
            managers.call(lambda: ours.abort_and_pause_cleaning(partition), lambda: theirs.abortAndPauseCleaning(java))
        elif call == "resume":
            one = hash_set()
            one.add(java)
            seen.add(managers.call(lambda: ours.resume_cleaning([partition]), lambda: theirs.resumeCleaning(one)))
        elif call == "done":
            seen.add(
                managers.call(
                    lambda: ours.done_cleaning(partition, our_dir, offset),
                    lambda: theirs.doneCleaning(java, file(their_dir), offset),
                )
            )
        elif call == "done_deleting":
            some = array_list()
            some.add(java)
            managers.call(lambda: ours.done_deleting([partition]), lambda: theirs.doneDeleting(some))
        elif call == "deletable":
            managers.call(
                lambda: [str(tp) for tp in ours.deletable_logs()],
                lambda: [tp.toString() for tp in theirs.deletableLogs().keySet()],
            )
        elif call == "non_compacted":
            managers.call(
                lambda: [str(tp) for tp, _ in ours.pause_cleaning_for_non_compacted_partitions()],
                lambda: [e.getKey().toString() for e in theirs.pauseCleaningForNonCompactedPartitions()],
            )
        elif call == "remove":
            managers.call(
                lambda: ours.update_checkpoints(our_dir, None, partition),
                lambda: theirs.updateCheckpoints(file(their_dir), kafka.optional(None), kafka.optional(java)),
            )
        elif call == "truncate":
            managers.call(
                lambda: ours.maybe_truncate_checkpoint(our_dir, partition, offset),
                lambda: theirs.maybeTruncateCheckpoint(file(their_dir), java, offset),
            )
        elif call == "alter":
            managers.call(
                lambda: ours.alter_checkpoint_dir(partition, our_dir, other_of_ours),
                lambda: theirs.alterCheckpointDir(java, file(their_dir), file(other_of_theirs)),
            )
        elif call == "mark" and draw.random() < 0.2:
            managers.call(
                lambda: ours.mark_partition_uncleanable(our_dir, partition),
                lambda: theirs.markPartitionUncleanable(str(their_dir), java),
            )
        elif call == "maintain":
            managers.call(ours.maintain_uncleanable_partitions, theirs.maintainUncleanablePartitions)
        elif call == "check":
            managers.call(lambda: ours.check_cleaning_aborted(partition), lambda: theirs.checkCleaningAborted(java))
        elif call == "policy" and draw.random() < 0.3:
            managers.cleaners.configure(cleanup__policy=draw.choice(["compact", "delete", "compact,delete"]))
        elif call == "append":
            for line in ("append_as_leader [3x60 keys=4]", "roll", "update_high_watermark leo"):
                managers.partitions[partition].observe(line)
    assert len(seen) > 3
