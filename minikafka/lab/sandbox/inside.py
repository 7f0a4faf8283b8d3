"""The other side of a sandbox: python inside.py PROGRAM SOCKET LIMITS [PATH...]

PROGRAM is the file of a module with a function `answer(request)`; it may have `begin(setup)`. The first message is the
setup: `begin` gets it while processes may still be started. Then the limits come into force, for ever, and each further
message is a request, whose answer goes back. All messages are plain values (`plain`), each behind its length.

This module needs the standard library alone; with `plain.py` beside it, it runs where minikafka is not.
"""

import ctypes
import importlib.util
import json
import os
import platform
import resource
import signal
import socket
import struct
import sys
import threading
import time
from types import ModuleType
from typing import Any

_LENGTH = struct.Struct(">Q")
_HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """Serve what comes through the socket until it is closed."""
    end_with_parent()
    program, descriptor, limits = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    os.set_inheritable(descriptor, False)
    sys.path += sys.argv[4:]
    plain, served = _module(os.path.join(_HERE, "plain.py")), None
    with socket.socket(fileno=descriptor) as border:
        process = os.getpid()
        while (message := _received(border)) is not None:
            try:
                if served is None:
                    if not limits["is_trusted"]:
                        forbid_ways_out()
                    served = _module(program)
                    getattr(served, "begin", lambda setup: None)(plain.decoded(message))
                    limit(limits)
                    told = ["is", None]
                else:
                    told = ["is", served.answer(plain.decoded(message))]
                data = plain.encoded(told)
            except MemoryError:
                data = plain.encoded(["raised", "MemoryError", "it needs more memory than it may have"])
            except BaseException as error:
                data = plain.encoded(["raised", type(error).__name__, _words_of(error)])
            if os.getpid() != process:  # a copy that foreign code has forked has nothing to say here
                os._exit(0)
            border.sendall(_LENGTH.pack(len(data)) + data)


def end_with_parent() -> None:
    """Let this process end when its parent ends, also while a request is being answered."""
    if sys.platform == "linux":
        signal_at_its_end = 1
        ctypes.CDLL(None).prctl(signal_at_its_end, signal.SIGKILL)
    else:
        threading.Thread(target=_end_without, args=(os.getppid(),), daemon=True).start()


def limit(limits: dict[str, Any]) -> None:
    """From now on this process has these limits.

    - `memory_mb`: MiB of address space beyond what it has now, on Linux alone: macOS does not hold a process to such a
      limit, and refuses one below the hundreds of GiB that it maps for each;
    - `file_mb`: MiB, the size of a file; `open_files`;
    - `may_start_processes`: false forbids new processes (not threads), and with them memory that `memory_mb` does not
      count. Raises OSError where that cannot be done.
    """
    bounds = {
        resource.RLIMIT_FSIZE: limits["file_mb"] << 20,
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_CORE: 0,
    }
    if sys.platform == "linux":
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        bounds[resource.RLIMIT_AS] = used + (limits["memory_mb"] << 20)
    for kind, most in bounds.items():
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    if not limits["may_start_processes"]:
        forbid_processes()


def forbid_ways_out() -> None:
    """Let the kernel refuse (EPERM) to this process, and to all that it starts, what walls of namespaces do not stop.

    That are the keys that the kernel keeps for a session and a user, which all processes of one user share; its log,
    its counters and programs in it; sockets of families that know no namespaces of the network, such as those that lead
    out of a virtual machine to its host; and namespaces of its own, in which it would have rights that it lacks. Raises
    OSError where it cannot.
    """
    _filter(
        (
            *("add_key", "request_key", "keyctl", "syslog", "perf_event_open", "bpf", "unshare", "setns"),
            "io_uring_setup",  # makes sockets, too, and no filter sees which
        ),
        {
            "socket": [*((_EQUAL, left, 0, family) for left, family in _ALLOWED_SOCKETS), _REFUSED],
            "clone": [(_HAS_ONE_OF, 0, 1, _NEW_NAMESPACES), _REFUSED],
        },
    )


def forbid_processes() -> None:
    """Let the kernel refuse (EPERM) to start processes for this one; threads go on. Raises OSError where it cannot.

    It refuses what else brings memory that belongs to no process, which only a control group counts: files without a
    directory, and shared memory and queues of System V. (A namespace in which a file system could be mounted is
    refused by `forbid_ways_out`.)
    """
    _filter(
        ("fork", "vfork", "memfd_create", "memfd_secret", "shmget", "msgget"),
        {"clone": [(_HAS_ONE_OF, 1, 0, _CLONE_THREAD), _REFUSED]},
    )


def _filter(refused: tuple[str, ...], by_argument: dict[str, list[tuple[int, int, int, int]]]) -> None:
    """Set a filter of system calls beside those that are set already. Raises OSError where that cannot be done.

    `refused`: the calls that fail with EPERM. `by_argument`: by call, what decides on its first argument, which has
    been loaded; at its end the call is allowed. Both in the kernel's small language: load a word, jump on a comparison
    over so many instructions if it holds and so many if not, return.
    """
    architecture = platform.machine()
    if architecture not in _SYSTEM_CALLS:
        raise OSError(f"no filter of system calls is known for {architecture}")
    audit, number_of = _SYSTEM_CALLS[architecture]
    load, at_least = 0x20, 0x35
    code: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),  # the architecture
        (_EQUAL, 1, 0, audit),
        _KILLED,
        (load, 0, 0, 0),  # the number of the system call
        (at_least, 0, 1, 0x40000000),  # another set of numbers for the same calls
        _KILLED,
        (
            _EQUAL,
            0,
            1,
            number_of["clone3"],
        ),  # its flags lie in memory, which no filter sees; without it libc uses clone
        _UNKNOWN,
    ]
    for name in refused:
        if name in number_of:
            code += [(_EQUAL, 0, 1, number_of[name]), _REFUSED]
    for name, decision in by_argument.items():
        decided = [(load, 0, 0, 16), *decision, _ALLOWED]  # 16: the first argument
        code += [(_EQUAL, 0, len(decided), number_of[name]), *decided]
    code.append(_ALLOWED)

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    packed = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    filtered = Program(len(code), ctypes.addressof(packed))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter, for_all_threads = 38, 1, 1
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.syscall(
        number_of["seccomp"], set_filter, for_all_threads, ctypes.byref(filtered)
    ):
        raise OSError(ctypes.get_errno(), "system calls cannot be filtered")


_EQUAL, _HAS_ONE_OF, _GIVE = 0x15, 0x45, 0x06
_KILLED, _ALLOWED = (_GIVE, 0, 0, 0x80000000), (_GIVE, 0, 0, 0x7FFF0000)
_REFUSED, _UNKNOWN = (_GIVE, 0, 0, 0x00050001), (_GIVE, 0, 0, 0x00050026)  # EPERM, ENOSYS
_ALLOWED_SOCKETS = ((4, socket.AF_UNIX), (3, socket.AF_INET), (2, socket.AF_INET6), (1, 16))  # 16: AF_NETLINK
"""Families, each with how many instructions are left out where it is the one."""
_CLONE_THREAD = 0x00010000
_NEW_NAMESPACES = 0x7E020000  # the flags CLONE_NEW... of clone
# By machine: the kernel's number for it, and those of system calls; only x86 has fork and vfork.
_SYSTEM_CALLS = {
    "x86_64": (
        0xC000003E,
        {
            "seccomp": 317, "clone": 56, "clone3": 435, "fork": 57, "vfork": 58, "unshare": 272, "setns": 308,
            "socket": 41, "io_uring_setup": 425, "memfd_create": 319, "memfd_secret": 447, "shmget": 29, "msgget": 68,
            "add_key": 248, "request_key": 249, "keyctl": 250, "syslog": 103, "perf_event_open": 298, "bpf": 321,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "seccomp": 277, "clone": 220, "clone3": 435, "unshare": 97, "setns": 268, "socket": 198,
            "io_uring_setup": 425, "memfd_create": 279, "memfd_secret": 447, "shmget": 194, "msgget": 186,
            "add_key": 217, "request_key": 218, "keyctl": 219, "syslog": 116, "perf_event_open": 241, "bpf": 280,
        },
    ),
}  # fmt: skip


def _end_without(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def _words_of(error: BaseException) -> str:
    try:
        return str.__getitem__(str(error), slice(10_000))
    except BaseException:
        return ""


def _received(border: socket.socket) -> bytes | None:
    length = _exactly(border, _LENGTH.size)
    return None if length is None else _exactly(border, _LENGTH.unpack(length)[0])


def _exactly(border: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        more = border.recv(min(size - len(data), 1 << 20))
        if not more:
            return None
        data += more
    return bytes(data)


def _module(file: str) -> ModuleType:
    name = os.path.basename(file).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
