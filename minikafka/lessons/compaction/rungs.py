"""The ladder of the lesson *Compaction*: from where to where, and which segments become one."""

from minikafka.common.java.java_numbers import INT_MAX
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.cleaned_workloads import OFTEN, OPEN, drawn
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.cleaner import cleanable_offsets as bounds
from minikafka.log.cleaner import log_cleaner_manager, segment_grouping  # noqa: F401  (who calls the functions)

# Rung 1


def cleanable_offsets(log, last_clean_offset, now):
    start, end = log.log_start_offset, log.log_end_offset
    is_invalid = last_clean_offset is not None and not start <= last_clean_offset <= end
    first_dirty = start if is_invalid or last_clean_offset is None else last_clean_offset
    bounds = [log.last_stable_offset, log.active_segment.base_offset]
    lag = log.config.compaction_lag_ms
    if lag > 0:
        segments = log.non_active_log_segments_from(first_dirty)
        bounds += [segment.base_offset for segment in segments if segment.largest_timestamp > now - lag][:1]
    return first_dirty, max(first_dirty, min(bounds)), is_invalid


def _range(
    *,
    bound=lambda log: log.last_stable_offset,
    young=lambda segment, horizon: segment.largest_timestamp > horizon,
    begins=lambda checkpoint, start, end: checkpoint if start <= checkpoint <= end else start,
    looked_at=lambda log, first_dirty: log.non_active_log_segments_from(first_dirty),
    at_least=max,
    forced=True,
):
    """A version with another bound, another beginning, or another idea of what is young."""

    def version(log, last_clean_offset, now):
        start, end = log.log_start_offset, log.log_end_offset
        is_invalid = last_clean_offset is not None and not start <= last_clean_offset <= end
        first_dirty = start if last_clean_offset is None else begins(last_clean_offset, start, end)
        ends = [bound(log), log.active_segment.base_offset]
        lag = log.config.compaction_lag_ms
        if lag > 0:
            ends += [each.base_offset for each in looked_at(log, first_dirty) if young(each, now - lag)][:1]
        return first_dirty, at_least(first_dirty, min(ends)), is_invalid and forced

    return version


_PIECES = "append_as_leader [4x10 keys=4]\nroll\n"
_LAG = "config cleanup.policy=compact min.cleanable.dirty.ratio=0 min.compaction.lag.ms="

ranges = Rung(
    "Rung 1, from where to where",
    bounds.cleanable_offsets,
    why="If a topic is not compacted, look at what ends this range.",
    invariants=(
        "It changes nothing. A cleaning reads the keys from the first answer (inclusive) to the second (exclusive), "
        "and rewrites all segments below the second.",
        "The range begins at the checkpoint's offset. Without a checkpoint it begins at the log start. If the "
        "checkpoint is outside the log (log start to log end, both inclusive), it also begins at the log start, and "
        "the third answer is True.",
        "The range ends at the least of three offsets: the last stable offset, the base of the active segment, and, "
        "if min.compaction.lag.ms is above 0, the base of the first dirty segment that has a record younger than "
        "that.",
        "The end is never below the begin.",
    ),
    chosen=(
        f"{_LAG}0\n{_PIECES * 2}append_as_leader [2x10 keys=4 pid=7 epoch=0 seq=0 txn]\n{_PIECES * 2}"
        "maybe_increment_high_watermark leo\nclean\nappend_as_leader origin=coordinator transaction_version=0 "
        "[abort pid=7 epoch=0]\nmaybe_increment_high_watermark leo\nclean\nmaybe_increment_log_start_offset 14\n"
        "clean\ntruncate_to 3\nclean\n",
        f"{_LAG}0\n{_PIECES * 3}update_high_watermark 9\nclean\nmaybe_increment_high_watermark leo\nclean\n",
        f"{_LAG}0\n{_PIECES}maybe_increment_high_watermark leo\nclean\n{_PIECES * 2}append_as_leader [1x10 keys=4]\n"
        "maybe_increment_high_watermark leo\nmaybe_increment_log_start_offset 9\nclean\n",
        f"{_LAG}1000\n{_PIECES}tick 600\n{_PIECES}maybe_increment_high_watermark leo\ntick 399\nclean\ntick 1\nclean\n"
        "tick 500\nclean\ntick 500\nclean\n",
        # No lag: records from the future do not wait. A lag of 1 ms: records of this millisecond do.
        f"{_LAG}0\nappend_as_leader [4x10 keys=4 ts=now+500]\nroll\nmaybe_increment_high_watermark leo\nclean\n"
        f"update_config min.compaction.lag.ms=1\n{_PIECES}maybe_increment_high_watermark leo\nclean\ntick 1\nclean\n",
        # The high watermark is below the checkpoint.
        f"{_LAG}0\n{_PIECES * 2}maybe_increment_high_watermark leo\nclean\nupdate_high_watermark 5\nclean\n",
        f"{_LAG}1000\nappend_as_leader [2x10 keys=3]\nroll\nmaybe_increment_high_watermark leo\ntick 1000\nclean\n"
        "update_config min.compaction.lag.ms=2000\nappend_as_leader [2x10 keys=3 ts=now-9000]\nroll\n"
        "maybe_increment_high_watermark leo\nclean\n",
    ),
    profiles=drawn({}, OPEN, OPEN, **{"min.compaction.lag.ms": 100})
    + drawn(OPEN, {"weights": {**OFTEN["weights"], "truncate": 8, "log_start": 8}}),
    returns=(bounds.OffsetsToClean, tuple),
    changes_nothing=True,
    solution=cleanable_offsets,
    beliefs=(
        Belief(
            _range(bound=lambda log: log.log_end_offset),
            "You clean everything but the active segment. Records at or above the last stable offset must wait, too: "
            "they may still be lost or aborted.",
        ),
        Belief(
            _range(bound=lambda log: log.high_watermark),
            "You stop at the high watermark. An open transaction below it stops the cleaning, too: the bound is the "
            "last stable offset.",
        ),
        Belief(
            _range(young=lambda segment, horizon: False),
            "You ignore min.compaction.lag.ms. The first segment that is younger ends the range.",
        ),
        Belief(
            _range(young=lambda segment, horizon: segment.largest_timestamp >= horizon),
            "You stop at a segment that is exactly min.compaction.lag.ms old. It is too young only if "
            "`largest_timestamp > now - lag`.",
        ),
        Belief(
            _range(looked_at=lambda log, first_dirty: log.log_segments[:-1]),
            "You check the age of segments below the first dirty offset. They have been cleaned before and do not "
            "end the range.",
        ),
        Belief(
            _range(begins=lambda checkpoint, start, end: start if checkpoint > end else checkpoint),
            "You begin below the log start. Since the checkpoint was written, records up to the log start have been "
            "deleted.",
        ),
        Belief(
            _range(forced=False),
            "Your third answer is always False. If the checkpoint is outside the log, it must be written again: "
            "return True.",
        ),
    ),
    hints=(
        "Begin at the checkpoint, `last_clean_offset`. There may be none (None), or it may lie below "
        "`log.log_start_offset` or above `log.log_end_offset`.",
        "Three offsets can end the range: `log.last_stable_offset`; `log.active_segment.base_offset`; and, if `lag = "
        "log.config.compaction_lag_ms` is above 0, the base of the first of "
        "`log.non_active_log_segments_from(first_dirty)` with `largest_timestamp > now - lag`.",
        "The answer is `(first_dirty, max(first_dirty, min(ends)), is_invalid)`.",
    ),
)


# Rung 2


def group_segments_by_size(segments, max_size, max_index_size, first_uncleanable_offset):
    groups, sizes = [], [0, 0, 0]
    for n, segment in enumerate(segments):
        following = segments[n + 1].base_offset if n + 1 < len(segments) else first_uncleanable_offset
        added = [segment.size, segment.offset_index.size_in_bytes, segment.time_index.size_in_bytes]
        together = [size + more for size, more in zip(sizes, added)]
        fits = together[0] <= max_size and max(together[1:]) <= max_index_size
        if groups and fits and (segment.size == 0 or following - 1 - groups[-1][0].base_offset <= INT_MAX):
            groups[-1].append(segment)
            sizes = together
        else:
            groups.append([segment])
            sizes = added
    return groups


def _groups(
    *, fits=lambda total, limit: total <= limit, counts_indexes=True, counts_offsets=True, alone=False, resets=True
):
    """A version that forgets one of the limits."""

    def version(segments, max_size, max_index_size, first_uncleanable_offset):
        groups, sizes = [], [0, 0, 0]
        for n, segment in enumerate(segments):
            following = segments[n + 1].base_offset if n + 1 < len(segments) else first_uncleanable_offset
            added = [segment.size, segment.offset_index.size_in_bytes, segment.time_index.size_in_bytes]
            together = [size + more for size, more in zip(sizes, added, strict=True)]
            joins = groups and not alone and fits(together[0], max_size)
            joins = joins and (not counts_indexes or max(together[1:]) <= max_index_size)
            if joins and (
                not counts_offsets or segment.size == 0 or following - 1 - groups[-1][0].base_offset <= INT_MAX
            ):
                groups[-1].append(segment)
                sizes = together
            else:
                groups.append([segment])
                sizes = added if resets or not sizes[0] else together
        return groups

    return version


_GROUPED = (
    "config cleanup.policy=compact min.cleanable.dirty.ratio=0 internal.segment.bytes={} segment.index.bytes={}\n"
)
_FOUR = "append_as_leader [1x30 keys=1]\nroll\n" * 4

groups = Rung(
    "Rung 2, which segments become one",
    segment_grouping.group_segments_by_size,
    why="Without groups, compaction would leave more and more small segments.",
    invariants=(
        "Every segment is in exactly one group, in the order of the log.",
        "In a group of several segments, the `.log` files together have at most `max_size` bytes, and the offset "
        "indexes and the time indexes at most `max_index_size` bytes each. These are the sizes before the cleaning.",
        "A segment joins the group before it if these rules allow it. A segment that is too large for any group is a "
        "group by itself.",
        "The last offset of a group is at most 2³¹ - 1 above the base offset of its first segment. The last offset "
        "is taken as one less than the base of the next segment, or than `first_uncleanable_offset`. An empty "
        "segment may join whatever its base offset is.",
    ),
    chosen=(
        _GROUPED.format(206, 4096) + _FOUR + "maybe_increment_high_watermark leo\nclean\nclean\n",
        _GROUPED.format(1000, 16)
        + "config index.interval.bytes=0\n"
        + _FOUR
        + "maybe_increment_high_watermark leo\nclean\n",
        _GROUPED.format(1000, 4096) + "append_as_follower [1x10 keys=1 offset=0]\nroll\nappend_as_follower "
        "[1x10 keys=2 offset=2147483646]\nroll\nappend_as_follower [1x10 keys=2 offset=2147483649]\nroll\n"
        "maybe_increment_high_watermark leo\nclean\n",
        # Two groups: the fourth segment is too far from the first one, and not from the third; the fifth joins it.
        _GROUPED.format(1000, 4096)
        + "".join(
            f"append_as_follower [1x10 keys=1 offset={offset}]\nroll\n"
            for offset in (0, 1_000_000_000, 2_000_000_000, 2_500_000_000, 2_600_000_000)
        )
        + "maybe_increment_high_watermark leo\nclean\n",
        # Two time indexes have exactly `max_index_size` bytes together.
        _GROUPED.format(1000, 24) + _FOUR + "maybe_increment_high_watermark leo\nclean\n",
        # Two time indexes fit, and two offset indexes do not.
        _GROUPED.format(1000, 40)
        + "config index.interval.bytes=0\n"
        + ("append_as_leader [1x10 keys=1]\n" * 4 + "roll\n") * 2
        + "maybe_increment_high_watermark leo\nclean\n",
        # Two of either kind of index fit, and all four together are larger than the limit.
        _GROUPED.format(1000, 56)
        + "config index.interval.bytes=0\n"
        + ("append_as_leader [1x10 keys=1]\n" * 4 + "roll\n") * 2
        + "maybe_increment_high_watermark leo\nclean\n",
        # The second segment ends exactly 2^31 - 1 above the first base offset, the third one further.
        _GROUPED.format(1000, 4096)
        + "".join(f"append_as_follower [1x10 keys=1 offset={n}]\nroll\n" for n in (0, 2**31 - 1, 2**31))
        + "maybe_increment_high_watermark leo\nclean\n",
        # The second segment is empty, and the next one begins far above it.
        _GROUPED.format(1000, 4096) + "append_as_follower [1x10 keys=1]\nroll\nroll 2147483700\n"
        "append_as_follower [1x10 keys=1 offset=2147483710]\nroll\nmaybe_increment_high_watermark leo\nclean\n",
    ),
    profiles=drawn({}, {}, OPEN, {"follower": True}, {}),
    returns=(list,),
    solution=group_segments_by_size,
    beliefs=(
        Belief(
            _groups(fits=lambda total, limit: total < limit),
            "You begin a new group if the sum is exactly `max_size`. The limit is inclusive.",
        ),
        Belief(
            _groups(counts_indexes=False),
            "You ignore the indexes. The offset indexes of a group must fit into `max_index_size` bytes, and so must "
            "the time indexes.",
        ),
        Belief(
            _groups(counts_offsets=False),
            "You ignore the offsets. An index holds them relative to the first base offset, and they must be at most "
            "2³¹ - 1.",
        ),
        Belief(_groups(alone=True), "You make a group of each segment. Then the number of segments never falls."),
        Belief(
            _groups(resets=False),
            "You do not start the sums again for a new group. Its sums begin with its first segment.",
        ),
    ),
    hints=(
        "Go through the segments and keep three sums of the present group: `segment.size`, "
        "`segment.offset_index.size_in_bytes`, `segment.time_index.size_in_bytes`.",
        "A segment joins if all three sums stay within their limits. Otherwise it begins a new group, and the sums "
        "begin with it.",
        "Then check the offsets: the next segment's base (or `first_uncleanable_offset`), minus 1, minus the base of "
        "the group's first segment must not exceed `INT_MAX`. Skip this check for an empty segment (`size == 0`).",
    ),
)

LADDER = (ranges, groups)
"""The rungs in the order in which they are climbed."""
