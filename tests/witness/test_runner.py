"""The runner: one operation after the other to minikafka's log, observed after each."""

import itertools
from dataclasses import asdict

import pytest

from minikafka.witness.log.operations import KINDS, parse_operation
from minikafka.witness.log.run import Runner, minikafka_log, run
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import QUANTITIES, Observation


@pytest.fixture
def observe(tmp_path):
    """Do operations, given as text, one a line; the last observation, or all with `every=True`."""

    fresh = itertools.count()

    def observe(text, every=False):
        table = run(Workload.parse(text), minikafka_log, tmp_path / str(next(fresh)) / "topic-0")
        return table.rows if every else table.rows[-1]

    return observe


def test_the_runner_can_do_every_operation():
    """One that it cannot do would be observed as an error, in minikafka as in Kafka, and both would agree."""
    assert [kind for kind in KINDS if kind and not hasattr(Runner, f"_{kind}")] == []


def test_every_quantity_is_observed(observe):
    """One that nobody fills would be equal everywhere."""
    workload = """config internal.segment.bytes=600 index.interval.bytes=1
    append_as_leader [3x10 pid=7 epoch=0 seq=0 txn]
    append_as_leader leader_epoch=1 [3x90]
    append_as_leader leader_epoch=1 [3x9]
    update_high_watermark 3
    flush
    maybe_increment_log_start_offset 3
    truncate_to 99
    maybe_increment_log_start_offset 99"""
    seen = observe(workload, every=True)
    blank = asdict(Observation())
    unseen = [name for name in QUANTITIES if all(each[name] == blank[name] for each in seen)]
    assert unseen == []


def test_the_state_after_each_operation(observe):
    rows = observe(
        "append_as_leader leader_epoch=3 [3x10 pid=7 epoch=0 seq=0]\nroll\nappend_as_leader leader_epoch=3 [1x10]",
        every=True,
    )
    assert rows[0]["result"].startswith("0..2 epoch none max_timestamp 1700000000000 ")
    assert [row["log_end_offset"] for row in rows] == [3, 3, 4]
    assert rows[2]["segments"] == ((0, 112), (3, 78))
    assert rows[2]["epochs"] == ((3, 0),)
    assert rows[2]["producers"] == ((7, 0, 2, 2, 1_700_000_000_000, -1, -1),)
    assert rows[1]["result"] == "segment 3"


def test_exceptions_are_observed_by_name(observe):
    row = observe("append_as_leader [1x10]\nread 5")
    assert (row["error"], row["result"]) == ("OffsetOutOfRangeException", "")
    assert "5" in row["message"]
    assert row["log_end_offset"] == 1


def test_tasks_run_when_the_clock_moves(observe):
    rows = observe("append_as_leader [1x10]\nroll\ntick 0", every=True)
    assert [row["recovery_point"] for row in rows] == [0, 0, 1]


def test_index_entries_come_from_the_files_and_end_where_the_log_says(observe):
    config = "config index.interval.bytes=0\n"
    appends = "append_as_leader [1x10]\n" * 3
    assert observe(config + appends)["index_entries"] == ((1, 78), (2, 156))
    assert observe(config + appends + "truncate_to 2")["index_entries"] == ((1, 78),)


def test_followers_raise_the_high_watermark(observe):
    rows = observe(
        "isr 1,2\nappend_as_leader [4x10]\nfetch 1 leo\nfetch 2 0\nfetch 2 leo\nisr -\nfetch 3 9", every=True
    )
    assert [row["high_watermark"] for row in rows] == [0, 0, 0, 4, 4, 4]
    assert rows[-1]["error"] == "OffsetOutOfRangeException"


def test_relative_offsets_are_resolved_when_they_are_used(observe):
    rows = observe(
        "append_as_leader [1x10]\nappend_as_leader [1x10]\ntruncate_to leo-1\nappend_as_follower [1x10 offset=leo+4]",
        every=True,
    )
    assert [row["log_end_offset"] for row in rows] == [1, 2, 1, 6]


def test_places_are_told_with_their_segment_and_byte_where_they_are_known(observe):
    rows = observe(
        "append_as_leader [1x10]\nroll\nappend_as_leader [1x10]\nappend_as_leader [1x10]"
        "\nread 0\nread 2\nmaybe_increment_high_watermark leo\nmaybe_increment_high_watermark leo",
        every=True,
    )
    size = rows[0]["segments"][0][1]
    assert [row["result"] for row in rows[4:]] == [
        f"0 (segment 0, byte 0), {size} bytes",
        f"2 (segment 1, byte {size}), {size} bytes",
        "0 (segment 0, byte 0)",
        "none",
    ]


def test_counting_and_consuming(observe):
    text = """
    append_as_leader [3x10]
    append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
    append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
    append_as_leader [1x10]
    update_high_watermark leo
    """
    assert observe(text + "count 1 leo")["result"] == "5 records"
    assert observe(text + "count leo leo")["result"] == "0 records"


def test_a_consumer_skips_aborted_records_only_if_it_asks_to(observe):
    rows = observe(
        """
        append_as_leader [3x10]
        append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
        append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
        append_as_leader [1x10]
        update_high_watermark leo
        consume start
        consume start read_committed=true
        consume 5 read_committed=true
        """,
        every=True,
    )
    assert [row["result"] for row in rows[-3:]] == ["0..4 6", "0..2 6", "6"]


def test_reopening_cleanly_and_not(observe):
    rows = observe("append_as_leader [1x10]\nreopen\nappend_as_leader [1x10]\nreopen clean=false", every=True)
    assert [row["error"] for row in rows] == [""] * 4
    assert [row["log_end_offset"] for row in rows] == [1, 1, 2, 2]
    assert [row["recovery_point"] for row in rows] == [0, 1, 1, 1]


def test_an_unclean_reopen_begins_with_the_last_checkpoint(observe):
    rows = observe(
        "append_as_leader [1x10]\nupdate_high_watermark leo\ncheckpoint\n"
        "maybe_increment_log_start_offset 1\nreopen clean=false",
        every=True,
    )
    assert rows[2]["result"] == "recovery point 0, log start 0"
    assert [row["log_start_offset"] for row in rows] == [0, 0, 0, 1, 0]


def test_settings_that_changed_stay_when_the_log_is_reopened(observe):
    rows = observe(
        "append_as_leader [1x10]\nupdate_config cleanup.policy=compact\nappend_as_leader [1x10]\nreopen\n"
        "append_as_leader [1x10]\nappend_as_leader [1x10 keys=1]",
        every=True,
    )
    assert [row["error"] for row in rows] == ["", "", "RecordValidationException", "", "RecordValidationException", ""]


def test_a_cleaning_says_what_it_did(observe):
    text = """
    config cleanup.policy=compact min.cleanable.dirty.ratio=0 max.compaction.lag.ms=40
    append_as_leader [3x10 keys=1]
    roll
    append_as_leader [1x10 keys=1]
    tick 50
    """
    kept = "kept 1 of 3 messages, 83 of 127 bytes, map of 3 messages, 127 bytes, 0.000006 full, 0 without key"
    assert observe(text + "clean")["result"] == "nothing to clean; never cleaned"
    assert observe(text + "update_high_watermark leo\nclean")["result"] == f"{kept}, late 10 ms; clean up to 3"
    assert observe(text + "update_high_watermark leo\nclean\nclean")["result"] == "nothing to clean; clean up to 3"


def test_a_log_that_did_not_load_is_not_there(tmp_path):
    def broken(directory, config, *, last_shutdown_clean, **state):
        if last_shutdown_clean:
            return minikafka_log(directory, config, last_shutdown_clean=True, **state)
        raise OSError("disk")

    runner = Runner(broken, tmp_path / "topic-0", Workload())
    assert runner.apply(parse_operation("reopen clean=false")).error == "OSError"
    assert runner.apply(parse_operation("roll")) == Observation(
        error="NoLog", message="the log is not open: its last load failed"
    )
    assert runner.apply(parse_operation("tick 5")).error == ""
    assert runner.apply(parse_operation("reopen")).error == ""
    assert runner.apply(parse_operation("append_as_leader [1x10]")).log_end_offset == 1
    runner.let_go()


def test_the_log_is_left_as_it_stands(tmp_path):
    run(Workload(("append_as_leader [1x10]",)), minikafka_log, tmp_path / "topic-0")
    assert (tmp_path / "topic-0" / f"{0:020}.log").stat().st_size == 78
    assert not list((tmp_path / "topic-0").glob("*.snapshot"))


def test_a_log_is_opened_again_after_a_close_that_failed(observe):
    """As Kafka's (`make fuzz` found it): an index whose first entry was refused half-way fails the close."""
    seen = observe(
        """config internal.segment.bytes=2000 index.interval.bytes=0 segment.index.bytes=4096
    roll leo+3
    append_as_follower [3x10 ts=now+1 pid=39 epoch=2 seq=0 txn] [commit ts=now-100 pid=7 epoch=1]
    reopen
    reopen""",
        every=True,
    )
    assert [each["error"] for each in seen[1:]] == ["IndexOffsetOverflowException", "IllegalArgumentException", ""]
