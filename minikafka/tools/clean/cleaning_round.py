"""One round of the log cleaner over one log that no broker is using."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from minikafka.common import file_ops
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.throttler import Throttler
from minikafka.common.time import ManualTime
from minikafka.log.cleaner.cleanable_offsets import cleanable_offsets
from minikafka.log.cleaner.cleaner import Cleaner
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.cleaner.cleaner_stats import CleanerStats
from minikafka.log.cleaner.log_to_clean import LogToClean
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import DELETED_FILE_SUFFIX
from minikafka.tools.recover.offline_log import loaded


class Limits(NamedTuple):
    """What bounds a round.

    `last_clean_offset`: where the last round ended, None for the log's start. `high_watermark`: None for the log's end.
    `map_memory`: bytes for the offset map.
    """

    last_clean_offset: int | None
    high_watermark: int | None
    map_memory: int


class CleaningRound(NamedTuple):
    """What a round did.

    Nothing at or above `high_watermark` was cleaned. The dirty part reached from `first_dirty_offset` up to
    `first_uncleanable_offset` (exclusive); the next round begins at `next_dirty_offset`. `before` and `after`: the
    segments, each as (base offset, bytes).
    """

    high_watermark: int
    first_dirty_offset: int
    first_uncleanable_offset: int
    next_dirty_offset: int
    stats: CleanerStats
    before: list[tuple[int, int]]
    after: list[tuple[int, int]]


def clean_once(
    directory: Path,
    config: LogConfig,
    clock: ManualTime,
    arguments: Mapping[str, object],
    limits: Limits,
    advance: Callable[[int], None],
) -> CleaningRound:
    """Load the log in `directory`, clean it once, and close it. `advance` gets the bytes as they are read and written.

    Replaced files are deleted at once, because nobody reads them and nobody would wait for file.delete.delay.ms.
    Raises what `Log.create` and `Cleaner.do_clean` raise. Kafka: `LogCleanerManager.grabFilthiestCompactedLog`,
    `LogCleaner.CleanerThread.cleanLog`.
    """
    cleaner = _cleaner(limits.map_memory, clock, advance)
    with loaded(directory, config, clock, stop_at_os_errors=True, **arguments) as (log, _):
        log.update_high_watermark(log.log_end_offset if limits.high_watermark is None else limits.high_watermark)
        first_dirty_offset, uncleanable_offset, _ = cleanable_offsets(
            log, limits.last_clean_offset, clock.milliseconds()
        )
        cleanable = LogToClean(log, first_dirty_offset, uncleanable_offset)
        before = _segments(log)
        next_dirty_offset, stats = first_dirty_offset, CleanerStats()
        if cleanable.cleanable_bytes:  # else the cleaner would not take the log
            next_dirty_offset, stats = cleaner.do_clean(cleanable, clock.milliseconds())
        uncleanable_offset = cleanable.first_uncleanable_offset
        offsets = (log.high_watermark, first_dirty_offset, uncleanable_offset, next_dirty_offset)
        done = CleaningRound(*offsets, stats, before, _segments(log))
    for file in sorted(directory.iterdir()):
        if file.name.endswith(DELETED_FILE_SUFFIX):
            file_ops.delete_if_exists(file)
    return done


class _ToldBytes(Throttler):
    """Reports the progress of the work, and slows nothing down."""

    def __init__(self, rate: float, clock: ManualTime, advance: Callable[[int], None]):
        super().__init__(rate, 0, clock)
        self._advance = advance

    def maybe_throttle(self, observed: float) -> None:
        self._advance(int(observed))


def _cleaner(map_memory: int, clock: ManualTime, advance: Callable[[int], None]) -> Cleaner:
    """A cleaner with a broker's default settings, except its map's memory. Raises IllegalArgumentException."""
    config = CleanerConfig.of({})
    offset_map = SkimpyOffsetMap(map_memory)
    if offset_map.slots * config.dedupe_buffer_load_factor <= 1:
        raise IllegalArgumentException(f"An offset map of {map_memory} bytes has no room for a single key")
    return Cleaner(
        0,
        offset_map,
        io_buffer_size=config.io_buffer_size // 2,
        max_io_buffer_size=config.max_message_size,
        dup_buffer_load_factor=config.dedupe_buffer_load_factor,
        throttler=_ToldBytes(config.max_io_bytes_per_second, clock, advance),
        time=clock,
        check_done=lambda partition: None,
    )


def _segments(log: Log) -> list[tuple[int, int]]:
    return [(segment.base_offset, segment.size) for segment in log.log_segments]
