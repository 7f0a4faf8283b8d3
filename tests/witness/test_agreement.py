"""The comparison of witnesses: what counts as agreement, and what never does."""

from dataclasses import replace

import pytest

from minikafka.witness.agreement import agree
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import BLANK, QUANTITIES, Observation, Observations

WORKLOAD = Workload(("append_as_leader [1x10]", "roll leo", "tick 5"))


def table(name, *rows):
    return Observations(name, WORKLOAD, rows)


def test_one_line_a_quantity():
    agreement = agree(
        table("a", {"leo": 1, "hw": 0}, {"leo": 1, "hw": 0}, {"leo": 1, "hw": 0}),
        table("b", {"leo": 1}, {"leo": 1, "hw": 0}, {}),
    )
    assert agreement
    assert agreement.agreed_quantities == ["leo", "hw"]
    assert [line.cells for line in agreement.lines] == [2, 1]
    assert agreement.cells == 3
    assert agreement.first_difference is None
    assert agreement.check() is agreement
    assert "No difference." in str(agreement)
    assert "differ" not in agreement._repr_html_().lower().replace("no difference", "")


def test_the_first_difference_names_operation_quantity_and_values():
    agreement = agree(
        table("a", {"leo": 1, "hw": 0}, {"leo": 2, "hw": 0}, {"leo": 9, "hw": 0}),
        table("b", {"leo": 1, "hw": 0}, {"leo": 2, "hw": 1}, {"leo": 8, "hw": 0}),
        table("c", {"leo": 1}, {}, {}),
    )
    assert not agreement
    assert agreement.agreed_quantities == []
    first = agreement.first_difference
    assert (first.operation, first.quantity, first.values) == (1, "hw", {"a": 0, "b": 1})
    assert str(first) == "after operation 1 (roll leo), hw: a says 0; b says 1"
    assert "<b>differ</b>" in agreement._repr_html_()
    assert agreement.summary() == {
        "witnesses": ["a", "b", "c"],
        "operations": 3,
        "quantities": 0,
        "agreed": [],
        "cells": 7,
        "first_difference": str(first),
    }
    with pytest.raises(AssertionError, match="after operation 1"):
        agreement.check()


def test_the_third_witness_may_be_the_one_that_differs():
    agreement = agree(table("a", {"leo": 1}), table("b", {"leo": 1}), table("c", {"leo": 2}))
    assert agreement.first_difference.values == {"a": 1, "b": 1, "c": 2}


SEEN = Observation(
    result="segment 3",
    error="KafkaException",
    message="no",
    log_start_offset=0,
    recovery_point=1,
    high_watermark=2,
    last_stable_offset=2,
    log_end_offset=3,
    segments=((0, 100), (3, 0)),
    index_entries=((2, 70),),
    epochs=((0, 0), (4, 2)),
    producers=((7, 0, 3, 2, 1000, -1, -1),),
)
ALTERED = {
    **dict.fromkeys(("result", "error", "message"), "other"),
    **{name: 99 for name in QUANTITIES if isinstance(getattr(SEEN, name), int)},
    "segments": ((0, 100), (3, 1)),
    "index_entries": ((2, 71),),
    "epochs": ((0, 0), (4, 3)),
    "producers": ((7, 0, 3, 2, 1001, -1, -1),),
}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_quantity_counts_but_the_message(quantity):
    workload = Workload(("roll leo",))
    seen = Observations.of("a", workload, [SEEN])
    altered = Observations.of("b", workload, [replace(SEEN, **{quantity: ALTERED[quantity]})])
    assert bool(agree(seen, altered)) is (quantity == "message")
    assert not agree(seen, altered, ignore=())


def test_blanks_are_not_compared():
    agreement = agree(table("a", {"leo": 1, "hw": 3}, {}, {}), table("b", {"leo": 1}, {"leo": 5}, {}))
    assert agreement.agreed_quantities == ["leo"]
    assert agreement.cells == 1
    assert table("a").value(0, "leo") is BLANK


def test_comparing_nothing_is_an_error():
    with pytest.raises(ValueError, match="nothing was compared"):
        agree(table("a", {"leo": 1}), table("b", {"hw": 1}))
    with pytest.raises(ValueError, match="nothing was compared"):
        agree(table("a", {"message": "x"}), table("b", {"message": "y"}))
    with pytest.raises(ValueError, match="at least two"):
        agree(table("a", {"leo": 1}), None)
    with pytest.raises(ValueError, match="one name"):
        agree(table("a", {"leo": 1}), table("a", {"leo": 1}))
    with pytest.raises(ValueError, match="different workloads"):
        agree(table("a", {"leo": 1}), Observations("b", Workload(("tick 5",)), ({"leo": 1},)))


def test_an_absent_witness_is_left_out():
    assert agree(table("a", {"leo": 1}), table("b", {"leo": 1}), None).witnesses == ("a", "b")


def test_observations_read_well():
    observations = Observations.of("a", Workload(("roll leo",)), [Observation("segment 3", segments=((0, 10), (3, 0)))])
    assert observations.column("segments") == [((0, 10), (3, 0))]
    assert "result=segment 3 segments=0:10 3:0" in str(observations)
    assert "<td>0:10 3:0</td>" in observations._repr_html_()
