"""Every piece as its three parts: frames, pictures of them, and the shell that is driven here as a reader drives it."""

import re
import time
import xml.dom.minidom
from types import SimpleNamespace

import pytest

from minikafka.common.errors import CorruptRecordException, KafkaException
from minikafka.lab.course.diagrams import diagram
from minikafka.lab.course.notes import erratum
from minikafka.lab.course.places import DIAGRAMS
from minikafka.lab.course.readme_picture import readme_picture
from minikafka.lab.exercises import prediction
from minikafka.lab.exercises.prediction import ANSWERS, NOT_YET, ___, predict
from minikafka.lab.exercises.progress import LAID_OUT, read
from minikafka.lab.stage.batch_bytes import batch_of
from minikafka.lab.stage.workbench import NOON, fresh_log, records
from minikafka.lab.stepper.stepper import step_through
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.compaction_shelves import CompactionShelves
from minikafka.lab.widgets.index_search import search_frames, search_index
from minikafka.lab.widgets.microscope import fields_of, microscope
from minikafka.lab.widgets.offset_ruler import OffsetRuler, render_ruler
from minikafka.lab.widgets.player import Player
from minikafka.lab.widgets.segment_shelf import BatchOnFile, SegmentShelf, ShelfFrame, ShelvedSegment, render_shelf
from minikafka.lessons.compaction.offset_map_slots import OffsetMapSlots
from minikafka.lessons.high_watermark.replicas import Replicas, render_replicas
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.kafka.kafka_errors import WitnessFailedError
from minikafka.witness.log.batch import Batch
from tests.lab.pictures import unreadable


@pytest.fixture
def log():
    """Twelve batches of one to three records in several segments."""
    log = fresh_log({"internal.segment.bytes": 400, "index.interval.bytes": 100})
    for number in range(12):
        log.append_as_leader(records(1 + number % 3, first=log.log_end_offset), 0)
    log.update_high_watermark(10)
    return log


def pictures_of(log):
    """A player of each kind, and the pictures of the piece that has sliders of its own."""
    ruler = OffsetRuler(log).snap("one")
    log.append_as_leader(records(2), 0)
    walk = step_through(log.append_as_leader, records(1), 0, watch=log)
    index = log.log_segments[0].offset_index
    return [
        ruler.snap("two").play(),
        SegmentShelf(log).snap("one").snap("two", 0, note="goes").play(),
        microscope(next(log.log_segments[0].log.batches()).load_full_batch()),
        search_index(index, index.entry(0).offset + 1),
        Replicas(log).fetch("follower 1", 3).fetch("follower 2", 6).play(),
        walk.play(),
    ]


@pytest.mark.slow
def test_the_slider_chooses_the_frame(log):
    """The buttons move the slider in the browser: tests/slow/browser presses them."""
    for player in pictures_of(log):
        for i, frame in enumerate(player.frames):
            player.slider.value = i
            assert player.frame is frame
        player.slider.value = len(player.frames)
        assert player.frame is player.frames[-1], "behind the last frame there is none"


@pytest.mark.slow
def test_every_frame_has_a_picture_of_the_right_width_and_a_text(log):
    for player in pictures_of(log):
        for frame, html in zip(player.frames, player.pictures, strict=True):
            assert len(str(frame)) > 10 and "object at 0x" not in str(frame)
            for svg in html.split("<svg ")[1:]:
                picture = xml.dom.minidom.parseString("<svg " + svg.split("</svg>")[0] + "</svg>").documentElement
                assert float(picture.getAttribute("width")) <= 900
                assert picture.getElementsByTagName("title")[0].firstChild.data


@pytest.mark.slow
def test_all_words_of_a_picture_can_be_read(log):
    for player in pictures_of(log):
        assert unreadable(player.pictures[-1]) == [], player.pictures[-1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([(10, 20, "a"), (10, 40, "b")], []),
        ([(10, 20, "a"), (14, 22, "b")], ["a is over b at 22.0"]),
        ([(10, 4, "a")], ["a at 4.0 is outside"]),
        ([(95, 20, "a")], ["a at 20.0 is outside"]),
    ],
)
def test_what_cannot_be_read_is_found(words, told):
    body = "".join(drawing.text(x, y, text) for x, y, text in words)
    assert unreadable(drawing.svg(100, 50, body, "words")) == told


@pytest.mark.slow
def test_a_page_without_kernel_shows_the_same(log):
    for player in pictures_of(log):
        bundle = player._repr_mimebundle_()
        assert bundle["text/plain"] == str(player) and "application/vnd.jupyter.widget-view+json" in bundle
        assert "<img" in bundle["text/html"] and "<svg" not in bundle["text/html"] and " alt=" in bundle["text/html"]
        assert bundle["text/html"] == player._repr_mimebundle_()["text/html"]


@pytest.mark.slow
def test_the_picture_changes_in_the_browser_without_the_kernel(log):
    player = pictures_of(log)[0]
    assert player.link.source == (player.slider, "value") and player.link.target[1] == "selected_index"


def test_no_frames_is_an_error():
    with pytest.raises(ValueError, match="no frame"):
        Player([], str, title="test")


def test_dragged_fetches_move_the_real_mark(log):
    sliders = Replicas(log).drag()
    begin = time.monotonic()
    sliders.sliders["follower 1"].value = 15
    sliders.sliders["follower 2"].value = 12
    assert time.monotonic() - begin < 0.4
    assert sliders.errors == [] and sliders.frame.hw == log.high_watermark == 12
    sliders.sliders["follower 2"].value = 1
    assert log.high_watermark == 12 and "never falls" in sliders._picture.value
    log.close()
    sliders.sliders["follower 2"].max = 999
    sliders.sliders["follower 2"].value = 999
    assert len(sliders.errors) == 1 and type(sliders.errors[0]).__name__ in sliders._alarm.value


def test_a_follower_that_has_not_fetched_holds_the_mark(log):
    replicas = Replicas(log).fetch("follower 1", 21)
    assert log.high_watermark == 9  # it was 10, inside a batch: the leader's look moves it to the batch's first offset
    replicas.fetch("follower 2", 15)
    assert log.high_watermark == 15
    replicas.shrink("follower 2")
    assert log.high_watermark == 21
    assert "not in the ISR" in render_replicas(replicas.frames[-1])


def test_the_shelf_tells_what_is_in_the_files(log):
    shelved = [ShelvedSegment.of(segment) for segment in log.log_segments]
    assert [s.base_offset for s in shelved] == [s.base_offset for s in log.log_segments]
    assert sum(b.size for s in shelved for b in s.batches) == log.size
    assert shelved[0].offset_entries and all(
        p in [b.position for b in shelved[0].batches] for _, p in shelved[0].offset_entries
    )
    frame = SegmentShelf(log).snap("x", 0, note="goes").frames[0]
    assert "goes: 0" in str(frame) and "● goes" in render_shelf(frame)


def test_the_shelf_has_a_scale_of_bytes_and_counts_times_from_the_first():
    start = 1_700_000_000_000
    times = ((start, 2), (start + 480_000, 5), (start + 5_400_000, 8), (start + 5_400_001, 9))
    segment = ShelvedSegment(0, 400, (BatchOnFile(0, 9, 0, 400),), (), times)
    picture = render_shelf(ShelfFrame("x", (segment,)))
    assert "+0 ms→2 · +8 min→5 · +1 h 30 min→8 · +5,400,001 ms→9" in picture
    assert "+0 ms is 1,700,000,000,000 ms" in picture
    assert [f">{position}</text>" in picture for position in (0, 100, 400, 500)] == [True, True, True, False]
    assert "time index:" not in render_shelf(ShelfFrame("x", (ShelvedSegment(0, 0, (), (), ()),)))


def test_the_search_watched_is_the_search_done(log):
    many = fresh_log({"index.interval.bytes": 60})
    for _ in range(60):
        many.append_as_leader(records(2), 0)
    index = many.active_segment.offset_index
    for target in range(0, 125):
        frames = search_frames(index, target)
        assert f"byte {index.lookup(target).position}" in frames[-1].answer
        for frame in frames[1:-1]:
            assert frame.low <= frame.middle <= frame.high


def test_the_ruler_says_what_moved(log):
    ruler = OffsetRuler(log).snap("before")
    log.append_as_leader(records(1), 0)
    frame = ruler.snap("after").frames[1]
    assert "LEO 24 → 25" in str(frame) and "LEO 24 → 25" in render_ruler(frame)


def test_the_microscope_reads_every_field(log):
    batch = next(log.log_segments[0].log.batches()).load_full_batch()
    fields = {field.name: field for field in fields_of(bytes(batch.buffer))}
    assert fields["crc"].value == f"{batch.checksum:08x}" and fields["magic"].value == "2"
    assert sum(field.size for field in fields.values()) == batch.size_in_bytes
    assert "record 0" in fields and "key null" in fields["record 0"].value
    player = microscope(batch)
    assert sum(frame.fields[frame.chosen].size for frame in player.frames) == batch.size_in_bytes
    assert str(player.frames[4]).startswith("bytes 17–20 crc = ")
    assert "r0 key length = -1" in str(player) and "r0 value = '.........0'" in str(player)
    assert "none, CreateTime" in str(player)


@pytest.mark.slow
def test_the_microscope_tells_markers_headers_and_what_is_compressed():
    marker = str(microscope(Batch.parse("[commit pid=7 epoch=1 coordinator_epoch=3]").encode(0)))
    assert "control" in marker and "version 0, COMMIT" in marker and "coordinator epoch 3" in marker
    assert "r0 header 1 key = 'h1'" in str(microscope(Batch.parse("[1x3 headers=2]").encode(0)))
    packed = microscope(Batch.parse("[5x30 codec=gzip]").encode(0))
    assert packed.frames[-1].fields[-1].name == "records" and "gzip" in str(packed)


@pytest.mark.parametrize(
    ("at", "changed", "told"),
    [
        (57, b"\x7f\xff\xff\xff", "The number at byte 71 does not end within its record."),
        (61, b"\x01", "Record 0 at byte 61 has a length of -1; 9 bytes follow."),
        (61, b"\x7e", "Record 0 at byte 61 has a length of 63; 9 bytes follow."),
        (61, b"\xff" * 20, "The number at byte 61 does not end within its record."),
        (70, b"\x7e", "The number at byte 71 does not end within its record."),
    ],
)
def test_the_microscope_tells_where_a_batch_is_damaged(at, changed, told):
    data = bytearray(batch_of("one").buffer)
    data[at : at + len(changed)] = changed
    with pytest.raises(CorruptRecordException, match=re.escape(told)):
        microscope(bytes(data))


def test_the_microscope_tells_what_is_no_batch():
    with pytest.raises(CorruptRecordException, match="A batch has a header of 61 bytes; here are 30 bytes"):
        microscope(bytes(30))


def test_colours_are_named_by_role_in_both_themes():
    assert set(drawing.LIGHT) == set(drawing.DARK)
    assert "data-jp-theme-light='false'" in drawing.PAGE_STYLE and "prefers-color-scheme:dark" in drawing.PAGE_STYLE


def test_a_piece_carries_the_rules_and_colours_that_it_uses_and_no_more():
    piece = drawing.page('<div class="mk-box">It is <span class="mk-bad">wrong</span>.</div>')
    assert ".mk-bad{" in piece and ".mk-box{" in piece and "--mk-panel:" in piece
    assert not re.search(r"\.mk-good|\.mk-t\b|\.mk pre|--mk-good|--mk-hw", piece) and len(piece) < 900
    picture = drawing.svg(90, 20, drawing.text(0, 9, "LEO", kind="s", fill="leo"), "LEO")
    style = re.search("<style>.*?</style>", drawing.page(picture), re.DOTALL).group()
    assert all(
        part in style for part in (".mk-t{", ".mk-t.mk-s{", ".mk svg{", "--mk-leo:", "data-jp-theme-light='false'")
    )
    assert drawing.without_style(drawing.page(picture)) == f'<div class="mk">{picture}</div>'


def test_a_prediction_is_kept_before_the_run_and_named_after_it():
    runs = []
    run = lambda: runs.append(1) or 20  # noqa: E731
    unanswered = predict("where", "Where?", ___, run, {13: "strictly greater"})
    assert NOT_YET in str(unanswered) and not runs
    wrong = predict("where", "Where?", 13, run, {13: "strictly greater"})
    assert wrong.state == "wrong" and str(wrong).endswith("strictly greater") and ANSWERS["where"] == 13 and runs
    assert predict("where", "Where?", 20, run).state == "right"
    assert predict("what-comes", "What comes?", "KafkaException", _raise_kafkas).state == "right"
    assert predict("what-comes", "What comes?", True, lambda: 1).state == "wrong", "True is not 1"


def _raise_kafkas():
    raise KafkaException("not on one segment")


def test_a_question_whose_run_fails_is_not_asked_and_no_answer_to_it_is_wrong(tmp_path, monkeypatch):
    """As where a cell above it has failed: what is compared then says nothing about the answer."""
    (tmp_path / LAID_OUT).write_text("{}")
    monkeypatch.chdir(tmp_path)
    asked = predict("where", "Where?", 13, lambda: found_by_a_cell_above)  # noqa: F821
    assert asked.state == "not asked" and asked.belief == ""
    assert "(NameError: name 'found_by_a_cell_above' is not defined), so your answer is not wrong" in str(asked)
    assert "✗" not in asked._repr_html_()
    failing = iter([WitnessFailedError("Kafka's JVM does not answer\n\tat Java's stack"), 13])

    def run():
        outcome = next(failing)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert "WitnessFailedError: Kafka's JVM does not answer)" in str(predict("who", "Who?", 12, run))
    assert read(tmp_path)["predictions"] == {}
    assert predict("who", "Who?", 13, run).state == "right", "once it can be asked, it is"


def test_without_a_reader_a_question_whose_run_fails_ends_the_run(monkeypatch):
    monkeypatch.setattr(prediction, "_looked_up", lambda _name, _question, actual, _beliefs: actual)
    assert predict("what-comes", "What comes?", ___, _raise_kafkas) == "KafkaException"
    with pytest.raises(ZeroDivisionError):
        predict("what-comes-then", "What comes then?", ___, lambda: 1 / 0)


def test_a_second_try_is_compared_with_the_first_run():
    grown = []
    for _ in range(2):  # the cell's function is made anew each time that it runs
        assert predict("how-many", "How many?", 1, lambda: grown.append("x") or len(grown)).state == "right"
    assert grown == ["x"]
    grown = []
    assert predict("how-many", "How many?", 2, lambda: grown.append("x") or len(grown)).state == "wrong" and grown == [
        "x"
    ]


def test_an_erratum_shows_claim_truth_and_run():
    box = erratum("the claim", "the truth", [1, 2])
    assert "the claim" in str(box) and "[1, 2]" in box._repr_html_()


def test_an_active_segment_without_records_is_told_so():
    log = fresh_log()
    empty = render_ruler(OffsetRuler(log).snap("new").frames[0])
    log.append_as_leader(records(1), 0)
    filled = render_ruler(OffsetRuler(log).snap("one record").frames[0])
    assert ">active, empty<" in empty and ">active<" in filled


def test_a_log_of_many_offsets_has_a_plain_axis():
    segments = [SimpleNamespace(base_offset=0, size=10), SimpleNamespace(base_offset=50_000, size=0)]
    large = SimpleNamespace(
        log_start_offset=100, last_stable_offset=900, high_watermark=1000, log_end_offset=50_000, log_segments=segments
    )
    assert "10,000" in render_ruler(OffsetRuler(large).snap("large").frames[0])


@pytest.mark.parametrize("source", sorted(DIAGRAMS.rglob("*.dot")), ids=lambda path: path.stem)
def test_a_drawn_diagram_stands_alone_and_takes_the_style_of_a_page_that_has_one(source):
    drawn = source.with_suffix(".svg").read_text(encoding="utf-8")
    xml.dom.minidom.parseString(drawn)
    style = re.search(r"<style>(.*?)</style>", drawn, re.DOTALL)[1]
    assert all(f"--mk-{role}:" in style for role in re.findall(r"var\(--mk-(\w+)\)", drawn))
    assert "<style>" not in diagram(source.stem).svg


def test_the_picture_of_the_readme_is_drawn_from_a_run():
    picture = readme_picture()
    assert picture == (DIAGRAMS / "lesson.svg").read_text(encoding="utf-8")
    assert (
        all(f">{word}<" in picture for word in ("log start", "LSO", "HW", "LEO")) and "prefers-color-scheme" in picture
    )


@pytest.mark.parametrize("kind", ["", "s", "b", "h", "sm"])
def test_each_text_says_its_width_and_is_cut_to_its_room(kind):
    words = "the broker rolls at 42,000 bytes → a new segment, ‘it’s full’"
    wide = drawing.width(words, kind)
    assert f'textLength="{wide:.1f}"' in drawing.text(0, 0, words, kind=kind, room=wide)
    cut = drawing.text(0, 0, words, kind=kind, room=100)
    assert "…</text>" in cut and 80 < float(re.search(r'textLength="([\d.]+)"', cut)[1]) <= 100
    assert drawing.fitting(100, words, "short", kind=kind) == "short" and drawing.fitting(1, words) == ""


def test_a_long_text_is_cut_as_fast_as_a_short_one():
    begun = time.perf_counter()
    cut = drawing.text(0, 0, "k" * 1_000_000, room=100)
    assert time.perf_counter() - begun < 1
    assert cut == drawing.text(0, 0, "k" * 1_000, room=100)


def test_pictures_show_the_beginning_of_a_long_key():
    slots = OffsetMapSlots(4)
    slots.put("k" * 100_000, 1)
    slots.get("k" * 100_000)
    log = fresh_log({"cleanup.policy": "compact"})
    record = SimpleRecord(NOON, b"k" * 100_000, b"\xff")
    log.append_as_leader(MemoryRecords.with_records(Compression.NONE, record), 0)
    shelves = CompactionShelves(log)
    shelves.around("a", lambda: None)
    for player in (slots.play(), shelves.play()):
        assert "kkkk…" in player.static_html() and len(player.static_html()) < 20_000


@pytest.mark.parametrize("source", sorted(DIAGRAMS.glob("*.svg")), ids=lambda path: path.stem)
def test_each_text_of_a_diagram_says_its_width(source):
    drawn = source.read_text(encoding="utf-8")
    texts = re.findall(r"<text [^>]*>", drawn)
    assert texts and all('textLength="' in text for text in texts)
    assert "sans-serif" in drawn and 'font-family="Liberation Sans"' not in drawn
