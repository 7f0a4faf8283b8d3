"""While a write has moved some partitions of a topic to their places and not the others, nobody takes them for one
topic: a query is refused, `ls` and `verify` say so.
"""

import dataclasses
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.errors import KafkaStorageException
from minikafka.spark.source import settled_partitions
from minikafka.spark.source.data_source import KafkaLogDataSource
from tests.spark.rows import rows
from tests.spark.sink.writing import DEAD, begin, killed_in_commit, row, task, write

REFUSED = r"\.minikafka-write-[0-9a-f]{12}: a write of topic t was interrupted, or is under way, [^\n]* finishes it$"
MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    monkeypatch.setattr(settled_partitions, "_LOOKS", 1)
    monkeypatch.setattr(settled_partitions, "_PAUSE_S", 0)


@pytest.fixture
def log_dir(tmp_path) -> Path:
    """With an old topic t of two partitions, over which a write was killed, and another topic."""
    log_dir = tmp_path / "data"
    write(log_dir, [row(b"there")], topic="other")
    write(log_dir, [row(b"old 0")], [row(b"old 1", partition=1)], partitions=2)
    assert killed_in_commit(log_dir, overwrite=True)
    return log_dir


def values(path, **options) -> list[bytes]:
    return sorted(each["value"] for each in rows(path, **options))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("below", ["", "t-0", "t-*", f"t-1/{0:020}.log"])
def test_a_query_of_a_topic_that_is_written_in_part_is_refused(log_dir, below, mode):
    with pytest.raises(KafkaStorageException, match=REFUSED):
        rows(log_dir / below, mode=mode)
    begin(log_dir, topic="next").abort([])
    assert set(values(log_dir / below, mode=mode)) <= {b"new 0", b"new 1", b"there"}


@pytest.mark.parametrize("table", ["batches", "segments", "partitions", "ranges", "groups"])
def test_so_are_its_tables(log_dir, table):
    with pytest.raises(KafkaStorageException, match=REFUSED):
        rows(log_dir, table=table)


def test_a_stream_of_it_is_refused(log_dir):
    source = KafkaLogDataSource({"path": str(log_dir), "startingOffsets": "earliest"})
    with pytest.raises(KafkaStorageException, match=REFUSED):
        source.streamReader(source.schema()).initialOffset()


def test_other_topics_beside_it_are_read(log_dir):
    for options in ({"subscribe": "other"}, {"subscribePattern": "^o"}, {"assign": '{"other": [0]}'}):
        assert values(log_dir, **options) == [b"there"]
    assert values(log_dir / "other-0") == [b"there"]


@pytest.mark.slow
@pytest.mark.parametrize("replaces", [False, True])
def test_a_query_sees_all_of_the_old_or_of_the_new_or_is_refused(tmp_path, replaces):
    """Wherever the driver died; also where a topic's only partition is put aside, and there is none of it."""
    step, refused = 0, 0
    while True:
        log_dir = tmp_path / str(step)
        write(log_dir, [row(b"there")], topic="other")
        old = [b"old"] if replaces else []
        if replaces:
            write(log_dir, [row(b"old")])
        if not killed_in_commit(log_dir, step, overwrite=replaces):
            break
        try:
            assert values(log_dir) in ([*old, b"there"], [b"new 0", b"new 1", b"there"])
        except KafkaStorageException as error:
            assert "a write of topic t was interrupted" in str(error)
            refused += 1
        step += 1
    assert refused > 5


def test_a_query_that_looks_while_a_write_ends_looks_again(tmp_path, monkeypatch):
    monkeypatch.setattr(settled_partitions, "_LOOKS", 3)
    write(tmp_path, [row(b"old 0")], [row(b"old 1", partition=1)], partitions=2)
    writer = begin(tmp_path, partitions=2, overwrite=True)
    messages = [task(writer, [row(b"new 0")]), task(writer, [row(b"new 1", partition=1)])]
    find, looks = settled_partitions.find_partitions, []

    def find_and_let_the_write_end(*arguments):
        found = find(*arguments)
        if not looks:
            writer.commit(messages)
        looks.append(found)
        return found

    monkeypatch.setattr(settled_partitions, "find_partitions", find_and_let_the_write_end)
    assert values(tmp_path) == [b"new 0", b"new 1"]
    assert len(looks) == 2


def test_a_write_that_has_not_begun_to_move_anything_does_not_matter(tmp_path):
    write(tmp_path, [row(b"old")])
    writer = begin(tmp_path, overwrite=True)
    task(writer, [row(b"new")])
    assert values(tmp_path) == [b"old"]
    assert "findings" in told("ls", tmp_path)["partitions"][0]
    assert told("ls", tmp_path)["partitions"][0]["findings"] == told("verify", tmp_path)["findings"] == []


def told(command: str, directory: Path) -> dict:
    result = CliRunner().invoke(main, [command, "--json", str(directory)], catch_exceptions=False)
    return json.loads(result.stdout)


def told_beside(directory: Path) -> str:
    """What `ls` says beside the table."""
    result = CliRunner().invoke(main, ["ls", str(directory)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stderr


def test_ls_names_each_write_that_is_under_way_or_was_ended(log_dir, tmp_path):
    (mark,) = log_dir.glob(".minikafka-write-*")
    ended = f"process {DEAD.pid} on {DEAD.host} was ended while it wrote topic"
    assert told_beside(log_dir) == f"{mark}: {ended} t: the next write into the log directory finishes that\n"
    assert told_beside(log_dir / "t-1") == told_beside(log_dir / "other-0") == ""
    mark = begin(tmp_path / "new")._mark
    assert told_beside(tmp_path / "new") == f"{mark.file}: process {DEAD.pid} on {DEAD.host} is writing topic t\n"
    dataclasses.replace(mark, owner=DEAD._replace(host="elsewhere")).put()
    assert told_beside(tmp_path / "new") == (
        f"{mark.file}: process {DEAD.pid} on elsewhere is writing topic t, if it still runs\n"
    )
    dataclasses.replace(mark, owner=DEAD).put()
    assert told_beside(tmp_path / "new") == (
        f"{mark.file}: {ended} t: the next write into the log directory removes what it left\n"
    )
    assert told("verify", tmp_path / "new")["findings"] == []


@pytest.mark.parametrize("below", ["", "t-1"])
def test_ls_and_verify_tell_of_it(log_dir, below):
    (mark,) = log_dir.glob(".minikafka-write-*")
    what = "a write of topic t was interrupted, or is under way: its partitions may be old and new"
    for partition in told("ls", log_dir / below)["partitions"]:
        is_of_it = partition["topic"] == "t" and partition["kind"] == "current"
        assert partition["findings"].count(what) == is_of_it
    (finding,) = told("verify", log_dir / below)["findings"]
    assert (finding["file"], finding["what"], finding["fate"]) == (str(mark), what, "stays")
    assert told("ls", log_dir / "other-0")["partitions"][0]["findings"] == []
    assert told("verify", log_dir / "other-0")["findings"] == []


OWNER = '"owner": {"host": "h", "pid": 1, "started": "1"}'


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        f'{{"topic": 1, "committed": null, {OWNER}}}',
        f'{{"topic": "t", "committed": [], {OWNER}}}',
        '{"topic": "t", "committed": null}',
        '{"topic": "t", "committed": null, "owner": {"host": "h", "pid": 1e99, "started": "1"}}',
    ],
)
def test_what_only_has_the_name_of_a_mark_is_told(tmp_path, content):
    write(tmp_path, [row(b"there")])
    mark = tmp_path / f".minikafka-write-{0:012}"
    mark.write_text(content)
    line = f"IOException: {mark} is not the mark that a write leaves; remove it, unless a write is under way"
    for command in ("ls", "verify"):
        assert told(command, tmp_path)["unread"] == [line]
    with pytest.raises(OSError, match="is not the mark that a write leaves; remove it"):
        rows(tmp_path)
