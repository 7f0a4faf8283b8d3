"""Reads the claims that stand in a story, and holds them against what was observed."""

from minikafka.messages.message_codec import Message
from minikafka.network.messages import parse_response
from minikafka.witness.replicas.run import Answer, ReplicaObservation
from minikafka.witness.replicas.workload import ReplicaWorkload

_PLACES = ("start", "hw", "lso", "leo", "epochs")


def claims_of(text: str) -> list[tuple[int, str]]:
    """Each claim, with the number of the operation that it follows."""
    claims, done = [], -1
    for line in text.splitlines():
        if line.startswith("#:"):
            claims.append((done, line.removeprefix("#:").strip()))
        else:
            done += len(ReplicaWorkload.parse(line))
    return claims


def check_claims(text: str, seen: tuple[ReplicaObservation, ...]) -> None:
    """Demand that every claim of the story holds. Raises AssertionError."""
    for number, claim in claims_of(text):
        words = claim.split()
        if words[0] == "waiting":
            assert sum(seen[number].states[int(words[1])]["waiting"]) == int(words[2]), claim
        elif words[0] == "answered":
            assert _error(seen, number, int(words[1])) == int(words[2]), claim
        elif words[0] == "read":
            assert _bytes_read(seen, number, int(words[1])) == int(words[2]), claim
        else:
            partition = seen[number].states[int(words[0])]["partitions"][words[1]]
            for equation in words[2:]:
                name, _, value = equation.partition("=")
                assert _value(partition, name) == value, f"{claim}: {name} is {_value(partition, name)}"


def _value(partition: dict, name: str) -> str:
    value = partition["log"][_PLACES.index(name)] if name in _PLACES else partition[name]
    if name == "epochs":
        return ",".join(f"{epoch}:{start}" for epoch, start in value)
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _error(seen: tuple[ReplicaObservation, ...], until: int, ticket: int) -> int:
    """The error of the first partition in the answer to a produce request, given no later than operation `until`."""
    return next(iter(_answer(seen, until, ticket).responses[0].partition_responses)).error_code


def _bytes_read(seen: tuple[ReplicaObservation, ...], until: int, ticket: int) -> int:
    """How many bytes of records all partitions have in the answer to a fetch, given no later than operation `until`."""
    topics = _answer(seen, until, ticket).responses
    return sum(len(partition.records or b"") for topic in topics for partition in topic.partitions)


def _answer(seen: tuple[ReplicaObservation, ...], until: int, ticket: int) -> Message:
    answers = [observation.answers[ticket] for observation in seen[: until + 1] if ticket in observation.answers]
    assert answers, f"request {ticket} is not answered after operation {until}"
    (answer,) = answers
    assert isinstance(answer, Answer), answer
    _, body = parse_response(answer.api_key, answer.version, answer.data)
    return body
