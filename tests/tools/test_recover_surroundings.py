"""`minikafka recover` where the system refuses something: it ends with one line, and nothing of the log is cut."""

import errno
import gc
import os
import resource
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.log.directory_lock import DirectoryLock
from minikafka.record.files.file_channel import FileChannel
from minikafka.tools import broker_user
from minikafka.tools.recover import before_recovery
from minikafka.witness.directory_diff import directory_diff
from tests.absent import absent
from tests.golden.places import GOLDEN

WHOLE = ("--yes", "--unclean-shutdown", "--recovery-point", "0", "--now-ms", "1795240760000")
FIRST_LOG = f"{0:020d}.log"
NOBODY = 65534


@pytest.fixture
def directory(tmp_path) -> Path:
    """A sound partition; there is no `.lock` beside it."""
    shutil.copytree(GOLDEN / "mixed-0", tmp_path / "mixed-0")
    return tmp_path / "mixed-0"


@pytest.fixture(scope="module")
def recovered(tmp_path_factory) -> Path:
    """What a recovery of all of it leaves."""
    shutil.copytree(GOLDEN / "mixed-0", directory := tmp_path_factory.mktemp("recovered") / "mixed-0")
    assert recover(directory, *WHOLE) == (0, [])
    return directory


def lay_anew(directory: Path) -> None:
    shutil.rmtree(directory)
    shutil.copytree(GOLDEN / "mixed-0", directory)


def recover(directory: Path, *options: str) -> tuple[int, list[str]]:
    """The exit code, and the lines on stderr."""
    result = CliRunner().invoke(main, ["recover", str(directory), *options], catch_exceptions=False)
    return result.exit_code, result.stderr.splitlines()


def refused(directory: Path, *options: str) -> str:
    """The one line of a run that ends with exit code 1 and changes no file."""
    before = state_of(directory)
    code, lines = recover(directory, *(options or WHOLE))
    assert (code, len(lines)) == (1, 1), lines
    assert state_of(directory) == before
    return lines[0]


def state_of(directory: Path) -> dict:
    """Names, kinds, sizes and contents."""
    return {
        entry.name: (entry.lstat().st_mode, entry.read_bytes() if stat.S_ISREG(entry.lstat().st_mode) else None)
        for entry in directory.iterdir()
    }


def recover_in_child(directory: Path, *options: str, prepare) -> tuple[int, list[str]]:
    """As `recover`, in a forked process that `prepare()` has limited and that has no file open but the standard
    three.
    """
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            code = 99
            try:
                gc.disable()  # what belongs to the parent is not for the child to clear away
                for descriptor in (1, 2):
                    os.dup2(output.fileno(), descriptor)
                os.closerange(3, 10_000)
                sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
                prepare()
                main.main(["recover", str(directory), *options])
            except SystemExit as end:
                code = end.code or 0
            finally:
                sys.stdout.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode().splitlines()


# What lies in the directory


@pytest.mark.parametrize("name", [FIRST_LOG, f"{46:020d}.index", f"{64:020d}.snapshot", "leader-epoch-checkpoint"])
def test_a_link_is_followed_on_demand_only(directory, recovered, name):
    target = directory.parent / "elsewhere"
    os.rename(directory / name, target)
    (directory / name).symlink_to(target)
    before = target.read_bytes()
    assert f"{directory / name} is a symbolic link to {target}" in refused(directory)
    assert "is a symbolic link" in refused(directory, "--dry-run")
    assert target.read_bytes() == before
    assert recover(directory, *WHOLE, "--follow-links") == (0, [])
    directory_diff(directory, recovered).require()


def test_the_directory_itself_may_be_a_link(directory, recovered):
    link = directory.parent / "linked" / directory.name
    link.parent.mkdir()
    link.symlink_to(directory)
    assert recover(link, *WHOLE)[0] == 1 and recover(link, "--dry-run", *WHOLE)[0] == 0
    assert recover(link, *WHOLE, "--follow-links") == (0, [])
    directory_diff(directory, recovered).require()


@pytest.mark.parametrize(
    "options", [WHOLE, ("--dry-run",), (*WHOLE, "--follow-links"), ("--dry-run", "--follow-links")]
)
@pytest.mark.parametrize("make", ["a FIFO", "a directory", "a link to a device", "a link to nowhere"])
def test_what_is_no_file_is_refused(directory, make, options):
    file = directory / f"{64:020d}.log"
    file.unlink()
    if make == "a FIFO":
        os.mkfifo(file)
    elif make == "a directory":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero" if make == "a link to a device" else "nowhere")
    assert str(file) in refused(directory, *options)


@pytest.mark.parametrize("name", [".lock", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"])
def test_a_pipe_beside_the_directory_is_refused(directory, name):
    os.mkfifo(directory.parent / name)
    assert f"{directory.parent / name} is a FIFO" in refused(directory)


def test_a_file_with_a_second_name_is_refused(directory, recovered):
    os.link(directory / FIRST_LOG, directory.parent / "backup")
    assert f"{directory / FIRST_LOG} has another name" in refused(directory)
    assert recover(directory, "--dry-run")[0] == 0
    assert recover(directory, *WHOLE, "--follow-links") == (0, [])
    directory_diff(directory, recovered).require()


# Consent


@pytest.mark.parametrize("options", [(), ("--unclean-shutdown", "--follow-links")])
def test_nothing_is_changed_unasked(directory, options):
    before = state_of(directory)
    (told,) = (lines := recover(directory, *options))[1]
    assert lines[0] == 1 and "--yes" in told and "--dry-run" in told
    assert state_of(directory) == before


def test_a_setting_that_kafka_does_not_know_is_told(directory):
    code, lines = recover(directory, "--dry-run", "--config", "segment.byte=1", "--config", "retention.ms=1")
    assert (code, lines) == (0, ["Warning: Unknown topic config name: segment.byte"])


# Limits of the process and of the system


@pytest.mark.slow
def test_descriptors_suffice_or_nothing_is_changed(directory, recovered, tmp_path):
    """`ulimit -n 13` once emptied sound segments."""
    worked = []
    for limit in range(3, 41):
        if worked:
            lay_anew(directory)
        before = state_of(directory)
        code, lines = recover_in_child(
            directory, *WHOLE, prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        )
        if code == 0:
            directory_diff(directory, recovered).require()
            worked.append(limit)
        else:
            assert code == 1 and len(lines) == 1, lines
            assert str(directory) in lines[0] or "Too many open files" in lines[0]
            assert state_of(directory) == before
            assert not worked, "fewer were enough before"
    assert worked


@pytest.mark.slow
def test_a_soft_limit_is_raised(directory, recovered):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    code, lines = recover_in_child(
        directory, *WHOLE, prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (13, most))
    )
    assert code == 0, lines
    directory_diff(directory, recovered).require()


def test_a_limit_on_the_size_of_files(directory):
    before = state_of(directory)
    code, lines = recover_in_child(
        directory, *WHOLE, prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    )
    assert code == 1 and lines == [f"IOException: File too large: {directory}"]
    assert state_of(directory) == before


def test_a_full_disk(directory, monkeypatch):
    def no_room(_descriptor, _offset, _length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for name in f"{0:020d}.index", f"{46:020d}.timeindex":
        (directory / name).unlink()
    monkeypatch.setattr(os, "posix_fallocate", no_room)
    assert refused(directory) == f"IOException: No space left on device: {directory}"


def test_no_room_for_a_copy(directory, monkeypatch):
    monkeypatch.setattr(before_recovery.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
    assert "No space left on device: a copy of" in refused(directory, "--dry-run")


@pytest.mark.parametrize("what", ["directory", "file"])
def test_without_the_right_to_write(what):
    with tempfile.TemporaryDirectory() as above:
        directory = Path(above) / "mixed-0"
        shutil.copytree(GOLDEN / "mixed-0", directory)
        before = state_of(directory)
        if os.getuid() == 0:
            for path in (Path(above), directory, *directory.iterdir()):
                os.chown(path, NOBODY, NOBODY)
        os.chmod(directory if what == "directory" else directory / FIRST_LOG, 0o555)
        code, lines = recover_in_child(
            directory, *WHOLE, prepare=lambda: os.setuid(NOBODY) if os.getuid() == 0 else None
        )
        os.chmod(directory, 0o755)
        assert code == 1 and len(lines) == 1, lines
        assert lines[0].startswith(f"IOException: Permission denied: {directory}")
        assert {name: content for name, (_, content) in state_of(directory).items()} == {
            name: content for name, (_, content) in before.items()
        }


def test_another_user_than_the_brokers_is_refused():
    """Its broker could not open what that user makes. Root leaves it to the broker's: `test_killed_in_place`."""
    if os.getuid() != 0:
        absent("only root can become another user")
    with tempfile.TemporaryDirectory() as above:
        directory = Path(above) / "mixed-0"
        shutil.copytree(GOLDEN / "mixed-0", directory)
        for path in (Path(above), directory, *directory.iterdir()):
            path.chmod(0o777)
        before = state_of(directory)
        code, lines = recover_in_child(directory, *WHOLE, prepare=lambda: os.setuid(NOBODY))
        assert (code, lines) == (
            1,
            [
                f"IOException: {directory} belongs to user 0, whose broker could not open what user {NOBODY} makes "
                "there: run this as that user"
            ],
        )
        assert state_of(directory) == before and os.listdir(above) == ["mixed-0"]


def test_a_file_system_that_gives_files_an_owner_itself_is_no_hindrance(tmp_path, monkeypatch):
    monkeypatch.setattr(broker_user.os, "geteuid", lambda: os.getuid() + 1)
    broker_user.require_files_for_owner(tmp_path)


@pytest.mark.parametrize("kind", ["a second name", "a link"])
def test_nothing_is_left_to_a_broker_that_may_be_a_strangers(tmp_path, kind):
    if os.getuid() != 0:
        absent("only root can give a directory away")
    file, other, link = tmp_path / "secret", tmp_path / "a" / "00.log", tmp_path / "a"
    file.touch()
    link.mkdir()
    (os.link if kind == "a second name" else os.symlink)(file, other)
    os.chown(link, NOBODY, NOBODY)
    broker_user.leave_to_owner(link, [other])
    assert file.stat().st_uid == 0 and other.lstat().st_uid == 0


def test_a_disk_that_cannot_be_read(directory, monkeypatch):
    preadv = os.preadv

    def unreadable(descriptor, buffers, position, *flags):
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(f"{46:020d}.log"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return preadv(descriptor, buffers, position, *flags)

    monkeypatch.setattr(before_recovery, "preadv", unreadable)
    assert refused(directory) == f"IOException: Input/output error: {directory / f'{46:020d}.log'}"


def test_a_batch_that_does_not_fit_into_memory(directory, monkeypatch):
    read = FileChannel.read

    def short_of_memory(channel, position, size):
        if size > 1 << 20:
            raise MemoryError
        return read(channel, position, size)

    monkeypatch.setattr(FileChannel, "read", short_of_memory)
    with open(directory / FIRST_LOG, "r+b") as log:
        log.seek(8)
        log.write((2 << 20).to_bytes(4, "big"))
        log.truncate(3 << 20)
    code, lines = recover(directory, *WHOLE)
    assert (code, lines) == (1, [f"OutOfMemoryError: there is not enough memory: {directory / FIRST_LOG}"])
    assert (directory / FIRST_LOG).stat().st_size == 3 << 20


def failing(module: ModuleType, name: str, number: int, code: int, failed: list):
    """The module's function, which fails at its call of that `number` (from 0); `open` names the file then."""
    original, calls = getattr(module, name), iter(range(1 << 20))

    def fail_once(*arguments, **options):
        if next(calls) == number:
            failed.append(number)
            raise OSError(code, os.strerror(code), *(map(str, arguments[:1]) if name == "open" else ()))
        return original(*arguments, **options)

    return fail_once


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "code"),
    [
        (os, "open", errno.EMFILE),
        (before_recovery, "preadv", errno.EIO),
        (os, "pwrite", errno.ENOSPC),
        (os, "ftruncate", errno.EIO),
    ],
)
def test_whichever_call_fails_no_batch_is_lost(directory, recovered, monkeypatch, module, name, code):
    """An error that comes half way ends the run; the next one does what this one would have done."""
    logs = {file: file.stat().st_size for file in directory.glob("*.log")}
    for number in range(0, 1 << 20, 3):
        failed = []
        with monkeypatch.context() as patched:
            patched.setattr(module, name, failing(module, name, number, code, failed))
            exit_code, lines = recover(directory, *WHOLE)
        if not failed:
            break
        if exit_code == 0:  # there was another way
            directory_diff(directory, recovered).require()
            lay_anew(directory)
            continue
        named = any(str(place) in lines[0] for place in (directory.parent, tempfile.gettempdir()))
        assert exit_code == 1 and len(lines) == 1 and named, (number, lines)
        assert {file: file.stat().st_size for file in directory.glob("*.log")} == logs
        assert recover(directory, *WHOLE) == (0, [])
        directory_diff(directory, recovered).require()
        lay_anew(directory)
    assert number > 5


# Others at work


@pytest.mark.slow
def test_two_at_once(directory):
    with DirectoryLock(directory):
        for options in (WHOLE, ("--dry-run",)):
            assert str(directory) in (told := refused(directory, *options)) and "in use" in told
    assert recover(directory, *WHOLE) == (0, [])


@pytest.mark.parametrize(
    "name",
    [
        "00000000000000000046.index",
        "00000000000000000046.timeindex",
        "00000000000000000000.log",
        "00000000000000000046.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "00000000000000000046.index.swap",
    ],
)
@pytest.mark.parametrize("command", ["recover", "recover --dry-run", "clean"])
def test_a_file_longer_than_any_of_its_kind_is_not_read(directory, name, command):
    with open(directory / name, "ab") as file:
        file.truncate(1 << 40)
    before = {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}
    result = CliRunner().invoke(main, [*command.split(), "--yes", str(directory)], catch_exceptions=False)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"IOException: {directory / name} is not read: it has {1 << 40} bytes")
    assert {path.name: path.stat().st_mtime_ns for path in directory.iterdir()} == before


@pytest.mark.parametrize("name", ["00000000000000000000.log.deleted", "notes.tar"])
def test_a_long_file_that_no_load_reads_is_in_nobodys_way(directory, name):
    with open(directory / name, "ab") as file:
        file.truncate(1 << 40)
    assert recover(directory, *WHOLE) == (0, [])


@pytest.mark.parametrize("command", ["recover", "clean"])
@pytest.mark.parametrize("answer", ["n\n", "\n", ""], ids=["no", "nothing", "end of input"])
def test_without_a_yes_nothing_is_changed(directory, monkeypatch, command, answer):
    def disk_state():
        return {path: path.stat().st_mtime_ns for path in directory.parent.rglob("*")}

    before = disk_state()
    with CliRunner().isolation(input=answer) as (_, told, _):
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        with pytest.raises(SystemExit) as ended:
            main([command, str(directory)])
        assert ended.value.code == 1 and b"[y/N]" in told.getvalue()
    assert disk_state() == before
