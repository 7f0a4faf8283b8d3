"""What the notebooks use: stepper, rulers, shelves, byte views, predictions, exercise checks and pictures."""

from minikafka.lab.byte_view import byte_view
from minikafka.lab.index_search import index_search
from minikafka.lab.notes import erratum
from minikafka.lab.offset_ruler import OffsetRuler
from minikafka.lab.picture import picture
from minikafka.lab.predict import ___, predict
from minikafka.lab.replicas import Replicas
from minikafka.lab.segment_shelf import SegmentShelf
from minikafka.lab.stepper import step_through
from minikafka.lab.workbench import copied_log, files_of, fresh_log, open_log, records

__all__ = [
    "OffsetRuler",
    "Replicas",
    "SegmentShelf",
    "___",
    "byte_view",
    "copied_log",
    "erratum",
    "files_of",
    "fresh_log",
    "index_search",
    "open_log",
    "picture",
    "predict",
    "records",
    "step_through",
]
