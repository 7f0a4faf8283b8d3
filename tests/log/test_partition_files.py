"""What lies in a partition's directory is told before anything of it is opened."""

import os
import socket
from pathlib import Path

import pytest

from minikafka.common.errors import IOException
from minikafka.log.partition_files import look_into, objection_to, require_regular

LOG = f"{0:020d}.log"


def make_nothing_but_a_name(path, kind):
    if kind == "a directory":
        path.mkdir()
    elif kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.path.relpath(path))  # a socket's name has room for 108 bytes


@pytest.mark.parametrize("kind", ["a directory", "a FIFO", "a socket"])
def test_what_is_no_file_is_not_opened(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_nothing_but_a_name(tmp_path / LOG, kind)
    assert look_into(tmp_path).objections == [(tmp_path / LOG, f"is {kind}, not a regular file")]
    with pytest.raises(IOException, match=f"{LOG} is {kind}"):
        require_regular(tmp_path / LOG)
    # A link to it is no better, followed or not.
    (tmp_path / "linked").symlink_to(LOG)
    assert objection_to(tmp_path / "linked") == f"is a symbolic link to {LOG}"
    told = objection_to(tmp_path / "linked", follow_links=False)
    assert told == f"is a symbolic link to {LOG}; --follow-links would follow it"
    told = objection_to(tmp_path / "linked", follow_links=True)
    assert told == f"is a symbolic link to {LOG}, {kind}, not a regular file"


def test_a_device_is_not_opened(tmp_path):
    assert objection_to(Path("/dev/zero")) == "is a device, not a regular file"
    (tmp_path / LOG).symlink_to("/dev/zero")
    assert (
        objection_to(tmp_path / LOG, follow_links=True)
        == "is a symbolic link to /dev/zero, a device, not a regular file"
    )


def test_links_are_followed_on_demand_only(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/log").write_bytes(b"")
    directory = tmp_path / "topic-0"
    directory.mkdir()
    (directory / LOG).symlink_to("../elsewhere/log")
    assert [file.name for file, _ in look_into(directory).objections] == [LOG]
    assert look_into(directory, follow_links=True) == ([directory / LOG], [])
    # One that dangles would be made by opening it; one that leads in a circle is no file at all.
    (directory / LOG).unlink()
    (directory / LOG).symlink_to("nowhere")
    assert "No such file" in objection_to(directory / LOG, follow_links=True)
    (directory / LOG).unlink()
    (directory / LOG).symlink_to(LOG)
    assert "symbolic links" in objection_to(directory / LOG, follow_links=True)


def test_subdirectories_are_passed_over_unless_they_have_a_files_name(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes.txt").write_bytes(b"")
    assert look_into(tmp_path) == ([tmp_path / "notes.txt"], [])
    (tmp_path / "partition.metadata.tmp").mkdir()
    assert [file.name for file, _ in look_into(tmp_path).objections] == ["partition.metadata.tmp"]
