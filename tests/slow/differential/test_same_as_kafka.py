"""minikafka and Apache Kafka cannot be told apart: drawn workloads lead to equal observations and equal bytes.

`pytest tests/slow/differential --operations 100000` draws more, `--seed N` others. A failure shows the smallest
workload found that still differs, and the line that repeats it.
"""

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from minikafka.witness.log.differ import PROFILES, compare, draw, smallest
from minikafka.witness.log.run import minikafka_log, run
from minikafka.witness.log.workload import Workload

OPERATIONS_IN_MAKE_TEST = 5000
SIZE = 60

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("profile", PROFILES)
def test_same_observations_and_same_bytes(profile, kafka, request):
    operations = request.config.getoption("--operations") or OPERATIONS_IN_MAKE_TEST
    first_seed = request.config.getoption("--seed")
    done = []

    @settings(
        max_examples=-(-operations // len(PROFILES) // SIZE),
        derandomize=first_seed is None,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # the workload, not the seed, is what can be made smaller
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(SEEDS)
    def same(seed):
        workload = draw(profile, seed, SIZE)
        done.append(len(workload))
        if not compare(kafka, workload).same:
            pytest.fail(
                f"python -m minikafka.witness.log.differ --profile '{profile}' --seed {seed} --size {SIZE}\n"
                f"{smallest(kafka, workload)}",
                pytrace=False,
            )

    (same if first_seed is None else hypothesis.seed(first_seed)(same))()
    assert sum(done) >= operations / len(PROFILES)


def test_an_append_after_an_index_entry_that_failed_half_way(kafka):
    """The roll beyond the log end makes the next batch lie below its segment's base: its index entries do not fit."""
    config = {"internal.segment.bytes": 1000, "index.interval.bytes": 200, "segment.index.bytes": 24}
    operations = (
        "roll leo+3",
        "append_as_follower leader_epoch=2 [1x63 ts=now-10 headers=2 offset=leo last=leo+2] [3x1 ts=now-100]",
        "append_as_follower leader_epoch=2 [2x64,63 ts=now-100 headers=2] [3x1 ts=-1,now]",
        "append_as_follower leader_epoch=2 [3x64 ts=now+1 keys=3]",
        "append_as_follower leader_epoch=2 [3x64 ts=now+2 keys=3]",
        "reopen",
    )
    comparison = compare(kafka, Workload(operations, config))
    assert comparison.same, comparison


def test_a_flush_that_is_due_when_the_close_before_it_failed(kafka, tmp_path):
    """The close leaves its time index unmapped; the flush that the roll had put off meets it."""
    config = {"internal.segment.bytes": 1000, "index.interval.bytes": 400, "segment.index.bytes": 60}
    operations = (
        "roll leo+10",
        "append_as_follower [8xnull ts=now-10] [3x63,1 ts=now-10 headers=2] [3x64,100 ts=now+1,now-1000]",
        (
            "append_as_follower [1x30,100] [8x30 ts=now,now-10,now] [3x30 ts=now-10,now-386] [2x1 ts=now-10] [2x64,1"
            " ts=now,now-292]"
        ),
        "append_as_follower [2x63 ts=now+1,now,now-10 headers=2] [1x10 ts=now-100,now keys=3]",
        "truncate_to active-20",
        "reopen",
        "tick 60000",
    )
    workload = Workload(operations, config)
    assert run(workload, minikafka_log, tmp_path / "topic-0").column("error")[-1] == "NullPointerException"
    comparison = compare(kafka, workload)
    assert comparison.same, comparison


def planted(**settings):
    """minikafka's log with other settings than Kafka is given: a bug that the comparison must find."""

    def open_log(directory, config, **state):
        return minikafka_log(directory, {**config, **settings}, **state)

    open_log.name = minikafka_log.name
    open_log.cleaner = minikafka_log.cleaner
    return open_log


@pytest.mark.parametrize(
    "setting, value, seen_in",
    [
        ("index.interval.bytes", "99", "tables"),
        ("internal.segment.bytes", "699", "tables"),
        ("file.delete.delay.ms", "99", "files"),
        ("retention.ms", "2001", "tables"),
    ],
)
def test_a_planted_bug_is_found(kafka, setting, value, seen_in):
    operations = (
        *["append_as_leader [1x32 ts=now-2001]"] * 30,
        "update_high_watermark leo",
        "delete_old_segments",
        "tick 99",
    )
    config = {
        "internal.segment.bytes": 700,
        "index.interval.bytes": 100,
        "retention.ms": 2000,
        "file.delete.delay.ms": 100,
    }
    workload = Workload(operations, config)
    assert compare(kafka, workload).same
    comparison = compare(kafka, workload, planted(**{setting: value}))
    assert not comparison.same
    assert not (comparison.files.equal if seen_in == "files" else comparison.tables.agreed)


def compacted(*operations, **config):
    """A workload of a compacted topic; settings with `__` for dots."""
    settings = {"cleanup.policy": "compact", "internal.segment.bytes": 300, "min.cleanable.dirty.ratio": 0}
    settings |= {name.replace("__", "."): value for name, value in config.items()}
    appends = (f"append_as_leader [2x30,null keys=3 data={data}]" for data in range(9))
    return Workload((*appends, "update_high_watermark leo", *operations), settings)


@pytest.mark.parametrize(
    "setting, value, seen_in",
    [("delete.retention.ms", "99", "files"), ("min.cleanable.dirty.ratio", "1", "tables")],
)
def test_a_planted_bug_of_the_cleaner_is_found(kafka, setting, value, seen_in):
    workload = compacted("clean", "tick 99", "roll", "append_as_leader [1x1 keys=9]", "update_high_watermark leo")
    assert compare(kafka, workload).same
    comparison = compare(kafka, workload, planted(**{setting: value}))
    assert not comparison.same
    assert not (comparison.files.equal if seen_in == "files" else comparison.tables.agreed)


def test_directories_are_compared_after_each_cleaning(kafka):
    """Later truncation would hide the difference."""
    workload = compacted("clean", "truncate_fully_and_start_at 100", "tick 60000")
    assert compare(kafka, workload).same
    assert not compare(kafka, workload, planted(**{"delete.retention.ms": "99"})).files.equal
