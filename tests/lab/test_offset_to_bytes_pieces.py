"""The pieces of *From an offset to bytes*: a reader that fetches again and again, and answers drawn on their file."""

import xml.dom.minidom

import pytest

from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lessons.offset_to_bytes.answer_on_file import AnswersOnFile, render_answer
from minikafka.lessons.offset_to_bytes.fetches import positions
from minikafka.log.fetch_isolation import FetchIsolation
from tests.lab.pictures import unreadable


@pytest.fixture
def log():
    """Batches 0–2, 3–4, a large one 5–6, and 7–8, in one segment."""
    log = fresh_log()
    for count, size in ((3, 10), (2, 10), (2, 120), (2, 10)):
        log.append_as_leader(records(count, size, first=log.log_end_offset), leader_epoch=0)
    return log


def test_a_reader_stands_still_before_a_batch_that_no_answer_holds(log):
    assert positions(log, 150, fetches=4, min_one_message=False) == [3, 5, 5, 5]
    assert positions(log, 150, fetches=4, min_one_message=True) == [3, 5, 7, 9]


def test_an_answer_tells_what_it_holds(log):
    answers = AnswersOnFile(log).read(4, 120).read(6, 50).read(6, 50, min_one_message=False).read(4, 0).frames
    assert [frame.words for frame in answers] == [
        "bytes 112 to 232: 120 B; whole batches from 3 to 4; batch 5–6 is cut",
        "bytes 207 to 526: 319 B; whole batches from 5 to 6",
        "bytes 207 to 257: 50 B; batch 5–6 is cut; first_entry_incomplete",
        "bytes 112 to 207: 95 B; whole batches from 3 to 4",
    ]


def test_an_answer_without_bytes_is_drawn_as_well(log):
    [frame] = AnswersOnFile(log).read(4, 0, min_one_message=False).frames
    assert frame.words == "no bytes" and "without min_one_message" in frame.caption
    assert xml.dom.minidom.parseString(render_answer(frame))


def test_every_frame_has_a_picture_a_text_and_a_place_on_the_slider(log):
    answers = AnswersOnFile(log)
    for start in range(9):
        answers.read(start, 150)
    for frame in answers.frames:
        html = render_answer(frame)
        picture = xml.dom.minidom.parseString(html).documentElement
        assert float(picture.getAttribute("width")) <= 900 and unreadable(html) == []
        assert frame.words in str(frame)
    player = answers.play()
    player.slider.value = 5
    assert player.frame is answers.frames[5] and "319 B" in str(player.frame)


def test_an_answer_from_a_later_segment_is_drawn_on_its_own_file():
    log = fresh_log({"internal.segment.bytes": 200})
    for number in range(3):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    [frame] = AnswersOnFile(log).read(5, 1000).frames
    assert [batch.first for batch in frame.batches] == [4] and frame.begin == 0


def test_a_scan_that_compares_base_offsets_alone_passes_over_the_batch_that_holds_the_start(log):
    def begins(start):
        return log.read(start, 1_048_576, FetchIsolation.LOG_END).fetch_offset_metadata.message_offset

    assert begins(4) == 3
    with planted("a scan compares base offsets alone"):
        assert (begins(3), begins(4)) == (3, 5)
