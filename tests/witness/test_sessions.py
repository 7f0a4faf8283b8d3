"""Workloads of a fetch session: their text, what minikafka makes of them, and what Kafka does."""

import pytest

from minikafka.witness import agree
from minikafka.witness.kafka.kafka_fetch_sessions import KafkaFetchSessions
from minikafka.witness.log.workload import WorkloadError
from minikafka.witness.sessions.draw import draw_session_workload
from minikafka.witness.sessions.minikafka_sessions import MinikafkaSessions
from minikafka.witness.sessions.run import run_sessions
from minikafka.witness.sessions.workload import SessionWorkload

STORY = """
fetch 0 1
append 1 3
fetch 2 -0    # one more, one less
fetch
fail 2
fetch
heal 2
fetch
fetch -1 -2
fetch 0
"""


def test_a_workload_is_its_text():
    for seed in range(20):
        workload = draw_session_workload(seed, 40)
        assert len(workload) == 40 and SessionWorkload.parse(str(workload)) == workload
        assert draw_session_workload(seed, 40) == workload


@pytest.mark.parametrize("line", ["read 1", "append 1", "append 1 x", "mark -1", "fetch x", "fail 1 2", "cut"])
def test_a_line_that_cannot_be_read_is_named(line):
    with pytest.raises(WorkloadError, match="^line 2: "):
        SessionWorkload.parse(f"fetch 0\n{line}\n")


def test_only_news_are_told_and_what_had_records_is_read_last():
    rows = [row for row in run_sessions(SessionWorkload.parse(STORY), MinikafkaSessions()).rows if row["error"]]
    assert [row["read"] for row in rows] == [(0, 1), (1, 2), (2, 1), (2, 1), (2, 1), (), (0,)]
    assert [row["told"] for row in rows] == [(0, 1), (1, 2), (), (2,), (2,), (), (0,)]
    assert {row["error"] for row in rows} == {"NONE"}


@pytest.mark.kafka
@pytest.mark.parametrize("seed", range(12))
def test_drawn_workloads_go_as_by_kafkas_own_sessions(kafka, seed):
    workload = draw_session_workload(seed, 60, partitions=1 + seed % 6, fetches=0.2 + 0.1 * (seed % 5))
    ours, theirs = (
        run_sessions(workload, MinikafkaSessions()),
        run_sessions(workload, KafkaFetchSessions(kafka), "kafka"),
    )
    agree(ours, theirs).check()
