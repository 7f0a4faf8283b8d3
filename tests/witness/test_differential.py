"""`python -m minikafka.witness.log.differ` tells how far it is, when it ends and when it is stopped."""

import os
import signal
from types import SimpleNamespace

import pytest

from minikafka.witness import drawn_comparisons
from minikafka.witness.log import differ as differential


@pytest.fixture
def compared(monkeypatch):
    """No Kafka: every workload is the same in both, an operation takes a second; the sizes of the workloads."""
    sizes = []

    def compare(kafka, workload):
        sizes.append(len(workload))
        return SimpleNamespace(same=True)

    monkeypatch.setattr(drawn_comparisons.KafkaJvm, "start", lambda: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(differential, "compare", compare)
    monkeypatch.setattr(drawn_comparisons.Tally, "seconds", property(lambda tally: tally.operations))
    before = signal.getsignal(signal.SIGTERM)
    yield sizes
    signal.signal(signal.SIGTERM, before)


def test_it_ends_after_so_many_operations_and_tells_each_minute_how_far_it_is(compared, capsys):
    assert differential.main(["--operations", "150", "--size", "25", "--seed", "1"]) == 0
    assert compared == [25] * 6
    told = capsys.readouterr()
    assert told.out == "150 operations, 0 differences\n"
    assert told.err == "1 min: 75 operations, 0 differences\n2 min: 125 operations, 0 differences\n"


def test_it_ends_after_so_many_minutes(compared, capsys):
    differential.main(["--minutes", "2", "--size", "50", "--seed", "1"])
    assert capsys.readouterr().out == "150 operations, 0 differences\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_it_tells_how_far_it_was(compared, capsys, monkeypatch, number):
    compare = differential.compare

    def stopped_in_the_third(kafka, workload):
        if len(compared) == 2:
            os.kill(os.getpid(), number)
        return compare(kafka, workload)

    monkeypatch.setattr(differential, "compare", stopped_in_the_third)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
    try:
        assert differential.main(["--size", "10", "--seed", "1"]) == 0
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr() == ("20 operations, 0 differences\n", "stopped\n")


def test_a_difference_is_told_with_the_line_that_repeats_it(compared, capsys, monkeypatch):
    monkeypatch.setattr(differential, "compare", lambda kafka, workload: SimpleNamespace(same=False))
    monkeypatch.setattr(differential, "smallest", lambda kafka, workload: "the smallest workload")
    assert differential.main(["--profile", "leader", "--size", "10", "--seed", "4"]) == 1
    assert capsys.readouterr().out == (
        "\n--profile 'leader' --seed 4 --size 10\nthe smallest workload\n10 operations, 1 differences\n"
    )
