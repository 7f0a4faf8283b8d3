"""The Spark witness's fold over the workloads of replicas: ISR and high watermark, which depend on each other.

`aggregate()` walks the events of a workload; the value that it carries is the list of the STATEs of all partitions, one
list for each event. An event tells each partition what befalls it (`step`), with all that follows from the trace by
window queries: what its leader has heard of brokers and settings, whether a batch is acceptable. Each rule below is one
expression over the last state.

Followed is a partition's first leader, from when it hears of the partition until its first leader epoch ends. Where the
answer would depend on something that is not carried, `known` turns false for that partition and stays so.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from minikafka.witness.log.fold import changed, let, long, struct

FOLLOWER = """struct<
    id: bigint,
    log_end: bigint,          -- as the leader knows it: the offset of its last fetch, −1 before it
    leader_end: bigint,       -- where the leader's log ended at its last fetch
    fetched_at: bigint,       -- when that was, in ms
    caught_up_at: bigint,     -- when it was last known to have everything
    broker_epoch: bigint,     -- that it showed with its last fetch, null before it
    own_end: bigint           -- where its log ends in truth
>"""

PROPOSAL = "struct<isr: array<bigint>, partition_epoch: bigint, is_state: boolean, sent: bigint, moment: bigint>"
"""What a leader asks of the controller. `is_state`: the partition still waits for it. `sent`: WAITING, SENT or EITHER.
`moment` orders the proposals that are made while time passes."""

WAITING, SENT, EITHER = range(3)
"""A proposal waits for the answer to another; is under way; is one of several, one of which is under way."""

STATE = f"""struct<
    partition: string, leader: bigint,
    leads: boolean,           -- the leader has heard that it leads
    known: boolean,           -- everything here is known
    log_end: bigint, log_start: bigint, high_watermark: bigint,
    bases: array<bigint>,     -- the base offset of every batch
    isr: array<bigint>,       -- as the controller has agreed to
    asked: array<bigint>,     -- as the leader proposes, null for none
    partition_epoch: bigint,  -- as the leader knows it
    controllers: struct<isr: array<bigint>, partition_epoch: bigint>,
    news: boolean,            -- the leader has not seen the controller's latest record
    proposal: {PROPOSAL},
    stirred: boolean,         -- the event may raise the high watermark
    followers: array<{FOLLOWER}>
>"""
STATE, FOLLOWER = ("\n".join(line.partition("--")[0] for line in text.splitlines()) for text in (STATE, FOLLOWER))

BACK_TO_COMMITTED = ["OPERATION_NOT_ATTEMPTED", "INELIGIBLE_REPLICA"]
WAITS_FOR_NEWS = [
    "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "FENCED_LEADER_EPOCH", "INVALID_UPDATE_VERSION",
    "INVALID_REQUEST", "NEW_LEADER_ELECTED",
]  # fmt: skip


def states_after_each(events: Column, partitions: Column) -> Column:
    """The states of all partitions after each event: an array of (op, states), in the order of the events."""
    beginning = F.transform(partitions, _not_yet)
    nothing = F.array(struct(op=long(-1), states=beginning)).cast(f"array<struct<op:bigint,states:array<{STATE}>>>")

    def walk(history: Column, event: Column) -> Column:
        before = F.element_at(history, -1).states
        after = let(F.zip_with(before, event.views, after_event), lambda states: sent_on(states, event))
        return F.concat(history, F.array(struct(op=event.op, states=after)))

    return F.aggregate(events, nothing, walk)


def _not_yet(partition: Column) -> Column:
    """The state before the leader hears of the partition."""
    follower = lambda id_: struct(  # noqa: E731
        id=id_, log_end=long(-1), leader_end=long(-1), fetched_at=long(0), caught_up_at=long(0),
        broker_epoch=F.lit(None), own_end=long(0),
    ).cast(FOLLOWER)  # fmt: skip
    replicas = F.array_sort(F.concat(F.array(partition.leader), partition.followers))
    return struct(
        partition=partition.partition, leader=partition.leader, leads=F.lit(False), known=F.lit(True),
        log_end=long(0), log_start=long(0), high_watermark=long(0), bases=F.array(), isr=replicas, asked=F.lit(None),
        partition_epoch=long(0), controllers=struct(isr=replicas, partition_epoch=long(0)),
        news=F.lit(True), proposal=F.lit(None),
        stirred=F.lit(False), followers=F.transform(partition.followers, follower),
    ).cast(STATE)  # fmt: skip


def after_event(before: Column, event: Column) -> Column:
    """What an event makes of a partition; the high watermark is raised last, if it may be."""
    return let(
        let(changed(before, stirred=F.lit(False)), lambda state: effect(state, event).cast(STATE)),
        lambda state: changed(
            state,
            high_watermark=F.when(state.stirred, raised(state, event)).otherwise(state.high_watermark),
        ).cast(STATE),
    )


def effect(state: Column, event: Column) -> Column:
    """One rule for each kind of event. Before the leader has heard of the partition, only that is an event."""
    effects = {
        "append": appended(state, event),
        "fetch": fetched(state, event),
        "follow": followed(state, event),
        "sleep": shrunk(state, event),
        "answer": answered(state, event),
        "delete": deleted(state, event),
    }
    result = state
    for step, after in effects.items():
        result = F.when((event.step == step) & state.leads, after).otherwise(result)
    return (
        F.when(event.step == "publish", heard(state, event))
        .when(event.step == "given", given(state, event))
        .when(event.step == "lost", changed(state, known=F.lit(False)))
        .otherwise(result)
    )


# What each event does


def heard(state: Column, event: Column) -> Column:
    """The leader hears that it leads: whoever is in the ISR counts as caught up. Later, it hears of a new ISR.

    An ISR in the metadata ends a proposal that was not answered, even if it has only what an answer has told.
    """
    in_sync = lambda follower: F.array_contains(state.controllers.isr, follower.id)  # noqa: E731
    begins = F.transform(
        state.followers,
        lambda follower: changed(follower, caught_up_at=F.when(in_sync(follower), event.now).otherwise(long(0))),
    )
    taken = changed(
        state,
        leads=F.lit(True),
        followers=F.when(state.leads, state.followers).otherwise(begins),
        isr=state.controllers.isr,
        asked=F.lit(None).cast("array<bigint>"),
        partition_epoch=state.controllers.partition_epoch,
        proposal=F.when(state.proposal.isNotNull(), changed(state.proposal, is_state=F.lit(False))),
        news=F.lit(False),
        stirred=F.lit(True),
    )
    return F.when(state.news, taken).otherwise(state)


def given(state: Column, event: Column) -> Column:
    """The controller decides on an ISR by itself."""
    decided = struct(isr=F.array_sort(event.isr), partition_epoch=state.controllers.partition_epoch + 1)
    return changed(state, controllers=decided, news=F.lit(True))


def appended(state: Column, event: Column) -> Column:
    """A batch at the log's end; with acks=all only while enough replicas are in sync."""
    admitted = (event.acks != -1) | (F.size(state.isr) >= needed(state, event))
    longer = changed(
        state,
        log_end=state.log_end + event.records,
        bases=F.concat(state.bases, F.array(state.log_end)),
        stirred=F.lit(True),
    )
    return F.when(admitted, longer).otherwise(state)


def place(state: Column, event: Column) -> Column:
    """The offset that a request names."""
    anchors = {"leo": state.log_end, "hw": state.high_watermark, "lso": state.high_watermark, "start": state.log_start}
    base = long(0)
    for name, value in anchors.items():
        base = F.when(event.anchor == name, value).otherwise(base)
    return event.distance + base


def fetched(state: Column, event: Column) -> Column:
    """A replica's request: noted if it knows the epoch, and asks for something that the log has, or its end.

    Inside a batch, it counts as asking for the batch's base offset.
    """
    offset = place(state, event)
    is_served = (
        event.epoch.isin(-1, 0) & event.last_epoch.isin(-1, 0) & (offset >= state.log_start) & (offset <= state.log_end)
    )
    base = F.when(offset == state.log_end, offset).otherwise(
        F.array_max(F.filter(state.bases, lambda base: base <= offset))
    )
    return F.when(is_served & is_present(event), let(base, lambda base: noted(state, event, base, long(-2)))).otherwise(
        state
    )


def followed(state: Column, event: Column) -> Column:
    """A follower asks for what follows its log, and then has it. Behind the log's start, it begins anew there."""

    def go(own_end):
        restarted = F.transform(
            state.followers,
            lambda follower: F.when(follower.id == event.replica, changed(follower, own_end=state.log_start)).otherwise(
                follower
            ),
        )
        unclear = (own_end < state.log_end) & ~event.carries_all
        return (
            F.when(unclear, changed(state, known=F.lit(False)))
            .when(own_end < state.log_start, changed(state, followers=restarted))
            .when(is_present(event), noted(state, event, own_end, state.log_end))
            .otherwise(state)
        )

    return let(F.filter(state.followers, lambda follower: follower.id == event.replica)[0].own_end, go)


def is_present(event: Column) -> Column:
    """The fetch is not a leftover from before the replica's broker was restarted, as far as the leader knows."""
    newer = lambda broker: (broker.broker == event.replica) & (broker.epoch > event.replica_epoch)  # noqa: E731
    return (event.replica_epoch == -1) | ~F.exists(event.alive, newer)


def noted(state: Column, event: Column, offset: Column, own_end: Column) -> Column:
    """The fetch as the leader notes it; then the follower may join the ISR. `own_end`: its log's, −2 if it stays."""

    def note(follower):
        caught_up_at = (
            F.when(offset >= state.log_end, F.greatest(follower.caught_up_at, event.now))
            .when(offset >= follower.leader_end, F.greatest(follower.caught_up_at, follower.fetched_at))
            .otherwise(follower.caught_up_at)
        )
        return changed(
            follower,
            log_end=offset,
            leader_end=F.greatest(follower.leader_end, state.log_end),
            fetched_at=event.now,
            caught_up_at=caught_up_at,
            broker_epoch=event.replica_epoch,
            own_end=F.when(own_end == -2, follower.own_end).otherwise(own_end),
        )

    old_end = F.filter(state.followers, lambda follower: follower.id == event.replica)[0].log_end
    notes = F.transform(
        state.followers,
        lambda follower: F.when(follower.id == event.replica, note(follower)).otherwise(follower),
    )
    joins = (
        state.asked.isNull()
        & state.proposal.isNull()
        & ~F.array_contains(state.isr, event.replica)
        & (offset >= state.high_watermark)
        & F.exists(
            event.alive,
            lambda broker: (broker.broker == event.replica) & event.replica_epoch.isin(long(-1), broker.epoch),
        )
    )
    larger = F.array_sort(F.concat(state.isr, F.array(event.replica)))
    return proposed(changed(state, followers=notes, stirred=offset != old_end), joins, larger, long(0))


def proposed(state: Column, condition: Column, isr: Column, moment: Column) -> Column:
    """The leader proposes an ISR, if the condition holds."""
    proposal = struct(
        isr=isr, partition_epoch=state.partition_epoch, is_state=F.lit(True), sent=long(WAITING), moment=moment
    ).cast(PROPOSAL)  # fmt: skip
    return changed(
        state,
        asked=F.when(condition, isr).otherwise(state.asked),
        proposal=F.when(condition, proposal).otherwise(state.proposal),
    )


def shrunk(state: Column, event: Column) -> Column:
    """While time passes, the leader looks every half lag time who has been behind for longer than the lag time."""
    lags = lambda follower: F.array_contains(state.isr, follower.id) & (follower.log_end != state.log_end)  # noqa: E731
    lagging = F.filter(state.followers, lags)

    def leave(lagging):
        due = F.array_min(lagging.caught_up_at) + event.lag_ms + 1
        since_start = F.greatest(due, event.now + 1) - event.started
        look = event.started + F.ceil(since_start / event.look_ms) * event.look_ms

        def at(look):
            out = F.filter(lagging, lambda follower: look - follower.caught_up_at > event.lag_ms).id
            happens = (
                state.asked.isNull() & state.proposal.isNull() & (F.size(lagging) > 0) & (look <= event.now + event.ms)
            )
            moment = look * 100 + event.turn
            return proposed(state, F.coalesce(happens, F.lit(False)), F.array_except(state.isr, out), moment)

        return let(look.cast("bigint"), at)

    return let(lagging, leave)


def answered(state: Column, event: Column) -> Column:
    """The controller answers what is under way. It agrees if nothing has changed since."""
    asked = state.proposal
    none = F.lit(None).cast("array<bigint>")
    accepted = (event.error == "NONE") & (asked.partition_epoch == state.controllers.partition_epoch)
    epoch = state.controllers.partition_epoch + 1
    agreed = changed(
        state,
        controllers=struct(isr=asked.isr, partition_epoch=epoch),
        news=F.lit(True),
        isr=F.when(asked.is_state, asked.isr).otherwise(state.isr),
        asked=F.when(asked.is_state, none).otherwise(state.asked),
        partition_epoch=F.when(asked.is_state, epoch).otherwise(state.partition_epoch),
        stirred=asked.is_state,
    )
    refused = changed(
        state,
        asked=F.when(asked.is_state & event.error.isin(BACK_TO_COMMITTED), none).otherwise(state.asked),
    )
    # Any other error: the same is proposed again.
    again = asked.is_state & ~event.error.isin("NONE", *BACK_TO_COMMITTED, *WAITS_FOR_NEWS)
    next_proposal = F.when(again, changed(asked, sent=long(WAITING), moment=long(0)))
    answer = F.when(accepted, changed(agreed, proposal=next_proposal)).otherwise(
        changed(refused, proposal=next_proposal)
    )
    unclear = asked.isNotNull() & ((asked.sent == EITHER) | (event.whole != "NONE"))
    return F.when(unclear, changed(state, known=F.lit(False))).when(asked.sent == SENT, answer).otherwise(state)


def deleted(state: Column, event: Column) -> Column:
    """Records below an offset are given up: at most up to the high watermark, which −1 stands for."""
    offset = place(state, event)
    offset = F.when(offset == -1, state.high_watermark).otherwise(offset)
    moves = event.deletes & (offset <= state.high_watermark) & (offset > state.log_start)
    return changed(state, log_start=F.when(moves, offset).otherwise(state.log_start))


# The high watermark


def needed(state: Column, event: Column) -> Column:
    """How many replicas must be in sync: not more than there are."""
    return F.least(event.min_isr, F.size(state.followers) + 1)


def raised(state: Column, event: Column) -> Column:
    """The least log end of those that count: the ISR, whoever is about to join it, and whoever could soon."""
    maximal = F.when(F.size(state.asked) > F.size(state.isr), state.asked).otherwise(state.isr)

    def counts(follower):
        could_join = F.exists(
            event.alive,
            lambda broker: (
                (broker.broker == follower.id)
                & ((follower.broker_epoch == -1) | (follower.broker_epoch == broker.epoch))
            ),
        )
        is_near = (follower.log_end == state.log_end) | (event.now - follower.caught_up_at <= event.lag_ms)
        return F.array_contains(maximal, follower.id) | (is_near & F.coalesce(could_join, F.lit(False)))

    ends = F.filter(state.followers, counts).log_end
    least = F.array_min(F.concat(F.array(state.log_end), ends))
    suffices = F.size(state.isr) >= needed(state, event)
    return F.when(suffices, F.greatest(state.high_watermark, least)).otherwise(state.high_watermark)


# The leaders' requests to the controller


def sent_on(states: Column, event: Column) -> Column:
    """A broker has one request under way. The first proposal goes alone; what comes meanwhile goes after the answer."""

    def send(state):
        asks = lambda other: (other.leader == state.leader) & other.proposal.isNotNull()  # noqa: E731
        others = F.filter(states, asks)
        moments = F.transform(F.filter(others, lambda other: other.proposal.sent == WAITING), _moment)
        under_way = F.exists(others, lambda other: other.proposal.sent != WAITING)

        def decide(moments, under_way):
            first = F.array_min(moments)
            alone = F.size(F.filter(moments, lambda moment: moment == first)) == 1
            is_first = state.proposal.moment == first
            waits = state.proposal.isNotNull() & (state.proposal.sent == WAITING) & ~under_way
            is_answer = (event.kind == "answer") & (event.broker == state.leader)
            sent = (
                F.when(waits & (is_answer | (is_first & alone)), long(SENT))
                .when(waits & is_first, long(EITHER))
                .otherwise(state.proposal.sent)
            )
            # Who else's proposals are under way is unknown where a partition of this leader is.
            other_unknown = F.exists(states, lambda other: (other.leader == state.leader) & ~other.known)
            blind = is_answer & other_unknown & state.proposal.isNotNull()
            return changed(
                state,
                proposal=F.when(state.proposal.isNotNull(), changed(state.proposal, sent=sent)),
                known=state.known & ~blind,
            ).cast(STATE)

        return let(moments, lambda moments: decide(moments, under_way))

    unsettled = F.exists(states, lambda state: state.proposal.isNotNull() & (state.proposal.sent == WAITING))
    return F.when(unsettled | (event.kind == "answer"), F.transform(states, send)).otherwise(states)


def _moment(state: Column) -> Column:
    return state.proposal.moment
