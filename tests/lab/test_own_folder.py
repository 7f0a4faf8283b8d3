"""A folder that is made again takes away what an earlier run made, and nothing else."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.lab.site import live_site
from minikafka.lab.site.own_folder import FolderError, replaced

MARK = ".minikafka-site"


def make(folder: Path, **files: str) -> None:
    with replaced(folder, MARK) as new:
        (new / "deep").mkdir()
        for name, text in files.items():
            (new / "deep" / name).write_text(text)
        (new / "index.html").write_text("start")


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_files_of_the_earlier_run_go(tmp_path):
    make(tmp_path / "site", a="1", b="2")
    make(tmp_path / "site", a="3")
    assert contents(tmp_path / "site").keys() == {MARK, "deep/a", "index.html"}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "CNAME").write_text("example.org"),
        lambda folder: (folder / ".git").mkdir(),
        lambda folder: (folder / "index.html").write_text("start, and more"),
        lambda folder: os.mkfifo(folder / "deep" / "fifo"),
        lambda folder: (folder / "deep" / "link").symlink_to("/"),
        lambda folder: ((folder / "index.html").unlink(), (folder / "index.html").symlink_to("deep/a")),
    ],
    ids=["a file", "a directory", "a change", "a fifo", "a link to a directory", "a link in the place of a file"],
)
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_what_was_put_there_stays(tmp_path, change, when):
    make(tmp_path / "site", a="1")
    if when == "before":
        change(tmp_path / "site")
        with pytest.raises(FolderError, match="was not made, or was changed after the site was made"):
            make(tmp_path / "site", a="2")
    else:
        with pytest.raises(FolderError, match="was not made"), replaced(tmp_path / "site", MARK):
            change(tmp_path / "site")
    assert (tmp_path / "site" / "deep" / "a").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_folder_of_others_that_has_a_mark_of_another_kind(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / MARK).write_text("index.html\n")
    (tmp_path / "site" / "index.html").write_text("mine")
    with pytest.raises(FolderError, match="is not empty, and no earlier site"):
        make(tmp_path / "site")
    assert contents(tmp_path / "site")["index.html"] == "mine"


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interruption_leaves_the_earlier_one_or_the_new_one(tmp_path, monkeypatch, number, moment):
    make(tmp_path / "site", a="1")
    renames = iter(range(1, 10))
    rename = Path.rename

    def interrupted(path, target):
        is_now = next(renames) == number
        if is_now and moment == "before":
            raise KeyboardInterrupt
        rename(path, target)
        if is_now:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "rename", interrupted)
        make(tmp_path / "site", a="2")
    assert contents(tmp_path / "site")["deep/a"] in ("1", "2")


def test_the_live_lessons_replace_only_a_folder_of_their_own(tmp_path, monkeypatch):
    built = tmp_path / "built"
    (built / "static").mkdir(parents=True)
    (built / "index.html").write_text("new")
    monkeypatch.setattr(live_site, "live_site", lambda: built)
    theirs, link, ours = tmp_path / "theirs", tmp_path / "link", tmp_path / "ours"
    (theirs / "live").mkdir(parents=True)
    (theirs / "live" / "index.html").write_text("my own")
    link.mkdir()
    (link / "live").symlink_to(theirs)
    for folder, words in ((theirs, "is not empty"), (link, "is no folder of its own")):
        refused = CliRunner().invoke(live_site.main, [str(folder)])
        assert refused.exit_code == 1 and words in str(refused.output)
    assert (theirs / "live" / "index.html").read_text() == "my own" and not (theirs / "static").exists()
    for _ in range(2):
        assert CliRunner().invoke(live_site.main, [str(ours)]).exit_code == 0
        assert (ours / "live" / "index.html").read_text() == "new"
