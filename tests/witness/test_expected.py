"""The Spark witness: its answers on workloads small enough to work out by hand, and against minikafka on drawn ones."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import minikafka
from minikafka.witness.agreement import agree
from minikafka.witness.log.draw import draw_workload
from minikafka.witness.log.expect import QUERIES, spark_expected
from minikafka.witness.log.run import minikafka_log, run
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import BLANK

ROOT = Path(minikafka.__file__).parent.parent

FOLLOWERS = Workload.parse("""
config internal.segment.bytes=300 index.interval.bytes=70 retention.ms=100 retention.bytes=500
isr 1,2
append_as_leader [3x10]
append_as_leader [2x20]
append_as_leader [1x500]             # larger than a segment: refused
append_as_leader [5x10]
fetch 1 leo                          # follower 2 has not fetched
count hw leo
fetch 2 3
count hw leo
append_as_leader [1x0]
fetch 2 leo
tick 101
append_as_leader [1x0]
roll
isr 2                                # only follower 2 counts, which fetched up to 11
append_as_leader [1x0]
fetch 1 4                            # inside the batch 3-4, and behind: nothing falls
count hw leo
""")

TRANSACTIONS = Workload.parse("""
append_as_leader [3x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [2x10]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
maybe_increment_high_watermark leo
consume start
consume start read_committed=true
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader [2x10 pid=7 epoch=0 seq=3]
consume start read_committed=true
maybe_increment_high_watermark leo
consume start read_committed=true
append_as_leader origin=coordinator transaction_version=0 [commit pid=8 epoch=0]
maybe_increment_high_watermark leo
consume start read_committed=true
consume start
""")


@pytest.fixture(scope="module")
def followers(spark):
    return spark_expected(FOLLOWERS, spark)


def test_log_end_and_high_watermark(followers):
    assert followers.column("log_end_offset") == [3, 5, 5, 10, 10, 10, 10, 10, 11, 11, 11, 12, 12, 12, 13, 13, 13]
    assert followers.column("high_watermark") == [0, 0, 0, 0, 0, 0, 3, 3, 3, 10, 10, 10, 10, 11, 11, 11, 11]


def test_segments_and_their_indexes(followers):
    first, second = (0, 112 + 115), (5, 146)
    assert followers.value(1, "segments") == (first,)
    assert followers.value(3, "segments") == (first, second)
    assert followers.value(12, "segments") == (first, (5, 146 + 68 + 68), (12, 0))
    assert followers.value(3, "index_entries") == ((4, 112),)
    assert followers.value(16, "index_entries") == ((4, 112), (10, 146))


def test_counts_between_offsets(followers):
    said = [followers.value(i, "result") for i, op in enumerate(FOLLOWERS) if op.kind == "count"]
    assert said == ["10 records", "7 records", "2 records"]


@pytest.mark.parametrize("quantity", ["log_end_offset", "high_watermark"])
def test_one_cell_asked_of_two_queries_has_one_answer(followers, spark, quantity):
    """The high watermark and the log end offset follow from the fold (asked first) and from a window query alike."""
    alone = spark_expected(FOLLOWERS, spark, only=[quantity])
    assert followers.column(quantity) == alone.column(quantity)
    assert alone.quantities == [quantity]


def test_retention_truncation_and_reopening(spark):
    workload = FOLLOWERS.with_operations(
        [
            *FOLLOWERS.operations[:13],
            "delete_old_segments",  # 101 ms are more than 100: both old segments, but the high watermark stands at 10
            "maybe_increment_high_watermark leo",
            "maybe_increment_log_start_offset 6",
            "truncate_to 11",
            "append_as_leader [2x10]",
            "truncate_to 4",
            "truncate_to 99",
            "append_as_leader [1x10]",
            "reopen",
            "truncate_fully_and_start_at 20",
        ]
    )
    expected = spark_expected(workload, spark)

    def state(i):
        return tuple(expected[i][q] for q in ("log_start_offset", "high_watermark", "log_end_offset", "segments"))

    assert expected.value(13, "result") == "1 deleted"
    assert state(13) == (5, 10, 12, ((5, 282), (12, 0)))
    assert expected.value(15, "result") == "yes"
    assert state(15) == (6, 12, 12, ((5, 282), (12, 0)))
    assert state(16) == (6, 11, 11, ((5, 214),))
    assert expected.value(17, "segments") == ((5, 214), (11, 95))
    assert state(18) == (4, 4, 4, ((4, 0),))
    assert expected.value(19, "result") == "no"
    assert state(21)[0] == 4
    assert state(22) == (20, 20, 20, ((20, 0),))


def test_what_a_read_committed_consumer_sees(spark):
    expected = spark_expected(TRANSACTIONS, spark)
    said = [expected.value(i, "result") for i, op in enumerate(TRANSACTIONS) if op.kind == "consume"]
    assert said == ["0..6", "none", "none", "3..4", "3..6 8..9", "0..6 8..9"]
    assert expected.column("last_stable_offset") == [0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 5, 5, 11, 11, 11]
    assert agree_with_minikafka(TRANSACTIONS, expected)


def agree_with_minikafka(workload, expected):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as directory:
        return agree(expected, run(workload, minikafka_log, Path(directory) / "topic-0")).check()


def test_minikafka_agrees_on_the_followers(followers):
    agreement = agree_with_minikafka(FOLLOWERS, followers)
    assert set(agreement.agreed_quantities) >= {
        "log_end_offset",
        "high_watermark",
        "segments",
        "index_entries",
        "result",
    }


def test_a_killed_log_is_scanned_and_its_indexes_are_built_anew(spark):
    """Reopening forgets the bytes since the last index entry, a scan counts them: entries move."""
    lines = ["config internal.segment.bytes=700 index.interval.bytes=150"]
    lines += [
        "append_as_leader [2x10]",
        "append_as_leader [3x40]",
        *["append_as_leader [2x10]"] * 3,
        "truncate_to leo-2",
    ]
    lines += ["append_as_leader [2x10]"] * 4
    lines += ["maybe_increment_high_watermark leo", "maybe_increment_log_start_offset 4"]
    killed = [*lines, "reopen clean=false", "append_as_leader [2x10]"]
    expected = spark_expected(Workload.parse("\n".join(killed)), spark, only=["log_fold"])
    assert expected.column("log_start_offset")[-3:] == [4, 0, 0]
    assert expected.column("index_entries")[-3:-1] == [((6, 297),), ((6, 297), (10, 487))]
    assert agree_with_minikafka(Workload.parse("\n".join(killed)), expected)
    checkpointed = spark_expected(Workload.parse("\n".join([*lines, "checkpoint", "reopen clean=false"])), spark)
    assert "begins with checkpoints" in checkpointed.notes["log_fold"]


@pytest.mark.parametrize("seed", [5, 11])
def test_minikafka_agrees_on_drawn_workloads_that_are_killed(seed, spark):
    drawn = draw_workload(seed, 30, reopen=False)
    lines = [str(operation) for operation in drawn if operation.kind != "checkpoint"]
    lines[10:10], lines[25:25] = ["reopen clean=false"], ["reopen clean=false"]
    workload = Workload(tuple(lines), drawn.config)
    expected = spark_expected(workload, spark, only=["log_fold"])
    assert expected.notes == {} and expected.column("segments")[-1] is not BLANK
    assert agree_with_minikafka(workload, expected)


@pytest.mark.parametrize("seed", [2, 3, 8, 9])
def test_minikafka_agrees_on_drawn_workloads(seed, spark):
    workload = draw_workload(seed, 40)
    agreement = agree_with_minikafka(workload, spark_expected(workload, spark))
    assert agreement.cells > 100


def test_a_workload_beyond_the_queries_stays_blank(spark):
    workload = Workload(("append_as_leader [1x10]", "append_as_follower [1x10]", "reopen clean=false"))
    expected = spark_expected(workload, spark)
    assert expected.quantities == []
    assert expected.value(0, "log_end_offset") is BLANK
    assert expected.notes["log_end_offset"] == "does not admit operation 1, append_as_follower"
    assert set(expected.notes) == {query.name for query in QUERIES}
    with pytest.raises(ValueError, match="nothing was compared"):
        agree_with_minikafka(workload, expected)


def test_what_follows_from_the_unknown_is_blank(spark):
    """A high watermark inside a batch moves when somebody reads: from there on the fold says nothing."""
    workload = Workload(("append_as_leader [5x10]", "update_high_watermark 3", "tick 5"))
    expected = spark_expected(workload, spark, only=["log_fold"])
    assert expected.column("high_watermark") == [0, BLANK, BLANK]


def test_an_unknown_query_is_refused(spark):
    with pytest.raises(ValueError, match="there is no query leo; there are log_fold"):
        spark_expected(FOLLOWERS, spark, only=["leo"])


def test_queries_say_what_they_admit():
    for query in QUERIES:
        assert query.rule and query.quantities and "append_as_leader" in query.admits
        assert f"-- {query.name}: {query.rule}" in str(query)


@pytest.mark.spark
@pytest.mark.slow  # a session of its own
def test_the_witness_knows_nothing_of_the_log(tmp_path):
    """Asked in a process of its own, Spark answers all of its queries, and no module of the log is ever loaded."""
    for name, workload in (("followers", FOLLOWERS), ("transactions", TRANSACTIONS), ("drawn", draw_workload(2, 20))):
        workload.save(tmp_path / name)
    code = f"""
import sys
from pathlib import Path
from minikafka.witness import Workload, spark_expected
said = {{q for file in Path({str(tmp_path)!r}).iterdir() for q in spark_expected(Workload.load(file)).quantities}}
print(len(said), [name for name in sys.modules if name.startswith("minikafka.log")])
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "7 []"


@pytest.mark.slow
def test_nothing_that_the_witness_imports_is_of_the_log():
    """However far, at import time or in a function. (What Spark's session loads, the test above sees.)"""
    names = ("log.expect", "log_dir.expect", "replicas.expect")
    witnesses = [f"minikafka.witness.{name}" for name in names]
    seen, waiting = set(), [*witnesses, "minikafka.witness.log.workload"]
    while waiting:
        module = waiting.pop()
        path = ROOT.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if module in seen or not path.exists() or module.startswith(("minikafka.spark", "minikafka.jvm")):
            continue
        seen.add(module)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
    assert {"minikafka.witness.log.fold", "minikafka.record.format.memory_records_builder"} <= seen
    rooms = ("minikafka.log", "minikafka.cluster", "minikafka.server", "minikafka.broker", "minikafka.metadata")
    assert not [module for module in seen if module.startswith(rooms)]
