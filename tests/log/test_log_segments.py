"""The ordered map of segments, alone and beside Kafka's own."""

import random

import pytest

from minikafka.common.errors import IllegalArgumentException, NoSuchElementException
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import (
    filename_prefix_from_offset,
    is_index_file,
    is_log_file,
    log_file,
    offset_from_file,
    offset_from_file_name,
    producer_snapshot_file,
)
from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET_METADATA, LogOffsetMetadata
from minikafka.log.log_segment import LogSegment
from minikafka.log.log_segments import LogSegments, size_in_bytes
from minikafka.witness.kafka.kafka_errors import kafka_errors

TOPIC_PARTITION = TopicPartition("t", 0)


class Segment:
    """Stands for a segment: its base offset and a record of what was done to it."""

    def __init__(self, base_offset, size=10, failure=None):
        self.base_offset, self.size, self.failure = base_offset, size, failure
        self.closed = False

    def close(self):
        self.closed = True
        if self.failure:
            raise self.failure


@pytest.fixture
def segments():
    made = LogSegments(TOPIC_PARTITION)
    for base_offset in (20, 0, 10):
        made.add(Segment(base_offset))
    return made


def bases(found):
    return [segment.base_offset for segment in found]


def test_segments_are_ordered_whatever_the_order_of_adding(segments):
    assert segments.base_offsets == bases(segments.values()) == [0, 10, 20]
    assert (segments.first_segment.base_offset, segments.last_segment.base_offset) == (0, 20)
    assert segments.active_segment is segments.last_segment
    assert (segments.number_of_segments, segments.size_in_bytes) == (3, 30)


def test_neighbours(segments):
    assert [getattr(segments.floor_segment(o), "base_offset", None) for o in (-1, 0, 9, 10, 99)] == [None, 0, 0, 10, 20]
    assert [getattr(segments.lower_segment(o), "base_offset", None) for o in (0, 1, 10, 11)] == [None, 0, 0, 10]
    assert [getattr(segments.higher_segment(o), "base_offset", None) for o in (-1, 0, 19, 20)] == [0, 10, 20, None]
    assert bases(segments.higher_segments(0)) == [10, 20]
    assert segments.get(10).base_offset == 10 and segments.get(11) is None
    assert segments.contains(0) and not segments.contains(1)


def test_ranges_begin_with_the_segment_that_holds_the_first_offset(segments):
    assert bases(segments.values(5, 20)) == [0, 10]
    assert bases(segments.values(10, 21)) == [10, 20]
    assert bases(segments.values(-5, 1)) == [0]
    assert segments.values(7, 7) == []
    with pytest.raises(IllegalArgumentException, match="in t-0 from offset 8 which is greater than limit offset 7"):
        segments.values(8, 7)
    assert bases(segments.non_active_log_segments_from(12)) == [10]
    assert segments.non_active_log_segments_from(20) == []
    assert segments.non_active_log_segments_from(21) == []


def test_adding_a_base_again_replaces(segments):
    new = Segment(10, size=99)
    replaced = segments.add(new)
    assert (replaced.base_offset, replaced.size) == (10, 10)
    assert segments.get(10) is new and segments.number_of_segments == 3
    assert segments.add(Segment(30)) is None


def test_removing(segments):
    segments.remove(20)
    segments.remove(21)
    assert segments.base_offsets == [0, 10] and segments.active_segment.base_offset == 10
    segments.clear()
    assert segments.is_empty and not segments.non_empty
    assert (segments.first_segment, segments.last_segment, segments.floor_segment(5)) == (None, None, None)
    with pytest.raises(NoSuchElementException):
        _ = segments.active_segment


def test_what_was_returned_does_not_change(segments):
    values, offsets = segments.values(), segments.base_offsets
    segments.remove(0)
    assert bases(values) == offsets == [0, 10, 20]


def test_all_are_closed_though_one_fails():
    segments = LogSegments(TOPIC_PARTITION)
    for n in range(3):
        segments.add(Segment(n, failure=OSError(str(n)) if n else None))
    with pytest.raises(OSError, match="1"):
        segments.close()
    assert all(segment.closed for segment in segments.values())


def test_filtering_and_summing(segments):
    assert bases(segments.filter(lambda segment: segment.base_offset > 5)) == [10, 20]
    assert size_in_bytes(segments.values(0, 20)) == 20


@pytest.mark.parametrize("seed", range(3))
def test_they_go_with_kafkas(kafka, tmp_path, seed):
    rng = random.Random(seed)
    (tmp_path / "minikafka").mkdir()
    (tmp_path / "kafka").mkdir()
    ours = LogSegments(TOPIC_PARTITION)
    theirs = kafka.log_class("LogSegments")(kafka.jvm.org.apache.kafka.common.TopicPartition(*TOPIC_PARTITION))
    java_open, java_time = kafka.log_class("LogSegment").open, kafka.jvm.org.apache.kafka.common.utils.Time.SYSTEM
    java_config = kafka.log_class("LogConfig")(kafka.properties({}))

    def same(our_call, their_call):
        ours, theirs = outcome(our_call), outcome(their_call)
        if hasattr(theirs, "getClass"):
            if theirs.getClass().getSimpleName() == "Optional":
                theirs = theirs.get().baseOffset() if theirs.isPresent() else None
            else:
                theirs = [segment.baseOffset() for segment in theirs.toArray()]
        ours = bases(ours) if isinstance(ours, list) else getattr(ours, "base_offset", ours)
        assert ours == theirs

    for _ in range(80):
        base, to = rng.randrange(40), rng.randrange(40)
        if rng.random() < 0.6:
            ours.add(LogSegment.open(tmp_path / "minikafka", base, LogConfig(), ManualTime()))
            theirs.add(java_open(kafka.file(tmp_path / "kafka"), base, java_config, java_time, 0, False))
        else:
            ours.remove(base)
            theirs.remove(base)
        assert ours.base_offsets == list(theirs.baseOffsets())
        for name in ("floor_segment", "lower_segment", "higher_segment", "higher_segments", "get", "contains"):
            java = getattr(theirs, name.split("_")[0] + "".join(map(str.capitalize, name.split("_")[1:])))
            same(lambda n=name: getattr(ours, n)(to), lambda j=java: j(to))
        same(lambda: ours.values(base, to), lambda: theirs.values(base, to))
        if ours.non_empty:
            same(lambda: ours.non_active_log_segments_from(to), lambda: theirs.nonActiveLogSegmentsFrom(to))
    ours.close_handlers()
    theirs.closeHandlers()


# The small values that segments are handled with


def test_names_of_files(kafka, tmp_path):
    java = kafka.log_class("LogFileUtils")
    for offset in (0, 7, 2**31, 2**63 - 1, -1):
        assert filename_prefix_from_offset(offset) == java.filenamePrefixFromOffset(offset)
    assert str(log_file(tmp_path, 5, ".swap")) == java.logFile(kafka.file(tmp_path), 5, ".swap").getPath()
    assert producer_snapshot_file(tmp_path, 5).name == "00000000000000000005.snapshot"
    assert offset_from_file(tmp_path / "00000000000000000042.log.deleted") == 42
    for name in ("x.log", ".log", "9223372036854775808.log"):
        with pytest.raises(IllegalArgumentException) as ours:
            offset_from_file_name(name)
        with pytest.raises(type(ours.value)), kafka_errors():
            java.offsetFromFileName(name)
    with pytest.raises(IllegalArgumentException, match="no dot"):
        offset_from_file_name("42")
    for name in ("0.log", "0.log.swap", "0.index", "0.timeindex", "0.txnindex", "0.snapshot", "0.index.deleted"):
        file = tmp_path / name
        assert is_log_file(file) == java.isLogFile(kafka.file(file))
        assert is_index_file(file) == java.isIndexFile(kafka.file(file))


def test_offset_metadata_goes_with_kafkas(kafka):
    java_class = kafka.log_class("LogOffsetMetadata")
    values = [(5, -1, -1), (5, 0, 0), (5, 0, 100), (9, 0, 40), (3, 7, 10), (-1, -1, -1), (4, -1, 3)]

    for one in values:
        ours, theirs = LogOffsetMetadata(*one), java_class(*one)
        assert (str(ours), ours.message_offset_only) == (theirs.toString(), theirs.messageOffsetOnly())
        for other in values:
            that, java_that = LogOffsetMetadata(*other), java_class(*other)
            assert ours.on_older_segment(that) == theirs.onOlderSegment(java_that)
            assert ours.on_same_segment(that) == theirs.onSameSegment(java_that)
            assert (ours == that) == theirs.equals(java_that)
            difference = outcome(lambda a=ours, b=that: a.position_diff(b))
            assert difference == outcome(lambda a=theirs, b=java_that: a.positionDiff(b))
    assert LogOffsetMetadata(-1) == UNKNOWN_OFFSET_METADATA


def test_who_may_read_how_far(kafka):
    java = kafka.jvm.org.apache.kafka.server.storage.log.FetchIsolation
    levels = kafka.jvm.org.apache.kafka.common.IsolationLevel
    for replica_id in (-3, -2, -1, 0, 5):
        for committed, level in ((True, levels.READ_COMMITTED), (False, levels.READ_UNCOMMITTED)):
            assert FetchIsolation.of(replica_id, committed).name == java.of(replica_id, level).toString()


def outcome(call):
    try:
        with kafka_errors():
            return call()
    except Exception as error:
        return type(error).__name__, str(error)
