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
    """Let the kernel kill this process when its parent ends, also while a request is being answered."""
    signal_at_its_end = 1
    ctypes.CDLL(None).prctl(signal_at_its_end, signal.SIGKILL)


def limit(limits: dict[str, Any]) -> None:
    """From now on this process has these limits.

    - `memory_mb`: MiB of address space beyond what it has now;
    - `file_mb`: MiB, the size of a file; `open_files`;
    - `may_start_processes`: false forbids new processes (not threads) where this Linux knows how, and with them
      memory that `memory_mb` does not count.
    """
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_AS, used + (limits["memory_mb"] << 20)),
        (resource.RLIMIT_FSIZE, limits["file_mb"] << 20),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    if not limits["may_start_processes"]:
        forbid_processes()


def forbid_processes() -> None:
    """Let the kernel refuse (EPERM) to start processes for this one; threads go on. Raises OSError where it cannot.

    It refuses what else brings memory that belongs to no process, which only a control group counts: files without a
    directory, shared memory and queues of System V, and a namespace in which the process could mount a file system. And
    it refuses sockets that lead out of a virtual machine to its host (AF_VSOCK), for which no namespace is a wall.

    A filter of system calls, in the kernel's small language: load a word, jump on a comparison, return.
    """
    architecture = platform.machine()
    if architecture not in _SYSTEM_CALLS:
        raise OSError(f"no filter of system calls is known for {architecture}")
    audit, seccomp, clone, clone3, socket_, others = _SYSTEM_CALLS[architecture]
    load, equal, at_least, has, give = 0x20, 0x15, 0x35, 0x45, 0x06
    killed, allowed, refused, unknown = 0x80000000, 0x7FFF0000, 0x00050001, 0x00050026  # EPERM, ENOSYS
    code: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, audit),
        (give, 0, 0, killed),
        (load, 0, 0, 0),  # the number of the system call
        (at_least, 0, 1, 0x40000000),  # another set of numbers for the same calls
        (give, 0, 0, killed),
        (equal, 0, 1, clone3),  # its flags lie in memory, which no filter sees; without it, libc uses clone
        (give, 0, 0, unknown),
    ]
    for other in others:
        code += [(equal, 0, 1, other), (give, 0, 0, refused)]
    code += [
        (equal, 0, 4, socket_),
        (load, 0, 0, 16),  # its first argument: the family
        (equal, 0, 1, 40),  # AF_VSOCK
        (give, 0, 0, refused),
        (give, 0, 0, allowed),
        (equal, 0, 3, clone),
        (load, 0, 0, 16),  # its first argument: the flags
        (has, 1, 0, 0x00010000),  # CLONE_THREAD
        (give, 0, 0, refused),
        (give, 0, 0, allowed),
    ]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    packed = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    filtered = Program(len(code), ctypes.addressof(packed))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter, for_all_threads = 38, 1, 1
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.syscall(
        seccomp, set_filter, for_all_threads, ctypes.byref(filtered)
    ):
        raise OSError(ctypes.get_errno(), "new processes cannot be forbidden")


# By machine: the kernel's number for it; those of the calls seccomp, clone, clone3 and socket; and of others that are
# refused: fork and vfork (x86 alone), memfd_create, memfd_secret, shmget, msgget, unshare, setns.
_SYSTEM_CALLS = {
    "x86_64": (0xC000003E, 317, 56, 435, 41, (57, 58, 319, 447, 29, 68, 272, 308)),
    "aarch64": (0xC00000B7, 277, 220, 435, 198, (279, 447, 194, 186, 97, 268)),
}


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
