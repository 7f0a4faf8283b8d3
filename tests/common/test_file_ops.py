"""The seam through which everything on disk is changed."""

import errno
import mmap
import os
import random
import socket
import threading
from contextlib import chdir

import pytest

from minikafka.common import file_ops
from minikafka.common.errors import IllegalArgumentException, NumberFormatException
from minikafka.common.java.java_numbers import parse_double, parse_int, parse_long
from minikafka.common.uuid import ONE_UUID, ZERO_UUID, random_uuid, uuid_from_string
from minikafka.record.files.file_channel import FileChannel
from minikafka.witness.kafka.kafka_errors import JavaException, kafka_errors


@pytest.fixture
def seen():
    """What the observer was told, as (operation, file name)."""
    effects = []
    with file_ops.observe(lambda operation, path: effects.append((operation, path.name))):
        yield effects
    assert {operation for operation, _ in effects} <= set(file_ops.KINDS)


def test_what_another_thread_does_is_not_told(tmp_path, seen):
    other = threading.Thread(target=file_ops.create_file_if_missing, args=(tmp_path / "other",))
    other.start()
    other.join()
    assert file_ops.create_file_if_missing(tmp_path / "own")
    assert seen == [("create", "own")]


def test_each_effect_is_seen_once_after_it_took_place(tmp_path, seen):
    file = tmp_path / "a"
    fd = file_ops.open_file(file)
    file_ops.preallocate(fd, 10)
    assert file_ops.write(fd, b"abc", 2) == 3
    file_ops.truncate(fd, 4)
    file_ops.fsync(fd)
    os.close(fd)
    os.close(file_ops.open_file(file, create=False))
    assert file.read_bytes() == b"\0\0ab"
    assert not file_ops.create_file_if_missing(file)
    file_ops.rename(file, tmp_path / "b")
    file_ops.atomic_move_with_fallback(tmp_path / "b", tmp_path / "c")
    assert file_ops.delete_if_exists(tmp_path / "c") and not file_ops.delete_if_exists(tmp_path / "c")
    file_ops.create_directories(tmp_path / "d" / "e")
    file_ops.create_directories(tmp_path / "d" / "e")
    assert file_ops.create_file_if_missing(tmp_path / "d" / "f")
    file_ops.delete_directory(tmp_path / "d")
    assert list(tmp_path.iterdir()) == []
    assert seen == [
        ("create", "a"),
        ("preallocate", "a"),
        ("write", "a"),
        ("truncate", "a"),
        ("fsync", "a"),
        ("rename", "b"),
        ("rename", "c"),
        ("flush_dir", tmp_path.name),
        ("delete", "c"),
        ("create_directory", "d"),
        ("create_directory", "e"),
        ("create", "f"),
        ("delete", "e"),
        ("delete", "f"),
        ("delete", "d"),
    ]


def test_blocks_for_a_mapped_file(tmp_path):
    class Full:
        def madvise(self, *_):
            raise OSError(errno.EFAULT, "Bad address")

    file = tmp_path / "a"
    file.write_bytes(bytes(8192))
    with pytest.raises(OSError, match=f"No space left on device: '{file}'"):
        file_ops.allocate(Full(), 0, 4096, file)
    with open(file, "r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapping:
        mapping[4096:] = b"x" * 4096
        file_ops.allocate(mapping, 0, 8192, file)
        assert mapping[:] == bytes(4096) + b"x" * 4096


def test_an_open_file_is_named_by_its_present_name(tmp_path, seen):
    fd = file_ops.open_file(tmp_path / "a")
    os.rename(tmp_path / "a", tmp_path / "b")
    file_ops.write(fd, b"x", 0)
    os.close(fd)
    assert seen[-1] == ("write", "b")


def test_an_observer_can_stop_an_operation_and_is_gone_afterwards(tmp_path):
    class Crash(BaseException):
        pass

    def crash(operation, path):
        raise Crash

    with pytest.raises(Crash), file_ops.observe(crash):
        file_ops.replace_file(tmp_path / "a", b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["a.tmp"]
    file_ops.replace_file(tmp_path / "a", b"y")
    assert (tmp_path / "a").read_bytes() == b"y"


def test_a_write_goes_on_until_all_is_written(tmp_path, monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: real(fd, bytes(data)[:3], position))
    fd = file_ops.open_file(tmp_path / "a")
    for data in (b"0123456789", memoryview(bytearray(b"abcdefg")), bytearray(b"hijk")):
        size = os.fstat(fd).st_size
        assert file_ops.write(fd, data, size) == len(data)
    os.close(fd)
    assert (tmp_path / "a").read_bytes() == b"0123456789abcdefghijk"


def test_errors_told_of_a_descriptor_name_its_file(tmp_path, monkeypatch):
    """The disk is full, or the device does not answer: for which file, the system does not say."""
    path = tmp_path / "0.log"
    path.write_bytes(b"x")
    read_only, write_only = os.open(path, os.O_RDONLY), FileChannel(os.open(path, os.O_WRONLY))

    def failing_device(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing_device)
    for fail in (
        lambda: file_ops.write(read_only, b"x", 0),
        lambda: file_ops.truncate(read_only, 0),
        lambda: file_ops.preallocate(read_only, 9),
        lambda: file_ops.fsync(read_only),
        lambda: write_only.read(0, 1),
        lambda: write_only.read_into(bytearray(1), 0),
    ):
        with pytest.raises(OSError, match=f"'{path}'"):
            fail()
    with pytest.raises(OSError, match=f"'{tmp_path}'"):
        file_ops.flush_dir(tmp_path)
    os.close(read_only)


def test_a_move_between_file_systems_copies(tmp_path, monkeypatch):
    def replace(source, target):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    (tmp_path / "a").write_bytes(b"x")
    monkeypatch.setattr(os, "replace", replace)
    seen = []
    with file_ops.observe(lambda operation, path: seen.append((operation, path.name))):
        file_ops.atomic_move_with_fallback(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"x" and not (tmp_path / "a").exists()
    assert seen == [("rename", "b"), ("flush_dir", tmp_path.name)]


def test_a_rename_between_open_directories_goes_to_no_other_that_has_got_their_names(tmp_path, seen):
    for name in ("one", "two", "mine"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "a").write_bytes(b"x")
    (tmp_path / "mine" / "a").write_bytes(b"mine")
    one, two = (os.open(tmp_path / name, os.O_RDONLY | os.O_DIRECTORY) for name in ("one", "two"))
    for name in ("one", "two"):
        (tmp_path / name).rename(tmp_path / f"{name}-away")
        (tmp_path / name).symlink_to("mine")
    file_ops.rename_between(one, tmp_path / "one" / "a", two, tmp_path / "two" / "b")
    os.close(one)
    os.close(two)
    assert (tmp_path / "two-away" / "b").read_bytes() == b"x"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["a"]
    assert seen == [("rename", "b")]


def test_what_is_missing(tmp_path):
    missing = tmp_path / "missing"
    for call in (
        lambda: file_ops.open_file(missing, create=False),
        lambda: file_ops.open_file(missing / "a"),
        lambda: file_ops.rename(missing, tmp_path / "b"),
        lambda: file_ops.atomic_move_with_fallback(missing, tmp_path / "b"),
        lambda: file_ops.flush_dir(missing),
    ):
        with pytest.raises(FileNotFoundError):
            call()
    file_ops.flush_dir_if_exists(missing)
    file_ops.flush_file_if_exists(missing)
    file_ops.delete_directory(missing)


def a_file(path):
    path.write_bytes(b"x")


def a_full_directory(path):
    (path / "below" / "empty").mkdir(parents=True)
    (path / "below" / "file").write_bytes(b"x")


def a_socket(path):
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)  # at most 107 bytes


def names_longer_than_any_path(path):
    """A directory that cannot be listed, whoever asks."""
    path.mkdir()
    above = os.open(path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=above)
        below = os.open("n" * 250, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)


def what_no_one_may_list(path):
    a_full_directory(path)
    (path / "below").chmod(0)


PRECIOUS = "../precious"
DELETED = {
    "nothing": lambda path: None,
    "a file": a_file,
    "a directory": a_full_directory,
    "a link to a directory": lambda path: path.symlink_to(PRECIOUS),
    "a link to a file": lambda path: path.symlink_to(f"{PRECIOUS}/file"),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a fifo": os.mkfifo,
    "a socket": a_socket,
    "names longer than any path": names_longer_than_any_path,
    "what no one may list": what_no_one_may_list,
}


@pytest.mark.parametrize("what", DELETED)
@pytest.mark.parametrize("inside", [False, True], ids=["itself", "in a directory"])
def test_a_deleted_directory_takes_nothing_with_it_that_its_links_lead_to(what, inside, tmp_path, kafka):
    """Beside Kafka, which is asked to delete the same: what is left is the same, and so is whether it failed."""

    def after(delete, home):
        a_full_directory(home / "precious")
        a_file(home / "precious" / "file")
        deleted = home / "t-1.0123456789abcdef0123456789abcdef-delete"
        if inside:
            deleted.mkdir()
            a_file(deleted / "a")
            a_file(deleted / "z")
        DELETED[what](deleted / "m" if inside else deleted)
        try:
            delete(deleted)
            failed = False
        except (OSError, JavaException):
            failed = True
        assert len([*(home / "precious").rglob("*")]) == 4
        return failed, os.path.lexists(deleted)

    def kafkas_delete(path):
        with kafka_errors():
            kafka.find_class("org.apache.kafka.common.utils.Utils").delete(kafka.file(path))

    (tmp_path / "ours").mkdir()
    (tmp_path / "kafka").mkdir()
    ours = after(file_ops.delete_directory, tmp_path / "ours")
    assert ours == after(kafkas_delete, tmp_path / "kafka")


def test_a_directory_that_cannot_be_listed_is_not_passed_over(tmp_path, monkeypatch):
    (tmp_path / "d" / "empty").mkdir(parents=True)
    opens = os.open

    def forbidden(path, flags, **options):
        if os.path.basename(path) == "empty":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opens(path, flags, **options)

    monkeypatch.setattr(os, "open", forbidden)
    with pytest.raises(PermissionError) as raised:
        file_ops.delete_directory(tmp_path / "d")
    assert raised.value.filename == str(tmp_path / "d" / "empty")
    assert (tmp_path / "d" / "empty").exists()


@pytest.mark.parametrize("moment", ["a", "empty"])
def test_a_link_that_takes_the_place_of_a_directory_meanwhile_leads_nowhere(tmp_path, moment):
    """Before anything in the directory `below` is deleted, and behind its first entry."""
    for name in ("precious", "d"):
        a_full_directory(tmp_path / name)
    (tmp_path / "d" / "above").mkdir()
    a_file(tmp_path / "d" / "above" / "a")
    below = tmp_path / "d" / "below"

    def replace(operation, path):
        if path.name == moment:
            below.rename(tmp_path / "moved")
            below.symlink_to("../precious/below")

    with file_ops.observe(replace):
        file_ops.delete_directory(tmp_path / "d")
    assert sorted(path.name for path in (tmp_path / "precious").rglob("*")) == ["below", "empty", "file"]
    assert not os.path.lexists(tmp_path / "d")


def test_links_are_deleted_and_told_of_in_the_order_of_names(tmp_path, seen):
    for name in ("precious", "d/c"):
        a_full_directory(tmp_path / name)
    (tmp_path / "d" / "b").symlink_to("../precious")
    (tmp_path / "d" / "a").symlink_to("nowhere")
    file_ops.delete_directory(tmp_path / "d")
    assert [name for operation, name in seen] == ["empty", "file", "below", "a", "b", "c", "d"]
    (tmp_path / "link").symlink_to("precious")
    file_ops.delete_directory(tmp_path / "link")
    assert seen[-1] == ("delete", "link")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["below", "empty", "file", "precious"]


NUMBERS = [
    "0",
    "-0",
    "+5",
    "-5",
    "",
    " 1",
    "1 ",
    "1_0",
    "٣",
    "2147483647",
    "2147483648",
    "-2147483648",
    "--1",
    "0x1",
    "1e3",
]
NUMBERS += ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "+", "-", "1.0", "1" * 5000, "²"]
NUMBERS += ["\U0001d7d0000", "1\U0001d7ce", "\uff10\uff17", "0" * 5000 + "5", "-" + "0" * 5000, "0" * 5000 + "1" * 20]
DOUBLES = [
    "1",
    " 1 ",
    "1.5e3",
    ".5",
    "5.",
    "1f",
    "1D",
    "NaN",
    "-Infinity",
    "inf",
    "nan",
    "1_0",
    "1e",
    "",
    " ",
    "1e999",
    "٣",
    "0x1p-1",
    " -0X.8p+1d",
    "0xA.p0f",
    "0x1.fffffffffffff8p3",
    "0x1.ffffffffffffffp1023",
    "-0x1p99999999999999999999",
    "0x1p-99999999999999999999",
    "0x1",
    "0x1.8",
    "0x.p1",
    "0xp1",
    "0x1p",
    "0x1p1x",
]


def test_numbers_are_read_as_java_reads_them(kafka):
    def outcome(call, text):
        try:
            with kafka_errors():
                return call(text)
        except NumberFormatException:
            return "refused"

    for text in NUMBERS:
        assert outcome(parse_int, text) == outcome(kafka.jvm.Integer.parseInt, text), text
        assert outcome(parse_long, text) == outcome(kafka.jvm.Long.parseLong, text), text
    for text in DOUBLES:
        assert str(outcome(parse_double, text)) == str(outcome(kafka.jvm.Double.parseDouble, text)), text


def test_uuids(kafka):
    java = kafka.jvm.org.apache.kafka.common.Uuid
    rng = random.Random(1)
    for text in [ZERO_UUID, ONE_UUID, *(random_uuid() for _ in range(20))]:
        assert uuid_from_string(text) == java.fromString(text).toString() == text
        other = text[:-1] + rng.choice("ABCDEFG_-")
        assert uuid_from_string(other) == java.fromString(other).toString()
    for text in ("", "A", "A" * 23, "A" * 25, "A" * 21, "A" * 21 + "+"):
        with pytest.raises(IllegalArgumentException):
            uuid_from_string(text)
        with pytest.raises(IllegalArgumentException), kafka_errors():
            java.fromString(text)


def test_the_pages_of_a_mapped_file_are_forced_down_and_a_failure_names_the_file(tmp_path):
    class Mapping:
        flushed = 0

        def flush(self):
            self.flushed += 1
            if self.flushed > 1:
                raise OSError(errno.EIO, "Input/output error")

    mapping = Mapping()
    file_ops.flush_mapped(mapping, tmp_path / "00000000000000000000.index")
    assert mapping.flushed == 1
    with pytest.raises(OSError, match="00000000000000000000.index"):
        file_ops.flush_mapped(mapping, tmp_path / "00000000000000000000.index")
