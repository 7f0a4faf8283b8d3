"""`minikafka dump-log` prints what Kafka's own tool prints: every kind of file, option, codec and damage."""

import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from minikafka.log.index.offset_index import OffsetIndex
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import Header, SimpleRecord
from tests.golden.places import MIXED

ROOT = Path(__file__).parents[2]
ORDERS = ROOT / "notebooks/data/orders-0"
CODECS = [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4, CompressionType.ZSTD]


@pytest.fixture
def same(kafkas_dump, our_dump):
    """Dumps with both tools, which must print the same; where Kafka's dies, minikafka adds one line to stderr."""

    def dump(*arguments: str):
        theirs, ours = kafkas_dump(*arguments), our_dump(*arguments)
        assert ours.stdout.splitlines(keepends=True) == theirs.stdout.splitlines(keepends=True), arguments
        assert ours.failed == theirs.failed, (arguments, ours.stderr)
        if theirs.failed:
            assert ours.stderr.startswith(theirs.stderr)
            assert ours.stderr.count("\n") == theirs.stderr.count("\n") + 1, ours.stderr
        else:
            assert ours.stderr == theirs.stderr, arguments
        return ours

    return dump


def records(count: int, offset: int) -> list[SimpleRecord]:
    return [
        SimpleRecord(
            1_000_000 + 7 * (offset + i),
            None if i % 3 == 0 else f"schlüssel-{i}".encode(),
            None if i % 5 == 4 else random.Random(offset + i).randbytes(i * 3),
            (Header("h", b"1"), Header("ключ", None))[: i % 3],
        )
        for i in range(count)
    ]


def every_kind_of_batch() -> bytes:
    """Each codec, idempotent and transactional batches, markers, and a batch with a gap before it."""
    data, offset = bytearray(), 100
    for codec in CODECS:
        batch = MemoryRecords.with_records(codec, *records(7, offset), initial_offset=offset)
        data += batch.buffer
        offset += 7
    data += MemoryRecords.with_idempotent_records(
        CompressionType.NONE, 9, 1, 4, *records(2, offset), initial_offset=offset
    ).buffer
    offset += 2
    data += MemoryRecords.with_transactional_records(
        CompressionType.NONE, 9, 2, 0, *records(1, offset), initial_offset=offset
    ).buffer
    for control_type in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        offset += 1
        marker = EndTransactionMarker(control_type, 3)
        data += MemoryRecords.with_end_transaction_marker(2_000_000, 9, 2, marker, initial_offset=offset).buffer
    data += MemoryRecords.with_records(CompressionType.NONE, *records(3, 500), initial_offset=500).buffer
    data += with_delete_horizon(600).buffer
    return bytes(data)


def with_delete_horizon(base_offset: int) -> MemoryRecords:
    """A batch as the cleaner leaves it when it first meets a tombstone."""
    builder = MemoryRecordsBuilder(CompressionType.NONE, base_offset=base_offset, delete_horizon_ms=86_400_000)
    builder.append_with_offset(base_offset, 1_000_000, b"k", None)
    return builder.build()


@pytest.fixture
def log_file(tmp_path) -> Path:
    file = tmp_path / "00000000000000000100.log"
    file.write_bytes(every_kind_of_batch())
    return file


def test_the_line_of_a_batch(our_dump, tmp_path):
    file = tmp_path / "00000000000000000600.log"
    file.write_bytes(with_delete_horizon(600).buffer)
    line = our_dump("--files", str(file)).stdout.decode().splitlines()[-1]
    assert re.sub(r"crc: \d+", "crc: …", line) == (
        "baseOffset: 600 lastOffset: 600 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1"
        " partitionLeaderEpoch: -1 isTransactional: false isControl: false deleteHorizonMs: OptionalLong[86400000]"
        " position: 0 CreateTime: 1000000 size: 72 magic: 2 compresscodec: none crc: … isvalid: true"
    )


@pytest.mark.parametrize("directory", [MIXED, ORDERS], ids=lambda d: d.name)
@pytest.mark.parametrize("options", [[], ["--print-data-log"], ["--verify-index-only"], ["--index-sanity-check"]])
def test_a_brokers_files(same, directory, options):
    for file in sorted(directory.glob("*.*")):
        assert same("--files", str(file), *options).stdout.startswith(b"Dumping ")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--deep-iteration"],
        ["--print-data-log"],
        ["--print-data-log", "--skip-record-metadata"],
        ["--deep-iteration", "--skip-record-metadata"],
        ["--max-bytes", "600"],
        ["--max-bytes=0"],
        ["--max-bytes", "-1"],
    ],
    ids=" ".join,
)
def test_every_kind_of_batch(same, log_file, options):
    assert same("--files", str(log_file), *options).stdout.startswith(b"Dumping")


def test_damaged_batches_print_the_same_up_to_the_damage(same, log_file):
    sound = log_file.read_bytes()
    draw = random.Random(4)
    failed = 0
    for _ in range(150):
        damaged = bytearray(sound)
        for _ in range(draw.choice((1, 1, 3))):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        if draw.random() < 0.2:
            del damaged[draw.randrange(len(damaged)) :]
        log_file.write_bytes(damaged)
        failed += same("--files", str(log_file), "--print-data-log").failed
    assert 20 < failed < 140


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_damaged_indexes(same, tmp_path, suffix):
    directory = tmp_path / "orders-0"
    shutil.copytree(ORDERS, directory)
    file = directory / f"{0:020d}{suffix}"
    sound = file.read_bytes()
    assert sound
    draw = random.Random(5)
    for case in range(60):
        damaged = bytearray(sound)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        damaged += bytes(draw.choice((0, 0, 24, 48)))
        file.write_bytes(damaged)
        option = ["--index-sanity-check"] if case % 4 == 0 else []
        same("--files", f"{file},{directory}/{15:020d}{suffix}", *option)


def test_what_is_not_there_or_not_known(same, tmp_path):
    for name in ("x.log", "5.log", "noSuffix", "a.checkpoint.txt", "7.index", "7.timeindex", "7.txnindex", ".log"):
        same("--files", str(tmp_path / name))
    (tmp_path / "3.log").write_bytes(b"")
    (tmp_path / "3.index").write_bytes(b"")
    (tmp_path / "3.timeindex").write_bytes(b"")
    (tmp_path / "3.snapshot").write_bytes(b"")
    for suffix in ("log", "index", "timeindex", "snapshot"):
        same("--files", f"{tmp_path}//3.{suffix}/")
    (tmp_path / "4.log").mkdir()
    same("--files", str(tmp_path / "4.log"))


def test_a_missing_index_is_not_made(our_dump, tmp_path):
    (tmp_path / "3.log").write_bytes(b"")
    assert our_dump("--files", str(tmp_path / "3.index")).failed
    assert [file.name for file in tmp_path.iterdir()] == ["3.log"]


def test_options_that_are_not_built_are_refused_by_name(our_dump):
    for option in ("--value-decoder-class=x", "--key-decoder-class"):
        refused = our_dump("--files", "0.log", option)
        assert refused.failed and option.partition("=")[0] in refused.stderr and not refused.stdout


def test_checkpoint_files_are_printed_an_entry_a_line(our_dump, tmp_path):
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 17\n")
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\nsome-topic 4 99\n")
    file = tmp_path / "leader-epoch-checkpoint"
    printed = our_dump("--files", f"{file},{tmp_path}/recovery-point-offset-checkpoint").stdout.decode().splitlines()
    assert printed[:3] == [f"Dumping {file}", "epoch: 0 startOffset: 0", "epoch: 3 startOffset: 17"]
    assert printed[4:] == ["topic: some-topic partition: 4 offset: 99"]
    file.write_text("0\n5\n0 0\n")
    broken = our_dump("--files", str(file))
    assert broken.failed and broken.stderr.startswith("KafkaStorageException: ")
    missing = our_dump("--files", str(tmp_path / "cleaner-offset-checkpoint"))
    assert missing.failed and missing.stderr.startswith("NoSuchFileException: ")


def test_timestamps_below_none(same, tmp_path):
    record = SimpleRecord(5, b"k", b"v")
    log = bytearray(MemoryRecords.with_records(CompressionType.NONE, record, initial_offset=3).buffer)
    log[27:35] = (-5).to_bytes(8, "big", signed=True)  # damaged: no writer takes such a timestamp
    (tmp_path / "3.log").write_bytes(log)
    (tmp_path / "3.index").write_bytes(b"")
    for timestamp in (-5, -1, 7):
        (tmp_path / "3.timeindex").write_bytes(timestamp.to_bytes(8, "big", signed=True) + bytes(4))
        same("--files", str(tmp_path / "3.timeindex"))


def test_numbers_are_read_as_javas_and_only_when_they_are_used(same, tmp_path):
    files = [str(tmp_path / name) for name in ("5.log", "5.index", "5.timeindex", "5.snapshot")]
    for file in files:
        Path(file).write_bytes(b"")
    for number in ("99999999999", "2147483648", "-2147483648", "+7", " 7", "", "x", "1_0", "٧"):
        for option in ("--max-bytes", "--max-message-size"):
            for file in files[:2]:
                same("--files", file, f"{option}={number}")
    same("--files", files[0], "--max-bytes", "1", "--max-bytes", "2")
    same("--files", files[0], "--files", files[0])
    same("--files", files[3], "--max-bytes", "x")


def test_how_options_may_be_written(same, log_file):
    same("-files", str(log_file), "-max-bytes", "300", "--deep-iteration=false")
    same(f"--files={log_file}", "word", "--skip-record-metadata=x", "-deep-iteration", "--", "more")
    for names in ("", ",", ",,,", f",{log_file}", f"{log_file},,{log_file},,"):
        same("--files", names)


def test_a_path_is_told_as_it_was_given(same, our_dump, log_file, monkeypatch):
    directory, name = log_file.parent, log_file.name
    for path in (f"{directory}/./{name}", f"{directory}//../{directory.name}/./{name}"):
        assert "/./" in same("--files", path, "--deep-iteration").stderr
    monkeypatch.chdir(directory)
    ours = our_dump("--files", f"./{name}", "--deep-iteration")
    assert ours.stderr.startswith(f"Non-consecutive offsets in {directory}/./{name}\n")


def test_a_record_whose_value_cannot_be_read_is_told_up_to_there(same, tmp_path):
    """Old formats: the sizes are told before key and value are read, so the line breaks off after them."""
    for magic, header in ((0, 18), (1, 26)):
        builder = MemoryRecordsBuilder(Compression(CompressionType.NONE), magic=magic)
        builder.append(1_000 if magic else -1, b"key", b"value")
        for position, size in (
            (header, 5000),
            (header + 7, 5000),
            (header + 7, 2**31 - 1),
            (header, -7),
            (header + 7, -7),
        ):
            log = bytearray(builder.build().buffer)
            log[position : position + 4] = size.to_bytes(4, "big", signed=True)
            (tmp_path / "0.log").write_bytes(log)
            for options in (["--print-data-log"], ["--print-data-log", "--skip-record-metadata"], ["--deep-iteration"]):
                same("--files", str(tmp_path / "0.log"), *options)


def test_findings_of_many_files_are_told_in_the_order_of_kafkas_map(same, tmp_path):
    """A HashMap filled by computeIfAbsent: what meets others in its bucket comes before them."""
    for offset in range(1, 61):
        batch = MemoryRecords.with_records(CompressionType.NONE, *records(1, offset), initial_offset=offset)
        (tmp_path / f"{offset:020d}.log").write_bytes(batch.buffer)
        (tmp_path / f"{offset:020d}.index").write_bytes(bytes([0, 0, 0, 9, 0, 0, 0, 0]))
        (tmp_path / f"{offset:020d}.timeindex").write_bytes(bytes(7) + b"\1" + bytes(3) + b"\1")
    for count in (5, 12, 13, 24, 25, 60):
        for suffix in ("log", "index", "timeindex"):
            files = ",".join(str(tmp_path / f"{offset:020d}.{suffix}") for offset in range(1, count + 1))
            told = same("--files", files, "--deep-iteration").stderr
            assert count == len([line for line in told.splitlines() if str(tmp_path) in line])


# ---- what is no file, what is too much, and what changes meanwhile


def test_pipes_devices_and_directories_are_not_opened(our_dump, tmp_path):
    for name in ("00000000000000000001.log", "00000000000000000001.snapshot", "leader-epoch-checkpoint"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "00000000000000000002.snapshot").symlink_to("/dev/zero")
    (tmp_path / "00000000000000000002.log").symlink_to("/dev/zero")
    (tmp_path / "00000000000000000003.txnindex").mkdir()
    (tmp_path / "00000000000000000004.index").symlink_to("00000000000000000004.index")
    shutil.copy(ORDERS / "00000000000000000000.log", tmp_path / "00000000000000000004.log")
    files = [file for file in sorted(tmp_path.iterdir()) if file.name != "00000000000000000004.log"]
    for file in files:
        dump = our_dump("--files", str(file))
        assert dump.failed and dump.stderr.startswith(f"IOException: {file} is "), dump
        assert dump.stderr.count("\n") == 1


def test_a_file_under_a_file_is_not_called_missing(our_dump, log_file):
    for name in ("leader-epoch-checkpoint", "00000000000000000001.log", "00000000000000000001.snapshot"):
        dump = our_dump("--files", f"{log_file}/{name}")
        assert dump.failed and dump.stderr == f"IOException: Not a directory: {log_file}/{name}\n"


def zeros(size: int) -> MemoryRecords:
    return MemoryRecords.with_records(CompressionType.ZSTD, SimpleRecord(5, None, bytes(size)))


def test_records_are_printed_up_to_a_limit(our_dump, tmp_path):
    file = tmp_path / "00000000000000000000.log"
    first = MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, b"k", b"v"))
    file.write_bytes(bytes(first.buffer) + bytes(zeros(3_000_000).buffer))
    assert our_dump("--files", str(file), "--max-decompressed-bytes", "1000000").failed is False
    dump = our_dump("--files", str(file), "--deep-iteration", "--max-decompressed-bytes", "1000000")
    assert dump.failed and dump.stdout.count(b"\n") == 5
    assert dump.stderr == (
        "RecordTooLargeException: The records decompress to more than 1000000 bytes, which is the most that is handed"
        f" out: the batch at position {first.size_in_bytes} of {file}, offset 0\n"
    )
    assert not our_dump("--files", str(file), "--deep-iteration", "--max-decompressed-bytes=3000100").failed
    dump = our_dump("--files", str(file), "--deep-iteration", "--max-decompressed-bytes", "many")
    assert dump.stderr == "IllegalArgumentException: Cannot parse argument 'many' of option max-decompressed-bytes\n"


@pytest.mark.slow
def test_too_little_memory_is_one_line_that_names_the_file(tmp_path):
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(zeros(400_000_000).buffer)
    run = limited(f"ulimit -v 300000; minikafka dump-log --print-data-log --files {file}")
    assert (run.returncode, run.stderr) == (1, f"OutOfMemoryError: there is not enough memory: {file}\n")
    run = limited(f"ulimit -v 300000; minikafka dump-log --files {file}")
    assert (run.returncode, run.stderr) == (0, "") and "isvalid: true" in run.stdout


@pytest.mark.slow
def test_eight_descriptors_are_enough(tmp_path):
    names = ",".join([str(MIXED / "00000000000000000046.timeindex")] * 20)
    run = limited(f"ulimit -n 8; minikafka dump-log --files {names}")
    assert (run.returncode, run.stderr) == (0, "") and run.stdout.count("Dumping") == 20


def limited(line: str) -> subprocess.CompletedProcess:
    line = line.replace("minikafka ", f"'{sys.executable}' -m minikafka ")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, timeout=60)


def test_an_index_that_is_cut_while_it_is_read_ends_no_process(tmp_path):
    file = tmp_path / "00000000000000000000.index"
    file.write_bytes(b"".join((n * 10).to_bytes(4, "big") + (n * 100).to_bytes(4, "big") for n in range(5000)))
    index = OffsetIndex(file, 0, -1, writable=False)
    os.truncate(file, 0)
    assert index.entry(4999).position == 499_900 and index.lookup(49_000).position == 490_000


def test_a_transaction_index_is_opened_for_reading_only(our_dump, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("minikafka.common.file_ops.open_file", refuse)
    dump = our_dump("--files", str(MIXED / "00000000000000000052.txnindex"))
    assert not dump.failed and b"producerId" in dump.stdout


@pytest.mark.slow
def test_a_time_index_reads_the_log_once_and_keeps_no_batch(our_dump, tmp_path):
    """2,000 batches, each with an entry in both indexes: quick, and the same findings as before."""
    batches = [
        bytes(
            MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(n, None, b"x" * 50), initial_offset=n).buffer
        )
        for n in range(2000)
    ]
    size = len(batches[0])
    (tmp_path / "00000000000000000000.log").write_bytes(b"".join(batches))
    entries = range(1, 2000)
    index = b"".join(n.to_bytes(4, "big") + (n * size).to_bytes(4, "big") for n in entries)
    (tmp_path / "00000000000000000000.index").write_bytes(index)
    time_index = b"".join(n.to_bytes(8, "big") + n.to_bytes(4, "big") for n in entries)
    (tmp_path / "00000000000000000000.timeindex").write_bytes(time_index)
    dump = our_dump("--files", str(tmp_path / "00000000000000000000.timeindex"))
    assert (dump.stderr, dump.failed) == ("", False) and dump.stdout.count(b"\n") == 2000


def test_a_header_that_cannot_be_read_matters_only_to_the_entries_behind_it(same, tmp_path):
    batches = [
        bytearray(MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(n, b"k"), initial_offset=n).buffer)
        for n in range(2)
    ]
    batches[1][8:12] = (14).to_bytes(4, "big")  # says that the batch ends within its own header
    (tmp_path / "0.log").write_bytes(batches[0] + batches[1][:26])
    (tmp_path / "0.index").write_bytes(b"")
    entries = [n.to_bytes(8, "big") + n.to_bytes(4, "big") for n in range(2)]
    (tmp_path / "0.timeindex").write_bytes(entries[0])
    assert not same("--files", str(tmp_path / "0.timeindex")).failed
    (tmp_path / "0.timeindex").write_bytes(b"".join(entries))
    assert same("--files", str(tmp_path / "0.timeindex")).failed


def test_offsets_at_the_end_of_all_offsets(same, tmp_path):
    """A long that overflows is negative: an index of such a segment is damaged, and the next offset is the smallest."""
    last = 2**63 - 1
    batches = [
        MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(n, b"k"), initial_offset=n).buffer
        for n in range(2)
    ]
    batches[0][:8], batches[1][:8] = last.to_bytes(8, "big"), (-(2**63)).to_bytes(8, "big", signed=True)
    (tmp_path / f"{last}.log").write_bytes(b"".join(batches))
    (tmp_path / f"{last}.index").write_bytes((1).to_bytes(4, "big") + (68).to_bytes(4, "big"))
    (tmp_path / f"{last}.timeindex").write_bytes((7).to_bytes(8, "big") + (1).to_bytes(4, "big"))
    for suffix in (".index", ".timeindex"):
        assert same("--files", str(tmp_path / f"{last}{suffix}"), "--index-sanity-check").failed
    assert f"{last} is followed by" not in same("--files", str(tmp_path / f"{last}.log"), "--deep-iteration").stderr


def test_an_old_message_with_an_impossible_key_is_told_as_kafka_tells_it(same, tmp_path):
    """A valid CRC, attributes "gzip", a key of 2^30 bytes, and 8 bytes behind that size."""
    body = struct.pack(">bbi", 0, 1, 2**30) + bytes(8)
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body)
    for options in ([], ["--deep-iteration"], ["--print-data-log"]):
        dump = same("--files", str(file), *options)
        assert dump.failed == bool(options)
        assert not options or dump.stderr.startswith("IndexOutOfBoundsException: ")


@pytest.mark.parametrize("options", [[], ["--print-data-log"], ["--index-sanity-check"]], ids=str)
def test_a_directory_stands_for_its_files_in_order(our_dump, kafkas_dump, options):
    """Kafka's tool takes no directory; named one by one, the files give the same lines there."""
    offsets = sorted({file.name[:20] for file in MIXED.glob("0*.*")})
    suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    files = [MIXED / f"{offset}{suffix}" for offset in offsets for suffix in suffixes]
    named = ",".join(str(file) for file in files if file.exists())
    dump = our_dump("--files", str(MIXED), *options)
    assert dump == our_dump("--files", named, *options) == kafkas_dump("--files", named, *options)


def test_a_directory_of_nothing_that_can_be_dumped(our_dump, tmp_path):
    (tmp_path / "notes").write_text("x")
    dump = our_dump("--files", str(tmp_path))
    assert dump.failed and dump.stderr == f"IOException: {tmp_path} is a directory without a file that can be dumped\n"
