"""The pieces of *Background tasks* and *Start and stop*: a log manager with a clock by hand, the lanes of its tasks."""

import re
import xml.dom.minidom

import pytest

from minikafka.common.errors import KafkaStorageException
from minikafka.lab.stage.log_dir_witnesses import by_minikafka, three_witnesses
from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.stage.storage_layer import LOG_STARTS, StorageLayer, break_disk, refused_by
from minikafka.lab.widgets.log_dir_lanes import LANES, DirLine, LogDirLanes, marked_lines, render_lanes
from minikafka.lessons.start_and_stop.nine_segments import nine_segments
from minikafka.lessons.storage_layer.six_customers import six_customers
from minikafka.witness import agree
from minikafka.witness.log_dir.workload import LogDirWorkload
from tests.lab.pictures import unreadable


@pytest.fixture
def layer():
    """A broker that is up, with a log of two segments and three records."""
    layer = StorageLayer()
    layer.start()
    layer.create("orders-0")
    layer.append("orders-0", "a", "b")
    layer.roll("orders-0")
    assert layer.append("orders-0", "c") == 3
    return layer


def test_what_is_done_to_a_broker_is_told_in_few_words(layer):
    layer.sleep(30)
    assert (layer.second, layer.checkpoint(), layer.values("orders-0")) == (30, {"orders-0": 2}, ["a", "b", "c"])
    layer.delete_records("orders-0", 1)
    layer.sleep_until(lambda: layer.checkpoint(LOG_STARTS) == {"orders-0": 1})
    assert layer.second == 90 and layer.values("orders-0") == ["b", "c"]
    layer.kill()
    assert not layer.has_marker() and layer.start() == ["orders-0/2"]
    layer.stop()
    assert layer.has_marker() and layer.start() == []
    assert layer.runs == [(0, 90), (90, 90), (90, None)] and layer.kills == [90]


def test_the_tasks_that_have_run_are_told_with_their_seconds(layer):
    layer.sleep(90)
    names = {name: [second for ran, second in layer.ran if ran == name] for name, _ in LANES}
    assert names["kafka-recovery-point-checkpoint"] == [30, 90] and names["kafka-log-flusher"] == [30]


def test_what_never_happens_is_not_waited_for(layer):
    layer.kill()  # no task runs any more: a day passes quickly
    with pytest.raises(TimeoutError):
        layer.sleep_until(lambda: False)


def test_names_in_a_log_directory_tell_no_unique_id(layer):
    layer.delete("orders-0")
    assert "orders-0.ID-delete/" in layer.entries()
    assert layer.files() and not layer.has_deleted_files("orders-0")


def test_a_broken_disk_is_noticed_at_the_next_tick():
    layer = StorageLayer(dirs=("a", "b"))
    layer.start()
    layer.create("orders-0", "users-0")
    break_disk(layer.log_dirs[1])
    assert layer.append("users-0", "x") == 1 and not layer.is_offline(1)
    layer.sleep(30)
    assert layer.is_offline(1) and not layer.is_offline(0)
    with pytest.raises(KafkaStorageException):
        layer.append("users-0", "x")
    layer.notice_failures()
    assert layer.log("users-0") is None
    assert refused_by(layer.stop) == "ClosedChannelException" and refused_by(layer.has_marker) == "nothing"


def test_a_manager_can_be_walked_through_its_start_and_stop(layer):
    layer.before_shutdown()()
    manager = layer.made()
    assert not manager.current_logs
    manager.startup()
    assert list(manager.current_logs) == [layer.partition("orders-0")]


def test_lines_are_marked_when_they_come_change_and_go():
    before = {name: DirLine(name, "1") for name in ("same", "changed", "gone")}
    now = {"same": DirLine("same", "1"), "changed": DirLine("changed", "2"), "new": DirLine("new", "1")}
    signs = {line.name: line.sign for line in marked_lines(before, now)}
    assert signs == {"same": "", "changed": "●", "gone": "−", "new": "+"}
    assert not any(line.sign for line in marked_lines(None, now))


def test_a_frame_for_each_act_and_each_second_in_which_a_task_runs(layer):
    lanes = LogDirLanes(layer)
    lanes.after("the start", layer.sleep, 0)
    lanes.sleep(100)
    assert [frame.second for frame in lanes.frames] == [0, 30, 90, 100]
    assert [frame.running for frame in lanes.frames][1:] == [
        ["retention", "flusher", "recovery points", "log starts", "deletion"],
        ["recovery points", "log starts", "deletion"],
        [],
    ]
    lines = {line.name: line for line in lanes.frames[1].lines}
    assert str(lines["recovery-point-offset-checkpoint"]) == "● recovery-point-offset-checkpoint: orders-0 2"
    assert lines["orders-0/"].in_memory == "start 0, recovery point 2, end 3"
    assert lanes.after("roll", layer.append, "orders-0", "d") == 4 and lanes.sleep_until(lambda: True) == 100


def test_a_checkpoint_that_cannot_be_read_is_told_so(layer):
    layer.rewrite("0\n1\norders\n")
    lanes = LogDirLanes(layer)
    lanes.after("damaged", layer.kill)
    assert "recovery-point-offset-checkpoint: cannot be read: KafkaStorageException" in str(lanes.frames[0])
    assert "in memory" not in str(lanes.frames[0])


def test_the_lanes_are_a_player_with_texts(layer):
    lanes = LogDirLanes(layer)
    lanes.after("the start", layer.sleep, 0)
    lanes.sleep(45)
    lanes.after("deleted", layer.delete, "orders-0")
    lanes.after("stopped", layer.stop)
    player = lanes.play()
    assert player.frame is player.frames[-1] and "− .lock" in str(player.frame)
    for frame in player.frames:
        html = render_lanes(frame)
        picture = xml.dom.minidom.parseString(html).documentElement
        assert float(picture.getAttribute("width")) <= 900 and unreadable(html) == []
        words, _, legend = picture.getElementsByTagName("title")[0].firstChild.data.rpartition("\n")
        assert words == str(frame)
        assert all(
            look in legend
            for look in ("Large square: ", "Small full square: ", "Small hollow square: ", "Bar: ", "Cross: ")
        )


def test_what_the_marker_of_a_clean_stop_says_is_shown(layer):
    lanes = LogDirLanes(layer)
    lanes.after("stopped", layer.stop)
    assert DirLine(".kafka_cleanshutdown", '{"version":0,"brokerEpoch":7}') in lanes.frames[0].lines


def test_a_kill_is_marked_and_a_stop_is_not(layer):
    lanes = LogDirLanes(layer)
    lanes.after("stopped", layer.stop)
    lanes.after("started", layer.start)
    lanes.after("killed", layer.kill)
    stopped, _, killed = (render_lanes(frame).count('stroke="var(--mk-bad)"') for frame in lanes.frames)
    assert killed == stopped + 2  # the two lines of a cross; the legend has one as well


def test_a_picture_marks_the_tasks_of_its_second(layer):
    lanes = LogDirLanes(layer)
    lanes.sleep(90)
    first, second = (render_lanes(frame, 90, 5) for frame in lanes.frames)
    in_legend = 1
    assert (first.count('fill="var(--mk-hw)"'), second.count('fill="var(--mk-hw)"')) == (5 + in_legend, 3 + in_legend)
    assert second.count('fill="var(--mk-leo)"') == 5 + in_legend


def test_tasks_that_have_run_are_full_or_hollow_as_the_legend_tells(layer):
    lanes = LogDirLanes(layer)
    lanes.after("a roll", layer.roll, "orders-0")
    lanes.sleep(30)
    picture = render_lanes(lanes.frames[-1])
    hollow = re.findall(r'width="6.0" height="6.0" fill="var\(--mk-paper\)" stroke="var\(--mk-lso\)"', picture)
    assert len(hollow) == 1 + 1  # the flush after the roll, and the legend
    for meaning in (
        "a task runs now",
        "a task of the log manager has run",
        "a task of one log has run",
        "the broker is up",
    ):
        assert f">{meaning}</text>" in picture


WORKLOAD = LogDirWorkload.parse("start\ncreate orders-0\nappend orders-0 [3x10]\ntick 30000\nstop\n")


def test_a_planted_checkpoint_lies():
    with planted("the log end is written as the recovery point"):
        assert by_minikafka(WORKLOAD).value(3, "recovery_point_file") == (("orders-0", 3),)
    assert by_minikafka(WORKLOAD).value(3, "recovery_point_file") == (("orders-0", 0),)


def test_a_marker_that_is_left_makes_a_kill_a_clean_stop():
    workload = LogDirWorkload.parse("start\ncreate orders-0\nstop\nstart\nappend orders-0 [3x10]\nkill\nstart\n")
    with planted("the start leaves the marker where it is"):
        sick = by_minikafka(workload)
    sound = by_minikafka(workload)
    assert [each.value(3, "clean_shutdown") for each in (sick, sound)] == [True, False]
    assert [each.value(6, "recovery_points") for each in (sick, sound)] == [(("orders-0", 3),), (("orders-0", 0),)]


def test_no_picture_of_a_first_part_tells_the_answer():
    """Where the log begins is not yet in a file; which segments are read stands nowhere."""
    customers, segments = LogDirLanes(StorageLayer()), LogDirLanes(StorageLayer())
    six_customers(customers)
    nine_segments(segments)
    assert customers.layer.checkpoint(LOG_STARTS) == {} and customers.frames[-1].second == 20
    assert segments.layer.checkpoint() == {"orders-0": 7} and segments.frames[-1].second == 45
    assert segments.layer.start() == ["orders-0/7", "orders-0/8"]


@pytest.mark.slow
def test_three_witnesses_of_a_lesson_agree(kafka, spark, monkeypatch):
    monkeypatch.setattr("minikafka.lab.stage.log_dir_witnesses._kafka", [kafka])
    agreement = agree(*three_witnesses(WORKLOAD)).check()
    assert all(line.witnesses == ("minikafka", "spark", "kafka") for line in agreement.lines)
