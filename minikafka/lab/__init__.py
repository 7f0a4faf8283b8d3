"""What the notebooks use. Rooms, in reading order:

- `language`: the languages of the course, and how one is chosen;
- `stage`: logs at hand, their senders and readers, damage and planted bugs;
- `widgets`: pictures with frames: rulers, shelves, lanes, byte views; `drawing` is what all of them draw with;
- `stepper`: a real method run step by step, and refusals and crashes played the same way;
- `sandbox`: foreign code where it can change nothing;
- `exercises`: predictions, exercises, their checks, and one way to solve each;
- `rebuild`: the learner's own function in the place of an engine's method, judged by Kafka;
- `course`: diagrams, and the notebooks built, run, and laid out as a working copy;
- `grading`: submitted notebooks, graded;
- `site`: the lessons as pages that need no kernel;
- `teaching`: pages for who teaches the course.

A room imports those above it in this list, not those below. Names are imported when first used, so that drawing
diagrams needs no widgets and a ruler no Spark.
"""

import logging
from importlib import import_module

# What the code under study logs (a mark that moves back, files that go) belongs to no cell of a lesson. The root logger
# needs a handler, too: py4j logs through it, and without one that call would have everything printed from then on.
for _name in (None, "minikafka"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

_HOMES = {
    "Case": "exercises.exercise",
    "Cleaning": "stage.cleaning",
    "CompactionShelves": "widgets.compaction_shelves",
    "Exercise": "exercises.exercise",
    "OffsetRuler": "widgets.offset_ruler",
    "PathWalk": "stepper.path_walk",
    "Producer": "stage.producers",
    "Replication": "stage.replication",
    "SegmentShelf": "widgets.segment_shelf",
    "___": "exercises.prediction",
    "answer": "course.answers",
    "bars_by_name": "course.charts",
    "bars_over_time": "course.charts",
    "batch_of": "stage.batch_bytes",
    "batches_in": "stage.batch_bytes",
    "changed_fields": "widgets.append_tables",
    "cleaned_by_both": "stage.cleaning",
    "copied_log": "stage.workbench",
    "delivered": "stage.readers",
    "diagram": "course.diagrams",
    "erratum": "course.notes",
    "fetched": "stage.producers",
    "files_of": "stage.workbench",
    "flipped": "stage.batch_bytes",
    "fresh_log": "stage.workbench",
    "kafka_witness": "stage.workbench",
    "log_after": "stage.readers",
    "microscope": "widgets.microscope",
    "mine": "rebuild.mine",
    "my_progress": "course.progress_map",
    "open_log": "stage.workbench",
    "planted": "stage.planted_bugs",
    "predict": "exercises.prediction",
    "query_walk": "stepper.path_walk",
    "records": "stage.workbench",
    "replicate": "stage.workbench",
    "scratch": "stage.workbench",
    "search_index": "widgets.index_search",
    "sent": "stage.producers",
    "side_by_side": "widgets.append_tables",
    "spans_of_time": "course.charts",
    "step_through": "stepper.stepper",
    "three_witnesses": "stage.workbench",
    "transaction": "stage.readers",
    "use_language": "language.chosen",
    "values_of": "stage.workbench",
    "values_seen": "stage.readers",
    "wake_witnesses": "stage.workbench",
}

__all__ = list(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
