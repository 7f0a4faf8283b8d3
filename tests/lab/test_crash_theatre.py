"""The crash theatre, the wrecks and the killed broker's directory: frames, pictures, and that what is shown is what
happens.
"""

import xml.dom.minidom

import pytest

from minikafka.lab.course.places import COURSE
from minikafka.lab.stage.damage import (
    SMALL,
    another,
    cut,
    far_apart,
    kill,
    load,
    loaded_by_both,
    named,
    sizes,
)
from minikafka.lab.stage.killed_broker import keep, killed_broker
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.stepper.crash_theatre import CrashTheatre, render_crash
from minikafka.lessons.loading.copied_segments import replace_by_copies
from tests.lab.pictures import unreadable

KILLED = COURSE / "data" / "killed"
TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}


def log_of(batches):
    log = fresh_log(SMALL)
    for number in range(batches):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    return log


@pytest.fixture(scope="module")
def append():
    log = log_of(5)
    return CrashTheatre(log).stop_in(lambda: log.append_as_leader(records(3, first=10), leader_epoch=0), every=20)


@pytest.fixture(scope="module")
def replacement():
    log = log_of(14)
    return CrashTheatre(log).stop_in(lambda: replace_by_copies(log, [0, 6], [12, 18]), only=["rename"])


@pytest.mark.slow
def test_a_torn_batch_is_cut_off_and_a_whole_one_stays(append):
    torn = [frame for frame in append.frames if frame.caption.startswith("the power fails")]
    assert [frame.left for frame in torn] == [20, 40, 60, 80, 100]
    assert all(frame.end == 10 and frame.cut == frame.left for frame in torn)
    whole = next(frame for frame in append.frames if frame.caption.startswith("after: write …010.log"))
    assert whole.end == 13 and whole.cut == 0 and [(b.first, b.last) for b in whole.batches] == [(10, 12)]


@pytest.mark.slow
def test_a_replacement_is_undone_or_completed(replacement):
    logs = [[name for name, _ in frame.after if name.endswith(".log")] for frame in replacement.frames]
    assert len(logs) > 20 and logs[0] != logs[-1] and all(found in (logs[0], logs[-1]) for found in logs)
    assert {frame.end for frame in replacement.frames} == {28}
    phases = {effect.phase for frame in replacement.frames for effect in frame.effects}
    assert {"1", "2", "3", "5"} <= phases <= {"", *"1234567"}


@pytest.mark.slow
def test_a_frame_s_directory_is_what_the_crash_left(replacement):
    frame, directory = replacement.frames[7], replacement.directory(7)
    assert tuple(sizes(directory).items()) == frame.before
    log = load(directory, SMALL)
    assert log.log_end_offset == frame.end
    assert tuple(sizes(directory).items()) == frame.after


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["append", "replacement"])
def test_every_frame_has_a_picture_and_a_text(stage, request):
    theatre = request.getfixturevalue(stage)
    player = theatre.play()
    heights = set()
    for frame, html in zip(player.frames, player.pictures, strict=True):
        picture = xml.dom.minidom.parseString(html).documentElement
        assert float(picture.getAttribute("width")) <= 900 and unreadable(html) == []
        heights.add(picture.getAttribute("height"))
        assert frame.outcome in picture.getElementsByTagName("title")[0].firstChild.data
        assert frame.outcome in str(frame) and "load:" in str(frame) and "/tmp" not in str(frame)
    assert len(heights) == 1
    player.slider.value = len(player.frames) - 1
    assert player.frame is player.frames[-1]
    assert "<img" in player.static_html() and "<svg" not in player.static_html()


def test_a_file_that_is_cut_is_told_with_both_sizes():
    log = log_of(2)
    size = log.size
    [frame] = CrashTheatre(log).stop_in(lambda: log.truncate_to(2), only=["truncate"]).frames[:1]
    assert frame.caption == f"after: cut …000.log {size} → {size // 2} B"


def test_signs_tell_what_colours_tell(append, replacement):
    torn = next(frame for frame in append.frames if frame.cut)
    assert "▲ the file ends at byte 20" in render_crash(torn)
    picture = render_crash(replacement.frames[7])
    assert all(f">{sign}</text>" in picture for sign in "−+~") and "deleted by the load" in picture


def test_a_load_that_fails_is_part_of_the_play():
    log = log_of(5)

    def break_the_epochs():
        from minikafka.common import file_ops

        file_ops.replace_file(log.dir / "leader-epoch-checkpoint", b"0\n7\n0 0\n")

    frame = CrashTheatre(log).stop_in(break_the_epochs, only=["rename"]).frames[-1]
    assert frame.error == "KafkaStorageException" and "✗ the load fails" in render_crash(frame)


def test_what_is_kept_of_a_killed_broker_grows_back(tmp_path):
    grown = killed_broker(KILLED)
    assert sorted(size for size in sizes(grown).values() if size > 100_000) == [10_485_756, 10_485_760]
    assert sum(file.stat().st_size for file in KILLED.rglob("*") if file.is_file()) < 20_000
    keep(grown, tmp_path)
    again = killed_broker(tmp_path)
    assert {f.name: f.read_bytes() for f in again.iterdir()} == {f.name: f.read_bytes() for f in grown.iterdir()}


def test_the_killed_broker_s_directory_has_what_the_lesson_says():
    log = load(killed_broker(KILLED), TOPIC, recovery_point=24)
    assert [segment.base_offset for segment in log.log_segments] == [0, 15, 30, 41, 56] and log.log_end_offset == 65
    assert log.producer_state_manager.first_undecided_offset == 54
    point = (KILLED / "recovery-point-offset-checkpoint").read_text()
    assert point == "0\n1\norders 0 24\n"


@pytest.mark.spark
@pytest.mark.kafka
def test_both_load_the_killed_broker_s_directory_to_the_same_bytes(kafka):
    diff = loaded_by_both(killed_broker(KILLED), TOPIC, recovery_point=24).require()
    assert diff.files == 23
    torn = loaded_by_both(killed_broker(KILLED), TOPIC, lambda copy: cut(copy, "056.log", 500))
    assert torn.require().files == 23


def test_a_wreck_is_a_copy():
    directory = kill(log_of(3))
    copy = cut(another(directory), "000.log", 10)
    assert sizes(copy, ".log") == {"…000.log": 10} and sizes(directory, ".log") == {"…000.log": 285}
    with pytest.raises(ValueError, match="0 files end in 9.log"):
        named(copy, "9.log")


def test_offsets_that_are_far_apart_are_split():
    directory = far_apart(2**31 + 9)
    log = load(directory)
    assert [segment.base_offset for segment in log.log_segments] == [0, 2**31 + 9]
