"""A workload's text form, its draw from a seed, its frames, and how it shrinks."""

import pytest

from minikafka.witness.log.batch import Batch
from minikafka.witness.log.draw import draw_workload
from minikafka.witness.log.offsets import At
from minikafka.witness.log.operations import KINDS, AppendAsLeader, Reopen, TruncateTo, parse_operation
from minikafka.witness.log.workload import Workload, WorkloadError

EVERYTHING = """\
config internal.segment.bytes=700 preallocate=true
start 1600000000000
isr 1,2
append_as_leader [1x10]
append_as_leader leader_epoch=2 [3x100 ts=now,now-5 codec=gzip data=7 pid=7 epoch=0 seq=0 txn] [1x20,null headers=2]
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0 coordinator_epoch=3]
append_as_leader
append_as_follower leader_epoch=5 [2x1 offset=leo+3 last=leo+9 leader_epoch=5] [1x1 damage=crc] [1x1 log_append_time]
tick 1000
fetch 1 leo-2
isr -
isr 2,3
update_high_watermark hw+1
maybe_update_high_watermark start
maybe_increment_high_watermark 17
roll leo
delete_old_segments
maybe_increment_log_start_offset active reason=segment_deletion
truncate_to lso-1
truncate_fully_and_start_at 10 log_start_offset=12
flush force_flush_active_segment=true
read 0 max_length=-1 isolation=txn_committed min_one_message=false
fetch_offset_by_timestamp now-100
fetch_offset_by_timestamp -3
count hw leo
consume start read_committed=true
assign_epoch_start_offset 6 leo
end_offset_for_epoch 5
take_producer_snapshot
checkpoint
update_config cleanup.policy=compact,delete retention.ms=-1
clean
reopen clean=false
reopen
"""


def test_the_text_form_is_exact():
    workload = Workload.parse(EVERYTHING)
    assert str(workload) == EVERYTHING
    assert Workload.parse(str(workload)) == workload
    assert {operation.kind for operation in workload} == set(KINDS)


def test_comments_blank_lines_and_order_of_fields_do_not_matter():
    workload = Workload.parse("# a comment\n\n  read min_one_message=false offset=3   # another\n")
    assert workload == Workload(("read 3 min_one_message=false",))


def test_a_workload_goes_through_a_file(tmp_path):
    workload = Workload.parse(EVERYTHING)
    workload.save(tmp_path / "workload.txt")
    assert Workload.load(tmp_path / "workload.txt") == workload


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("frobnicate 3", "'frobnicate' is no operation"),
        ("update_config compact", "'compact': update_config takes no more than 0 values without a name"),
        ("read", "read needs offset"),
        ("read x", "'x' is neither a number nor one of start"),
        ("read 3-4", "'3-4' is neither a number"),
        ("read 1 isolation=dirty", "'dirty' is none of log_end"),
        ("read 1 min_one_message=maybe", "'maybe' is neither true nor false"),
        ("read 1 depth=3", "read has no 'depth'"),
        ("read 1 offset=2", "offset is there twice"),
        ("tick 1 2", "tick takes no more than 1 values"),
        ("tick soon", "'soon' is not a number"),
        ("tick -1", "the clock moves forward only"),
        ("roll [1x1]", "roll takes no batches"),
        ("append_as_leader [1x1] leader_epoch=2", "the batches stand at the end"),
        ("append_as_leader [1x1", "the batches stand at the end"),
        ("append_as_leader []", "an empty batch"),
        ("append_as_leader [3y1]", "a batch begins with"),
        ("append_as_leader [0x1]", "a batch needs a record"),
        ("append_as_leader [1x1 pid=a]", "'pid=a' is not a value for pid"),
        ("append_as_leader [1x1 txn=yes]", "'txn=yes' is not a value for txn"),
        ("append_as_leader [1x1 colour=red]", "a batch has no 'colour'"),
        ("append_as_leader [1x1 codec=zip]", "codec='zip' is none of"),
        ("start 5", "start is there twice"),
        ("config a", "'a' is not of the form setting=value"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(line, complaint):
    with pytest.raises(WorkloadError) as error:
        Workload.parse(f"# first line\nstart 1\n{line}\n")
    assert str(error.value).startswith("line 3: ")
    assert complaint in str(error.value)


def test_the_header_stands_before_the_operations():
    with pytest.raises(WorkloadError, match="line 2: start stands before the operations"):
        Workload.parse("roll leo\nstart 5\n")


def test_offsets_are_resolved_against_the_log():
    assert At.of("leo-3").resolve({"leo": 10}) == 7
    assert At.of("17").resolve({}) == At.of(17).resolve({}) == 17
    assert At.of("-3").resolve({}) == -3
    assert (str(At.of("leo+0")), str(At.of("hw")), str(At.of("hw+2"))) == ("leo", "hw", "hw+2")
    for wrong in ("", "leo3", "leo-", "middle", "1.5", None, True):
        with pytest.raises(ValueError, match="neither a number"):
            At.of(wrong)


@pytest.mark.parametrize("follower", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_drawn_workload_is_the_same_each_time_and_survives_its_text(seed, follower):
    knobs = {
        "producers": seed % 4,
        "transactions": seed % 2 == 0,
        "epochs": True,
        "follower": follower,
        "unclean": True,
    }
    workload = draw_workload(seed, 60, **knobs)
    assert len(workload) == 60
    assert draw_workload(seed, 60, **knobs) == workload
    assert Workload.parse(str(workload)) == workload


def test_drawing_reaches_every_operation():
    drawn = {op.kind for seed in range(30) for op in draw_workload(seed, 60, producers=2, epochs=True, unclean=True)}
    drawn |= {op.kind for op in draw_workload(0, 60, follower=True)}
    assert drawn | {"clean", "update_config"} == set(KINDS)
    drawn |= {op.kind for op in draw_workload(0, 60, compaction=True)}
    assert drawn == set(KINDS)


def test_knobs_hold():
    plain = draw_workload(3, 300, reopen=False, settings={"retention.ms": -1})
    assert not any(isinstance(op, Reopen) for op in plain)
    assert plain.config["retention.ms"] == "-1"
    assert all(batch.pid in (-1, 7, 99) for _, op in plain.appends for batch in op.batches)
    assert all(op.clean for op in draw_workload(3, 300) if isinstance(op, Reopen))


def test_shrinking_keeps_only_what_fails():
    workload = draw_workload(5, 80) + ["truncate_to 3", "roll leo"]

    def fails(workload):
        return {TruncateTo, AppendAsLeader} <= set(map(type, workload)) and TruncateTo(3) in workload.operations

    smallest = workload.shrunk(fails)
    assert len(smallest) == 2
    assert fails(smallest)


def test_the_clock_moves_by_ticks():
    assert Workload(("tick 5", "roll leo", "tick 7", "roll leo"), start_ms=100).clock() == [100, 105, 105, 112]


def test_records_follow_from_the_description():
    batch = Batch(3, (5, None, 7), ts=("now", "now-4"), keys=2, data=1)
    assert batch.timestamps(100) == [100, 96, 96]
    assert batch.value_sizes == [5, None, 7]
    assert [batch.key(i) for i in range(3)] == [b"key-1", b"key-0", b"key-1"]
    assert [None if batch.value(i) is None else len(batch.value(i)) for i in range(3)] == [5, None, 7]
    assert batch.value(0) == Batch(3, 5, data=1).value(0) != Batch(3, 5, data=2).value(0)
    assert batch.max_timestamp(100) == 100


def test_the_size_of_a_batch_follows_from_the_format():
    """61 bytes of header; each record: length, attributes, deltas, key, value, headers, as variable-length numbers."""
    assert Batch(1, 10).size_in_bytes(0) == 61 + 1 + 1 + 1 + 1 + 1 + (1 + 10) + 1
    assert Batch(1, 100).size_in_bytes(0) == 61 + 2 + 1 + 1 + 1 + 1 + (2 + 100) + 1
    assert Batch(2, None, ts=("now", "now+64"), keys=1).size_in_bytes(0) == 61 + (1 + 3 + 6 + 1 + 1) + (
        1 + 4 + 6 + 1 + 1
    )
    assert Batch(1, 10, headers=1).size_in_bytes(0) == 78 + 1 + 2 + 1
    assert Batch(marker="commit", pid=1, epoch=0).size_in_bytes(0) == 78


def test_damage_shows(tmp_path):
    whole = Batch(2, 20).encode(0)
    assert len(Batch(2, 20, damage="torn").encode(0)) == len(whole) - 7
    assert Batch(2, 20, damage="magic").encode(0)[16] == 9
    assert Batch(2, 20, damage="count").encode(0)[57:61] == b"\0\0\0\3"
    assert Batch(2, 20, damage="crc").encode(0)[:-1] == whole[:-1] != Batch(2, 20, damage="count").encode(0)[:-1]


def test_every_operation_reads_its_own_line():
    for line in EVERYTHING.splitlines()[3:]:
        assert str(parse_operation(line)) == line


def test_shown_as_html():
    page = Workload.parse(EVERYTHING)._repr_html_()
    assert page.count("<tr>") == len(EVERYTHING.splitlines()) - 3 + 1
    assert "truncate_to lso-1" in page


@pytest.mark.parametrize(
    "text",
    [
        "[1x0]",
        "[3x100 keys=12]",
        "[70x63,64,null headers=3 keys=100]",
        "[2x10000 ts=now,now-5000000 pid=7 epoch=0 seq=3 txn]",
        "[300x1 log_append_time]",
    ],
)
def test_the_size_of_a_batch_follows_from_the_formats_rule(text):
    """61 bytes of header; of a record its length, attributes, deltas, key, value and headers, in zigzag varints."""

    def varint(number):
        zigzag = 2 * number if number >= 0 else -2 * number - 1
        return max((zigzag.bit_length() + 6) // 7, 1)

    def field(data):
        return varint(-1) if data is None else varint(len(data)) + len(data)

    batch, now, size = Batch.parse(text), 1_700_000_000_000, 61
    times = [at.resolve({"now": now}) for at in batch.ts]
    for i in range(batch.count):
        delta = 0 if batch.log_append_time else times[min(i, len(times) - 1)] - times[0]
        record = 1 + varint(delta) + varint(i) + field(batch.key(i)) + field(batch.value(i)) + varint(batch.headers)
        keys = ("h0", "h1", "größe 2")[: batch.headers]
        record += sum(field(key.encode()) + field(b"%d" % i if n else None) for n, key in enumerate(keys))
        size += varint(record) + record
    assert batch.size_in_bytes(now) == size


@pytest.mark.slow
@pytest.mark.parametrize("isr", [(), (1, 2)])
def test_a_workload_that_begins_with_a_change_of_the_isr_reads_back(isr):
    workload = Workload(("isr -", "isr 2", "append_as_leader [1x10]"), isr=isr)
    assert Workload.parse(str(workload)) == workload
