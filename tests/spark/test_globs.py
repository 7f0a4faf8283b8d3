"""Globs stand for the paths that they have in Spark and in a shell, on a disk and in an object store."""

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


@pytest.mark.slow
def test_so_it_is_in_an_object_store(tmp_path):
    with ObjectStore() as store:
        for number in (1, 2):
            shutil.copytree(GOLDEN, tmp_path / f"broker-{number}")
        store.put(tmp_path, "all")
        told = rows(f"s3://{BUCKET}/all/broker-[^1]", **store.settings)
        assert told and told == rows(f"s3://{BUCKET}/all/broker-2", **store.settings)
