"""What functions that only look are also asked: arguments to which no workload leads. See `Rung`.

Each function takes the arguments of a call and gives those of others. They stand apart from the rungs, because they are
needed where a learner's function runs, and the rungs, with their solutions, are not.
"""

from itertools import islice

from minikafka.lab.stepper.stepper import in_words
from minikafka.log.index.offset_index import OffsetPosition


def from_other_places(self, offset, starting_file_position=0):
    """The same search from the first batches on, and from the end of the file; and with an index that names them."""
    places = [batch.position for batch in islice(self.log.batches_from(0), 4)]
    return [
        *((self, offset, place) for place in (*places, self.size)),
        *((_indexed(self, OffsetPosition(offset, place)), offset) for place in places),
    ]


def meanwhile(self, max_lag_ms):
    """The same question while a change of the ISR is under way."""
    state = _Changed(self.partition_state, is_inflight=True)
    return [(_Changed(self, partition_state=state), max_lag_ms)]


def of_a_follower(self, follower_replica):
    """The same question where another broker leads."""
    return [(_Changed(self, leader_log_if_local=None, leader_epoch_start_offset=None), follower_replica)]


def _no_epochs(epoch):
    return None


def by_other_answers(log, leader_epoch_offset, fetch_offset):
    """What the answer to a fetch never says: no end, no epoch, an end beyond the follower's; and a log that knows
    no epochs.
    """
    further, before = log.log_end_offset + 5, max(fetch_offset - 1, 0)
    answers = (
        {"end_offset": -1},
        {"leader_epoch": -1},
        {"leader_epoch": -1, "end_offset": further},
        {"leader_epoch": 0, "end_offset": further},
        {"end_offset": further},
    )
    without_epochs = _Changed(log, end_offset_for_epoch=_no_epochs)
    return [
        *((log, leader_epoch_offset._replace(**answer), before) for answer in answers),
        *((without_epochs, leader_epoch_offset._replace(end_offset=end), before) for end in (1, further)),
    ]


def with_other_ends(data, position, end):
    """The same number where the data end before it or within it; one of six bytes, and one of more than 32 bits."""
    return [
        *((data, position, min(position + length, end)) for length in range(3)),
        (b"\xff" * 5 + b"\x01", 0, 6),
        (b"\xff" * 4 + b"\x7f", 0, 5),
    ]


def with_a_jitter(self, roll_params):
    """The same question about a segment that may be as old as it is, or is one millisecond too old, by its jitter."""
    waited_ms = self.time_waited_for_roll(roll_params.now, roll_params.max_timestamp_in_messages)
    left_ms = roll_params.max_segment_ms - waited_ms
    return [(_Changed(self, roll_jitter_ms=jitter_ms), roll_params) for jitter_ms in (left_ms, left_ms + 1)]


def of_other_batches(self, first_batch, batch):
    """The same question about a batch of another magic, one without records, one that begins further on, and a marker
    that has a sequence.
    """
    others = (
        {"magic": first_batch.magic - 1},
        {"last_offset": batch.base_offset - 1, "count": 0},
        {"base_offset": batch.base_offset + 5, "last_offset": batch.last_offset + 5},
        {"is_control_batch": True, "base_sequence": 0},
    )
    return [(self, first_batch, _Changed(batch, **fields)) for fields in others]


def _indexed(segment, found):
    """The segment with an index that knows `found` alone. The engine asks for the index in a way of its own."""
    index = _Changed(segment.offset_index, entries=1, entry=lambda number: found, lookup=lambda target_offset: found)
    return _Changed(segment, offset_index=index, _lazy_offset_index=_Changed(index, get=lambda: index))


class _Changed:
    """An object of which some attributes are others, to ask about what no workload leads to."""

    def __init__(self, original, **changes):
        self._original, self._changes = original, changes

    @property
    def __class__(self):
        """For `isinstance`, which then takes it for what it stands for."""
        return self._original.__class__

    def __getattr__(self, name):
        return self._changes[name] if name in self._changes else getattr(self._original, name)

    def __repr__(self):
        return f"{self._original!r} with " + ", ".join(
            f"{name} = {in_words(value)}" for name, value in self._changes.items()
        )
