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
    why="A follower that is taken out too early costs copies; one that stays too long holds up every producer.",
    invariants=(
        "It only asks: its answer is a frozenset of broker ids, all of them in the ISR, without the leader's.",
        "A follower whose log ends where the leader's does is in sync, however long it is silent.",
        "Any other is behind when it was caught up more than `max_lag_ms` ago, and not before.",
        "While a change of the ISR is under way nobody is named.",
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
            "You name a follower that was caught up exactly `max_lag_ms` ago. It is behind only after that.",
        ),
        Belief(
            _behind(at_end=lambda state, end: False),
            "You name a follower that has everything, because it was silent. Nothing is missing in its log.",
        ),
        Belief(
            _behind(since=lambda state: state.last_fetch_time_ms),
            "You go by the last fetch. A follower may fetch all the time and never catch up.",
        ),
        Belief(
            _behind(inflight=lambda state: False),
            "You name somebody while a change of the ISR is under way. Who is in it is not known yet: wait for it.",
        ),
    ),
    hints=(
        "`self.partition_state` has `is_inflight` and `isr` (with `self._local_broker_id`, the leader's own id).",
        "`self.get_replica(broker_id).state_snapshot` has `log_end_offset` and `last_caught_up_time_ms`; the leader's "
        "end is `self.local_log_or_exception.log_end_offset`, the time `self._time.milliseconds()`.",
        "Behind is whoever ends elsewhere, and was caught up more than `max_lag_ms` before now.",
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
    why="A member of the ISR may be elected. A follower that joins too early could lose what was acknowledged.",
    invariants=(
        "It only asks: True for a follower that lacks nothing of what may have been acknowledged.",
        "The follower's log reaches the leader's high watermark.",
        "It also reaches the offset at which the leader's epoch began: a new leader's mark may lag behind.",
        "Where this broker does not lead, the answer is False.",
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
            "You ask for the leader's log end. Under load no follower would ever join: the high watermark will do.",
        ),
        Belief(
            _in_sync(enough=lambda end, log, begun: end >= log.high_watermark),
            "You forget where the leader's epoch began. A new leader's high watermark may lag behind what was "
            "acknowledged; the offset at which its epoch began does not.",
        ),
        Belief(
            _in_sync(enough=lambda end, log, begun: end > log.high_watermark and end >= begun),
            "You refuse a follower that ends exactly at the high watermark. The mark is exclusive: it has everything.",
        ),
        Belief(
            _in_sync(enough=lambda end, log, begun: end >= begun),
            "You ask for the start of the epoch alone. What has been committed since then lies above it.",
        ),
    ),
    hints=(
        "`follower_replica.state_snapshot.log_end_offset` is where the follower's log ends, as the leader knows it.",
        "`self.leader_log_if_local` is the leader's log, None where another broker leads; it has `high_watermark`.",
        "`self.leader_epoch_start_offset` is where the epoch began, None where this broker does not lead.",
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
_FENCED = _OUTSIDE + "fence 2\npublish 0\nproduce 0 acks=1 t-0 [1x10]\nfollow 1\nfollow 1\n"

raises = Rung(
    "Rung 3, the least end that counts",
    Partition._maybe_increment_leader_hw,
    why="This decides what every consumer sees, and what acks=all waits for.",
    invariants=(
        "It asks the log to raise the mark, and answers True where it rose: whoever waits for it is asked again. "
        "The mark never falls.",
        "With fewer replicas in the ISR than the minimum nothing is raised.",
        "The mark is at most the leader's log end, and at most the end of each follower that counts.",
        "Those of `maximal_isr` count, which has those that are proposed; so does a follower that is eligible and "
        "caught up, because it is about to join. An unknown end (-1) is an end like any other.",
    ),
    chosen=(_MINIMUM, _NEAR, _PROPOSED, _JUST_IN_TIME, _FENCED),
    profiles=_drawn({"sleep": 20, "answer": 15}, {"change": 10, "fence": 4}, {"change": 10}),
    returns=(bool,),
    harness=BROKERS,
    solution=_maybe_increment_leader_hw,
    beliefs=(
        Belief(
            _raises(joining=False),
            "You wait for the ISR alone. A live follower that is about to join holds the mark back as well, or it "
            "could never reach it.",
        ),
        Belief(
            _raises(enough=lambda self: True),
            "You forget the minimum. With fewer replicas in sync than min.insync.replicas the mark stands still.",
        ),
        Belief(
            _raises(members=lambda state: state.isr),
            "You go by the ISR that the controller has agreed to. Whoever is proposed counts from the proposal on.",
        ),
        Belief(
            _raises(alive=False),
            "You wait for followers that cannot join. One whose broker is fenced or stopping does not count.",
        ),
        Belief(
            _raises(known=lambda state: state.log_end_offset >= 0),
            "You pass over a member that has not fetched. Nobody knows what it has, so nothing counts as replicated.",
        ),
    ),
    hints=(
        "`self.is_under_min_isr` is the first question. The leader's end is `leader_log.log_end_offset_metadata`.",
        "Each of `self.remote_replicas` has a `broker_id` and a `state_snapshot` with `log_end_offset`, "
        "`log_end_offset_metadata`, `is_caught_up(leader_end_offset, now_ms, self.replica_lag_time_max_ms)`.",
        "It counts if it is in `self.partition_state.maximal_isr`, or caught up and "
        "`self._is_replica_isr_eligible(broker_id)`. At the end: "
        "`leader_log.maybe_increment_high_watermark(least) is not None`.",
    ),
)

LADDER = (leaves, joins, raises)
"""The rungs in the order in which they are climbed."""
