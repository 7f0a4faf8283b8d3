"""The ladder of the lesson *High watermark*: how a follower and a leader move it, and what moves with it."""

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.log import Log
from minikafka.log.log_offset_metadata import LogOffsetMetadata

_DRAWN = (
    {"weights": {"high_watermark": 30}},
    {"epochs": True, "weights": {"high_watermark": 30}},
    {"follower": True, "epochs": True, "weights": {"high_watermark": 30}},
    {"producers": 3, "transactions": True, "weights": {"high_watermark": 20}},
)
_STORY = (
    "append_as_leader [5x10]\nupdate_high_watermark 3\nupdate_high_watermark 9\nupdate_high_watermark 1\n"
    "maybe_increment_log_start_offset 1\nupdate_high_watermark 0\nroll leo\nappend_as_leader [2x10]\n"
    "maybe_update_high_watermark 4\nmaybe_update_high_watermark 4\nmaybe_update_high_watermark 50\n"
)
_LEADERS = (
    "append_as_leader [5x10]\nmaybe_increment_high_watermark 3\nmaybe_increment_high_watermark 3\n"
    "maybe_increment_high_watermark 2\nmaybe_increment_high_watermark leo\nroll leo\n"
    "maybe_increment_high_watermark leo\nappend_as_leader [1x10]\nmaybe_increment_high_watermark leo+1\n"
    "maybe_increment_high_watermark leo\n"
)
_ISR = (
    "isr 1,2\nappend_as_leader [5x10]\nfetch 1 5\nfetch 2 3\nfetch 2 5\nroll leo\nfetch 1 5\nfetch 2 5\n"
    "append_as_leader [1x10]\nisr 1\nfetch 1 6\n"
)
_COMMITTED = (
    "append_as_leader [1x10 pid=7 epoch=0 seq=0 txn]\nupdate_high_watermark leo\nappend_as_leader [1x10]\n"
    "append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]\nupdate_high_watermark leo\n"
    "read 0 isolation=txn_committed max_length=300\n"
)
_HOLE = (  # the offset 3 is the log end at first, and then in a hole
    "append_as_follower [3x10]\nupdate_high_watermark leo\nappend_as_follower [2x10 offset=20]\n"
    "read 0 isolation=high_watermark max_length=300\n"
)
_EMPTY = (  # the offset 3 is the log start and the log end at first, and then in a hole
    "truncate_fully_and_start_at 3\nupdate_high_watermark leo\nappend_as_follower [2x10 offset=20]\n"
    "read 3 isolation=high_watermark max_length=300\n"
)
_KNOWN_LATE = (  # follower 1 has fetched up to 5 before that was a new segment, and does so again
    "isr 1,2\nappend_as_leader [5x10]\nfetch 1 5\nroll leo\nappend_as_leader [1x10]\nfetch 2 5\nfetch 1 5\n"
)


# Rung 1


def update_high_watermark(self, high_watermark):
    if isinstance(high_watermark, int):
        high_watermark = LogOffsetMetadata(high_watermark)
    end = self.log_end_offset_metadata
    if high_watermark.message_offset < self.log_start_offset:
        high_watermark = LogOffsetMetadata(self.log_start_offset)
    elif high_watermark.message_offset >= end.message_offset:
        high_watermark = end
    self._update_high_watermark_metadata(high_watermark)
    return high_watermark.message_offset


def _clamps(*, at_the_start=True, at_the_end=True, may_fall=True, returns_the_new=True, knows_the_end=True):
    """A version without one of the bounds, one that never lets the mark fall, or that knows no place."""

    def version(self, high_watermark):
        asked = high_watermark if isinstance(high_watermark, int) else high_watermark.message_offset
        old, offset = self.high_watermark, asked
        if at_the_start:
            offset = max(offset, self.log_start_offset)
        if at_the_end:
            offset = min(offset, self.log_end_offset)
        if not may_fall:
            offset = max(offset, old)
        end = self.log_end_offset_metadata
        is_end = knows_the_end and offset == end.message_offset
        self._update_high_watermark_metadata(end if is_end else LogOffsetMetadata(offset))
        return offset if returns_the_new else asked

    return version


def _clamps_by_itself(self, high_watermark):
    asked = high_watermark if isinstance(high_watermark, int) else high_watermark.message_offset
    end = self.log_end_offset_metadata
    offset = min(max(asked, self.log_start_offset), end.message_offset)
    self._high_watermark_metadata = end if offset == end.message_offset else LogOffsetMetadata(offset)
    return offset


clamps = Rung(
    "Rung 1, setting the high watermark",
    Log.update_high_watermark,
    why="A starting broker, a follower and a truncation use this method. It may move the mark up or down.",
    invariants=(
        "It takes an offset (int) or a `LogOffsetMetadata`, and returns the offset that was set.",
        "Afterwards log start ≤ high watermark ≤ log end, whatever the argument was.",
        "It may fall.",
        "At the log end it keeps `self.log_end_offset_metadata`, which has the byte position. Otherwise it keeps the "
        "argument.",
        "`self._update_high_watermark_metadata(metadata)` sets the mark, and then also updates the LSO and calls the "
        "listeners.",
    ),
    chosen=(
        _STORY,
        "append_as_leader [5x10]\nupdate_high_watermark leo\ntruncate_to 2\nupdate_high_watermark leo+7\n",
        _COMMITTED,
        _HOLE,
        _EMPTY,
    ),
    profiles=_DRAWN,
    returns=(int,),
    solution=update_high_watermark,
    beliefs=(
        Belief(
            _clamps(at_the_start=False),
            "You let the mark fall below the log start. Deleted offsets cannot be the bound of what is replicated.",
        ),
        Belief(
            _clamps(at_the_end=False), "You let the mark pass the log end. A replica has nothing above its log end."
        ),
        Belief(
            _clamps(may_fall=False),
            "You never let the mark fall. That is the rule of maybe_increment_high_watermark, which a leader uses. "
            "This method just sets it.",
        ),
        Belief(
            _clamps(knows_the_end=False),
            "You do not keep the byte position of the log end. A later read looks it up by the offset. If the log "
            "has got a hole at this offset by then, the read finds the batch after the hole, and the mark moves to "
            "it.",
        ),
        Belief(_clamps(returns_the_new=False), "You return the argument. Return the offset that was set."),
        Belief(
            _clamps_by_itself,
            "You only store the mark. The LSO stays where it was, and readers of committed records wait. Set it with "
            "`self._update_high_watermark_metadata(…)`.",
        ),
    ),
    hints=(
        "Turn an int into `LogOffsetMetadata(number)`, an offset without a byte position.",
        "If it is below `self.log_start_offset`, use that offset. If it is at or above the log end, use "
        "`self.log_end_offset_metadata`.",
        "Set it with `self._update_high_watermark_metadata(…)` and return its `message_offset`.",
    ),
)


# Rung 2


def maybe_update_high_watermark(self, high_watermark):
    old = self.high_watermark
    new = self.update_high_watermark(high_watermark)
    return None if new == old else new


def _update_always(self, high_watermark):
    return self.update_high_watermark(high_watermark)


def _update_by_what_was_asked(self, high_watermark):
    old = self.high_watermark
    self.update_high_watermark(high_watermark)
    return None if high_watermark == old else high_watermark


def _update_upwards(self, high_watermark):
    old = self.high_watermark
    if high_watermark <= old:
        return None
    return self.update_high_watermark(high_watermark)


follows = Rung(
    "Rung 2, what a follower learns",
    Log.maybe_update_high_watermark,
    why="A leader sends its high watermark with each answer to a fetch. The follower may have fewer records, so its "
    "own log limits the value.",
    invariants=(
        "It sets the mark to the nearest offset from log start to log end, both inclusive.",
        "It returns the new mark, or None when the mark did not change.",
    ),
    chosen=(
        _STORY,
        "append_as_follower [3x10]\nmaybe_update_high_watermark 10\nappend_as_follower [3x10]\n"
        "maybe_update_high_watermark 10\nmaybe_update_high_watermark 4\nmaybe_update_high_watermark 4\n",
    ),
    profiles=_DRAWN,
    returns=(int, type(None)),
    solution=maybe_update_high_watermark,
    beliefs=(
        Belief(_update_always, "You return the mark even if it did not change."),
        Belief(
            _update_by_what_was_asked,
            "You compare and return the leader's value. Use the value that was set within the follower's own log.",
        ),
        Belief(
            _update_upwards,
            "Your follower's mark never falls. A follower takes its leader's value, lower or higher.",
        ),
    ),
    hints=(
        "The method of rung 1 applies the bounds: call `self.update_high_watermark(high_watermark)`.",
        "Remember the mark before, and compare it with what that method returns.",
    ),
)


# Rung 3


def maybe_increment_high_watermark(self, new_high_watermark):
    if new_high_watermark.message_offset > self.log_end_offset:
        raise IllegalArgumentException(
            f"High watermark {new_high_watermark} update exceeds current log end offset {self.log_end_offset_metadata}"
        )
    old = self._fetch_high_watermark_metadata()
    is_ahead = old.message_offset < new_high_watermark.message_offset
    is_on_a_newer_segment = old.message_offset == new_high_watermark.message_offset and old.on_older_segment(
        new_high_watermark
    )
    if not is_ahead and not is_on_a_newer_segment:
        return None
    self._update_high_watermark_metadata(new_high_watermark)
    return old


def _increments(*, ahead=lambda old, new: old < new, refuses=True, returns_the_old=True, most=lambda end: end):
    """A version with another comparison, another bound or none, or another result."""

    def version(self, new_high_watermark):
        new = new_high_watermark.message_offset
        if new > most(self.log_end_offset):
            if refuses:
                raise IllegalArgumentException("High watermark update exceeds current log end offset")
            return None
        old = self._fetch_high_watermark_metadata()
        if not ahead(old.message_offset, new):
            return None
        self._update_high_watermark_metadata(new_high_watermark)
        return old if returns_the_old else new_high_watermark

    return version


increments = Rung(
    "Rung 3, the leader's mark only rises",
    Log.maybe_increment_high_watermark,
    why="A record that a consumer has read must stay visible. So a leader never lowers the mark, whatever a follower "
    "fetches.",
    invariants=(
        "It never lowers the mark.",
        "It returns the old mark with its byte position (`self._fetch_high_watermark_metadata()`), or None if the "
        "mark did not move.",
        "The same offset on a newer segment counts as higher: after a roll the mark moves to the new segment.",
        "Above the log end it raises `IllegalArgumentException`, and the mark stays.",
    ),
    chosen=(_LEADERS, _ISR, _KNOWN_LATE),
    profiles=_DRAWN,
    returns=(LogOffsetMetadata, type(None)),
    solution=maybe_increment_high_watermark,
    beliefs=(
        Belief(
            _increments(ahead=lambda old, new: True),
            "You set the mark even if the new one is lower. A leader's mark only rises.",
        ),
        Belief(
            _increments(ahead=lambda old, new: old <= new),
            "You set and report a mark that is the same as before.",
        ),
        Belief(
            _increments(refuses=False),
            "You ignore a mark above the log end. Kafka refuses it with IllegalArgumentException.",
        ),
        Belief(
            _increments(most=lambda end: end - 1),
            "You refuse a mark at the log end. When every replica has all records, the mark is at the log end.",
        ),
        Belief(_increments(returns_the_old=False), "You return the new mark. The caller needs the old one."),
    ),
    hints=(
        "First the refusal: `raise IllegalArgumentException(…)` above `self.log_end_offset`.",
        "`old = self._fetch_high_watermark_metadata()` has the old mark with its byte position.",
        "The new mark is ahead if its `message_offset` is higher, or if it is the same and "
        "`old.on_older_segment(new_high_watermark)`.",
    ),
)

LADDER = (clamps, follows, increments)
"""The rungs in the order in which they are climbed."""
