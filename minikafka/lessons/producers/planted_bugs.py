"""What *Producers and transactions* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.producer.producer_state_manager import ProducerStateManager


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "LSO passes a transaction before its marker is replicated": (
            ProducerStateManager,
            "first_unstable_offset",
            property(_first_undecided),
        ),
    }


def _first_undecided(producers: Any) -> Any:
    """The first unstable offset without the transactions whose marker is written but not replicated."""
    ongoing = producers.ongoing_txns
    return ongoing[0].first_offset if ongoing else None
