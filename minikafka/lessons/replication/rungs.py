"""The ladder of the lesson *Replication*: who is in sync, and up to where all that counts is replicated."""

from minikafka.cluster.partition import Partition
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild import also_asked
from minikafka.lab.rebuild.harnesses import BROKERS
from minikafka.lab.rebuild.rung import Rung

_BEGIN = (
    "broker replica.lag.time.max.ms=10000\nstart 0\nstart 1\nstart 2\ntopic t 0,1,2 min.insync.replicas={}\n"
    "publish 0\npublish 1\npublish 2\n"
)
_ROUND = "follow 1\nfollow 2\n"
_FIXED = {"replica.lag.time.max.ms": "2000", "replica.fetch.max.bytes": "1048576"}


def _drawn(*weights, **settings):
    """Knobs for workloads of three brokers with these settings."""
    without = {"reassign": 0, "metadata": 0, "list_offsets": 0}
    return tuple({"fixed": {**_FIXED, **settings}, "weights": {**without, **each}} for each in weights)


# Rung 1


def get_out_of_sync_replicas(self, max_lag_ms):
    if self.partition_state.is_inflight:
        return frozenset()
    now, leader_end = self._time.milliseconds(), self.local_log_or_exception.log_end_offset
    behind = set()
    for broker_id in self.partition_state.isr - {self._local_broker_id}:
        state = self.get_replica(broker_id).state_snapshot
        if state.log_end_offset != leader_end and now - state.last_caught_up_time_ms > max_lag_ms:
            behind.add(broker_id)
    return frozenset(behind)


def _behind(
    *,
    late=lambda ms, limit: ms > limit,
    at_end=lambda state, end: state.log_end_offset == end,
    since=lambda state: state.last_caught_up_time_ms,
    inflight=lambda state: state.is_inflight,
):
    """A version with another idea of who is late."""

    def version(self, max_lag_ms):
        if inflight(self.partition_state):
            return frozenset()
        now, end = self._time.milliseconds(), self.local_log_or_exception.log_end_offset
        states = {
            broker_id: self.get_replica(broker_id).state_snapshot
            for broker_id in self.partition_state.isr - {self._local_broker_id}
        }
        return frozenset(
            broker_id
            for broker_id, state in states.items()
            if not at_end(state, end) and late(now - since(state), max_lag_ms)
        )

    return version


_LATE = (
    _BEGIN.format(1)
    + f"produce 0 t-0 [3x10]\n{_ROUND}{_ROUND}sleep 20000\nproduce 0 t-0 [1x10]\n{_ROUND}follow 1\nsleep 5000\n"
    "follow 2\nproduce 0 t-0 [1x10]\nfollow 1\nproduce 0 t-0 [1x10]\nsleep 5000\nfollow 1\nsleep 5000\nfollow 1\n"
    "sleep 5000\nanswer 0\nproduce 0 t-0 [1x10]\nsleep 5000\nsleep 5000\nsleep 5000\nanswer 0\n"
)


leaves = Rung(
    "Rung 1, who has fallen behind",
    Partition.get_out_of_sync_replicas,
    why="If a follower leaves the ISR too early, there are fewer copies. If it stays too long, every producer with "
    "acks=all waits.",
    invariants=(
        "It changes nothing. It returns a frozenset of broker ids: members of the ISR, without the leader.",
        "A follower whose log ends where the leader's does is in sync, even if it has not fetched for a long time.",
        "Any other follower is behind if it was caught up more than `max_lag_ms` ago.",
        "While a change of the ISR is in flight, the answer is empty.",
    ),
    chosen=(_LATE,),
    also_asked=also_asked.meanwhile,
    profiles=_drawn({"sleep": 30, "answer": 15}, {"sleep": 20, "answer": 15}),
    returns=(frozenset, set),
    changes_nothing=True,
    harness=BROKERS,
    solution=get_out_of_sync_replicas,
    beliefs=(
        Belief(
            _behind(late=lambda ms, limit: ms >= limit),
            "You return a follower that was caught up exactly `max_lag_ms` ago. It must be longer ago.",
        ),
        Belief(
            _behind(at_end=lambda state, end: False),
            "You return a follower that has every record, because it has not fetched for a long time. Its log lacks "
            "nothing.",
        ),
        Belief(
            _behind(since=lambda state: state.last_fetch_time_ms),
            "You use the time of the last fetch. A follower may fetch all the time and never catch up.",
        ),
        Belief(
            _behind(inflight=lambda state: False),
            "You return followers while a change of the ISR is in flight. The new members are not known yet: wait "
            "for the answer.",
        ),
    ),
    hints=(
        "`self.partition_state` has `is_inflight` and `isr`. The ISR includes the leader's own id, "
        "`self._local_broker_id`.",
        "`self.get_replica(broker_id).state_snapshot` has `log_end_offset` and `last_caught_up_time_ms`; the leader's "
        "end is `self.local_log_or_exception.log_end_offset`, the time `self._time.milliseconds()`.",
        "A follower is behind if its log ends at another offset than the leader's, and it was caught up more than "
        "`max_lag_ms` before now.",
    ),
)


# Rung 2


def _is_follower_in_sync(self, follower_replica):
    end, log, epoch_start = (
        follower_replica.state_snapshot.log_end_offset,
        self.leader_log_if_local,
        self.leader_epoch_start_offset,
    )
    return log is not None and epoch_start is not None and end >= log.high_watermark and end >= epoch_start


def _in_sync(*, enough):
    def version(self, follower_replica):
        log, begun = self.leader_log_if_local, self.leader_epoch_start_offset
        return (
            log is not None and begun is not None and enough(follower_replica.state_snapshot.log_end_offset, log, begun)
        )

    return version


_JOIN = (
    _BEGIN.format(1)
    + f"produce 0 acks=1 t-0 [3x10]\n{_ROUND}{_ROUND}{_ROUND}change t-0 isr=0,1\npublish 0\npublish 1\npublish 2\n"
    "produce 0 acks=1 t-0 [2x10]\nfollow 1\nproduce 0 acks=1 t-0 [2x10]\nfollow 1\nfollow 2\nfollow 2\nanswer 0\n"
)
_NEW_LEADER = (  # its mark, 3, lags behind the start of its epoch, 5; broker 2 has everything up to the mark
    _BEGIN.format(1)
    + f"produce 0 acks=1 t-0 [3x10]\n{_ROUND}{_ROUND}{_ROUND}change t-0 isr=0,1\npublish 0\npublish 1\npublish 2\n"
    "produce 0 acks=1 t-0 [2x10]\nfollow 1\ncrash 0\nchange t-0 leader=1 isr=1,0\npublish 1\npublish 2\n"
    "follow 2\nfollow 2\nanswer 1\n"
)

_BELOW = (  # the mark has passed broker 2, which ends where a transaction began, above the start of the epoch
    _BEGIN.format(1)
    + f"produce 0 acks=1 t-0 [3x10]\n{_ROUND}{_ROUND}{_ROUND}change t-0 isr=0,1\npublish 0\npublish 1\npublish 2\n"
    "sleep 12000\nproduce 0 acks=-1 transaction=tx t-0 [2x10 pid=7 epoch=0 seq=0 txn]\nfollow 1\nfollow 1\nfollow 2\n"
    "answer 0\nfollow 2\nanswer 0\n"
)


joins = Rung(
    "Rung 2, who may come back",
    Partition._is_follower_in_sync,
    why="A member of the ISR may become the leader. If a follower joins too early, acknowledged records can be lost.",
    invariants=(
        "It changes nothing. It returns True if the follower has every record that may have been acknowledged. Two "
        "conditions must hold.",
        "The follower's log end is at or above the leader's high watermark.",
        "It is also at or above the offset at which the leader's epoch began, because a new leader's high watermark "
        "may be too low.",
        "If this broker does not lead, the answer is False.",
    ),
    chosen=(_JOIN, _NEW_LEADER, _BELOW),
    also_asked=also_asked.of_a_follower,
    profiles=_drawn(
        {"change": 12, "answer": 20, "sleep": 20}, {"change": 12, "answer": 20}, {"change": 14, "sleep": 20}
    ),
    returns=(bool,),
    changes_nothing=True,
    harness=BROKERS,
    solution=_is_follower_in_sync,
    beliefs=(
        Belief(
            _in_sync(enough=lambda end, log, begun: end >= log.log_end_offset and end >= begun),
            "You compare with the leader's log end. Under load no follower would ever join: compare with the high "
            "watermark.",
        ),
        Belief(
            _in_sync(enough=lambda end, log, begun: end >= log.high_watermark),
            "You forget the start of the leader's epoch. A new leader's high watermark may be below acknowledged "
            "records; the offset at which its epoch began is not.",
        ),
        Belief(
            _in_sync(enough=lambda end, log, begun: end > log.high_watermark and end >= begun),
            "You refuse a follower that ends exactly at the high watermark. The mark is exclusive: this follower has "
            "every record below it.",
        ),
        Belief(
            _in_sync(enough=lambda end, log, begun: end >= begun),
            "You compare only with the start of the epoch. Records that were committed since then are above it.",
        ),
    ),
    hints=(
        "`follower_replica.state_snapshot.log_end_offset` is the follower's log end offset, as the leader knows it.",
        "`self.leader_log_if_local` is the leader's log, with `high_watermark`. It is None if another broker leads.",
        "`self.leader_epoch_start_offset` is the offset at which the epoch began. It is None if this broker does not "
        "lead.",
    ),
)


# Rung 3


def _maybe_increment_leader_hw(self, leader_log, current_time_ms):
    if self.is_under_min_isr:
        return False
    leader_end = leader_log.log_end_offset_metadata
    least = leader_end
    for replica in self.remote_replicas:
        state = replica.state_snapshot
        counts = replica.broker_id in self.partition_state.maximal_isr or (
            state.is_caught_up(leader_end.message_offset, current_time_ms, self.replica_lag_time_max_ms)
            and self._is_replica_isr_eligible(replica.broker_id)
        )
        if counts and state.log_end_offset < least.message_offset:
            least = state.log_end_offset_metadata
    return leader_log.maybe_increment_high_watermark(least) is not None


def _raises(
    *,
    enough=lambda self: not self.is_under_min_isr,
    members=lambda state: state.maximal_isr,
    joining=True,
    alive=True,
    known=lambda state: True,
):
    """A version that counts other followers, or minds another minimum."""

    def version(self, leader_log, current_time_ms):
        if not enough(self):
            return False
        least = leader_end = leader_log.log_end_offset_metadata
        for replica in self.remote_replicas:
            state = replica.state_snapshot
            counts = replica.broker_id in members(self.partition_state) or (
                joining
                and state.is_caught_up(leader_end.message_offset, current_time_ms, self.replica_lag_time_max_ms)
                and (not alive or self._is_replica_isr_eligible(replica.broker_id))
            )
            if counts and known(state) and state.log_end_offset < least.message_offset:
                least = state.log_end_offset_metadata
        return leader_log.maybe_increment_high_watermark(least) is not None

    return version


_MINIMUM = (
    _BEGIN.format(2)
    + f"produce 0 t-0 [3x10]\n{_ROUND}{_ROUND}follow 1\nproduce 0 t-0 [2x10]\nfollow 1\nfollow 1\nsleep 10000\n"
    "sleep 5000\nanswer 0\nfollow 1\nproduce 0 t-0 [1x10]\nfollow 1\nfollow 1\nsleep 10000\nproduce 0 t-0 [1x10]\n"
    "change t-0 isr=0\npublish 0\npublish 1\nproduce 0 acks=1 t-0 [1x10]\nfollow 1\nfollow 1\nanswer 0\n"
)
_OUTSIDE = (  # broker 2 has just left the ISR
    _BEGIN.format(1)
    + f"produce 0 acks=1 t-0 [3x10]\n{_ROUND}{_ROUND}change t-0 isr=0,1\npublish 0\npublish 1\npublish 2\n"
)
_NEAR = _OUTSIDE + "produce 0 acks=1 t-0 [2x10]\nfollow 1\nfollow 1\nfollow 2\nfollow 2\nanswer 0\n"
_PROPOSED = _OUTSIDE + (
    "follow 2\nsleep 12000\nproduce 0 acks=1 t-0 [1x10]\nfollow 1\nfollow 1\nanswer 0\nfollow 2\nfollow 2\n"
)
_JUST_IN_TIME = _OUTSIDE + "sleep 10000\nproduce 0 acks=1 t-0 [1x10]\nfollow 1\nfollow 1\n"
# Too few are in sync, and nothing rises. DeleteRecords waits for broker 2; nobody checks it again when that is fenced.
_TOO_FEW = (
    _BEGIN.format(2)
    + f"produce 0 acks=1 t-0 [3x10]\n{_ROUND}{_ROUND}{_ROUND}delete_records 0 timeout=90000 t-0@2\nfollow 1\nfollow 1\n"
    "change t-0 isr=0\nfence 2\npublish 0\nproduce 0 acks=1 t-0 [1x10]\n"
)
_FENCED = _OUTSIDE + "fence 2\npublish 0\nproduce 0 acks=1 t-0 [1x10]\nfollow 1\nfollow 1\n"

raises = Rung(
    "Rung 3, the least end that counts",
    Partition._maybe_increment_leader_hw,
    why="The high watermark decides which records consumers get, and when acks=all is answered.",
    invariants=(
        "It calls the log to raise the high watermark, and returns True if it rose. The high watermark never falls.",
        "With fewer replicas in the ISR than the minimum it does not rise.",
        "It is at most the leader's log end, and at most the log end of each follower that counts.",
        "The followers in `maximal_isr` count; it includes followers that the leader has proposed to the controller. "
        "A follower outside of it counts if it is eligible and caught up, because it is about to join. An unknown "
        "end is -1, and is compared like any other.",
    ),
    chosen=(_MINIMUM, _NEAR, _PROPOSED, _JUST_IN_TIME, _FENCED, _TOO_FEW),
    profiles=_drawn({"sleep": 20, "answer": 15}, {"change": 10, "fence": 4}, {"change": 10}),
    returns=(bool,),
    harness=BROKERS,
    solution=_maybe_increment_leader_hw,
    beliefs=(
        Belief(
            _raises(joining=False),
            "You count only the ISR. A live follower that is about to join counts, too; otherwise the high watermark "
            "would run away from it.",
        ),
        Belief(
            _raises(enough=lambda self: True),
            "You forget the minimum. With fewer replicas in sync than min.insync.replicas the high watermark does "
            "not rise.",
        ),
        Belief(
            _raises(members=lambda state: state.isr),
            "You use the ISR that the controller has confirmed. A proposed follower counts from the proposal on.",
        ),
        Belief(
            _raises(alive=False),
            "You count followers that cannot join. A follower does not count if its broker is fenced or is shutting "
            "down.",
        ),
        Belief(
            _raises(known=lambda state: state.log_end_offset >= 0),
            "You skip a member that has not fetched. The leader does not know its end, so the high watermark must "
            "not rise.",
        ),
    ),
    hints=(
        "First check `self.is_under_min_isr`. The leader's end is `leader_log.log_end_offset_metadata`.",
        "Each of `self.remote_replicas` has a `broker_id` and a `state_snapshot` with `log_end_offset`, "
        "`log_end_offset_metadata`, `is_caught_up(leader_end_offset, now_ms, self.replica_lag_time_max_ms)`.",
        "It counts if it is in `self.partition_state.maximal_isr`, or if it is caught up and "
        "`self._is_replica_isr_eligible(broker_id)`. At the end: `leader_log.maybe_increment_high_watermark(least) "
        "is not None`.",
    ),
)

LADDER = (leaves, joins, raises)
"""The rungs in the order in which they are climbed."""
