"""What the exercises on segments share: appends as a workload, their bytes, and the segments that a witness shows."""

from minikafka.witness.log.batch import Batch
from minikafka.witness.log.workload import START_MS, Workload
from minikafka.witness.observation import Observations


def appends(config: str, counts: tuple[int, ...], start: int) -> Workload:
    """A workload that appends a batch of each of `counts` records to an empty log that begins at `start`."""
    lines = [f"config {config}"]
    lines += [f"truncate_fully_and_start_at {start}"] if start else []
    lines += [f"append_as_leader [{count}x10]" for count in counts]
    return Workload.parse("\n".join(lines))


def segment_bases(observations: Observations, operation: int = -1) -> list[int]:
    """The base offsets of the segments after an operation; −1 is the last one."""
    return [base for base, _ in observations.value(operation, "segments")]


def batch_bytes(count: int, size: int = 10) -> int:
    """The bytes of a batch of `count` records with values of `size` bytes."""
    return Batch(count, size).size_in_bytes(START_MS)
