"""The ladders: the rungs of each lesson, from a few lines to a page, each with one way to climb it."""

from minikafka.lab.rebuild.ladders import (
    append,
    compaction,
    crash,
    high_watermark,
    loading,
    produce_path,
    producers,
    read,
    records,
    replication,
    segments,
    storage_layer,
)

ALL = (
    (
        records.writes_varints,
        records.reads_varints,
        records.sums,
        records.assigns,
        records.writes_records,
        records.writes_headers,
    ),
    (segments.rolls, segments.looks_up, segments.translates, segments.appends, segments.deletes),
    (high_watermark.clamps, high_watermark.follows, high_watermark.increments),
    (append.compresses, append.trims, append.validates, append.flushes, append.examines),
    (producers.finds, producers.checks, producers.fences, producers.completes, producers.stable, producers.unstable),
    (read.times, read.reads, read.collects),
    (loading.collects, loading.replaces, loading.ends, loading.cuts_epochs, loading.keeps_snapshots),
    (crash.trusts, crash.recovers, crash.scans, crash.empties),
    (storage_layer.starts, storage_layer.flushes, storage_layer.retains, storage_layer.takes_away, storage_layer.stops),
    (compaction.delays, compaction.ranges, compaction.retains, compaction.checks, compaction.groups),
    (
        produce_path.minimum,
        produce_path.completes,
        produce_path.adds,
        produce_path.appends,
        produce_path.tells,
    ),
    (replication.leaves, replication.joins, replication.cuts, replication.raises),
)
"""By lesson, in the order in which they are climbed."""
