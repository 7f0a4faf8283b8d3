"""What was seen of brokers, in the quantities of which the Spark witness speaks, so that `agree` can compare them."""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.network.messages import parse_response
from minikafka.witness.observation import Observations
from minikafka.witness.replica_runner import Answer, ReplicaObservation
from minikafka.witness.replica_workload import ReplicaOperation, ReplicaWorkload
from minikafka.witness.scripted_controller import fixed_id

_OUTCOMES = {Errors.NONE: "acknowledged", Errors.REQUEST_TIMED_OUT: "timed_out"}
_REQUESTS = frozenset("produce append fetch list_offsets offset_for_leader_epoch delete_records metadata".split())


def replica_quantities(witness: str, workload: ReplicaWorkload, seen: Sequence[ReplicaObservation]) -> Observations:
    """The table of one witness ("minikafka", "Kafka") from what was seen after each operation.

    Of each partition: what its leader has, as long as the broker runs that led it first; and what is told to those who
    produced with acks=all. Quantities are named as those of `replica_expected`, with the partition at the end.
    """
    first_leaders: dict[str, int] = {}
    tickets: dict[int, int] = {}  # of a request: the number of its operation
    names: dict[str, str] = {}  # of topics, by id
    rows: list[dict[str, object]] = []
    for number, (operation, observed) in enumerate(zip(workload, seen)):
        if observed.error == "impossible":
            rows.append(rows[-1] | {} if rows else {})
            _forget_answers(rows[-1])
            continue
        if operation.kind == "topic":
            names[fixed_id(f"topic-{operation.arguments[0]}", len(names))] = operation.arguments[0]
            first_leaders |= {name: leader for name, leader in _leaders(operation).items() if name not in first_leaders}
        if operation.kind in _REQUESTS and not observed.error:
            tickets[len(tickets) + 1] = number
        row: dict[str, object] = {}
        for partition, leader in first_leaders.items():
            state = observed.states.get(leader, {}).get("partitions", {}).get(partition)
            if state is not None and state["leader"] == leader and state["log"] is not None:
                row |= {f"{name} {partition}": value for name, value in _of_leader(state).items()}
                row |= {f"{outcome} {partition}": () for outcome in _OUTCOMES.values()}
        for ticket, answer in observed.answers.items():
            asked = workload.operations[tickets[ticket]]
            if asked.kind == "produce" and asked.option("acks") == "-1" and isinstance(answer, Answer):
                for partition, error in _errors(answer, names):
                    if (outcome := _OUTCOMES.get(error)) is not None:
                        name = f"{outcome} {partition}"
                        row[name] = tuple(sorted((*row.get(name, ()), tickets[ticket])))  # type: ignore[misc]
        rows.append(row)
    return Observations(witness, workload, tuple(rows))


def _forget_answers(row: dict[str, object]) -> None:
    """An operation that was passed over answers nobody."""
    for name in row:
        if name.split()[0] in _OUTCOMES.values():
            row[name] = ()


def _leaders(operation: ReplicaOperation) -> dict[str, int]:
    topic, assignment = operation.arguments
    return {f"{topic}-{number}": int(each.split(",")[0]) for number, each in enumerate(assignment.split("/"))}


def _of_leader(state: dict) -> dict[str, object]:
    log_start, high_watermark, _, log_end, _ = state["log"]
    replicas = {int(replica): known for replica, known in state["replicas"].items()}
    return {
        "log_end_offset": log_end,
        "log_start_offset": log_start,
        "followers": tuple((replica, known[0][0]) for replica, known in sorted(replicas.items())),
        "caught_up": tuple((replica, known[4]) for replica, known in sorted(replicas.items())),
        "isr": tuple(state["isr"]),
        "maximal_isr": tuple(state["maximal_isr"]),
        "high_watermark": high_watermark,
    }


def _errors(answer: Answer, names: Mapping[str, str]) -> list[tuple[str, Errors]]:
    """(partition, error) of each partition in a response to a produce request; newer ones name topics by their ids."""
    body: Any = parse_response(answer.api_key, answer.version, answer.data)[1]
    found = []
    for topic in body.responses:
        for partition in topic.partition_responses:
            name = topic.name or names.get(topic.topic_id, "")
            found.append((f"{name}-{partition.index}", Errors(partition.error_code)))
    return found
