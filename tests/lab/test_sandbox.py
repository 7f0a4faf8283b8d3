"""Foreign code in a sandbox: what it sees, what it can change, what is left of it, and what its answers can be."""

import errno
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from minikafka.common import locked_directory
from minikafka.lab.sandbox import control_group, inside, plain
from minikafka.lab.sandbox import sandbox as sandbox_module
from minikafka.lab.sandbox.plain import NotPlainError, TooManyValuesError
from minikafka.lab.sandbox.sandbox import (
    SCRATCH,
    ChildEndedError,
    ChildRaisedError,
    Limits,
    NoSandboxError,
    OutOfTimeError,
    Sandbox,
    Sees,
    why_there_is_no_sandbox,
)

PACKAGE = Path(sandbox_module.__file__).parents[2]


class Liar(int):
    """Says of itself that it equals everything."""

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 1, -(2**70), 0.5, "é\ud800", b"\0\xff", (), (1, [2, (b"", None)]), {(1, 2): {3}}, [[]]),
        *(frozenset({1}), Decimal("1.50"), date(2024, 2, 29), datetime(2024, 2, 29, 1, 2, 3, 4), {}, {"bytes": "x"}),
    ],
)
def test_plain_values_come_back_as_they_were(value):
    back = plain.decoded(plain.encoded(value))
    assert back == value and type(back) is type(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Liar(3), "Liar, a class made from int"),
        ([{"a": Liar(3)}], "Liar, a class made from int"),
        (type("Text", (str,), {})("x"), "Text, a class made from str"),
        (bytearray(b"x"), "bytearray"),
        (print, "builtin_function_or_method"),
    ],
)
def test_what_only_looks_like_a_plain_value_is_none(value, words):
    with pytest.raises(NotPlainError, match=f"a value of the type {words} is no plain value"):
        plain.encoded(value)


def test_a_value_without_end_is_not_plain():
    endless = []
    endless.append(endless)
    with pytest.raises(NotPlainError):
        plain.encoded(endless)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b'{"tuple": 3}',
        b'{"a": 1}',
        b'{"bytes": 3}',
        b'{"set": [[1]]}',
        b"[" * 100_000,
        b"9" * 5000,
        b"\xff",
    ],
)
def test_bytes_of_no_plain_value_are_told_so(data):
    with pytest.raises(NotPlainError):
        plain.decoded(data)


EQUAL_HASHES = [n * sys.hash_info.modulus for n in range(50_000)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (json.dumps({"set": EQUAL_HASHES}).encode(), "2,000 elements of sets and keys of dicts"),
        (json.dumps({"frozenset": EQUAL_HASHES}).encode(), "2,000 elements"),
        (json.dumps({"dict": [{"tuple": [n, n]} for n in EQUAL_HASHES[:20_000]]}).encode(), "2,000 elements"),
        (json.dumps([{"set": EQUAL_HASHES[:500]}] * 100).encode(), "2,000 elements"),
        (b"[" + b"[]," * (10 << 20) + b"1]", "100,000 values"),
        (b"[" + b"{}," * (10 << 20) + b"1]", "100,000 values"),
    ],
)
def test_bytes_of_too_many_values_are_refused_at_once(data, words):
    begun = time.process_time()
    with pytest.raises(TooManyValuesError, match=f"^more than {words}"):
        plain.decoded(data, most_values=100_000)
    assert time.process_time() - begun < 1.0


def test_a_large_answer_of_bytes_is_no_answer_of_many_values():
    files = {str(n): b"\0,[{" * 100_000 for n in range(10)}
    assert plain.decoded(plain.encoded(files), most_values=100_000) == files


def program(tmp_path, body: str) -> Path:
    """A program that answers with the value of the expression that it is asked, after `body`."""
    file = tmp_path / "program.py"
    text = "import os\nimport sys\n\n\ndef answer(request):\n    return eval(request, globals())\n"
    file.write_text(text + textwrap.dedent(body))
    return file


@pytest.fixture
def asked(tmp_path):
    """Ask a program in a sandbox once."""

    def ask(request: str, *, body: str = "", seconds: float = 20.0, **options):
        with Sandbox(program(tmp_path, body), **options) as sandbox:
            return sandbox.ask(request, seconds)

    return ask


@pytest.mark.slow
def test_it_sees_python_and_nothing_else_of_the_machine(asked, monkeypatch):
    monkeypatch.setenv("MY_SECRET", "told")
    home = Path.home()
    seen = asked(
        "dict(root=sorted(os.listdir('/')), environment=dict(os.environ), users=open('/etc/passwd').read(),"
        f" home=os.listdir({str(home)!r}) if os.path.exists({str(home)!r}) else [], pid=os.getpid(),"
        f" tests=os.path.exists({__file__!r}), modules=[__import__('importlib').util.find_spec('minikafka')])"
    )
    assert not {"home", "var", "opt", "srv", "run", "mnt"} & set(seen["root"])
    assert set(seen["environment"]) <= {"HOME", "TMPDIR", "PATH", "LANG", "PWD", "LC_CTYPE"}
    assert seen["users"].count("\n") == 1 and seen["pid"] < 5
    assert seen["modules"] == [None] and not seen["tests"]
    python = Path(sys.base_prefix)
    assert set(seen["home"]) <= ({python.relative_to(home).parts[0]} if python.is_relative_to(home) else set())


@pytest.mark.slow
def test_it_sees_the_packages_that_it_is_shown(asked):
    assert asked("__import__('crc32c').crc32c(b'123456789')", sees=Sees(packages=("crc32c",))) == 0xE3069283
    with pytest.raises(ChildRaisedError, match="ModuleNotFoundError: No module named 'numpy'"):
        asked("__import__('numpy')", sees=Sees(packages=("crc32c",)))


def test_of_a_python_in_the_home_it_sees_neither_the_home_nor_environments_that_were_made_of_it(tmp_path, monkeypatch):
    home = tmp_path / "home"
    packages = ("lib/python3.13/site-packages", "lib64/python3.13/site-packages")  # Fedora has both
    for directory in ("bin", *packages, "envs/course", "letters"):
        (home / directory).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sandbox_module.sys, "base_prefix", str(home))
    monkeypatch.setattr(sandbox_module, "_bare_python", lambda: str(home / "bin" / "python3.13"))
    sandbox = Sandbox(program(tmp_path, ""))
    sandbox._outside = SimpleNamespace(name=str(tmp_path))
    shown = list(sandbox._python())
    mounts = {there: here for here, there in zip(shown[1::3], shown[2::3], strict=True)}
    nothing = str(tmp_path / "nothing")
    assert {Path(path).relative_to(home).as_posix(): here for path, here in mounts.items() if str(home) in path} == {
        **{name: str(home / name) for name in ("bin", "lib", "lib64")},
        **dict.fromkeys(packages, nothing),
    }
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    (tmp_path / "nothing").rmdir()
    shown = list(sandbox._python())
    assert shown[shown.index(str(home / "envs")) - 1] == nothing and str(home) in shown


@pytest.mark.slow
@pytest.mark.parametrize("at_home", [False, True])
@pytest.mark.parametrize("lib64", ["a directory", "a link to lib", "a link to lib by its whole path"])
def test_packages_of_a_python_are_hidden_in_lib64_too(asked, at_home, lib64, tmp_path, monkeypatch):
    """tmp_path lies in a directory of which nothing else is shown."""
    python = tmp_path / "python"
    (python / "bin").mkdir(parents=True)
    for name in ("lib", "lib64") if lib64 == "a directory" else ("lib",):
        (python / name / "python3.99/site-packages/minikafka").mkdir(parents=True)
    if lib64 != "a directory":
        (python / "lib64").symlink_to("lib" if lib64 == "a link to lib" else python / "lib")
    monkeypatch.setenv("HOME", str(python if at_home else tmp_path / "elsewhere"))
    monkeypatch.setattr(sandbox_module.sys, "base_prefix", str(python))
    places = [str(python / name / "python3.99/site-packages") for name in ("lib", "lib64")]
    assert asked(f"[os.listdir(place) for place in {places}]", sees=Sees(packages=("crc32c",))) == [[], []]


@pytest.mark.slow
def test_of_minikafka_it_sees_what_is_not_hidden(asked):
    sees = Sees(packages=None, minikafka=True, hides=(PACKAGE / "lab" / "exercises",))
    assert asked("__import__('minikafka.log.log').__file__", sees=sees) == str(PACKAGE / "__init__.py")
    assert asked(f"os.listdir({str(PACKAGE / 'lab' / 'exercises')!r})", sees=sees) == []
    with pytest.raises(ChildRaisedError, match="ModuleNotFoundError"):
        asked("__import__('minikafka')", sees=Sees(packages=None))


@pytest.mark.slow
@pytest.mark.parametrize("is_trusted", [False, True])
def test_what_is_installed_in_python_is_not_among_its_packages(asked, is_trusted):
    sees = Sees(packages=("crc32c",))
    assert asked("__import__('crc32c').crc32c(b'')", sees=sees, is_trusted=is_trusted) == 0
    for package in ("numpy", "minikafka", "pip"):
        with pytest.raises(ChildRaisedError, match=f"ModuleNotFoundError: No module named '{package}'"):
            asked(f"__import__('{package}')", sees=sees, is_trusted=is_trusted)
    if not is_trusted:
        places = "__import__('glob').glob(os.path.join(each, 'lib*/python3*/*-packages'))"
        listed = f"[os.listdir(path) for each in ('/usr', '/usr/local', sys.base_prefix) for path in {places}]"
        assert not any(asked(listed, sees=sees))


@pytest.mark.slow
def test_only_its_scratch_can_be_written_and_that_goes(asked, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("x")
    for path in (precious, inside.__file__, "/etc/passwd", "/dev/shm/x", "/x", "/usr/x", os.devnull + "x"):
        with pytest.raises(ChildRaisedError, match="OSError|FileNotFoundError|PermissionError"):
            asked(f"open({str(path)!r}, 'w')")
    assert precious.read_text() == "x"
    name = f"scratch-{os.getpid()}"
    assert asked(f"(open({name!r}, 'w').write('abc'), os.path.abspath({name!r}))") == (3, f"{SCRATCH}/{name}")
    assert not Path(SCRATCH, name).exists()


@pytest.mark.slow
def test_the_settings_of_the_kernel_cannot_be_written(asked):
    """Linux lets the host's root write some, also where it has another number and no rights inside."""
    find = (
        "def writable():\n"
        "    paths = (os.path.join(at, name) for at, _, names in os.walk('/proc/sys') for name in names)\n"
        "    return [path for path in [*paths, '/proc/sysrq-trigger'] if _opens(path)]\n"
        "def _opens(path):\n"
        "    try:\n"
        "        os.close(os.open(path, os.O_WRONLY))\n"
        "    except OSError:\n"
        "        return False\n"
        "    return True\n"
    )
    assert asked("writable()", body=find) == []


@pytest.mark.slow
def test_it_reaches_no_network(asked):
    connect = "__import__('socket').create_connection(('127.0.0.1', {}), 2)"
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(ChildRaisedError, match="ConnectionRefusedError"):
            asked(connect.format(server.getsockname()[1]))
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    with pytest.raises(ChildRaisedError, match="OSError|TimeoutError|gaierror"):
        asked("__import__('socket').create_connection(('192.0.2.1', 80), 2)")


FORKS = """
def leave_one_behind():
    if os.fork() == 0:
        os.setsid()
        import time
        while True:
            time.sleep(0.1)
    return os.getpid()
"""


def processes_called(word: str) -> list[str]:
    """The processes of this machine that have `word` in their command."""
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                command = (directory / "cmdline").read_bytes()
            except OSError:
                continue
            found += [directory.name] if word.encode() in command else []
    return found


@pytest.mark.slow
def test_nothing_outlives_it(tmp_path):
    name = f"lasting-{os.getpid()}.py"  # other runs of this test have other names
    file = program(tmp_path, FORKS + "\n\ndef begin(setup):\n    leave_one_behind()\n").rename(tmp_path / name)
    with Sandbox(file) as sandbox:
        assert sandbox.ask("1", 5) == 1
        assert len(processes_called(name)) >= 2
    deadline = time.monotonic() + 5
    while processes_called(name) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_called(name) == []


@pytest.mark.slow
def test_without_processes_it_can_start_none_but_threads(asked):
    thread = "__import__('concurrent.futures').futures.ThreadPoolExecutor(2).submit(pow, 2, 3).result()"
    assert asked(thread) == 8
    for start in ("os.fork()", "os.posix_spawn('/bin/true', ['true'], {})", "__import__('subprocess').run(['true'])"):
        with pytest.raises(ChildRaisedError, match="PermissionError: .*Operation not permitted"):
            asked(start)


REFUSED = "PermissionError: .*Operation not permitted"
LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)"


@pytest.mark.slow
def test_without_processes_it_gets_no_memory_beside_its_own(asked):
    with pytest.raises(ChildRaisedError, match=REFUSED):
        asked("os.memfd_create('x')")
    for call in ("memfd_create(b'x', 0)", "shmget(0, 1 << 20, 0o1600)", "msgget(0, 0o1600)"):
        assert asked(f"(libc.{call}, ctypes.get_errno())", body=LIBC) == (-1, errno.EPERM)


KEEPS_NO_NAMESPACE = ("add_key", "request_key", "keyctl", "syslog", "perf_event_open", "bpf")
"""Calls that reach what all processes of a user, or of the machine, share."""


@pytest.mark.slow
@pytest.mark.parametrize("listed", ["/proc/keys", "/proc/key-users"])
def test_the_keys_of_who_starts_it_are_not_listed(asked, listed):
    with pytest.raises(ChildRaisedError, match="PermissionError" if os.path.exists(listed) else "FileNotFoundError"):
        asked(f"open('{listed}').read()")


@pytest.mark.slow
@pytest.mark.parametrize("by", ["itself", "what begin started"])
@pytest.mark.parametrize("processes", [0, 20])
def test_it_gets_no_socket_to_a_virtual_machines_host_and_no_namespace(asked, processes, by, tmp_path, monkeypatch):
    """Also where it may start processes, as a control group counts them; and what it starts gets none either."""
    monkeypatch.setattr(control_group.ControlGroup, "files", [str(tmp_path / "procs")])  # as where one can be made
    numbers = inside._SYSTEM_CALLS[platform.machine()][1]
    of_clone = ", ".join(f"libc.syscall({numbers['clone']}, {flags}, 0, 0, 0, 0)"
                         for flags in (0x10000000 | 17, 0x20000000 | 17))  # fmt: skip
    attempts = [
        "__import__('socket').socket(40, 1)",
        "refused(libc.unshare(0x10020000))",
        "refused(libc.syscall(425, 1, ctypes.create_string_buffer(200)))",  # io_uring_setup
        f"refused(*[{of_clone}])",
        *(f"__import__('socket').socket({family}, 2)" for family in (17, 21, 30, 31, 38)),  # packets, rds, tipc, …
        *(f"refused(libc.syscall({numbers[call]}, 0, 0, 0, 0, 0))" for call in KEEPS_NO_NAMESPACE),
    ]
    body = LIBC + textwrap.dedent("""
        def refused(*results):
            assert set(results) == {-1} and ctypes.get_errno() == 1, results
            raise PermissionError("Operation not permitted")
        def told(attempt):
            try:
                return repr(eval(attempt))
            except PermissionError:
                return "refused"
    """)
    if by == "what begin started":
        body += textwrap.dedent(f"""
            def begin(setup):
                global found
                reader, writer = os.pipe()
                if os.fork() == 0:
                    os.write(writer, repr([told(each) for each in {attempts}]).encode())
                    os._exit(0)
                found = eval(os.read(reader, 10_000))
        """)
        assert asked("found", body=body, limits=Limits(processes=processes)) == ["refused"] * len(attempts)
    else:
        assert asked(f"[told(each) for each in {attempts}]", body=body, limits=Limits(processes=processes)) == [
            "refused"
        ] * len(attempts)
    assert asked("__import__('socket').socket().close()", limits=Limits(processes=processes)) is None
    if processes:
        assert asked("os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)[1]", limits=Limits(processes=20)) == 0


@pytest.mark.slow
def test_where_control_groups_are_its_processes_are_counted(asked):
    if not control_group.can_be_made():
        with pytest.raises(ChildRaisedError, match="PermissionError"):
            asked("os.fork()", limits=Limits(processes=20))
        return
    body = """
    def bomb():
        started = 0
        import time
        try:
            while started < 200:
                if os.fork() == 0:
                    time.sleep(60)
                started += 1
        except OSError:
            pass
        return started
    """
    assert 5 < asked("bomb()", body=body, limits=Limits(processes=20)) < 20


@pytest.mark.slow
def test_where_no_control_group_can_be_made_it_can_start_no_process(asked, monkeypatch):
    monkeypatch.setattr(control_group.ControlGroup, "files", [])
    with pytest.raises(ChildRaisedError, match="PermissionError"):
        asked("os.fork()", limits=Limits(processes=20))


def test_its_control_group_bounds_memory_and_processes(tmp_path, monkeypatch):
    groups, bounds = tmp_path / "groups", {}
    groups.mkdir()
    (groups / "cgroup.controllers").touch()

    def fails_to_start(*_):
        bounds.update((file.name, file.read_text()) for file in groups.glob("*/*.max"))
        raise OSError

    monkeypatch.setattr(control_group, "_ROOT", groups)
    monkeypatch.setattr(control_group, "_remove", shutil.rmtree)
    monkeypatch.setattr(Sandbox, "_start", fails_to_start)
    limits = Limits(all_memory_mb=300, processes=20)
    with pytest.raises(OSError), Sandbox(program(tmp_path, ""), limits=limits, is_trusted=True):
        pass
    assert bounds == {"memory.max": str(300 << 20), "memory.swap.max": "0", "pids.max": "20"}


def test_a_control_groups_directory_that_another_process_has_removed_at_once_is_made_again(tmp_path, monkeypatch):
    make, made = locked_directory.tempfile.mkdtemp, []

    def made_and_removed(**options):
        made.append(make(**options))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(locked_directory.tempfile, "mkdtemp", made_and_removed)
    directory, lock = locked_directory.new_locked_directory(tmp_path, "group-")
    os.close(lock)
    assert len(made) == 2 and str(directory) == made[1] and directory.is_dir()


@pytest.mark.slow
def test_memory_and_files_are_bounded(asked):
    with pytest.raises(ChildRaisedError, match="MemoryError: it needs more memory than it may have"):
        asked("len(bytes(600 << 20))", limits=Limits(memory_mb=500))
    fill = "[open(f'{n}', 'wb').write(bytes(1 << 20)) for n in range(40)]"
    with pytest.raises(ChildRaisedError, match="No space left on device"):
        asked(fill, limits=Limits(scratch_mb=20))
    with pytest.raises(ChildRaisedError, match="File too large"):
        asked("(__import__('signal').signal(25, 1), open('x', 'wb', 0).write(bytes(1 << 20)), "
              "open('x', 'ab', 0).write(bytes(1 << 20)))", limits=Limits(file_mb=1))  # fmt: skip
    with pytest.raises(ChildRaisedError, match="Too many open files"):
        asked("[os.dup(1) for _ in range(100)]", limits=Limits(open_files=50))


@pytest.mark.slow
def test_limits_cannot_be_raised_again(asked):
    with pytest.raises(ChildRaisedError, match="ValueError|PermissionError"):
        asked("(r := __import__('resource')).setrlimit(r.RLIMIT_AS, (r.RLIM_INFINITY, r.RLIM_INFINITY))")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "kind", "words"),
    [
        ("1 / 0", ChildRaisedError, "ZeroDivisionError: division by zero"),
        ("sys.exit(3)", ChildRaisedError, "SystemExit: 3"),
        ("(_ for _ in ()).throw(KeyboardInterrupt)", ChildRaisedError, "KeyboardInterrupt"),
        ("os._exit(0)", ChildEndedError, r"it ended its process \(exit code 0\)"),
        ("os.kill(os.getpid(), 9)", ChildEndedError, r"it ended its process \(SIGKILL\)"),
        ("type('Liar', (int,), {})(3)", ChildRaisedError, "NotPlainError: a value of the type Liar, a class made from"),
        ("forge(b'garbage')", ChildEndedError, "its process answered with what is no plain value"),
        ("forge(b'[\"is\"]')", ChildEndedError, "its process answered with what is no plain value"),
        ("forge(b'', 1 << 60)", ChildEndedError, "its process answered with more than 64 MB"),
        ("set(range(5_000))", ChildEndedError, "its process answered with more than 2,000 elements of sets and keys"),
        ("[0] * 200_000", ChildEndedError, "its process answered with more than 100,000 values"),
        ("__import__('time').sleep(60)", OutOfTimeError, "it has not ended after 2 seconds"),
    ],
)
def test_how_it_goes_wrong_is_told_in_one_line(asked, request_, kind, words):
    body = """
    def forge(data, length=None):
        import socket, struct
        border = socket.socket(fileno=int(sys.argv[2]))
        border.sendall(struct.pack(">Q", len(data) if length is None else length) + data)
        __import__("time").sleep(60)
    """
    with pytest.raises(kind, match=words) as told:
        asked(request_, body=body, seconds=2)
    assert "\n" not in str(told.value)


@pytest.mark.slow
def test_after_an_exception_it_can_be_asked_again_and_after_its_end_not(tmp_path):
    with Sandbox(program(tmp_path, "state = []")) as sandbox:
        with pytest.raises(ChildRaisedError):
            sandbox.ask("state.append(1) or 1 / 0", 5)
        assert sandbox.ask("state", 5) == [1]
        with pytest.raises(ChildEndedError):
            sandbox.ask("os._exit(0)", 5)
        with pytest.raises(ChildEndedError):
            sandbox.ask("1", 5)


@pytest.mark.slow
def test_what_is_trusted_has_limits_all_the_same(asked, tmp_path):
    assert asked("os.getpid()", is_trusted=True) > 0
    with pytest.raises(ChildRaisedError, match="MemoryError"):
        asked("len(bytes(600 << 20))", limits=Limits(memory_mb=500), is_trusted=True)
    with pytest.raises(OutOfTimeError):
        asked("__import__('time').sleep(60)", seconds=1, is_trusted=True)


MACOS = """
import builtins, ctypes, sys
sys.platform = "darwin"
class Libc:
    def __getattr__(self, name):
        raise AttributeError(f"dlsym: {name}: symbol not found")
ctypes.CDLL = lambda *_, **__: Libc()
import platform, resource
platform.machine = lambda: "arm64"
really_open, really_bounded = open, resource.setrlimit
def opened(file, *more, **options):
    if str(file).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", file)
    return really_open(file, *more, **options)
def bounded(kind, limits):
    if kind == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    really_bounded(kind, limits)
builtins.open, resource.setrlimit = opened, bounded
import runpy
runpy.run_path({inside!r}, run_name="__main__")
"""


@pytest.fixture
def macos(tmp_path, monkeypatch):
    """The other side's process is as on macOS: no /proc, no prctl, no known system call, no bound of memory."""
    (tmp_path / "as_on_macos.py").write_text(MACOS.replace("{inside!r}", repr(inside.__file__)))
    monkeypatch.setattr(sandbox_module, "inside", SimpleNamespace(__file__=str(tmp_path / "as_on_macos.py")))
    monkeypatch.setattr(control_group, "_ROOT", tmp_path / "nowhere")


@pytest.mark.slow
def test_what_is_trusted_runs_on_macos(asked, macos):
    assert asked("sys.platform", is_trusted=True) == "darwin"
    assert asked("__import__('crc32c').crc32c(b'')", sees=Sees(packages=("crc32c",)), is_trusted=True) == 0
    with pytest.raises(ChildRaisedError, match="Too many open files"):
        asked("[os.dup(1) for _ in range(100)]", limits=Limits(open_files=50), is_trusted=True)
    assert asked("os.posix_spawn('/bin/true', ['true'], {}) > 0", is_trusted=True)


@pytest.mark.slow
def test_what_is_trusted_ends_on_macos_with_the_process_that_asks(tmp_path):
    """Also while it is busy."""
    (tmp_path / "as_on_macos.py").write_text(MACOS.replace("{inside!r}", repr(inside.__file__)))
    busy = program(tmp_path, "def busy():\n    while True:\n        pass\n").rename(tmp_path / f"busy-{os.getpid()}.py")
    code = textwrap.dedent(f"""
        import os, threading
        from pathlib import Path
        from types import SimpleNamespace
        from minikafka.lab.sandbox import sandbox
        sandbox.inside = SimpleNamespace(__file__={str(tmp_path / "as_on_macos.py")!r})
        with sandbox.Sandbox(Path({str(busy)!r}), is_trusted=True) as it:
            threading.Timer(1, os._exit, (0,)).start()
            it.ask("busy()", 60)
    """)
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
    deadline = time.monotonic() + 20
    while processes_called(busy.name) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_called(busy.name) == []


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_of_memory_is_only_told_where_it_is_bounded(system, monkeypatch):
    monkeypatch.setattr(sandbox_module.sys, "platform", system)
    assert ("MiB of memory" in sandbox_module.limits_that_hold(Limits())) is (system == "linux")


def test_a_system_without_a_sandbox_says_so(asked, monkeypatch):
    monkeypatch.setattr(sandbox_module.shutil, "which", lambda _: None)
    monkeypatch.setattr(sandbox_module.sys, "platform", "linux")
    why = why_there_is_no_sandbox.__wrapped__()
    assert (
        why == "the sandbox in which foreign code runs is missing: install the package bubblewrap (the command bwrap)"
    )
    monkeypatch.setattr(sandbox_module, "why_there_is_no_sandbox", lambda: why)
    with pytest.raises(NoSandboxError, match="install the package bubblewrap"):
        asked("1")
