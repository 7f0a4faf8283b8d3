"""What the notebooks use: stepper, rulers, shelves, byte views, predictions, exercise checks and diagrams.

Names are imported when first used, so that drawing diagrams needs no widgets and a ruler no Spark.
"""

import logging
from importlib import import_module

# What the code under study logs (a mark that moves back, files that go) belongs to no cell of a lesson.
logging.getLogger("minikafka").addHandler(logging.NullHandler())

_HOMES = {
    "Case": "exercise",
    "Exercise": "exercise",
    "OffsetRuler": "offset_ruler",
    "Producer": "producers",
    "ReadLanes": "read_lanes",
    "Replicas": "replicas",
    "SegmentShelf": "segment_shelf",
    "TransactionLanes": "transaction_lanes",
    "___": "prediction",
    "changed_fields": "append_notes",
    "copied_log": "workbench",
    "delivered": "readers",
    "diagram": "picture",
    "erratum": "notes",
    "fetched": "producers",
    "files_of": "workbench",
    "fresh_log": "workbench",
    "kafka_witness": "workbench",
    "log_after": "readers",
    "open_log": "workbench",
    "planted": "planted_bugs",
    "predict": "prediction",
    "records": "workbench",
    "refuse": "refusals",
    "refused_appends": "refusals",
    "replicate": "workbench",
    "scratch": "workbench",
    "search_index": "index_search",
    "sent": "producers",
    "side_by_side": "append_notes",
    "step_through": "stepper",
    "three_witnesses": "workbench",
    "transaction": "readers",
    "values_of": "workbench",
    "values_seen": "readers",
    "view_bytes": "byte_view",
    "wake_witnesses": "workbench",
}

__all__ = list(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
