"""The ladders: the rungs of each lesson, from a few lines to a page, each with one way to climb it."""

from minikafka.lab.rebuild.ladders import high_watermark, segments

ALL = (
    (segments.rolls, segments.looks_up, segments.translates, segments.appends, segments.deletes),
    (high_watermark.clamps, high_watermark.follows, high_watermark.increments),
)
"""By lesson, in the order in which they are climbed."""
