"""Kafka's own log cleaner takes its turns when it is told to, and says what it did."""

import pytest

from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.cleaning import CleaningStats, CleaningTurn
from minikafka.witness.log.operations import parse_operation
from minikafka.witness.log.run import Runner
from minikafka.witness.log.workload import Workload

CONFIG = {"cleanup.policy": "compact", "internal.segment.bytes": 300, "min.cleanable.dirty.ratio": 0}


@pytest.fixture
def do(kafka, tmp_path):
    """Do operations, given as text, to one log of Kafka's; the last observation. `do.directory` is the log's."""
    runner = Runner(kafka_log(kafka), tmp_path / "topic-0", Workload(config=CONFIG))

    def do(*lines):
        return [runner.apply(parse_operation(line)) for line in lines][-1]

    do.directory = runner.directory
    yield do
    runner.let_go()


def test_a_turn(do):
    lines = [f"append_as_leader [2x30 keys=3 data={i}]" for i in range(12)]
    assert do(*lines, "clean").result == "nothing to clean; never cleaned"
    kept = "kept 3 of 20 messages, 248 of 1450 bytes, map of 20 messages, 1450 bytes, 0.000017 full, 0 without key"
    assert do("update_high_watermark leo", "clean").result == f"{kept}; clean up to 20"
    assert do("clean").result == "nothing to clean; clean up to 20"
    assert do("consume start").result == "16 18..23"


def test_a_map_with_room_for_two_keys_ends_the_cleaning_early(do):
    lines = [f"append_as_leader [2x30 keys=8 data={2 * i}]" for i in range(8)]
    settings = "update_config log.cleaner.dedupe.buffer.size=72"
    assert do(*lines, settings, "update_high_watermark leo", "clean").result.endswith("; clean up to 2")


def test_a_log_that_cannot_be_cleaned_is_left_alone_until_it_is_reopened(do):
    do(*[f"append_as_leader [2x30 keys=3 data={i}]" for i in range(12)], "update_high_watermark leo")
    first = min(do.directory.glob("*.log"))
    data = bytearray(first.read_bytes())
    data[16] = 9  # the magic of the first batch
    first.write_bytes(data)
    assert do("clean").error
    assert do("clean").result == "nothing to clean; clean up to 0"
    assert do("reopen", "update_high_watermark leo", "clean").error


def test_a_turn_as_text():
    stats = CleaningStats(4, 400, 3, 300, 2, 200, 1, 0.25)
    told = "kept 3 of 4 messages, 300 of 400 bytes, map of 2 messages, 200 bytes, 0.250000 full, 1 without key"
    assert str(CleaningTurn(cleaned=False, stats=None, max_compaction_delay=5, offline=False)) == "nothing to clean"
    assert str(CleaningTurn(cleaned=True, stats=stats, max_compaction_delay=0, offline=False)) == told
    late = CleaningTurn(cleaned=True, stats=stats, max_compaction_delay=7, offline=False)
    assert str(late) == told + ", late 7 ms"
    given_up = CleaningTurn(cleaned=True, stats=None, max_compaction_delay=0, offline=True)
    assert str(given_up) == "given up, directory offline"
