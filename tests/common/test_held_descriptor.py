"""A file that is closed while another thread is at it: nobody reads or writes the file that gets its number.

The other thread's turn comes where it would hurt most: a call of the system has its number already, and is about to
begin.
"""

import errno
import os
import socket
from pathlib import Path

import pytest

from minikafka.common import file_ops
from minikafka.common.errors import ClosedChannelException
from minikafka.common.time import ManualTime
from minikafka.log.index.transaction_index import AbortedTxn, TransactionIndex
from minikafka.network.server.socket_server import SocketServer
from minikafka.network.server.socket_server_config import SocketServerConfig
from minikafka.record.files import file_channel
from minikafka.record.files.file_channel import FileChannel

OTHER = b"other" * 20


@pytest.fixture
def other(tmp_path) -> Path:
    (tmp_path / "other").write_bytes(OTHER)
    return tmp_path / "other"


@pytest.fixture
def meanwhile(monkeypatch, other):
    """Lets a function run, and the other file be opened, once a call of the system is about to begin."""
    opened = []

    def do(module, name, function):
        call = getattr(module, name)

        def called(*args):
            monkeypatch.setattr(module, name, call)
            function()
            opened.extend(os.open(other, os.O_RDWR) for _ in range(8))  # one of them gets the number
            return call(*args)

        monkeypatch.setattr(module, name, called)

    yield do
    for fd in opened:
        os.close(fd)


@pytest.fixture
def channel(tmp_path) -> FileChannel:
    (tmp_path / "own").write_bytes(b"own" * 20)
    return FileChannel(file_ops.open_file(tmp_path / "own"))


def sent(channel: FileChannel) -> bytes:
    here, there = socket.socketpair()
    with here, there:
        return there.recv(channel.transfer_to(here, 0, 3))


def read_into(channel: FileChannel) -> bytes:
    buffer = bytearray(3)
    return bytes(buffer[: channel.read_into(buffer, 0)])


@pytest.mark.parametrize(
    ("module", "call", "read"),
    [
        (os, "pread", lambda channel: channel.read(0, 3)),
        (file_channel, "preadv", read_into),
        (file_channel, "sendfile", sent),
    ],
    ids=["read", "read_into", "transfer_to"],
)
def test_a_read_that_meets_the_close_is_of_its_own_file(channel, meanwhile, module, call, read):
    meanwhile(module, call, channel.close)
    assert read(channel) == b"own"
    with pytest.raises(ClosedChannelException):
        channel.read(0, 3)


@pytest.mark.parametrize(
    ("call", "change"),
    [
        ("pwrite", lambda channel: channel.write(b"new", 0)),
        ("ftruncate", lambda channel: channel.truncate(0)),
    ],
    ids=["write", "truncate"],
)
def test_a_change_that_meets_the_close_is_of_its_own_file(channel, meanwhile, other, tmp_path, call, change):
    meanwhile(os, call, channel.close)
    change(channel)
    assert (tmp_path / "own").read_bytes() in (b"", b"new" + b"own" * 19)
    assert other.read_bytes() == OTHER


def test_the_file_is_closed_at_once_where_nobody_reads(channel, tmp_path):
    channel.close()
    assert not [fd for fd in os.listdir("/proc/self/fd") if at(fd) == str(tmp_path / "own")]
    channel.close()


def at(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def test_a_close_that_fails_is_told(channel, monkeypatch):
    close = os.close

    def failed(fd):
        close(fd)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "close", failed)
    with pytest.raises(OSError, match="Input/output error"):
        channel.close()


def test_a_transaction_index_that_is_closed_meanwhile_has_no_entries_of_another_file(tmp_path, meanwhile):
    index = TransactionIndex(0, tmp_path / "0.txnindex")
    entry = AbortedTxn(7, 0, 10, 11)
    index.append(entry)
    meanwhile(os, "pread", index.close)
    assert index.all_aborted_txns() == [entry]


def test_to_wake_a_server_that_shuts_down_writes_into_no_file(meanwhile, other):
    server = SocketServer(SocketServerConfig({"listeners": "PLAINTEXT://127.0.0.1:0"}), ManualTime(), lambda *_: None)
    server.open()
    meanwhile(os, "write", server.shutdown)
    server.wake_up()
    assert other.read_bytes() == OTHER
    server.wake_up()
    assert other.read_bytes() == OTHER
