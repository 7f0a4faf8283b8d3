"""What Spark's Kafka connector and the data source are asked beside each other, and what each of them answers.

The broker has the topics `a` (partition 0 with the offsets 0 to 99, partition 1 with 0 to 49), `b` (0 to 29), `ab.c`
(0 to 4), `empty`, `gone` (0 to 9), `goes-on` (0 to 6), and `kept`, of which 0 to 19 were deleted and 20 to 59 are
left. The record at offset n of a partition has the timestamp `START` + n seconds.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

START = 1_700_000_000_000
TOPICS = {"a": (100, 50), "b": (30,), "ab.c": (5,), "empty": (0,), "kept": (60,), "gone": (10,), "goes-on": (7,)}
DELETED = 20
"""So many records of `kept`."""

Answer = dict[str, tuple[int, int]] | str
"""Of each partition the first offset and how many records there are; or REFUSED."""
REFUSED = "refused"
ALL: Answer = {"a-0": (0, 100), "a-1": (0, 50)}


class Case(NamedTuple):
    """Options of a query, of topic `a` if they name none, and the answers; `ours` where it is another one, and why."""

    options: dict[str, str]
    connector: Answer
    ours: Answer | None = None
    why: str = ""


def options_of(case: Case) -> dict[str, str]:
    """The options, with the topic."""
    named = {"subscribe", "subscribePattern", "assign"} & case.options.keys()
    return case.options if named else {"subscribe": "a", **case.options}


def counted(rows: Iterable[tuple[str, int, int]]) -> Answer:
    """The answer that rows of (topic, partition, offset) are."""
    found: dict[str, list[int]] = {}
    for topic, partition, offset in rows:
        found.setdefault(f"{topic}-{partition}", []).append(offset)
    return {name: (min(offsets), len(offsets)) for name, offsets in sorted(found.items())}


def _of_a(first: object, second: object = 0) -> str:
    return json.dumps({"a": {"0": first, "1": second}})


def _at(second: int) -> str:
    return str(START + 1000 * second)


def _kept(offset: int) -> str:
    return json.dumps({"kept": {"0": offset}})


_MISTYPED = "a mistyped option would read everything"
_JSON = "the connector makes a number of it"
_LATER = "would be refused in a stream"

CASES = [
    # Options
    Case({}, ALL),
    Case({"startingOffset": "latest"}, ALL, REFUSED, _MISTYPED),
    Case({"STARTINGOFFSETS": _of_a(10)}, {"a-0": (10, 90), "a-1": (0, 50)}),
    Case({"kafka.nonsense": "1", "groupIdPrefix": "g"}, ALL),
    Case({"kafka.auto.offset.reset": "latest"}, REFUSED),
    Case({"kafka.enable.auto.commit": "true"}, REFUSED),
    Case({"kafka.isolation.level": "read_committed"}, ALL),
    Case({"kafka.isolation.level": "sometimes"}, REFUSED),
    Case({"failOnDataLoss": "FALSE"}, ALL),
    Case({"failOnDataLoss": "maybe"}, REFUSED),
    Case({"failOnDataLoss": ""}, REFUSED),
    Case({"includeHeaders": "maybe"}, REFUSED),
    # Topics and partitions
    Case({"subscribe": " a , b,"}, ALL | {"b-0": (0, 30)}),
    Case({"subscribe": "empty"}, {}),
    Case({"subscribe": "nope"}, REFUSED),
    Case({"subscribe": "a,nope"}, REFUSED),
    Case({"subscribe": "../a"}, REFUSED),
    Case({"subscribe": ""}, REFUSED),
    Case({"subscribe": "a", "assign": '{"b": [0]}'}, REFUSED),
    Case({"subscribePattern": "a.*"}, ALL | {"ab.c-0": (0, 5)}),
    Case({"subscribePattern": "b"}, {"b-0": (0, 30), "ab.c-0": (0, 5)}),
    Case({"subscribePattern": "^b$"}, {"b-0": (0, 30)}),
    Case({"subscribePattern": "(?<name>b)\\."}, {"ab.c-0": (0, 5)}),
    Case({"subscribePattern": "nope"}, {}),
    Case({"subscribePattern": " "}, REFUSED),
    Case({"subscribePattern": "["}, REFUSED),
    Case({"subscribePattern": "\\p{Alpha}\\."}, {"ab.c-0": (0, 5)}, REFUSED, "Python's patterns have no \\p"),
    Case({"subscribePattern": "^[a-c&&[^ac]]$"}, {"b-0": (0, 30)}, REFUSED, "Python has no classes in classes"),
    Case({"assign": '{"a": [1]}'}, {"a-1": (0, 50)}),
    Case({"assign": '{"a": [1, 7]}'}, {"a-1": (0, 50)}),
    Case({"assign": '{"a": [1, 1]}'}, {"a-1": (0, 50)}),
    Case({"assign": '{"a": [-1]}'}, {}),
    Case({"assign": '{"a": []}'}, {}),
    Case({"assign": "{}"}, {}),
    Case({"assign": '{"nope": [0]}'}, REFUSED),
    Case({"assign": ""}, REFUSED),
    Case({"assign": '{"a": 1}'}, REFUSED),
    Case({"assign": '{"a": ["1"]}'}, REFUSED),
    Case({"assign": '{"a": [1.0]}'}, {"a-1": (0, 50)}, REFUSED, _JSON),
    Case({"assign": '{"a": [0]}', "startingOffsets": '{"a": {"0": 5}}'}, {"a-0": (5, 95)}),
    Case({"assign": '{"a": [0]}', "startingOffsets": _of_a(5)}, REFUSED),
    # Offsets
    Case({"startingOffsets": " earliest "}, ALL),
    Case({"startingOffsets": "latest"}, REFUSED),
    Case({"startingOffsets": ""}, REFUSED),
    Case({"startingOffsets": "{}"}, REFUSED),
    Case({"startingOffsets": "[1]"}, REFUSED),
    Case({"startingOffsets": "null"}, REFUSED),
    Case({"startingOffsets": '{"a": null}'}, REFUSED),
    Case({"startingOffsets": "[" * 100_000}, REFUSED),
    Case({"startingOffsets": '{"a": ' * 3000}, REFUSED),
    Case({"startingOffsets": '{"a": {"0": 10}}'}, REFUSED),
    Case({"startingOffsets": '{"a": {"0": 10, "1": 0, "2": 0}}'}, REFUSED),
    Case({"startingOffsets": '{"a": {"0": 10, "1": 0}, "b": {"0": 1}}'}, REFUSED),
    Case({"startingOffsets": '{"a": {"0": 5, "1": 0,}}'}, REFUSED),
    Case({"startingOffsets": '{"a": {"0": 5, "1": 0}} x'}, {"a-0": (5, 95), "a-1": (0, 50)}, REFUSED, "no JSON"),
    Case({"startingOffsets": '{"a": {"0": 5, "0": 6, "1": 0}}'}, {"a-0": (6, 94), "a-1": (0, 50)}),
    Case({"startingOffsets": '{"a": {"00": 5, "1": 0}}'}, {"a-0": (5, 95), "a-1": (0, 50)}),
    Case({"startingOffsets": '{"a": {"x": 1, "1": 0}}'}, REFUSED),
    Case({"startingOffsets": _of_a("1")}, REFUSED),
    Case({"startingOffsets": _of_a(True)}, REFUSED),
    Case({"startingOffsets": _of_a(float("nan"))}, REFUSED),
    Case({"startingOffsets": _of_a(10**20)}, REFUSED),
    Case({"startingOffsets": _of_a(1.5)}, {"a-0": (1, 99), "a-1": (0, 50)}, REFUSED, _JSON),
    Case({"startingOffsets": _of_a(None)}, ALL, REFUSED, _JSON),
    Case({"startingOffsets": _of_a(10, -2)}, {"a-0": (10, 90), "a-1": (0, 50)}),
    Case({"startingOffsets": _of_a(10, -1)}, REFUSED),
    Case({"startingOffsets": _of_a(10, -3)}, REFUSED),
    Case({"startingOffsets": _of_a(100)}, {"a-1": (0, 50)}),
    Case({"startingOffsets": _of_a(101)}, REFUSED),
    Case({"startingOffsets": _of_a(500), "failOnDataLoss": "false"}, REFUSED),
    Case({"endingOffsets": " LATEST "}, ALL),
    Case({"endingOffsets": "earliest"}, REFUSED),
    Case({"endingOffsets": '{"a": {"0": 10}}'}, REFUSED),
    Case({"endingOffsets": _of_a(10, 10)}, {"a-0": (0, 10), "a-1": (0, 10)}),
    Case({"endingOffsets": _of_a(10, -1)}, {"a-0": (0, 10), "a-1": (0, 50)}),
    Case({"endingOffsets": _of_a(10, -2)}, REFUSED),
    Case({"endingOffsets": _of_a(10, -3)}, REFUSED),
    Case({"endingOffsets": _of_a(101, 10)}, REFUSED),
    Case({"endingOffsets": _of_a(500, 10), "failOnDataLoss": "false"}, {"a-0": (0, 100), "a-1": (0, 10)}),
    Case({"startingOffsets": _of_a(10), "endingOffsets": _of_a(5, 10)}, REFUSED),
    Case({"startingOffsets": _of_a(10), "endingOffsets": _of_a(10, 10)}, {"a-1": (0, 10)}),
    Case({"startingOffsets": _of_a(10), "endingOffsets": '{"a": {"0": 15}}'}, REFUSED),
    # Offsets that were deleted
    Case({"subscribe": "kept"}, {"kept-0": (20, 40)}),
    Case({"subscribe": "kept", "startingOffsets": _kept(5)}, REFUSED),
    Case({"subscribe": "kept", "startingOffsets": _kept(5), "failOnDataLoss": "false"}, {"kept-0": (20, 40)}),
    Case({"subscribe": "kept", "startingOffsets": _kept(5), "endingOffsets": _kept(10)}, REFUSED),
    Case(
        {"subscribe": "kept", "startingOffsets": _kept(5), "endingOffsets": _kept(10), "failOnDataLoss": "false"}, {}
    ),
    Case({"subscribe": "kept", "endingOffsets": _kept(5)}, REFUSED),
    Case({"subscribe": "kept", "endingOffsets": _kept(5), "failOnDataLoss": "false"}, REFUSED),
    Case({"subscribe": "kept", "startingOffsets": _kept(70), "endingOffsets": _kept(80)}, REFUSED),
    # Timestamps
    Case({"startingTimestamp": f" {_at(10)} "}, {"a-0": (10, 90), "a-1": (10, 40)}),
    Case({"startingTimestamp": _at(60)}, REFUSED),
    Case({"startingTimestamp": _at(60), "startingOffsetsByTimestampStrategy": "LATEST"}, {"a-0": (60, 40)}),
    Case({"startingTimestamp": _at(10), "startingOffsetsByTimestampStrategy": "guess"}, REFUSED),
    Case({"startingTimestamp": "+5"}, ALL),
    Case({"startingTimestamp": "1e3"}, REFUSED),
    Case({"startingTimestamp": "1_0"}, REFUSED),
    Case({"startingTimestamp": str(2**63)}, REFUSED),
    Case({"startingTimestamp": "-5"}, REFUSED),
    Case({"startingTimestamp": "-1"}, {}, REFUSED, "no time; the connector takes it for latest"),
    Case({"startingTimestamp": "-2"}, ALL, REFUSED, "no time; the connector takes it for earliest"),
    Case({"endingTimestamp": _at(10)}, {"a-0": (0, 10), "a-1": (0, 10)}),
    Case({"endingTimestamp": _at(10**6)}, ALL),
    Case({"startingTimestamp": _at(10), "endingTimestamp": _at(5)}, REFUSED),
    Case({"startingTimestamp": _at(10), "startingOffsets": _of_a(40)}, {"a-0": (10, 90), "a-1": (10, 40)}),
    Case(
        {"startingTimestamp": _at(10), "startingOffsets": "rubbish"},
        {"a-0": (10, 90), "a-1": (10, 40)}, REFUSED, "the connector does not look at what does not decide",
    ),
    Case({"startingOffsetsByTimestamp": _of_a(START + 10_000, START + 20_000)}, {"a-0": (10, 90), "a-1": (20, 30)}),
    Case({"startingOffsetsByTimestamp": json.dumps({"a": {"0": START}})}, REFUSED),
    Case({"startingOffsetsByTimestamp": json.dumps({"a": {"0": START, "1": START, "2": 5}})}, REFUSED),
    Case({"startingOffsetsByTimestamp": "latest"}, REFUSED),
    Case({"startingOffsetsByTimestamp": _of_a(START, START + 90_000)}, REFUSED),
    Case(
        {"startingOffsetsByTimestamp": _of_a(START, START + 90_000), "startingOffsetsByTimestampStrategy": "latest"},
        {"a-0": (0, 100)},
    ),
    Case(
        {
            "startingOffsetsByTimestamp": _of_a(START + 10_000, START),
            "endingOffsetsByTimestamp": _of_a(START + 20_000, START + 5000),
        },
        {"a-0": (10, 10), "a-1": (0, 5)},
    ),
    Case(
        {
            "startingOffsetsByTimestamp": _of_a(START + 10_000, START),
            "endingOffsetsByTimestamp": _of_a(START + 5000, START + 5000),
        },
        REFUSED,
    ),
    Case(
        {"startingOffsetsByTimestamp": _of_a(START + 10_000, START), "endingOffsets": _of_a(5, 30)}, REFUSED,
    ),
    Case({"subscribe": "a,empty", "startingTimestamp": _at(10)}, REFUSED),
    Case({"subscribe": "a,empty", "endingTimestamp": _at(10)}, {"a-0": (0, 10), "a-1": (0, 10)}),
    # Sizes
    Case({"minPartitions": "7"}, ALL),
    Case({"minPartitions": "0"}, REFUSED),
    Case({"minPartitions": "x"}, REFUSED),
    Case({"minPartitions": str(2**31)}, REFUSED),
    Case({"maxRecordsPerPartition": "9999999999999"}, ALL),
    Case({"maxRecordsPerPartition": "0"}, REFUSED),
    Case({"maxRecordsPerPartition": "x"}, REFUSED),
    Case({"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "2"}, REFUSED),
    Case({"maxOffsetsPerTrigger": "x"}, ALL, REFUSED, _LATER),
    Case({"maxTriggerDelay": "soon"}, ALL, REFUSED, _LATER),
]  # fmt: skip

_FROM_START = {"startingOffsets": "earliest"}

STREAMS = [
    # Each is asked once, until all that is there now is read (trigger availableNow).
    Case(_FROM_START, ALL),
    Case({}, {}),
    Case({"startingOffsets": _of_a(10)}, {"a-0": (10, 90), "a-1": (0, 50)}),
    Case({"startingOffsets": _of_a(-1, -2)}, {"a-1": (0, 50)}),
    Case({"startingOffsets": _of_a(-3, -2)}, REFUSED),
    Case({"startingOffsets": '{"a": {"0": 10}}'}, REFUSED),
    Case({"startingOffsets": '{"a": {"0": 10, "1": 0, "2": 0}}'}, REFUSED),
    Case({"startingOffsets": _of_a(150)}, REFUSED),
    Case({"startingOffsets": _of_a(150), "failOnDataLoss": "false"}, {"a-1": (0, 50)}),
    Case({"subscribe": "kept", "startingOffsets": _kept(5)}, REFUSED),
    Case({"subscribe": "kept", "startingOffsets": _kept(5), "failOnDataLoss": "false"}, {"kept-0": (20, 40)}),
    Case({"startingTimestamp": _at(60)}, REFUSED),
    Case({"startingTimestamp": _at(60), "startingOffsetsByTimestampStrategy": "latest"}, {"a-0": (60, 40)}),
    Case({"subscribe": "a,nope", **_FROM_START}, REFUSED),
    Case({"subscribePattern": "nope", **_FROM_START}, {}),
    Case({"subscribePattern": "b", **_FROM_START}, {"b-0": (0, 30), "ab.c-0": (0, 5)}),
    Case({"assign": '{"a": [1, 7]}', **_FROM_START}, {"a-1": (0, 50)}),
    Case({"endingOffsets": "latest"}, REFUSED),
    Case({"endingOffsetsByTimestamp": "{}"}, REFUSED),
    Case({"endingTimestamp": "5", **_FROM_START}, ALL, REFUSED, "the connector forgets to look"),
    Case({"maxRecordsPerPartition": "10", **_FROM_START}, ALL),
    Case({"maxOffsetsPerTrigger": "60", **_FROM_START}, ALL),
    Case({"maxOffsetsPerTrigger": "x", **_FROM_START}, REFUSED),
    Case({"minOffsetsPerTrigger": "1000", **_FROM_START}, ALL),
    # The last 30 are fewer than 40, so they wait.
    Case({"minOffsetsPerTrigger": "40", "maxOffsetsPerTrigger": "60", **_FROM_START}, {"a-0": (0, 80), "a-1": (0, 40)}),
    Case({"minOffsetsPerTrigger": "x", **_FROM_START}, REFUSED),
    Case({"minOffsetsPerTrigger": "1000", "maxTriggerDelay": "5Min", **_FROM_START}, ALL),
    Case({"minOffsetsPerTrigger": "1000", "maxTriggerDelay": "1.5s", **_FROM_START}, REFUSED),
]  # fmt: skip

GONE = "gone"
_FOLLOWED = {"subscribePattern": "^go", **_FROM_START}

READ_ON = [
    # One stream, which is started again each time. Topic `GONE` is deleted behind the first one, all of it read.
    Case(_FOLLOWED, {"goes-on-0": (0, 7), "gone-0": (0, 10)}),
    Case({"failOnDataLoss": "true", **_FOLLOWED}, REFUSED),
    Case(_FOLLOWED, REFUSED),
    Case({"failOnDataLoss": "false", **_FOLLOWED}, {}),
    Case(_FOLLOWED, {}),
]

SIX_TASKS = {
    "maxRecordsPerPartition": "30",
    # In a batch query, the connector shares out only what lies between numbers.
    "startingOffsets": _of_a(0),
    "endingOffsets": _of_a(100, 50),
}

CUT = [
    # Where streams of several partitions are cut into micro-batches: a share of less than one offset is one.
    {"subscribePattern": "a|b", **_FROM_START, "maxOffsetsPerTrigger": "30"},
    {"subscribePattern": "a|b", **_FROM_START, "maxOffsetsPerTrigger": "77", "minOffsetsPerTrigger": "9"},
]
THROUGH_SPARK = [case for case in CASES if case.options.keys() & {"assign", "subscribePattern"} and case.connector][:3]
"""These are asked of the data source with all of Spark around it, too."""
