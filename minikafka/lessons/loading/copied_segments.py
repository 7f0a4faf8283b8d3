"""Segments that replace others, as in compaction and splitting, for tests and lessons that watch the files' names."""

from typing import Any

from minikafka.log.segment_files import create_new_cleaned_segment


def replace_by_copies(log: Any, *groups: list[int]) -> None:
    """Put one new segment in the place of those with the base offsets of each group.

    A new segment is a copy of all their batches: it is the renaming that matters here.
    """
    segments = {segment.base_offset: segment for segment in log.log_segments}
    cleaned = []
    for group in groups:
        copy = create_new_cleaned_segment(log.dir, log.config, group[0])
        for base in group:
            copy.append_from_file(segments[base].log, 0)
        copy.on_become_inactive_segment()
        copy.flush()
        cleaned.append(copy)
    log.replace_segments(cleaned, [segments[base] for group in groups for base in group])
