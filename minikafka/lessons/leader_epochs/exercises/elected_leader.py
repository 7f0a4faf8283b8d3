"""Who is elected, in clusters with eligible leader replicas (ELR) and without (`eligible.leader.replicas.version` 1 and 0)."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, call_private, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.leader_epochs import solutions


@dataclass(frozen=True)
class _Asked:
    """A partition with its `replicas` in the order of their assignment, its `leader` (−1: none), its `isr`.

    `elr`: its eligible leader replicas; None in a cluster without them. `last_known`: the last leader (−1: none), which
    such a partition remembers while nobody leads it. `alive`: the brokers that may lead. `unclean`: the topic allows an
    unclean election.
    """

    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    alive: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    last_known: int = -1
    unclean: bool = False

    def __str__(self) -> str:
        eligible = "no ELR" if self.elr is None else f"ELR {self.elr}, last known leader {self.last_known}"
        words = f"replicas {self.replicas}, leader {self.leader}, ISR {self.isr}, {eligible}, alive {self.alive}"
        return f"{words}, unclean allowed" if self.unclean else words


_ASKED = (
    _Asked((0, 1, 2), leader=0, isr=(0, 1, 2), alive=(1, 2)),
    _Asked((2, 1, 0), leader=2, isr=(0, 1, 2), alive=(0, 1)),
    _Asked((0, 1, 2), leader=0, isr=(2, 1, 0), alive=(1, 2)),
    _Asked((0, 1, 2), leader=1, isr=(0, 1, 2), alive=(0, 1, 2)),
    _Asked((0, 1, 2), leader=0, isr=(0,), alive=(1, 2)),
    _Asked((0, 1, 2), leader=0, isr=(0,), alive=(1, 2), unclean=True),
    _Asked((2, 1, 0), leader=0, isr=(0,), alive=(0, 1, 2), unclean=True),
    _Asked((0, 1, 2), leader=-1, isr=(1,), alive=(0, 1), unclean=True),
    _Asked((2, 0, 1), leader=0, isr=(0,), alive=(2, 1), unclean=True),
    _Asked((0, 1, 2), leader=-1, isr=(0, 2), alive=(), unclean=True),
    _Asked((0, 1, 2), leader=1, isr=(2, 0), alive=(0, 1, 2)),
    _Asked((0, 1, 2), leader=0, isr=(1,), alive=(0, 1, 2), elr=(0,)),
    _Asked((0, 1, 2), leader=-1, isr=(1,), alive=(0, 2), elr=(0,)),
    _Asked((0, 1, 2), leader=-1, isr=(), alive=(1, 2), elr=(2, 1), last_known=2),
    _Asked((2, 0, 1), leader=-1, isr=(), alive=(2, 1), elr=(0,), last_known=2),
    _Asked((2, 0, 1), leader=-1, isr=(), alive=(2, 1), elr=(0,), last_known=1, unclean=True),
    _Asked((0, 1, 2), leader=-1, isr=(), alive=(0, 1, 2), elr=(), last_known=1),
    _Asked((0, 1, 2), leader=-1, isr=(), alive=(0, 2), elr=(), last_known=1),
    _Asked((0, 1, 2), leader=-1, isr=(), alive=(0, 2), elr=(), last_known=1, unclean=True),
    _Asked((0, 1, 2), leader=-1, isr=(), alive=(0, 1, 2), elr=(), last_known=2, unclean=True),
    _Asked((1, 0, 2), leader=-1, isr=(), alive=(0, 1), elr=(), last_known=0),
    _Asked((0, 1, 2), leader=-1, isr=(1,), alive=(0, 2), elr=(), last_known=2),
)


@cache
def _spark_says() -> dict[int, tuple[int, bool]]:
    rows = [
        (n, place, replica, replica == a.leader, replica in a.isr, replica in (a.elr or ()), replica == a.last_known,
         replica in a.alive, a.unclean)
        for n, a in enumerate(_ASKED)
        for place, replica in enumerate(a.replicas)
    ]  # fmt: skip
    flags = "leads, in_isr, in_elr, led_last, alive, unclean_allowed".replace(",", " BOOLEAN,")
    return answers_of(
        """WITH states AS (
               SELECT *, bool_or(in_isr) OVER same AS some_in_isr, bool_or(in_elr) OVER same AS some_in_elr
               FROM {replicas} WINDOW same AS (PARTITION BY number)),
           candidates AS (
               SELECT *, CASE WHEN in_isr OR (in_elr AND NOT some_in_isr) THEN IF(leads, 0, 1)
                              WHEN led_last AND NOT some_in_isr AND NOT some_in_elr THEN 2
                              WHEN unclean_allowed THEN 3 END AS rank
               FROM states WHERE alive),
           first AS (
               SELECT *, row_number() OVER (PARTITION BY number ORDER BY rank, place) AS choice
               FROM candidates WHERE rank IS NOT NULL)
           SELECT asked.number, coalesce(replica, -1), coalesce(rank >= 2, false)
           FROM (SELECT DISTINCT number FROM {replicas}) asked
           LEFT JOIN first ON first.number = asked.number AND choice = 1""",
        replicas=(rows, f"number INT, place INT, replica INT, {flags} BOOLEAN"),
    )


def _asked(asked: _Asked, expected: Callable[[], Any] = lambda: None) -> AskedCase:
    def answered(factory: Any) -> tuple[int, bool]:
        kafka = jvm_of(factory)
        return _minikafka_says(asked) if kafka is None else _kafka_says(kafka, asked)

    isr, elr = list(asked.isr), list(asked.elr or ())
    partition = (list(asked.replicas), asked.leader, isr, elr, asked.last_known)
    arguments = (*partition, asked.alive.__contains__, asked.unclean)
    return AskedCase(str(asked), arguments, expected, answered)


def _spark_said(number: int) -> tuple[int, bool]:
    return _spark_says()[number]


def _last_known(asked: _Asked) -> tuple[int, ...]:
    return (asked.last_known,) if asked.last_known >= 0 else ()


def _kafka_says(kafka: Any, asked: _Asked) -> tuple[int, bool]:
    """Kafka: `PartitionChangeBuilder.electLeader`, which is not public."""
    find = kafka.find_class
    registration = find("org.apache.kafka.metadata.PartitionRegistration").Builder()
    registration.setReplicas(_ints(kafka, asked.replicas)).setIsr(_ints(kafka, asked.isr)).setLeader(asked.leader)
    directory = find("org.apache.kafka.common.DirectoryId").UNASSIGNED
    directories = kafka.gateway.new_array(find("org.apache.kafka.common.Uuid"), len(asked.replicas))
    for number in range(len(asked.replicas)):
        directories[number] = directory
    recovered = find("org.apache.kafka.metadata.LeaderRecoveryState").RECOVERED
    registration.setDirectories(directories).setLeaderRecoveryState(recovered).setLeaderEpoch(3).setPartitionEpoch(5)
    registration.setElr(_ints(kafka, asked.elr or ())).setLastKnownElr(_ints(kafka, _last_known(asked)))
    version = find("org.apache.kafka.server.common.MetadataVersion").latestProduction()
    topic_id = find("org.apache.kafka.common.Uuid").ONE_UUID
    builder_class = find("org.apache.kafka.controller.PartitionChangeBuilder")
    alive = _is_among(kafka, asked.alive)
    builder = builder_class(registration.build(), topic_id, 0, alive, version, 1, asked.elr is not None)
    if asked.unclean:
        builder.setElection(builder_class.Election.UNCLEAN)
    result = call_private(kafka, builder.getClass(), builder, "electLeader")
    return _field(result, "node"), _field(result, "unclean")


def _ints(kafka: Any, numbers: tuple[int, ...]) -> Any:
    array = kafka.gateway.new_array(kafka.jvm.int, len(numbers))
    for place, number in enumerate(numbers):
        array[place] = number
    return array


def _is_among(kafka: Any, numbers: tuple[int, ...]) -> Any:
    """A Java `IntPredicate`: the method `get` of a bit set that has these numbers."""
    bits = kafka.find_class("java.util.BitSet")()
    for number in numbers:
        bits.set(number)
    class_of = kafka.find_class("java.lang.Class").forName
    methods = [m for m in bits.getClass().getMethods() if m.getName() == "get" and len(m.getParameterTypes()) == 1]
    get = kafka.find_class("java.lang.invoke.MethodHandles").publicLookup().unreflect(methods[0]).bindTo(bits)
    proxies = kafka.find_class("java.lang.invoke.MethodHandleProxies")
    return proxies.asInterfaceInstance(class_of("java.util.function.IntPredicate"), get)


def _field(result: Any, name: str) -> Any:
    field = result.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(result)


def _minikafka_says(asked: _Asked) -> tuple[int, bool]:
    from minikafka.common.uuid import ZERO_UUID
    from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
    from minikafka.metadata.partition_change_builder import Election, PartitionChangeBuilder
    from minikafka.metadata.partition_registration import PartitionRegistration

    registration = PartitionRegistration(
        replicas=asked.replicas,
        directories=(ZERO_UUID,) * len(asked.replicas),
        isr=asked.isr,
        leader=asked.leader,
        leader_recovery_state=LeaderRecoveryState.RECOVERED,
        leader_epoch=3,
        partition_epoch=5,
        elr=asked.elr or (),
        last_known_elr=_last_known(asked),
    )
    election = Election.UNCLEAN if asked.unclean else Election.ONLINE
    builder = PartitionChangeBuilder(
        registration, "topic-id", 0, asked.alive.__contains__, 1,
        eligible_leader_replicas_enabled=asked.elr is not None, election=election,
    )  # fmt: skip
    return tuple(builder.elect_leader())


def _elected(
    *,
    members=lambda isr, elr: isr or elr,
    valid=lambda replica, members, alive: replica in members and alive(replica),
    keeps=True,
    order=lambda replicas, isr: replicas,
    clean=lambda replica, isr: False,
    returns=lambda isr, elr, unclean: not isr and not elr,
    fallback=lambda replicas, alive, unclean: [r for r in replicas if unclean and alive(r)],
    flags=(True, True),
):
    """A wrong answer, where not told otherwise the right one.

    `clean`: what is said of an elected member; `flags`: of the last known leader and of any other replica.
    """

    def elect_leader(replicas, leader, isr, elr, last_known, is_acceptable, unclean):
        for replica in [*([leader] if keeps else []), *order(replicas, isr)]:
            if valid(replica, members(isr, elr), is_acceptable):
                return replica, clean(replica, isr)
        if returns(isr, elr, unclean) and last_known in replicas and is_acceptable(last_known):
            return last_known, flags[0]
        for replica in fallback(replicas, is_acceptable, unclean):
            return replica, flags[1]
        return -1, False

    return elect_leader


def _drawn(draw: random.Random) -> AskedCase:
    """A partition in any state that a controller writes down: the ISR is empty only in a cluster with ELR."""
    replicas = tuple(draw.sample(range(5), draw.randint(1, 4)))

    def some(of: tuple[int, ...], least: int = 0) -> tuple[int, ...]:
        return tuple(draw.sample(of, draw.randint(min(least, len(of)), len(of))))

    elr = None if draw.random() < 0.4 else ()
    isr = some(replicas, 1) if elr is None or draw.random() < 0.4 else ()
    if elr is not None:
        elr = some(tuple(replica for replica in replicas if replica not in isr))
    leader = draw.choice((-1, *isr))
    last_known = draw.choice((-1, *replicas)) if elr is not None and leader < 0 else -1
    return _asked(_Asked(replicas, leader, isr, some(replicas), elr, last_known, draw.random() < 0.4))


elected_leader = Exercise(
    "Exercise 1, who is elected",
    lambda: [_asked(asked, partial(_spark_said, number)) for number, asked in enumerate(_ASKED)],
    judged_by_spark,
    solutions.elect_leader,
    drawn=_drawn,
    hints=[
        "Who may lead cleanly? A member of the ISR that is acceptable; if the ISR is empty, such a member of the ELR. The "
        "present leader stays if it is one of these.",
        "Else the first such replica in the order of `replicas`, which is the order of the assignment.",
        "If there is none: if ISR and ELR are both empty and `last_known` is acceptable, (last_known, True), even "
        "without `unclean`. Else, only if `unclean`, the first acceptable one of the replicas: (replica, True). Else "
        "(-1, False).",
    ],
    beliefs=[
        Belief(
            _elected(order=lambda replicas, isr: isr or replicas),
            "You use the order of the ISR. The order of the assignment counts: its first replica is the preferred one.",
        ),
        Belief(
            _elected(order=lambda replicas, isr: sorted(replicas)),
            "You take the lowest broker id. The order of the assignment counts.",
        ),
        Belief(
            _elected(keeps=False),
            "You replace a leader that may stay. Unless the preferred replica is asked for, an election keeps a leader that"
            " is alive and in the ISR.",
        ),
        Belief(
            _elected(valid=lambda replica, members, alive: alive(replica)),
            "You elect any broker that is alive. A replica outside of ISR and ELR may lack acknowledged records.",
        ),
        Belief(
            _elected(valid=lambda replica, members, alive: replica in members),
            "You elect a broker that is down. It must be acceptable as well.",
        ),
        Belief(
            _elected(members=lambda isr, elr: isr, returns=lambda isr, elr, unclean: not isr),
            "You do not use the ELR. If the ISR is empty, a member of the ELR is elected: it has all that is committed.",
        ),
        Belief(
            _elected(members=lambda isr, elr: [*isr, *elr]),
            "You elect from the ELR while the ISR has a member. The ELR counts only when the ISR is empty.",
        ),
        Belief(
            _elected(clean=lambda replica, isr: replica not in isr),
            "You call an election from the ELR unclean. Its members have all that is committed, so it is clean.",
        ),
        Belief(
            _elected(returns=lambda isr, elr, unclean: False),
            "You leave out the last known leader. With ELR it may return when ISR and ELR are both empty, even if unclean"
            " elections are off.",
        ),
        Belief(
            _elected(returns=lambda isr, elr, unclean: not isr),
            "You let the last known leader return while the ELR has a member. The partition waits for that member.",
        ),
        Belief(
            _elected(flags=(False, True)),
            "You call the return of the last known leader clean. It left both ISR and ELR, so it may lack acknowledged"
            " records.",
        ),
        Belief(
            _elected(fallback=lambda replicas, alive, unclean: [r for r in replicas if alive(r)]),
            "You elect uncleanly although the topic does not allow it. Without ELR the partition waits for a member "
            "of its ISR. With ELR it waits for a member of ISR or ELR; if both are empty, only the last known leader "
            "may return.",
        ),
        Belief(
            _elected(fallback=lambda replicas, alive, unclean: []),
            "You never elect another replica uncleanly. If the topic allows it, any acceptable replica may lead.",
        ),
        Belief(
            _elected(flags=(False, False)),
            "You return False for an unclean election. Because of this flag the new leader becomes the only member "
            "of the ISR.",
        ),
    ],
    normal=lambda answer: tuple(answer) if isinstance(answer, list | tuple) else answer,
)
