"""What is seen of brokers is told in small parts: a difference names one value, and a part that is missing is seen."""

from minikafka.lab.rebuild.grounds import _flat
from minikafka.witness.agreement import agree
from minikafka.witness.observation import Observations
from minikafka.witness.replica_runner import ReplicaObservation


def partition(log_start, error=0):
    return {"index": 0, "error_code": error, "log_start_offset": log_start}


def first_difference(answer, other, states=({}, {})):
    rows = [
        _flat(ReplicaObservation(answers={7: each}, states={0: {"waiting": [0], "partitions": state}}))
        for each, state in zip((answer, other), states, strict=True)
    ]
    mine, kafkas = (Observations(name, ["produce"], (row,)) for name, row in zip(("mine", "Kafka"), rows, strict=True))
    found = agree(mine, kafkas).first_difference
    return found and (found.quantity, *found.values.values())


def test_a_difference_names_one_field_of_an_answer():
    answer, other = ({"responses": [partition(0), partition(start)]} for start in (0, -1))
    assert first_difference(answer, answer) is None
    assert first_difference(answer, other) == ("answer 7: responses[1].log_start_offset", "0", "-1")


def test_an_answer_that_lacks_a_part_differs():
    one, two = ({"responses": [partition(0)] * count} for count in (1, 2))
    assert first_difference(one, two) == ("answer 7: responses", ("0",), ("0", "1"))
    assert first_difference("none", one) == ("answer 7", "none", ("responses",))


def test_a_broker_that_lacks_a_partition_or_a_log_differs():
    here, other, none = ({"t-0": {"log": log}} for log in ([0, 1, 1, 3, []], [0, 1, 1, 4, []], None))
    assert first_difference("", "", (here, none))[::2] == ("broker 0, t-0: log", "None")
    assert first_difference("", "", (here, {})) == ("broker 0 knows", ("t-0",), ())
    assert first_difference("", "", (here, other)) == ("broker 0, t-0: log.log_end", "3", "4")
