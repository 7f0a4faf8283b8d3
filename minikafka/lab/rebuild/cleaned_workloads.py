"""Knobs for drawn workloads whose logs are compacted and cleaned often, for the rungs that write the cleaner anew."""

from typing import Any

OFTEN = {"weights": {"clean": 20, "high_watermark": 25, "update_config": 0, "read": 1, "search": 0}}
OPEN = {"producers": 3, "transactions": True}


def drawn(*knobs: dict[str, Any], **settings: Any) -> tuple[dict[str, Any], ...]:
    """Knobs for workloads of compacted logs with these settings; each of `knobs` adds to them."""
    whole = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0, **settings}
    return tuple({"compaction": True, **OFTEN, **each, "settings": whole} for each in knobs)
