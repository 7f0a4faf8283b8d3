"""What functions that only look are also asked: arguments to which no workload leads. See `Rung`.

Each function takes the arguments of a call and gives those of others. They stand apart from the rungs, because they are
needed where a learner's function runs, and the rungs, with their solutions, are not.
"""

from itertools import islice

from minikafka.lab.stepper.stepper import in_words


def from_other_places(self, offset, starting_file_position=0):
    """The same search from the first batches on, and from the end of the file."""
    places = [batch.position for batch in islice(self.log.batches_from(0), 4)]
    return [(self, offset, place) for place in (*places, self.size)]


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


class _Changed:
    """An object of which some attributes are others, to ask about what no workload leads to."""

    def __init__(self, original, **changes):
        self._original, self._changes = original, changes

    def __getattr__(self, name):
        return self._changes[name] if name in self._changes else getattr(self._original, name)

    def __repr__(self):
        return f"{self._original!r} with " + ", ".join(
            f"{name} = {in_words(value)}" for name, value in self._changes.items()
        )
