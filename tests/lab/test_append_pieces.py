"""What the lessons *Append* and *Stored and safe* brought: transaction lanes, refused appends, producers, and the
tables of answers.
"""

import xml.dom.minidom

import pytest

from minikafka.common.errors import OutOfOrderSequenceException
from minikafka.lab.stage.producers import Producer, fetched, sent
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.widgets.append_tables import changed_fields, side_by_side
from minikafka.lab.widgets.transaction_lanes import (
    LaneBatch,
    LaneFrame,
    TransactionLanes,
    render_lanes,
    transactions_of,
)
from minikafka.lessons.append.refusals import APPENDS, refuse, refused_appends
from minikafka.witness import Workload, agree, minikafka_log, run
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_log import kafka_log
from tests.lab.pictures import unreadable


@pytest.fixture
def log():
    return fresh_log()


@pytest.fixture
def lanes(log):
    """7 aborts, 8 stays open, one record without a transaction, and a high watermark below 7's second marker."""
    seven, eight = (Producer(log, i, transactional=True) for i in (7, 8))
    lanes = TransactionLanes(log).snap("empty")
    seven.send(3)
    seven.end("abort")
    log.append_as_leader(records(2, 1), 0)
    lanes.snap("aborted, not replicated")
    log.update_high_watermark(log.log_end_offset)
    lanes.snap("replicated")
    seven.send(1)
    eight.send(1)
    log.update_high_watermark(log.log_end_offset)
    seven.end("commit")
    return lanes.snap("7 commits, 8 is open")


def test_the_lanes_tell_what_the_log_knows(log, lanes):
    frame = lanes.frames[-1]
    assert (frame.log_start, frame.lso, frame.hw, frame.leo) == (0, 6, 8, 9)
    assert [(t.producer_id, t.first, t.last, t.fate, t.replicated) for t in frame.transactions] == [
        (7, 0, 3, "abort", True),
        (7, 6, 8, "commit", False),
        (8, 7, None, "open", False),
    ]
    producers = log.producer_state_manager
    undecided = {(t.producer_id, t.first) for t in frame.transactions if t.last is None}
    unreplicated = {(t.producer_id, t.first) for t in frame.transactions if t.last is not None and not t.replicated}
    assert undecided == {(t.producer_id, t.first_offset.message_offset) for t in producers.ongoing_txns}
    assert unreplicated == {(t.producer_id, t.first_offset.message_offset) for t in producers.unreplicated_txns}
    assert frame.index == ((7, 0, 3, 4),)
    assert str(frame) == (
        "7 commits, 8 is open: producer 7: aborted 0–3, committed 6–8, marker not replicated yet; "
        "producer 8: open from 7; no producer: no transaction; LSO 6 ≤ HW 8 ≤ LEO 9; "
        "transaction index: producer 7 aborted 0–3, LSO then 4"
    )


def test_a_marker_without_a_transaction_ends_none():
    batches = (
        LaneBatch(7, 0, 0, transactional=True, marker="abort"),
        LaneBatch(7, 1, 2, transactional=True),
        LaneBatch(7, 3, 3, transactional=True, marker="commit"),
    )
    assert [str(t) for t in transactions_of(batches, 4)] == ["committed 1–3"]


def test_the_lanes_say_what_holds_the_mark(lanes):
    pictures = [render_lanes(frame) for frame in lanes.frames]
    assert "LSO = HW" in pictures[0] and "no records yet" in pictures[0]
    assert "marker at 3 is there, but HW 0 has not passed it" in pictures[1].replace("&#x27;", "'")
    assert "LSO 0 → 6" in pictures[2]
    assert "marker at 8 is there, but HW 8 has not passed it" in pictures[3].replace("&#x27;", "'")
    for words in ("aborted", "committed, marker above HW", "open", "producer 7 aborted 0–3, LSO then 4"):
        assert words in pictures[3]


def test_colour_is_not_the_only_signal(lanes):
    """Markers have letters, transactions words, open ones lines across, aborted ones a line through."""
    picture = render_lanes(lanes.frames[-1])
    assert ">A</text>" in picture and ">C</text>" in picture and "stroke-dasharray" in picture


def test_all_boxes_have_the_short_label_when_a_long_one_does_not_fit():
    batches = (LaneBatch(7, 64, 66, transactional=False), LaneBatch(7, 100, 102, transactional=False))
    frame = LaneFrame("two batches of three", 0, 103, 103, 103, batches, (), (), None)
    narrow, wide = render_lanes(frame, 64, 118), render_lanes(frame, 64, 102)
    assert ">64…</text>" in narrow and ">100…</text>" in narrow
    assert ">64–66</text>" in wide and ">100–102</text>" in wide


def test_the_lanes_play_like_every_piece(lanes):
    player = lanes.play()
    assert player.slider.value == len(player.frames) - 1 == 3
    player.slider.value = 2
    assert player.frame is lanes.frames[2]
    for html in player.pictures:
        picture = xml.dom.minidom.parseString(html).documentElement
        assert float(picture.getAttribute("width")) <= 900 and unreadable(html) == []
        assert picture.getElementsByTagName("title")[0].firstChild.data
    bundle = player._repr_mimebundle_()
    assert bundle["text/plain"] == str(player) and "<img" in bundle["text/html"] and "<svg" not in bundle["text/html"]


def test_a_producer_counts_its_records(log):
    producer = Producer(log, 7, epoch=2)
    assert [producer.send(3).first_offset, producer.send(2).first_offset] == [0, 3]
    assert producer.last == "2x1 pid=7 epoch=2 seq=3" and producer.send_again().first_offset == 3
    producer.next_sequence = 9
    with pytest.raises(OutOfOrderSequenceException):
        producer.send()


def test_a_fetch_brings_the_bytes_of_the_log(log):
    for count in (2, 3):
        log.append_as_leader(records(count, 1), 0)
    twin = fresh_log()
    twin.append_as_follower(fetched(log), 0)
    assert twin.active_segment.log.file.read_bytes()[: log.size] == log.active_segment.log.file.read_bytes()[: log.size]
    assert [batch.base_offset for batch in fetched(log, 2).batches()] == [2]


@pytest.mark.slow
def test_refusals_tell_step_and_leftovers():
    refusals = refused_appends()
    steps = [refusal.step for refusal in refusals]
    assert len(steps) == len(APPENDS) and steps == sorted(steps, key=lambda s: (int(s.rstrip("b")), s))
    assert refusals["OutOfOrderSequenceException"].left == ("leader epoch 1 from offset 9", "segment 9, 0 bytes")
    assert all(not refusal.left for refusal in refusals if refusal.step in ("2", "5", "5b"))
    assert not any("offset " in words and "→" in words for refusal in refusals for words in refusal.left)
    assert "object at" not in str(refusals) and "<table>" in refusals._repr_html_()


@pytest.mark.slow
def test_an_append_that_is_not_refused_is_an_error():
    with pytest.raises(AssertionError, match="was to be refused"):
        refuse("nothing", "append_as_leader [1x10]")
    with pytest.raises(AssertionError, match="no line before it"):
        refuse("too much", "append_as_leader [1x10 damage=crc]\nappend_as_leader [1x10 damage=crc]")


@pytest.mark.kafka
@pytest.mark.parametrize("wrong", APPENDS)
def test_apache_kafka_refuses_the_same_and_leaves_the_same(wrong, tmp_path, kafka):
    workload = Workload.parse(APPENDS[wrong])
    ours = run(workload, minikafka_log, tmp_path / "ours" / "lesson-0")
    theirs = run(workload, kafka_log(kafka), tmp_path / "theirs" / "lesson-0")
    assert theirs.value(len(workload) - 1, "error")
    agree(ours, theirs).check()


@pytest.mark.kafka
def test_apache_kafka_writes_a_batch_twice_where_the_lesson_says_so(tmp_path, kafka):
    """From a coordinator, and from a client whom the log has forgotten."""
    workload = Workload.parse("""
    append_as_leader [2x10 pid=7 epoch=0 seq=0]
    append_as_leader [2x10 pid=7 epoch=0 seq=0]
    tick 87000000
    append_as_leader [2x10 pid=7 epoch=0 seq=0]
    append_as_leader origin=coordinator [2x10 pid=8 epoch=0 seq=0]
    append_as_leader origin=coordinator [2x10 pid=8 epoch=0 seq=0]
    """)
    ours = run(workload, minikafka_log, tmp_path / "ours" / "lesson-0")
    theirs = run(workload, kafka_log(kafka), tmp_path / "theirs" / "lesson-0")
    assert theirs.column("log_end_offset") == [2, 2, 2, 4, 6, 8]
    agree(ours, theirs).check()


@pytest.mark.kafka
def test_apache_kafka_leaves_a_batch_as_it_came_where_the_lesson_says_so(tmp_path, kafka):
    """The codec stays, whatever its level; a marker is never compressed; only `uncompressed` unpacks."""
    appends = """
    append_as_leader [40x50 codec=gzip]
    append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
    """
    settings = ("gzip compression.gzip.level=9", "producer", "uncompressed")
    _agree_with_kafka(tmp_path, kafka, *(f"config compression.type={setting}{appends}" for setting in settings))


@pytest.mark.kafka
def test_apache_kafka_drops_records_without_keys_as_the_lesson_says(tmp_path, kafka):
    """A follower stores them without a look; the cleaner leaves of their batch the header alone."""
    [theirs] = _agree_with_kafka(
        tmp_path,
        kafka,
        """
        config cleanup.policy=compact
        append_as_follower [3x10]
        roll
        update_high_watermark leo
        clean
        """,
    )
    assert theirs.column("segments")[-1] == ((0, 61), (3, 0))


@pytest.mark.kafka
def test_apache_kafka_moves_the_recovery_point_when_the_lesson_says_so(tmp_path, kafka):
    [theirs] = _agree_with_kafka(
        tmp_path,
        kafka,
        """
        config flush.messages=5
        append_as_leader [2x10]
        append_as_leader [2x10]
        append_as_leader [2x10]
        append_as_leader [1x10]
        roll
        tick 0
        append_as_leader [1x10]
        flush force_flush_active_segment=true
        """,
    )
    assert theirs.column("recovery_point") == [0, 0, 6, 6, 6, 7, 7, 8]


@pytest.mark.kafka
def test_apache_kafka_fences_as_the_lesson_says(tmp_path, kafka):
    [theirs] = _agree_with_kafka(
        tmp_path,
        kafka,
        """
        append_as_leader [1x1 pid=7 epoch=0 seq=0 txn]
        append_as_leader origin=coordinator transaction_version=2 [commit pid=7 epoch=0]
        append_as_leader origin=coordinator transaction_version=2 [commit pid=7 epoch=1]
        append_as_leader origin=coordinator transaction_version=2 [commit pid=7 epoch=1]
        append_as_leader [1x1 pid=7 epoch=0 seq=1 txn]
        """,
    )
    refused = "InvalidProducerEpochException"
    assert theirs.column("error") == ["", refused, "", "", refused]


def _agree_with_kafka(tmp_path, kafka, *texts):
    """Kafka's tables of these workloads, after minikafka's have been found equal, and each byte on the disk."""
    tables = []
    for number, text in enumerate(texts):
        workload = Workload.parse(text)
        ours, theirs = (tmp_path / name / f"{number}" / "lesson-0" for name in ("ours", "theirs"))
        mine = run(workload, minikafka_log, ours)
        tables.append(run(workload, kafka_log(kafka), theirs))
        agree(mine, tables[-1]).check()
        assert directory_diff(ours, theirs).equal
    return tables


def test_answers_stand_side_by_side(log):
    one, two = log.append_as_leader(records(2, 1), 0), log.append_as_leader(records(3, 1), 0)
    table = str(side_by_side(the_first=one, the_second=two))
    assert table.split("\n")[0].split() == ["field", "the", "first", "the", "second"]
    assert "last_offset                 1" in table and "num_messages                2" in table


def test_the_leader_changes_offset_and_epoch_only(log):
    log.append_as_leader(records(1, 1), 0)
    batch = sent("3x10")
    original = bytes(batch.buffer)
    log.append_as_leader(batch, 5)
    table = changed_fields(original, batch.buffer)
    assert table.rows == [["baseOffset", "0", "1"], ["partitionLeaderEpoch", "-1", "5"]]
    assert changed_fields(original, original).rows == [["no field", "", ""]]
