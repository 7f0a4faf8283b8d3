"""What the exercises on retention share: a log that is cleaned up, what went, and a belief about the active segment."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows
from minikafka.lessons.segments.exercises.observed import segment_bases
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations


def cleaned_up(config: str, batches: list[str]) -> Workload:
    """A workload that puts each of `batches` into a segment of its own and then deletes what retention lets go."""
    lines = "\nroll\n".join(f"append_as_leader [{batch}]" for batch in batches)
    return Workload.parse(f"config {config}\n{lines}\nupdate_high_watermark leo\ndelete_old_segments")


def deleted(observations: Observations) -> list[int]:
    """The base offsets that the last operation took away."""
    after = segment_bases(observations)
    return [base for base in segment_bases(observations, -2) if base not in after]


def spares_the_active_segment(solution: Callable[..., Any]) -> Belief:
    """The belief that the active segment stays: what `solution` answers, without the last segment."""

    def answer(segments, *limits):
        newest = max(row.base for row in segments.collect())
        return [base for base in as_rows(solution(segments, *limits)) if base != newest]

    return Belief(
        answer,
        "You never delete the active segment. If all segments may be deleted, Kafka rolls a new one and deletes "
        "all the others.",
    )
