"""Files that are written beside their place, and what is left of one whose writer was killed."""

import os
import subprocess
import sys

import pytest

from minikafka.common import draft_file
from minikafka.common.draft_file import draft_of, remove_left_drafts

KILLED = """
import os, sys
from pathlib import Path
from minikafka.common.draft_file import draft_of
with draft_of(Path(sys.argv[1])) as draft:
    draft.write(b"half")
    draft.flush()
    os.kill(os.getpid(), 9)
"""


def test_the_file_has_the_new_content_at_the_end_and_the_old_one_after_an_error(tmp_path):
    file = tmp_path / "file"
    for content in (b"old", b"new"):
        with draft_of(file) as draft:
            draft.write(content)
    assert file.read_bytes() == b"new" and os.listdir(tmp_path) == ["file"]
    with pytest.raises(ZeroDivisionError), draft_of(file) as draft:
        draft.write(b"newer")
        raise ZeroDivisionError
    assert file.read_bytes() == b"new" and os.listdir(tmp_path) == ["file"]


@pytest.mark.slow
def test_a_killed_writers_draft_is_removed_and_a_living_ones_is_not(tmp_path):
    file = tmp_path / "file"
    subprocess.run([sys.executable, "-c", KILLED, file], timeout=60)
    (left,) = tmp_path.iterdir()
    with draft_of(file) as draft:
        draft.write(b"whole")
        remove_left_drafts(tmp_path)
        (living,) = tmp_path.iterdir()
        assert living != left
    assert file.read_bytes() == b"whole" and os.listdir(tmp_path) == ["file"]


def test_a_draft_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, removed = draft_file.flock, []

    def removed_meanwhile(opened, how):
        if not removed:
            removed.append(tmp_path.iterdir().__next__())
            removed[0].unlink()
        lock(opened, how)

    monkeypatch.setattr(draft_file, "flock", removed_meanwhile)
    with draft_of(tmp_path / "file") as draft:
        draft.write(b"whole")
    assert removed and (tmp_path / "file").read_bytes() == b"whole" and os.listdir(tmp_path) == ["file"]


def test_what_is_no_draft_stays(tmp_path):
    for name in ("mine.tmp", ".0123456789abcdef.tmp", ".minikafka-mine.tmp"):
        (tmp_path / name).write_text("of somebody else")
    os.mkfifo(tmp_path / f".minikafka-{'b' * 16}.tmp")
    (tmp_path / f".minikafka-{'c' * 16}.tmp").symlink_to("mine.tmp")
    before = sorted(os.listdir(tmp_path))
    remove_left_drafts(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before
