"""What was seen of brokers, in the quantities of which the Spark witness speaks, so that `agree` can compare them."""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.network.messages import parse_response
from minikafka.witness.observation import Observations
from minikafka.witness.replicas.run import Answer, ReplicaObservation
from minikafka.witness.replicas.scripted_controller import fixed_id
from minikafka.witness.replicas.workload import ReplicaWorkload

_OUTCOMES = {Errors.NONE: "acknowledged", Errors.REQUEST_TIMED_OUT: "timed_out"}
_ANSWERS = (*_OUTCOMES.values(), "answers")
_REQUESTS = frozenset("produce append fetch list_offsets offset_for_leader_epoch delete_records metadata".split())


def replica_quantities(witness: str, workload: ReplicaWorkload, seen: Sequence[ReplicaObservation]) -> Observations:
    """The table of one witness ("minikafka", "kafka") from what was seen after each operation.

    Of each partition: what its leader has, while it has one; and what is told to those who produced. Quantities are
    named as those of `replica_expected`, with the partition at the end; `answers`: (number of the operation that asked,
    name of the error), for any acks.
    """
    tickets: dict[int, int] = {}  # of a request: the number of its operation
    names: dict[str, str] = {}  # of topics, by id
    rows: list[dict[str, Any]] = []
    for number, (operation, observed) in enumerate(zip(workload, seen)):
        if observed.error == "impossible":
            rows.append(rows[-1] | {} if rows else {})
            _forget_answers(rows[-1])
            continue
        if operation.kind == "topic":
            names[fixed_id(f"topic-{operation.arguments[0]}", len(names))] = operation.arguments[0]
        if operation.kind in _REQUESTS and not observed.error:
            tickets[len(tickets) + 1] = number
        row: dict[str, Any] = {}
        for partition, state in _leaders(observed).items():
            row |= {f"{name} {partition}": value for name, value in _of_leader(state).items()}
            row |= {f"{name} {partition}": () for name in _ANSWERS}
        for ticket, answer in observed.answers.items():
            asked = workload.operations[tickets[ticket]]
            if asked.kind != "produce" or not isinstance(answer, Answer):
                continue
            for partition, error in _errors(answer, names):
                _add(row, f"answers {partition}", (tickets[ticket], error.name))
                if asked.option("acks") == "-1" and error in _OUTCOMES:
                    _add(row, f"{_OUTCOMES[error]} {partition}", tickets[ticket])
        rows.append(row)
    return Observations(witness, workload, tuple(rows))


def _add(row: dict[str, Any], quantity: str, value: object) -> None:
    row[quantity] = tuple(sorted((*row.get(quantity, ()), value)))


def _forget_answers(row: dict[str, Any]) -> None:
    """An operation that was passed over answers nobody."""
    for name in row:
        if name.split()[0] in _ANSWERS:
            row[name] = ()


def _leaders(observed: ReplicaObservation) -> dict[str, dict]:
    """By partition: the state of the broker that leads it; of two that think they do, the one of the later epoch."""
    leaders: dict[str, dict] = {}
    for broker, knows in observed.states.items():
        for partition, state in knows["partitions"].items():
            leads = state["leader"] == broker and state["log"] is not None
            if leads and leaders.get(partition, state)["leader_epoch"] <= state["leader_epoch"]:
                leaders[partition] = state
    return leaders


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
