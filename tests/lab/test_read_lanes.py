"""Read lanes: what each lane says is what `Log.read` answers, and what a consumer makes of it."""

import xml.dom.minidom

import pytest

from minikafka.lab.stage.readers import SEEN, delivered, log_after, transaction, values_seen
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lessons.read.read_lanes import ReadLanes, render_lanes
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.witness import Workload
from tests.lab.pictures import unreadable

TEXT = """
config internal.segment.bytes=300
append_as_leader [3x10]
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader origin=coordinator transaction_version=0 [commit pid=8 epoch=0]
append_as_leader [2x10 pid=9 epoch=0 seq=0 txn]
append_as_leader [2x10]
maybe_increment_high_watermark leo
append_as_leader [2x10]
"""


@pytest.fixture
def log():
    """One aborted, one committed, one open transaction; a follower has all but the last batch."""
    return log_after(Workload.parse(TEXT))


def test_lanes_hold_what_each_isolation_reads(log):
    follower, uncommitted, committed = ReadLanes(log).read(4).frames[0].lanes
    assert [lane.bound for lane in (follower, uncommitted, committed)] == [15, 13, 9]
    assert dict(follower.fates) == {3: "seen", 4: "seen"}
    assert dict(uncommitted.fates) == {3: "earlier", 4: "seen"}
    assert dict(committed.fates) == {3: "earlier", 4: "aborted"} and committed.aborted == ((7, 3),)


def test_markers_are_sent_and_kept_by_followers_only(log):
    follower, uncommitted, committed = ReadLanes(log).read(5).frames[0].lanes
    assert [fate for _, fate in follower.fates] == ["seen"] * len(follower.fates)
    assert dict(uncommitted.fates)[7] == dict(committed.fates)[8] == "marker"


def test_a_refused_read_and_an_empty_one_are_told_apart(log):
    lanes = ReadLanes(log).read(16).read(15).frames
    assert {lane.words for lane in lanes[0].lanes} == {"OffsetOutOfRangeException"}
    assert lanes[1].lanes[0].words == "empty"


def test_what_is_below_the_log_start_is_drawn_as_deleted(log):
    log.maybe_increment_log_start_offset(6, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
    frame = ReadLanes(log).read(6).frames[0]
    assert dict(frame.lanes[2].fates)[5] == "earlier", "its batch is sent whole"
    assert "deleted" in render_lanes(frame) and "log start 6" in render_lanes(frame)


def test_a_cut_batch_is_told(log):
    frame = ReadLanes(log).read(0, 50, min_one_message=False).frames[0]
    assert "the first batch is cut" in frame.lanes[0].words and "without min_one_message" in frame.caption


@pytest.mark.slow
def test_every_frame_has_a_picture_a_text_and_a_place_on_the_slider(log):
    lanes = ReadLanes(log)
    for start in range(17):
        lanes.read(start)
    for frame in lanes.frames:
        html = render_lanes(frame)
        picture = xml.dom.minidom.parseString(html).documentElement
        assert float(picture.getAttribute("width")) <= 900 and unreadable(html) == []
        assert "read_committed keeps" in str(frame)
    player = lanes.play()
    player.slider.value = 1
    assert player.frame is lanes.frames[1]
    player.slider.value = 16
    assert "OffsetOutOfRangeException" in str(player.frame)
    html = player._repr_mimebundle_()["text/html"]
    assert "<img" in html and "<svg" not in html and " alt=" in html


def test_without_the_list_nothing_is_skipped(log):
    found = log.read(0, 1_048_576, FetchIsolation.HIGH_WATERMARK)
    assert {fate for _, fate in delivered(found, 0)} == {SEEN}


def test_a_transaction_is_seen_when_its_marker_says_so():
    log = fresh_log()
    transaction(log, 1, "a", end="abort")
    transaction(log, 2, "b", end="commit")
    assert transaction(log, 3, "c") == log.high_watermark == 5
    assert values_seen(log, FetchIsolation.TXN_COMMITTED) == ["b"]
    assert values_seen(log, FetchIsolation.HIGH_WATERMARK) == ["a", "b", "c"]


def test_a_log_of_many_offsets_can_be_drawn():
    log = fresh_log()
    log.append_as_leader(records(200), 0)
    assert render_lanes(ReadLanes(log).read(100).frames[0])


def test_a_workload_that_fails_leaves_no_log():
    with pytest.raises(AssertionError, match="OffsetOutOfRangeException"):
        log_after(Workload.parse("append_as_leader [1x10]\nread 5"))
