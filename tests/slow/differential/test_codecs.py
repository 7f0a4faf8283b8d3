"""Batches that are compressed anew, by a leader or in compaction, have the bytes that Kafka's have, with each codec."""

import pytest

from minikafka.witness.log.batch import CODECS
from minikafka.witness.log.differ import compare
from minikafka.witness.log.draw import draw_workload

SEEDS = range(4)
SIZE = 60
LEVELS = {"gzip": (1, 9), "snappy": (None,), "lz4": (1, 17), "zstd": (-131072, 12)}  # 22 takes 800 MB a batch


@pytest.mark.parametrize("codec", LEVELS)
def test_compaction_writes_the_same_bytes(kafka, codec):
    for seed in SEEDS:
        settings = {"preallocate": "false"}
        comparison = compare(
            kafka,
            draw_workload(
                seed, SIZE, compaction=True, producers=seed % 2 * 2, codecs=(codec, codec, "none"), settings=settings
            ),
        )
        assert comparison.same, comparison


@pytest.mark.parametrize(("codec", "level"), [(codec, level) for codec in LEVELS for level in LEVELS[codec]])
def test_a_leader_that_compresses_writes_the_same_bytes(kafka, codec, level):
    settings = {"compression.type": codec}
    if level is not None:
        settings[f"compression.{codec}.level"] = str(level)
    for seed in SEEDS:
        comparison = compare(kafka, draw_workload(seed, SIZE, codecs=CODECS, producers=2, settings=settings))
        assert comparison.same, comparison
