"""The pieces of the lessons *The produce path* and *The produce purgatory*: requests posted by hand, boxes that wait, a
map of six classes.
"""

import xml.dom.minidom

import pytest

from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.stage.produce_path import ProducePath
from minikafka.lab.stage.replication import Replication
from minikafka.lab.stepper.path_walk import PathWalk
from minikafka.lab.stepper.stepper import step_through
from minikafka.lab.widgets.produce_map import PURGATORY, STATIONS, map_frames, render_produce_map, station_of
from minikafka.lessons.produce_purgatory.minimum_over_time import MinimumOverTime
from minikafka.lessons.produce_purgatory.purgatory_boxes import PurgatoryBoxes, render_purgatory
from tests.lab.pictures import unreadable

HASTY = "acks=all is answered as soon as the leader has the records"
OFF_BY_ONE = "a request waits for its last offset, not for the one after it"
LATE_MINIMUM = "the minimum is checked after the append"
UNHEARD = "a rising high watermark wakes no request"


@pytest.fixture
def path():
    path = ProducePath(2, min_isr=2)
    path.in_sync()
    return path


def test_each_partition_has_its_own_answer_in_one_response(path):
    posted = path.produce(("orders-0", "a b"), ("orders-9", "x"), ("orders-2", "y"))
    assert posted.answer == "waits" and posted.required == {"orders-0": 2, "orders-2": 0}
    path.fetch(1)
    assert posted.answer == "waits"
    path.fetch(1)
    parts = posted.parts
    assert {name: part.error for name, part in parts.items()} == {
        "orders-0": "NONE", "orders-2": "NOT_LEADER_OR_FOLLOWER", "orders-9": "UNKNOWN_TOPIC_OR_PARTITION",
    }  # fmt: skip
    assert (parts["orders-0"].base_offset, parts["orders-9"].base_offset) == (0, -1)
    assert path.values() == ["a", "b"]


def test_acks_0_is_answered_with_nothing_or_with_a_closed_connection(path):
    assert path.produce(("orders-0", "a"), acks=0).answer == "nothing"
    assert path.produce(("orders-0", "b"), ("orders-9", "c"), acks=0).answer == "connection closed"
    assert path.values() == ["a", "b"]


def test_the_minimum_is_for_acks_all_only_and_holds_the_mark(path):
    path.dies(1)
    answers = [path.produce(("orders-0", "a"), acks=acks).answer for acks in (0, 1, "all")]
    assert answers == ["nothing", "orders-0: NONE, base offset 1", "orders-0: NOT_ENOUGH_REPLICAS"]
    assert path.log().high_watermark == 0 and path.isr() == [0]


def test_the_timer_answers_at_the_deadline_and_the_record_stays(path):
    posted = path.produce(("orders-0", "a"), timeout_ms=100)
    path.sleep(99)
    assert posted.answer == "waits"
    path.sleep(1)
    assert (posted.parts["orders-0"].error, posted.answered_ms, path.values()) == ("REQUEST_TIMED_OUT", 100, ["a"])


def test_a_partition_that_occurs_twice_is_appended_once_and_may_be_told_an_error_all_the_same(path):
    path.produce(("orders-0", "p q"), ("orders-0", "r"), acks=1)
    assert path.values() == ["r"]
    odd = path.produce(("orders-1", "s"), ("orders-1", ["t", "u"]), acks=1)
    assert (odd.parts["orders-1"].error, path.values("orders-1")) == ("INVALID_RECORD", ["s"])


def test_the_hasty_answer_loses_an_acknowledged_record():
    with planted(HASTY):
        replication = Replication(3, min_isr=2)
        assert replication.append("a").answer == "NONE"
    replication.crash(0)
    assert replication.consumed() == []


def test_off_by_one_is_seen_where_the_mark_is_at_the_last_record(path):
    with planted(OFF_BY_ONE):
        first = path.produce(("orders-0", "a b"))
        assert first.answer == "waits"
        path.fetch(1)
        path.fetch(1)
        second = path.produce(("orders-0", "c"))
        assert (first.answered_ms, second.parts["orders-0"].error) == (0, "NONE")
    assert path.log().high_watermark == 2


def test_a_late_minimum_refuses_what_it_has_appended(path):
    with planted(LATE_MINIMUM):
        assert path.produce(("orders-1", "a"), acks=1).answer == "orders-1: NONE, base offset 0"
        path.dies(1)
        assert path.produce(("orders-0", "b")).answer == "orders-0: NOT_ENOUGH_REPLICAS"
        assert path.produce(("orders-0", "c"), acks=1).answer == "orders-0: NONE, base offset 1"
    assert path.values() == ["b", "c"]


def test_a_request_that_nobody_wakes_is_answered_by_the_timer_though_all_have_its_records(path):
    posted = path.produce(("orders-0", "a"), timeout_ms=100)
    with planted(UNHEARD):
        path.fetch(1)
        path.fetch(1)
    assert (path.log().high_watermark, posted.answer) == (1, "waits")
    path.sleep(100)
    assert posted.parts["orders-0"].error == "REQUEST_TIMED_OUT"


def test_a_box_has_a_label_for_each_partition_and_is_ticked_one_by_one():
    boxes = PurgatoryBoxes(ProducePath(2, min_isr=2, narrow=True))
    path = boxes.path
    path.in_sync()
    boxes.after("two partitions", path.produce, ("orders-0", "a b"), ("orders-1", "x"), timeout_ms=500)
    pictures = []
    for _ in range(3):
        boxes.after("a fetch", path.fetch, 1)
        pictures.append(render_purgatory(boxes.frames[-1]))
    assert "… orders-0: HW ≥ 2" in pictures[0] and "… orders-1: HW ≥ 1" in pictures[0]
    assert "✓ orders-0: HW ≥ 2" in pictures[1] and "… orders-1: HW ≥ 1" in pictures[1]
    assert "nothing waits" in pictures[2] and "timer: 500 ms left" in pictures[0]
    assert "request 1 waits for HW 2 of orders-0 and HW 1 of orders-1, until 500 ms" in str(boxes.frames[0])


@pytest.mark.slow
def test_the_map_marks_where_the_request_is(path):
    assert station_of("ProduceHandler.handle_produce_request") == "KafkaApis"
    assert station_of("DelayedProduce.try_complete") == PURGATORY
    frames = map_frames(["KafkaApis.handle", "Log._append", "DelayedProduce.try_complete"])
    assert [frame.here for frame in frames] == ["KafkaApis", "Log", PURGATORY]
    assert frames[2].visited == ("KafkaApis", "Log", PURGATORY)
    assert "[Log]" in str(frames[1]) and str(frames[1]).endswith("Log._append")
    drawn = xml.dom.minidom.parseString(render_produce_map(frames[1]))
    thick = [rect for rect in drawn.getElementsByTagName("rect") if rect.getAttribute("stroke-width") == "3"]
    assert len(thick) == 1 and len(STATIONS) == 6


def test_the_time_line_has_the_least_end_of_the_isr_beside_the_high_watermark(path):
    line = MinimumOverTime(path)
    line.after("in sync", path.in_sync)
    line.after("append", path.produce, ("orders-0", "a"), timeout_ms=100)
    line.after("broker 1 dies", path.dies, 1)
    line.after("time is over", path.sleep, 100)
    moments = [(each.least_end, each.high_watermark, each.enough, each.answer) for each in line.moments]
    assert moments == [
        (0, 0, True, "no request"), (0, 0, True, "waits"), (1, 0, False, "waits"), (1, 0, False, "REQUEST_TIMED_OUT"),
    ]  # fmt: skip
    drawn = xml.dom.minidom.parseString(line.picture().svg).documentElement
    words = [text.firstChild.data for text in drawn.getElementsByTagName("text")]
    assert words.count("1 in sync, 2 needed") == 2 and "REQUEST_TIMED_OUT" in words
    assert drawn.getElementsByTagName("title")[0].firstChild.data == line.picture().words


def test_a_walk_shows_the_map_above_each_step(path):
    names = {"KafkaApis.handle", "ReplicaManager.append_records", "Partition.append_records_to_leader"}
    request = path.arrived(("orders-0", "a"))
    walk = PathWalk(step_through(path.cluster.brokers[0].apis.handle, request, watch=path.log(), into=names))
    assert walk.walk.raised is None and not request.is_answered
    assert walk.places[-1].visited == ("KafkaApis", "ReplicaManager", "Partition")
    assert "we are in Partition.append_records_to_leader" in walk.play().pictures[4]


def test_both_pieces_are_players_with_texts_and_no_picture_is_too_wide(path):
    boxes = PurgatoryBoxes(path)
    boxes.after("one", path.produce, ("orders-0", "a"))
    boxes.after("a fetch", path.fetch, 1)
    player = boxes.play()
    assert player.frame is player.frames[-1]
    player.slider.value = 0
    assert player.frame is player.frames[0]
    for picture in [*map(render_purgatory, boxes.frames), *map(render_produce_map, map_frames(["Log._append"]))]:
        drawn = xml.dom.minidom.parseString(picture).documentElement
        assert float(drawn.getAttribute("width")) <= 900 and unreadable(picture) == []
        assert drawn.getElementsByTagName("title")[0].firstChild.data
