"""What *Tombstones and markers* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.cleaner.cleaner import Cleaner


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "an aborted record counts as the newest of its key": (
            Cleaner,
            "_build_offset_map_for_segment",
            _counting_aborted_ones(Cleaner._build_offset_map_for_segment),
        ),
    }


def _counting_aborted_ones(build_offset_map_for_segment: Callable[..., bool]) -> Callable[..., bool]:
    """Without what is known of aborted transactions: their records hide the older ones of their keys."""
    from minikafka.log.cleaner.cleaned_transaction_metadata import CleanedTransactionMetadata

    def build(*arguments: Any) -> bool:
        *others, _aborted, stats = arguments
        return build_offset_map_for_segment(*others, CleanedTransactionMetadata(), stats)

    return build
