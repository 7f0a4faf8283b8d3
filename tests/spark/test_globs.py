"""Globs stand for the paths that they have in Spark and in a shell, on a disk and in an object store."""

import errno
import os
import shutil

import pytest

from minikafka.spark.source.local_storage import LocalStorage
from tests.golden.places import GOLDEN
from tests.spark.object_store import BUCKET, ObjectStore
from tests.spark.rows import rows

NAMES = ["broker-1", "broker-2", "broker-10", "broker-^", "broker-!", "broker-a", "other"]


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("broker-[^1]", "broker-! broker-2 broker-^ broker-a"),
        ("broker-[!1]", "broker-! broker-2 broker-^ broker-a"),
        ("broker-[1^]", "broker-1 broker-^"),
        ("broker-[^^!a-z]*", "broker-1 broker-10 broker-2"),
        ("[^b]*", "other"),
        ("broker-?", "broker-! broker-1 broker-2 broker-^ broker-a"),
    ],
)
def test_a_class_that_begins_with_a_caret_is_any_other_letter(tmp_path, glob, names):
    for name in NAMES:
        (tmp_path / name).mkdir()
    found = LocalStorage().expanded(str(tmp_path / glob))
    assert [os.path.basename(path) for path in found] == names.split()


@pytest.mark.parametrize("glob", ["*/t-0", "*/t-*", "*/*/*.log", "broker-[12]/t-0/*.log"])
def test_what_may_not_be_looked_at_is_an_error_and_not_left_out(tmp_path, monkeypatch, glob):
    """Root may look at all, so the system is asked in a way that refuses."""
    for number in (1, 2):
        (tmp_path / f"broker-{number}" / "t-0").mkdir(parents=True)
        (tmp_path / f"broker-{number}" / "t-0" / "0.log").touch()
    assert len(LocalStorage().expanded(str(tmp_path / glob))) == 2
    for name in ("listdir", "lstat"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name), below=str(tmp_path / "broker-2")))
    with pytest.raises(PermissionError, match="broker-2"):
        LocalStorage().expanded(str(tmp_path / glob))


def refusing(ask, *, below: str):
    def refuse(path, *arguments, **options):
        if os.fspath(path).startswith(below):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        return ask(path, *arguments, **options)

    return refuse


def test_a_path_that_leads_nowhere_is_left_out(tmp_path):
    (tmp_path / "a" / "t-0").mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / ".hidden" / "t-0").mkdir(parents=True)
    for glob in ("*/t-0", "*/t-*", "*/../*/t-0", "*/"):
        assert {os.path.relpath(path, tmp_path) for path in LocalStorage().expanded(f"{tmp_path}/{glob}")} == (
            {"a"} if glob == "*/" else {"a/t-0"}
        )


@pytest.mark.slow
def test_so_it_is_in_an_object_store(tmp_path):
    with ObjectStore() as store:
        for number in (1, 2):
            shutil.copytree(GOLDEN, tmp_path / f"broker-{number}")
        store.put(tmp_path, "all")
        told = rows(f"s3://{BUCKET}/all/broker-[^1]", **store.settings)
        assert told and told == rows(f"s3://{BUCKET}/all/broker-2", **store.settings)
