"""What compaction makes of a log, byte for byte as Apache Kafka's own `Cleaner` makes it."""

import pytest

from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import Header, SimpleRecord
from minikafka.record.legacy.legacy_record import message_bytes

COMPACT = {"cleanup__policy": "compact", "min__cleanable__dirty__ratio": 0.01, "delete__retention__ms": 5000}
CLOSE = "roll", "update_high_watermark leo"  # so that all of it can be cleaned


@pytest.fixture
def compacted(two_live_logs):
    """`compacted(*lines, **settings)`: a pair of compacted logs to which `lines` were done."""

    def make(*lines, name="topic-0", **settings):
        logs = two_live_logs(name, **{**COMPACT, **settings})
        for line in lines:
            logs.observe(line)
        logs.compare()
        return logs

    return make


def append_raw(logs, data: bytes) -> None:
    """A follower's append of bytes, to both logs."""
    for runner in logs.runners:
        runner.log.append_as_follower(MemoryRecords.readable_records(bytearray(data)), 0)
    logs.compare()


def test_of_each_key_the_latest_record_stays(compacted, two_cleaners):
    logs = compacted(*(f"append_as_leader [3x60 keys=4 data={n}]" for n in range(12)), "update_high_watermark leo")
    cleaners = two_cleaners(logs)
    turn = cleaners.turn()
    assert turn.grabbed == "topic-0" and not turn.error
    assert turn.stats[2] < turn.stats[0]
    logs.do("append_as_leader [3x60 keys=4]", *CLOSE)
    assert cleaners.turn().end_offset > turn.end_offset
    assert not cleaners.turn().grabbed


def test_tombstones_go_after_their_horizon(compacted, two_cleaners):
    logs = compacted(
        "append_as_leader [4x20 keys=4]",
        "append_as_leader [2xnull keys=2 headers=1]",
        "append_as_leader [3xnull,5,null keys=3 data=2]",
        *CLOSE,
    )
    cleaners = two_cleaners(logs)
    assert cleaners.turn().stats[2] == 4
    for ms in (4999, 1, 1):
        logs.do(f"tick {ms}", "append_as_leader [1x5 keys=1 data=9]", *CLOSE)
        cleaners.turn()
    assert contents_of(logs) == [b"key-0", b"key-3"]  # key-0 was written last by the appends above


def contents_of(logs) -> list[bytes]:
    """The keys that are left below the active segment."""
    segments = logs.minikafka.log.log_segments[:-1]
    return sorted(record.key for segment in segments for record in segment.log.to_memory_records().records())


def test_a_tombstone_that_is_overwritten_goes_at_once(compacted, two_cleaners):
    logs = compacted("append_as_leader [1xnull keys=1]", "append_as_leader [1x5 keys=1]", *CLOSE)
    assert two_cleaners(logs).turn().stats[2] == 1


def marker(decision: str, pid: int, version: int = 0, epoch: int = 0) -> str:
    """The line that ends a transaction; since version 2 of transactions the marker bumps the epoch."""
    return (
        f"append_as_leader origin=coordinator transaction_version={version} [{decision} pid={pid}"
        f" epoch={epoch + version // 2}]"
    )


@pytest.mark.parametrize("version", [0, 2])
def test_transactions_and_their_markers(compacted, two_cleaners, version):
    logs = compacted(
        "append_as_leader [3x20 keys=3 pid=1 epoch=0 seq=0 txn]",
        "append_as_leader [3x20 keys=3 pid=2 epoch=0 seq=0 txn data=5]",
        marker("commit", 1, version),
        "append_as_leader [2x20 keys=3 data=1]",
        marker("abort", 2, version),
        "append_as_leader [3x20 keys=3 data=8]",
        f"append_as_leader [2x20 keys=2 pid=2 epoch={version // 2} seq={0 if version else 3} txn data=7]",
        *CLOSE,
    )
    cleaners = two_cleaners(logs)
    cleaners.turn()
    logs.do(marker("commit", 2, version, version // 2), "append_as_leader [6x20 keys=6]", *CLOSE)
    for _ in range(4):
        cleaners.turn()
        logs.do("tick 2600", "append_as_leader [6x20 keys=6]", *CLOSE)
    assert not any(cleaners.turn().error for _ in range(2))


def test_a_producers_last_batch_stays_without_records(compacted, two_cleaners):
    logs = compacted(
        "append_as_leader [2x20 keys=2 pid=7 epoch=0 seq=0]",
        "append_as_leader [2x20 keys=2 pid=7 epoch=0 seq=2]",
        "append_as_leader [1x20 keys=2 pid=8 epoch=3 seq=0]",
        "append_as_leader [2x20 keys=2]",
        *CLOSE,
    )
    cleaners = two_cleaners(logs)
    cleaners.turn()
    counts = [batch.count_or_none for s in logs.minikafka.log.log_segments for batch in s.log.batches()]
    assert counts == [0, 0, 2]
    logs.do("append_as_leader [1x20 keys=2 pid=7 epoch=0 seq=4]", *CLOSE)
    cleaners.turn()
    assert len([batch for s in logs.minikafka.log.log_segments for batch in s.log.batches()]) == 3


def test_the_last_batch_of_what_is_cleaned_stays_without_records(compacted, two_cleaners):
    logs = compacted("append_as_leader [3x20 keys=3]", "roll", "append_as_leader [3x20 keys=3]", "roll")
    logs.do("update_high_watermark 3")
    cleaners = two_cleaners(logs)
    cleaners.turn()
    logs.do("update_high_watermark leo")
    cleaners.turns(2)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_are_compressed_anew(compacted, two_cleaners, codec):
    logs = compacted(
        *(f"append_as_leader [{n % 4 + 1}x120,null,80 keys=5 codec={codec} data={n}]" for n in range(9)), *CLOSE
    )
    cleaners = two_cleaners(logs)
    for _ in range(3):
        cleaners.turn()
        logs.do("tick 6000", f"append_as_leader [2x50 keys=2 codec={codec}]", *CLOSE)


def test_log_append_time(compacted, two_cleaners):
    logs = compacted(
        "append_as_leader [4x20 keys=2]",
        "tick 10",
        "append_as_leader [3x20,null keys=3 codec=gzip]",
        "tick 10",
        "append_as_leader [3x20,null keys=3 data=1]",
        *CLOSE,
        message__timestamp__type="LogAppendTime",
    )
    cleaners = two_cleaners(logs)
    for _ in range(3):
        cleaners.turn()
        logs.do("tick 6000", "append_as_leader [1x20 keys=1]", *CLOSE)


def test_timestamps_that_go_back_and_forth(compacted, two_cleaners):
    logs = compacted(
        "append_as_leader [4x20 ts=100,now,5000,1 keys=4]",
        "append_as_leader [4x20,null ts=now,-1,-1,7 keys=3]",
        "append_as_leader [2x20 ts=-1 keys=2 data=2]",
        *CLOSE,
        message__timestamp__after__max__ms=2**63 - 1,
    )
    cleaners = two_cleaners(logs)
    cleaners.turn()
    logs.do("append_as_leader [2x20 ts=-1 keys=2]", *CLOSE)
    cleaners.turn()


def test_small_segments_are_put_together(compacted, two_cleaners):
    logs = compacted(
        *(f"append_as_leader [2x100 keys=3 data={n}]" for n in range(30)), *CLOSE, internal__segment__bytes=400
    )
    cleaners = two_cleaners(logs)
    before = len(logs.minikafka.log.log_segments)
    cleaners.turn()
    logs.do("append_as_leader [1x10 keys=5]", *CLOSE)
    cleaners.turn()
    assert len(logs.minikafka.log.log_segments) < before / 2
    logs.do("tick 60000")  # the old files are deleted


@pytest.mark.parametrize("slots", [4, 9, 30])
def test_a_map_that_fills_ends_the_cleaning_inside_of_a_batch(compacted, two_cleaners, slots):
    logs = compacted(*(f"append_as_leader [5x40 keys=13 data={n * 5}]" for n in range(14)), *CLOSE)
    cleaners = two_cleaners(logs, memory=24 * slots, io=300)
    ends = [cleaners.turn().end_offset for _ in range(6)]
    assert len(set(ends)) > 1


@pytest.mark.parametrize("io", [70, 200, 1000])
def test_buffers_grow_for_large_batches_and_shrink_again(compacted, two_cleaners, io):
    logs = compacted(
        *(f"append_as_leader [{n % 3 + 1}x{100 * (n % 4) + 5} keys=3 data={n}]" for n in range(12)), *CLOSE
    )
    assert not two_cleaners(logs, io=io, max_io=io).turn().error


def test_a_batch_beyond_all_limits(compacted, two_cleaners):
    logs = compacted(
        "append_as_leader [1x900 keys=1]", "append_as_leader [1x90 keys=1]", *CLOSE, internal__segment__bytes=5000
    )
    cleaners = two_cleaners(logs, io=70, max_io=80)
    cleaners.configure(max__message__bytes=100)
    assert not cleaners.turn().error


def test_tiny_indexes(compacted, two_cleaners):
    """Segments are put together by the entries of their indexes; but the one that they become has one more entry for
    each of them, for which there may be no room. Kafka then gives up.
    """
    logs = compacted(segment__index__bytes=36, index__interval__bytes=10, internal__segment__bytes=5000)
    for number in range(0, 12, 2):
        logs.do(
            f"append_as_leader [1x90 keys=50 data={number} ts=now+{number}]",
            f"append_as_leader [1x90 keys=50 data={number + 1} ts=now+{number + 1}]",
            *CLOSE,
        )
    cleaners = two_cleaners(logs)
    turn = cleaners.turn()
    assert "IllegalArgumentException" in turn.error
    assert not cleaners.turn().grabbed


def test_gaps_between_offsets(compacted, two_cleaners):
    logs = compacted(
        "append_as_follower [2x20 keys=2 offset=10]",
        "append_as_follower [2x20 keys=2 offset=1000 last=2000]",
        "roll 5000",
        "append_as_follower [2x20 keys=2 offset=9000]",
        *CLOSE,
    )
    cleaners = two_cleaners(logs)
    assert cleaners.turn().end_offset == 9002


def test_offsets_that_do_not_fit_one_segment(compacted, two_cleaners):
    logs = compacted(
        "append_as_follower [2x20 keys=2 offset=10]",
        "roll",
        f"append_as_follower [2x20 keys=2 offset={2**31}]",
        "roll",
        f"append_as_follower [2x20 keys=2 offset={2**31 + 100}]",
        *CLOSE,
    )
    two_cleaners(logs).turns(2)


def test_a_segment_whose_offsets_overflow_is_split(compacted, two_cleaners):
    """Nothing that Kafka has appended since 2.0 does, but a clean load does not look for it."""
    logs = compacted("append_as_follower [2x20 keys=2 offset=10]", "append_as_follower [3x20 keys=3 offset=12]")
    far = 2**31 + 100
    logs.observe("reopen clean=true")
    logs.kill()

    def stretch(directory):
        """The second batch lies far behind the first, which no append would allow."""
        file = directory / "00000000000000000000.log"
        data = bytearray(file.read_bytes())
        start = int.from_bytes(data[8:12], "big") + 12
        data[start : start + 8] = far.to_bytes(8, "big")
        file.write_bytes(data)

    logs.change(stretch)
    logs.observe("reopen clean=true")
    logs.do(f"append_as_follower [1x20 keys=1 offset={far + 10}]", *CLOSE)
    cleaners = two_cleaners(logs)
    assert "LogCleaningAbortedException" in cleaners.turn().error
    assert [segment.base_offset for segment in logs.minikafka.log.log_segments][:2] == [10, far]


def test_preallocated_segments(compacted, two_cleaners):
    logs = compacted(*(f"append_as_leader [3x60 keys=4 data={n}]" for n in range(12)), *CLOSE, preallocate="true")
    two_cleaners(logs).turn()


def message(magic: int, offset: int, key: bytes | None, value: bytes | None) -> bytes:
    """A record of an old format, which is a batch of its own."""
    body = message_bytes(magic, 1000 + offset, key, value)
    return offset.to_bytes(8, "big") + len(body).to_bytes(4, "big") + body


def test_batches_of_the_old_formats(compacted, two_cleaners):
    logs = compacted()
    append_raw(logs, message(0, 0, b"a", b"old") + message(0, 1, b"b", None))
    append_raw(logs, message(1, 2, b"a", b"new") + message(1, 3, b"c", b"x") + message(1, 4, b"d", None))
    logs.do("roll")
    append_raw(logs, message(1, 5, None, b"no key") + message(1, 6, b"b", b"y"))
    logs.do(*CLOSE)
    cleaners = two_cleaners(logs)
    assert cleaners.turn().stats[6] == 1
    logs.do("tick 100000")
    append_raw(logs, message(1, 7, b"a", b"y"))
    logs.do(*CLOSE)
    cleaners.turns(2)


@pytest.mark.parametrize(("retention_ms", "stays"), [(2999, False), (3000, False), (3001, True)])
def test_a_tombstone_of_the_old_formats_goes_by_its_files_age(compacted, two_cleaners, retention_ms, stays):
    """It counts how much older its file is than the last one that is clean: here, 3 s."""
    logs = compacted(delete__retention__ms=retention_ms)
    for data in (
        message(1, 0, b"a", None) + message(1, 2, b"b", b"1"),
        message(1, 3, b"c", b"1"),
        message(1, 4, b"d", b"1"),
    ):
        append_raw(logs, data)
        logs.do("roll")
    logs.do("update_high_watermark leo")
    cleaners = two_cleaners(logs)
    logs.change(lambda directory: (directory.parent / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 0 4\n"))
    cleaners.turn()
    assert (b"a" in contents_of(logs)) == stays


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_compressed_batches_of_the_old_formats(compacted, two_cleaners, magic, codec):
    logs = compacted()
    for base in (0, 3):
        records = [SimpleRecord(base, key, value) for key, value in ((b"a", b"1"), (b"b", None), (b"c", b"%d" % base))]
        batch = MemoryRecords.with_records(Compression.of(codec), *records, magic=magic, initial_offset=base)
        append_raw(logs, bytes(batch.buffer))
    logs.do(*CLOSE)
    cleaners = two_cleaners(logs)
    assert cleaners.turn().stats[2] == 3


def test_records_without_key(two_live_logs, two_cleaners):
    """They come from a time when the topic was not compacted."""
    logs = two_live_logs(**{**COMPACT, "cleanup__policy": "delete"})
    logs.do("append_as_leader [3x20]", "append_as_leader [4x20 keys=3]", "append_as_leader [1x20]", *CLOSE)
    cleaners = two_cleaners(logs)
    assert not cleaners.turn().grabbed
    cleaners.configure(cleanup__policy="compact")
    assert cleaners.turn().stats[6] == 4


def test_headers_of_all_kinds(compacted, two_cleaners):
    logs = compacted()
    odd = "h\u00e4\ud800\U0001f600"
    records = [
        SimpleRecord(5, b"a", b"1", (Header("x", b"y"), Header("", None), Header(odd, b""))),
        SimpleRecord(6, b"b", b"2", ()),
        SimpleRecord(7, b"a", b"3", (Header("x" * 200, b"z" * 200),)),
        SimpleRecord(8, b"c", None, (Header(odd, b"q"),)),
    ]
    append_raw(logs, bytes(MemoryRecords.with_records(Compression.NONE, *records, partition_leader_epoch=0).buffer))
    later = MemoryRecords.with_records(Compression.NONE, *records[:2], initial_offset=4, partition_leader_epoch=0)
    append_raw(logs, bytes(later.buffer))
    logs.do(*CLOSE)
    two_cleaners(logs).turn()


@pytest.mark.parametrize("where", [*range(0, 61, 3), *range(61, 160, 11)])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_damaged_batches(compacted, two_cleaners, where, batch):
    logs = compacted(
        "append_as_leader [3x20 keys=3 pid=1 epoch=0 seq=0]",
        "append_as_leader [3x20 keys=3 codec=gzip]",
        "append_as_leader [3x20 keys=3]",
        "append_as_leader [3x20 keys=3 pid=3 epoch=0 seq=0 txn]",
        marker("abort", 3, version=2),
        *CLOSE,
        internal__segment__bytes=5000,
    )
    position = [b.position for b in logs.minikafka.log.log_segments[0].log.batches()][batch] + where

    def flip(directory):
        with open(directory / "00000000000000000000.log", "r+b") as file:
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 0x41]))

    logs.change(flip)
    two_cleaners(logs).turns(2)


def test_the_first_dirty_offset_is_reset(compacted, two_cleaners):
    logs = compacted(*(f"append_as_leader [3x60 keys=4 data={n}]" for n in range(12)), *CLOSE)
    cleaners = two_cleaners(logs)
    for checkpoint in ("0\n1\ntopic 0 7\n", "0\n2\ntopic 0 777\nother 3 4\n", "", "1\n0\n", "0\n1\nword\n"):
        logs.change(lambda d: (d.parent / "cleaner-offset-checkpoint").write_text(checkpoint))
        cleaners.turn()
        logs.do("append_as_leader [3x60 keys=4]", *CLOSE)
    logs.do("maybe_increment_log_start_offset 20")
    logs.change(lambda d: (d.parent / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 0 7\n"))
    cleaners.turns(2)


def test_young_and_late_records(compacted, two_cleaners):
    logs = compacted(min__compaction__lag__ms=1000, max__compaction__lag__ms=4000, min__cleanable__dirty__ratio=0.9)
    cleaners = two_cleaners(logs)
    for number in range(12):
        logs.do(f"append_as_leader [3x60 keys=4 data={number}]", "roll", "update_high_watermark leo", "tick 700")
        cleaners.turn()


def test_compacted_logs_delete_segments_too(compacted, two_cleaners):
    logs = compacted(
        *(f"append_as_leader [3x60 keys=4 data={n}]" for n in range(12)),
        *CLOSE,
        cleanup__policy="compact,delete",
        retention__ms=3000,
    )
    cleaners = two_cleaners(logs)
    cleaners.turn()
    logs.do("tick 4000", "append_as_leader [3x60 keys=4]", *CLOSE)
    assert cleaners.turn().deleted[0][1] > 0
    logs.do("maybe_increment_log_start_offset leo")
    cleaners.configure(cleanup__policy="compact")
    cleaners.turns(2)


def test_nothing_above_the_high_watermark_or_an_open_transaction(compacted, two_cleaners):
    logs = compacted(*(f"append_as_leader [3x60 keys=4 data={n}]" for n in range(6)))
    cleaners = two_cleaners(logs)
    logs.do("append_as_leader [1x20 keys=2 pid=1 epoch=0 seq=0 txn]")
    for mark in (0, 5, 9, "leo"):
        logs.do(f"update_high_watermark {mark}", "roll")
        cleaners.turn()
    for number in range(6):
        logs.do(f"append_as_leader [3x60 keys=4 data={number}]", *CLOSE)
    cleaners.turns(2)


def test_throttling(compacted, two_cleaners):
    logs = compacted(*(f"append_as_leader [3x60 keys=4 data={n}]" for n in range(12)), *CLOSE)
    cleaners = two_cleaners(logs, io=400, bytes_per_second=1000.0)
    for side in (cleaners.ours, cleaners.theirs):
        side.time.sleep(301)  # the clock does not move by itself, and the rate is looked at after 300 ms
    before = cleaners.ours.time.milliseconds()
    cleaners.turn()
    assert cleaners.ours.time.milliseconds() == before + 99
