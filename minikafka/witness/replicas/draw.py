"""Workloads of brokers that replicate, drawn from a seed: what a cluster does every day, and what troubles it.

Leaders are asked most of the time, now and then a follower or a stranger; followers fetch in any order; metadata
reaches brokers late; leaders' proposals are accepted, refused or forgotten; brokers are killed and come back; offsets
lie beside the log start, the high watermark and the log end.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from minikafka.metadata.features_image import ELIGIBLE_LEADER_REPLICAS_VERSION
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.draw import WEIGHTS as LOG_WEIGHTS
from minikafka.witness.log.draw import Drawer
from minikafka.witness.log.offsets import At
from minikafka.witness.log.operations import AppendAsLeader
from minikafka.witness.replicas.workload import ReplicaOperation, ReplicaWorkload, Target

WEIGHTS = {
    "produce": 30,
    "follow": 36,
    "fetch": 12,
    "publish": 6,
    "sleep": 12,
    "answer": 8,
    "change": 4,
    "crash": 1.5,
    "stop": 0.5,
    "start": 8,  # of what does not run
    "delete_records": 3,
    "list_offsets": 3,
    "offset_for_leader_epoch": 3,
    "metadata": 1,
    "checkpoint": 1,
    "settings": 1,
    "fence": 0.7,
    "topic": 0.5,
    "delete_topic": 0.3,
    "append": 2,
    "reassign": 0.5,
}

_ONLY_APPENDS = dict.fromkeys(LOG_WEIGHTS, 0) | {"append": 1}
_REFUSALS = ["OPERATION_NOT_ATTEMPTED", "INELIGIBLE_REPLICA", "INVALID_UPDATE_VERSION", "NEW_LEADER_ELECTED"]
_REFUSALS += ["FENCED_LEADER_EPOCH", "UNKNOWN_TOPIC_OR_PARTITION", "INVALID_REQUEST", "UNKNOWN_SERVER_ERROR"]


def draw_replica_workload(seed: int, size: int = 60, **knobs) -> ReplicaWorkload:
    """Draw a workload of about `size` operations from `seed`. The knobs are those of `ReplicaDrawer`."""
    drawer = ReplicaDrawer(seed, **knobs)
    operations = drawer.beginning()
    while len(operations) < size:
        operations += drawer.operations()
    return ReplicaWorkload(tuple(operations), drawer.settings)


@dataclass
class _Topic:
    """A topic as far as the drawer knows: what the controller was told, and who writes to it."""

    assignment: list[list[int]]
    leaders: list[int]
    drawers: list[Drawer]


@dataclass
class ReplicaDrawer:
    """Draws some operations after the others; the same seed and knobs give the same.

    - `brokers`: how many there are.
    - `codecs`, `producers`, `transactions`: of the batches, as `Drawer`'s.
    - `refused`: the share of appends that are made to be refused.
    - `weights`: changes to WEIGHTS. `fixed`: settings of the brokers that are not drawn.
    - `eligible_leader_replicas`: every other cluster has this feature (KIP-966), the others have it at level 0.
    """

    seed: int
    brokers: int = 3
    codecs: tuple[str, ...] = ("none",)
    producers: int = 0
    transactions: bool = False
    refused: float = 0.04
    weights: dict[str, float] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    eligible_leader_replicas: bool = False

    def __post_init__(self):
        self.random = random.Random(self.seed)
        r = self.random
        self.settings = {
            "replica.lag.time.max.ms": str(r.choice([500, 2000, 10_000, 30_000])),
            "num.replica.fetchers": str(r.choice([1, 1, 2])),
            "replica.fetch.max.bytes": str(r.choice([1, 300, 1_048_576])),
            "replica.fetch.response.max.bytes": str(r.choice([0, 700, 10_485_760])),
            "replica.high.watermark.checkpoint.interval.ms": str(r.choice([100, 5000])),
            "replica.fetch.wait.max.ms": str(r.choice([0, 0, 500])),
            "replica.fetch.min.bytes": str(r.choice([1, 1, 1, 300])),
            "fetch.max.bytes": str(r.choice([1024, 57_671_680])),
            "log.retention.check.interval.ms": str(r.choice([700, 300_000])),
            "log.initial.task.delay.ms": str(r.choice([0, 30_000])),
            "log.flush.offset.checkpoint.interval.ms": str(r.choice([300, 60_000])),
            **self.fixed,
        }
        if r.random() < 0.3:
            self.settings["directories"] = "2"
        if self.eligible_leader_replicas and r.random() < 0.5:
            self.settings[ELIGIBLE_LEADER_REPLICAS_VERSION] = "1"
        self._topics: dict[str, _Topic] = {}
        self._running: set[int] = set()
        self._starts = [0] * self.brokers
        self._fenced: set[int] = set()
        self._names, self._weights = zip(*{**WEIGHTS, **self.weights}.items())

    def beginning(self) -> list[ReplicaOperation]:
        """Brokers start, a topic is made, and everybody knows of it."""
        starts = [operation for broker in range(self.brokers) for operation in self._start_broker(broker)]
        return [*starts, *self._topic(), *self._publish_all(1)]

    def operations(self) -> list[ReplicaOperation]:
        """The next operation, or a few that belong together."""
        name = self.random.choices(self._names, self._weights)[0]
        return getattr(self, f"_{name}")()

    # Brokers

    def _start_broker(self, broker: int) -> list[ReplicaOperation]:
        self._running.add(broker)
        self._starts[broker] += 1
        self._fenced.discard(broker)
        return [_operation("start", broker)]

    def _start(self) -> list[ReplicaOperation]:
        stopped = sorted(set(range(self.brokers)) - self._running)
        if not stopped:
            return self._follow()
        return [*self._start_broker(self.random.choice(stopped)), *self._publish_all(0.7)]

    def _crash(self) -> list[ReplicaOperation]:
        return self._end("crash")

    def _stop(self) -> list[ReplicaOperation]:
        return self._end("stop")

    def _end(self, how: str) -> list[ReplicaOperation]:
        broker = self._any_broker()
        self._running.discard(broker)
        ended = [_operation(how, broker)]
        if self.random.random() < 0.6:
            for name, topic in self._topics.items():
                for number, leader in enumerate(topic.leaders):
                    if leader == broker:
                        ended += self._elect(name, number)
            ended += self._publish_all(0.8)
        return ended

    def _any_broker(self) -> int:
        return self.random.choice(sorted(self._running) or [0])

    def _publish(self) -> list[ReplicaOperation]:
        return [_operation("publish", self._any_broker())]

    def _publish_all(self, share: float) -> list[ReplicaOperation]:
        brokers = sorted(self._running)
        self.random.shuffle(brokers)
        return [_operation("publish", broker) for broker in brokers if self.random.random() < share]

    def _sleep(self) -> list[ReplicaOperation]:
        choices = [1, 10, 100, 100, 499, 500, 501, 1000, 2500, 5001, 15_001, 30_001]
        return [_operation("sleep", self.random.choice(choices))]

    def _checkpoint(self) -> list[ReplicaOperation]:
        return [_operation("checkpoint", self._any_broker())]

    def _follow(self) -> list[ReplicaOperation]:
        return [_operation("follow", self._any_broker())] * self.random.choice([1, 1, 1, 2])

    # The controller

    def _answer(self) -> list[ReplicaOperation]:
        broker, chance = self._any_broker(), self.random.random()
        if chance < 0.7:
            return [_operation("answer", broker), *self._publish_all(0.6)]
        if chance < 0.95:
            return [_operation("answer", broker, error=self.random.choice(_REFUSALS))]
        return [_operation("answer", broker, whole=self.random.choice(["STALE_BROKER_EPOCH", "NOT_CONTROLLER"]))]

    def _change(self) -> list[ReplicaOperation]:
        name, number = self._any_partition()
        if name is None:
            return self._topic()
        return [*self._elect(name, number), *self._publish_all(0.8)]

    def _elect(self, name: str, number: int) -> list[ReplicaOperation]:
        """Another leader, or another ISR, or the same leader in a new epoch."""
        r, topic = self.random, self._topics[name]
        replicas = topic.assignment[number]
        options: dict[str, object] = {}
        if r.random() < 0.85:
            alive = [replica for replica in replicas if replica in self._running] or [-1]
            leader = r.choice([*alive, *alive, *alive, r.choice(replicas)])
            options["leader"] = topic.leaders[number] = leader
            if leader >= 0 and r.random() < 0.7:
                others = [replica for replica in replicas if replica != leader and r.random() < 0.5]
                options["isr"] = ",".join(map(str, [leader, *others]))
                if not others and r.random() < 0.3:
                    options["recovering"] = "true"
        else:
            leader = topic.leaders[number]
            isr = [replica for replica in replicas if replica == leader or r.random() < 0.6]
            options["isr"] = ",".join(map(str, isr)) or "none"
        if ELIGIBLE_LEADER_REPLICAS_VERSION in self.settings and r.random() < 0.5:
            options["elr"] = ",".join(str(replica) for replica in replicas if r.random() < 0.5) or "none"
            if r.random() < 0.4:  # nobody is in sync, so nobody leads, and the last leader is noted
                options |= {"leader": -1, "isr": "none", "last_known": r.choice(replicas)}
                topic.leaders[number] = -1
        return [_operation("change", f"{name}-{number}", **options)]

    def _reassign(self) -> list[ReplicaOperation]:
        """Other replicas."""
        r = self.random
        name, number = self._any_partition()
        if name is None:
            return self._topic()
        replicas = list(range(self.brokers))
        r.shuffle(replicas)
        replicas = replicas[: r.choice([1, 2, 3])]
        topic = self._topics[name]
        topic.assignment[number], topic.leaders[number] = replicas, replicas[0]
        isr = [replica for replica in replicas if replica == replicas[0] or r.random() < 0.5]
        words = {"replicas": replicas, "isr": isr}
        options = {option: ",".join(map(str, ids)) for option, ids in words.items()}
        change = _operation("change", f"{name}-{number}", leader=replicas[0], **options)
        return [change, *self._publish_all(0.8)]

    def _settings(self) -> list[ReplicaOperation]:
        if not self._topics:
            return self._topic()
        name, value = self.random.choice(
            [
                ("min.insync.replicas", self.random.choice([1, 1, 2, 3])),
                ("max.message.bytes", 300),
                ("retention.ms", 1000),
            ]
        )
        settings = {name: self.random.choice([value, value, "-"])}
        return [_operation("settings", self.random.choice(list(self._topics)), **settings), *self._publish_all(0.8)]

    def _fence(self) -> list[ReplicaOperation]:
        broker = self.random.randrange(self.brokers)
        fenced = broker in self._fenced
        self._fenced ^= {broker}
        return [_operation("unfence" if fenced else "fence", broker), *self._publish_all(0.8)]

    def _topic(self) -> list[ReplicaOperation]:
        r = self.random
        name = next(name for name in ("t", "u", "__consumer_offsets", "v", "w") if name not in self._topics)
        if len(self._topics) > 3:
            return self._follow()
        assignment = []
        for _ in range(r.choice([1, 2, 2, 3])):
            replicas = list(range(self.brokers))
            r.shuffle(replicas)
            assignment.append(replicas[: r.choice([1, 2, 3, 3])])
        drawers = [self._drawer() for _ in assignment]
        config = {
            **drawers[0].config,
            "min.insync.replicas": r.choice([1, 1, 2]),
            "unclean.leader.election.enable": r.choice(["true", "false"]),
        }
        self._topics[name] = _Topic(assignment, [replicas[0] for replicas in assignment], drawers)
        text = "/".join(",".join(map(str, replicas)) for replicas in assignment)
        return [_operation("topic", name, text, **config), *self._publish_all(0.9)]

    def _drawer(self) -> Drawer:
        """Draws what is appended to one partition."""
        return Drawer(
            self.random.randrange(1 << 30),
            producers=self.producers,
            transactions=self.transactions,
            codecs=self.codecs,
            refused=self.refused,
            weights=_ONLY_APPENDS,
        )

    def _delete_topic(self) -> list[ReplicaOperation]:
        if len(self._topics) < 2:
            return self._topic()
        name = self.random.choice(list(self._topics))
        del self._topics[name]
        return [_operation("delete_topic", name), *self._publish_all(0.9)]

    # Requests

    def _produce(self) -> list[ReplicaOperation]:
        r = self.random
        name, number = self._any_partition()
        if name is None:
            return self._topic()
        broker = self._leader_mostly(name, number)
        append = self._topics[name].drawers[number].operation()
        if isinstance(append, AppendAsLeader) and append.origin == "coordinator":
            target = Target(f"{name}-{number}", batches=append.batches)
            return [_operation("append", broker, targets=(target,), acks=r.choice([-1, -1, 1]))]
        targets = [Target(f"{name}-{number}", batches=append.batches or (Batch(),))]
        while r.random() < 0.25:
            targets.append(self._other_target(broker))
        options: dict[str, object] = {
            "acks": r.choice([-1] * 6 + [1, 1, 1, 0, 2, -2]),
            "version": r.choice([13] * 6 + [3, 7, 8, 9, 10, 11, 12]),
        }
        if r.random() < 0.5:
            options["timeout"] = r.choice([0, 1, 100, 1000, 30_000])
        if r.random() < 0.1:
            options["client"] = "__admin_client"
        if any(batch.txn for target in targets for batch in target.batches):
            options["transaction"] = r.choice(["transaction"] * 5 + ["-"])
        return [_operation("produce", broker, targets=tuple(targets), **options)]

    def _other_target(self, broker: int) -> Target:
        """One more partition in the request: led by the broker, by another, unknown, or internal."""
        r = self.random
        name, number = self._any_partition()
        chance = r.random()
        if chance < 0.05:
            return Target("unknown-0", batches=(Batch(),))
        if chance < 0.1 and name is not None:
            return Target(f"{name}-9", batches=(Batch(),))
        if chance < 0.14:
            return Target(r.choice(["zero-0", f"{name}-{number}"]))
        small = Batch(count=r.choice([1, 2]), sizes=(r.choice([1, 30]),))
        return Target(f"{name}-{number}", batches=(small,) if r.random() < 0.9 else (small, small))

    def _append(self) -> list[ReplicaOperation]:
        """An append that is no request, to several partitions."""
        r = self.random
        if not self._topics:
            return self._topic()
        names = list(dict.fromkeys(self._any_partition() for _ in range(r.choice([1, 2, 3]))))
        targets = tuple(Target(f"{name}-{number}", batches=(Batch(sizes=(20,)),)) for name, number in names)
        acks, origin = r.choice([-1, -1, 0, 1, 5]), r.choice(["CLIENT", "COORDINATOR"])
        return [_operation("append", self._any_broker(), targets=targets, acks=acks, origin=origin, timeout=100)]

    def _fetch(self) -> list[ReplicaOperation]:
        r = self.random
        name, number = self._any_partition()
        if name is None:
            return self._topic()
        broker = self._leader_mostly(name, number)
        options: dict[str, object] = {}
        follower = r.random() < 0.5
        if follower:
            replica = r.choice([*self._topics[name].assignment[number], r.randrange(self.brokers)])
            epoch = 10 * (replica + 1) + self._starts[replica]
            options["replica"], options["replica_epoch"] = replica, r.choice([epoch, epoch, epoch, -1, epoch - 1])
            options["version"] = r.choice([18, 17, 17, 15, 12, 4])
        else:
            options["isolation"] = r.choice([0, 1])
            options["version"] = r.choice([18, 17, 16, 13, 12, 11, 10, 7, 5, 4])
        if r.random() < 0.4:
            options["wait"], options["min"] = r.choice([1, 100, 500, 5000]), r.choice([1, 1, 100, 1000, 100_000])
        if r.random() < 0.3:
            options["max"] = r.choice([0, 1, 100, 500, 2000])
        if r.random() < 0.05 and options["version"] >= 7:
            options["session"], options["session_epoch"] = r.choice([(0, 0), (0, 1), (7, 3)])
        targets = [self._fetch_target(name, number, follower)]
        while r.random() < 0.3:
            other, other_number = self._any_partition()
            if f"{other}-{other_number}" not in [target.partition for target in targets]:
                targets.append(self._fetch_target(other, other_number, follower))
        return [_operation("fetch", broker, targets=tuple(targets), **options)]

    def _fetch_target(self, name: str, number: int, follower: bool) -> Target:
        r = self.random
        options = {}
        if r.random() < 0.4:
            options["epoch"] = r.choice([-1, 0, 0, 1, 1, 2, 3])
        if r.random() < (0.5 if follower else 0.1):
            options["last"] = r.choice([-1, 0, 0, 1, 2])
        if follower:
            options["start"] = r.choice([-1, 0, 0, 0, 1])
        if r.random() < 0.2:
            options["max"] = r.choice([0, 1, 100, 300])
        offset = r.choice([At("leo", 0), At("leo", 0), At("hw", 0), self._offset()])
        partition = f"{name}-{number}" if r.random() < 0.96 else "unknown-0"
        return Target(partition, offset, options)

    def _offset(self) -> At:
        anchor = self.random.choice(["leo", "hw", "lso", "start", ""])
        return At(anchor, self.random.choice([0, 0, 1, -1, 2, -2, 5, -5, -20]))

    def _delete_records(self) -> list[ReplicaOperation]:
        name, number = self._any_partition()
        if name is None:
            return self._topic()
        options = {"timeout": self.random.choice([0, 100, 30_000]), "version": self.random.choice([0, 1, 2])}

        def target(partition: str) -> Target:
            places = [At("hw", 0), At("hw", -1), At("", -1), At("", -2), self._offset()]
            return Target(partition, self.random.choice(places))

        targets = self._targets(name, number, target)
        return [_operation("delete_records", self._leader_mostly(name, number), targets=targets, **options)]

    def _targets(self, name: str, number: int, target: Callable[[str], Target]) -> tuple[Target, ...]:
        """A partition, and sometimes others, some of which nobody has."""
        names = [f"{name}-{number}"]
        while self.random.random() < 0.3:
            other, other_number = self._any_partition()
            names.append(self.random.choice([f"{other}-{other_number}"] * 6 + ["unknown-0", "unknown-3", f"{other}-9"]))
        return tuple(target(each) for each in dict.fromkeys(names))

    def _list_offsets(self) -> list[ReplicaOperation]:
        r = self.random
        name, number = self._any_partition()
        if name is None:
            return self._topic()
        version = r.choice([10, 8, 7, 6, 5, 4, 3, 2, 1])
        special = [-1, -1, -2, *([-3] if version >= 7 else ()), *([-4] if version >= 8 else ())]
        special += [-5] if version >= 9 else []

        def target(partition: str) -> Target:
            timestamp = r.choice([*map(At.of, special), At("now", 0), At("now", -1000), At("now", 100)])
            return Target(partition, timestamp, {"epoch": r.choice([-1, 0, 1, 2])} if r.random() < 0.3 else {})

        targets = self._targets(name, number, target)
        isolation, replica = r.choice([0, 1]), r.choice([-1, -1, -1, -2, 1])
        broker = self._leader_mostly(name, number)
        return [
            _operation("list_offsets", broker, targets=targets, isolation=isolation, replica=replica, version=version)
        ]

    def _offset_for_leader_epoch(self) -> list[ReplicaOperation]:
        r = self.random
        name, number = self._any_partition()
        if name is None:
            return self._topic()

        def target(partition: str) -> Target:
            options = {"last": r.choice([-1, 0, 0, 1, 2, 3])}
            if r.random() < 0.4:
                options["epoch"] = r.choice([-1, 0, 1, 2])
            return Target(partition, options=options)

        targets = self._targets(name, number, target)
        broker, version = self._leader_mostly(name, number), r.choice([4, 3, 2])
        replica = r.choice([-1, 1, 2])
        return [_operation("offset_for_leader_epoch", broker, targets=targets, replica=replica, version=version)]

    def _metadata(self) -> list[ReplicaOperation]:
        names = [*self._topics, *(["unknown"] if self.random.random() < 0.3 else [])]
        targets = tuple(Target(f"{name}-0") for name in names)
        return [
            _operation("metadata", self._any_broker(), targets=targets, version=self.random.choice([13, 12, 9, 5, 1]))
        ]

    def _any_partition(self) -> tuple[str | None, int]:
        if not self._topics:
            return None, 0
        name = self.random.choice(list(self._topics))
        return name, self.random.randrange(len(self._topics[name].assignment))

    def _leader_mostly(self, name: str, number: int) -> int:
        leader = self._topics[name].leaders[number]
        return leader if leader in self._running and self.random.random() < 0.9 else self._any_broker()


def _operation(kind: str, *arguments: object, targets: tuple[Target, ...] = (), **options: object) -> ReplicaOperation:
    words = {name: str(value) for name, value in options.items()}
    return ReplicaOperation(kind, tuple(map(str, arguments)), words, targets)
