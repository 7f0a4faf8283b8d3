"""The pieces of the lessons about compaction: a table in a log, a cleaner by hand, two shelves, a map slot by slot."""

import hashlib
import xml.dom.minidom

import pytest

from minikafka.lab.stage.cleaning import Cleaning
from minikafka.lab.stage.tables import rows, table, write
from minikafka.lab.stage.workbench import fresh_log
from minikafka.lab.widgets.compaction_shelves import CompactionShelves, render_shelves
from minikafka.lessons.compaction.colliding_keys import COLLIDING_KEYS
from minikafka.lessons.compaction.dirty_ratios import dirt_of, dirty_ratios
from minikafka.lessons.compaction.offset_map_slots import OffsetMapSlots, render_slots, tries
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from tests.lab.pictures import unreadable

pytestmark = pytest.mark.slow

COMPACTED = {"cleanup.policy": "compact", "internal.segment.bytes": 260, "min.cleanable.dirty.ratio": 0.1}


@pytest.fixture
def log():
    """Rows, a deletion, an aborted transaction and an active segment."""
    log = fresh_log(COMPACTED)
    for words in ("a=1 b=1", "c=1 a=2", "-b d=1", "a=3 e=1"):
        write(log, words)
    write(log, "c=9 d=9", producer=7, transaction="abort")
    write(log, "f=1 a=4")
    return log


def fates(frame):
    return {record.offset: record.fate for file in frame.before for record in file.records}


def test_a_table_is_what_the_rows_lead_to(log):
    assert rows(log)[:5] == [(0, "a", "1"), (1, "b", "1"), (2, "c", "1"), (3, "a", "2"), (4, "b", None)]
    assert table(log) == {"a": "4", "c": "1", "d": "1", "e": "1", "f": "1"}
    assert table(log, start=11, so_far={"b": "1", "a": "0"}) == {"a": "4", "b": "1", "f": "1"}


def test_rows_begin_at_the_log_start_and_go_on_from_segment_to_segment(log):
    log.maybe_increment_log_start_offset(3, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
    assert [offset for offset, _, _ in rows(log)] == [3, 4, 5, 6, 7, 11, 12]


def test_what_is_written_belongs_to_whom_it_is_said_to():
    log = fresh_log()
    write(log, "a=1", producer=7)
    write(log, "a=2 b=1", producer=7, transaction="open", replicated=False)
    assert (log.high_watermark, log.last_stable_offset, log.log_end_offset) == (1, 1, 3)
    assert log.producer_state_manager.active_producers[7].last_seq == 2
    assert rows(log) == [(0, "a", "1")]
    write(log, "c=1", roll=True)
    assert [segment.base_offset for segment in log.log_segments] == [0, 4]
    records = log.read(0, 1000, FetchIsolation.LOG_END).records
    assert [batch.is_transactional for batch in records.batches()] == [False, True, False]


def test_a_turn_cleans_and_notes_how_far(log):
    cleaning = Cleaning(log)
    turn = cleaning.turn()
    assert (turn.first_dirty, turn.first_uncleanable, turn.end, turn.ratio) == (0, 11, 11, 1.0)
    assert cleaning.manager.all_cleaner_checkpoints() == {log.topic_partition: 11}
    assert "dirty from 0" in str(turn) and "clean up to 11" in str(turn)
    assert cleaning.turn() is None


def test_the_map_of_a_cleaning_has_room_for_nine_tenths_of_its_slots():
    log = fresh_log(COMPACTED)
    write(log, "a=1 b=1 a=2 c=1 d=1 a=3", roll=True)
    assert Cleaning(log, slots=4).turn().end == 4


def test_the_shelves_tell_why_each_record_went(log):
    shelves = CompactionShelves(log)
    shelves.around("one", Cleaning(log).turn)
    before, after = shelves.frames
    assert not any(fates(before).values()) and before.after is None
    assert fates(after) == {
        **dict.fromkeys((2, 4, 5, 6, 7, 10, 11, 12), ""),
        **{0: "newer at 6", 1: "newer at 4", 3: "newer at 6", 8: "aborted", 9: "aborted"},
    }
    assert after.marks == (("cleaned up to", 11), ("first uncleanable", 11))
    kept = [record for file in after.after for record in file.records]
    assert [record.offset for record in kept if record.kind == "empty"] == [9]
    assert [record.offset for record in kept if record.horizon] == [4, 5]


def test_neighbours_that_went_for_one_reason_say_it_once(log):
    shelves = CompactionShelves(log)
    shelves.around("one", Cleaning(log).turn)
    words = [text.firstChild.data for text in _elements(render_shelves(shelves.frames[-1]), "text")]
    assert list(fates(shelves.frames[-1]).values()).count("aborted") == 2 and words.count("aborted") == 1
    assert words.count("→6") == 2


def test_the_bars_of_dirty_ratios_are_what_the_cleaner_compares():
    logs = [fresh_log({**COMPACTED, "internal.segment.bytes": 10_000}, name=f"{name}-0") for name in ("one", "two")]
    for log, dirty in zip(logs, (10, 900), strict=True):
        write(log, f"a={'x' * 1000}", roll=True)
        Cleaning(log).turn()
        write(log, f"b={'x' * dirty}", roll=True)
    small, large = dirt_of(*logs)
    picture = dirty_ratios(*logs)
    grabbed = Cleaning(*logs).grab()
    assert small.ratio < 0.1 < large.ratio == grabbed.cleanable_ratio and grabbed.log is logs[1]
    assert "one-0" in str(small) and "left alone" in str(small) and "to be cleaned" in str(large)
    drawn = xml.dom.minidom.parseString(picture.svg).documentElement
    assert drawn.getElementsByTagName("title")[0].firstChild.data == picture.words and str(large) in picture.words


def test_a_record_above_the_end_replaces_none_below():
    log = fresh_log(COMPACTED)
    write(log, "a=1 b=1 c=1 d=1 a=2", roll=True)
    shelves = CompactionShelves(log)
    shelves.around("a map for three keys", Cleaning(log, slots=4).turn)
    assert not any(fates(shelves.frames[-1]).values())


def test_a_tombstone_and_a_record_without_key_say_why_they_went():
    log = fresh_log({**COMPACTED, "cleanup.policy": "delete"})
    write(log, "=1 -a", roll=True)
    log.update_config(type(log.config)({**COMPACTED, "delete.retention.ms": 0}))
    shelves, cleaning = CompactionShelves(log), Cleaning(log)
    shelves.around("a key is missing", cleaning.turn)
    assert fates(shelves.frames[-1]) == {0: "no key", 1: ""}
    write(log, "b=1 c=1", roll=True)
    shelves.around("the deletion is over", cleaning.turn)
    assert fates(shelves.frames[-1])[1] == "over"


def test_nothing_to_clean_is_one_frame(log):
    shelves, cleaning = CompactionShelves(log), Cleaning(log)
    cleaning.turn()
    assert shelves.around("again", cleaning.turn) is None
    assert [frame.caption for frame in shelves.frames] == ["again: nothing to clean"]


def test_each_survivor_is_linked_to_its_new_place(log):
    shelves = CompactionShelves(log)
    shelves.around("one", Cleaning(log).turn)
    before, after = (render_shelves(frame) for frame in shelves.frames)
    survivors = [record for file in shelves.frames[1].after for record in file.records]
    links = [line for line in _elements(after, "line") if line.getAttribute("y2") == "221.0"]
    assert len(links) == len(survivors) and "stroke-dasharray" in " ".join(link.toxml() for link in links)
    assert not [line for line in _elements(before, "line") if line.getAttribute("y2") == "221.0"]


def test_the_slots_that_are_shown_are_those_that_the_map_looked_at():
    slots = OffsetMapSlots(8)
    assert [slots.put(key, offset) for offset, key in enumerate("abcdeag")] == [1, 2, 0, 7, 5, 1, 6]
    assert slots.frames[-1].probes == (1, 5, 2, 1, 6) and tries("g", 8, 5) == [1, 5, 2, 1, 6]
    assert (slots.get("a"), slots.get("h")) == (5, -1)
    assert "slot 3 is empty: h is not in the map" in slots.frames[-1].verdict
    assert slots.map.size == 6 and slots.map.get(b"g") == 6


def test_the_keys_that_collide_are_one_key_to_the_map():
    one, other = COLLIDING_KEYS
    offset_map = OffsetMapSlots(8).map
    offset_map.put(one, 3)
    assert one != other and hashlib.md5(one).digest() == hashlib.md5(other).digest()
    assert offset_map.get(other) == 3


def test_a_key_that_is_put_again_keeps_its_slot():
    slots = OffsetMapSlots(8)
    assert slots.put("a", 3) == slots.put("a", 9) == 1
    assert slots.frames[-1].verdict == "slot 1 holds a: offset 3 becomes 9"


def test_both_pieces_are_players_with_texts(log):
    slots, shelves = OffsetMapSlots(8), CompactionShelves(log)
    slots.put("a", 1)
    shelves.around("one", Cleaning(log).turn)
    for player, render in ((slots.play(), render_slots), (shelves.play(), render_shelves)):
        assert player.frame is player.frames[-1]
        for frame in player.frames:
            html = render(frame)
            picture = xml.dom.minidom.parseString(html).documentElement
            assert float(picture.getAttribute("width")) <= 900 and unreadable(html) == []
            assert picture.getElementsByTagName("title")[0].firstChild.data == str(frame)


def _elements(svg, name):
    return xml.dom.minidom.parseString(svg).getElementsByTagName(name)
