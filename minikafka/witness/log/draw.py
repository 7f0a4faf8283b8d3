"""Workloads drawn from a seed: the ordinary use of a log, leaning towards the boundaries where logs break.

Segments are small, index intervals short, timestamps out of order, limits tight; offsets are drawn beside the log
start, the high watermark, the log end and the base of the active segment; now and then an operation is one that the log
must refuse.
"""

import random
from dataclasses import dataclass, field

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.witness.log import operations as ops
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.offsets import At
from minikafka.witness.log.operations import ISOLATIONS, Operation
from minikafka.witness.log.workload import START_MS, Workload

WEIGHTS = {
    "append": 40,
    "tick": 8,
    "fetch": 6,
    "high_watermark": 9,
    "roll": 2,
    "retention": 5,
    "log_start": 3,
    "truncate": 4,
    "truncate_fully": 1,
    "flush": 2,
    "read": 12,
    "search": 4,
    "consume": 3,
    "epochs": 2,
    "snapshot": 1,
    "checkpoint": 2,
    "reopen": 3,
    "isr": 1,
    "clean": 0,
    "update_config": 0,
}

COMPACTION_WEIGHTS = {
    "append": 50,
    "tick": 10,
    "high_watermark": 20,
    "roll": 6,
    "retention": 2,
    "log_start": 2,
    "truncate": 1,
    "truncate_fully": 0.2,
    "read": 4,
    "search": 2,
    "reopen": 1,
    "clean": 14,
    "update_config": 3,
}
"""Changes to WEIGHTS for a log that is compacted now and then."""

_SLOT_BYTES = 24  # for each key in the cleaner's offset map


def draw_workload(seed: int, size: int = 50, **knobs) -> Workload:
    """Draw a workload of `size` operations from `seed`. The knobs are those of `Drawer`."""
    drawer = Drawer(seed, **knobs)
    return Workload(tuple(drawer.operation() for _ in range(size)), drawer.config, START_MS, drawer.isr)


@dataclass
class _Producer:
    """The state that a well-behaved producer keeps."""

    epoch: int = 0
    sequence: int = 0
    last: Batch | None = None
    open: bool = False


@dataclass
class Drawer:
    """Draws one operation after another; the same seed and knobs give the same operations.

    - `producers`: the number of idempotent producers; `transactions`: whether they begin and end transactions.
    - `epochs`: whether the leader's epoch changes.
    - `follower`: the log is a follower's (appends carry offsets).
    - `codecs`: the codecs to draw from.
    - `refused`: the share of appends that are made to be refused.
    - `reopen`: whether the log is reopened; `unclean`: also after a kill; `damages`: what may happen to its files in
      between, each as `minikafka.witness.log.file_damage` has it, several joined by commas.
    - `rolls_beyond`: more rolls beyond the log end, about which Spark's witness is silent: the next batches lie below
      their segment's base, and their index entries do not fit.
    - `compaction`: the log is compacted now and then, has few keys and many tombstones, and its settings change.
    - `weights`: changes to WEIGHTS; `settings`: topic settings that are not drawn.
    """

    seed: int
    producers: int = 0
    transactions: bool = False
    epochs: bool = False
    follower: bool = False
    codecs: tuple[str, ...] = ("none",)
    refused: float = 0.06
    reopen: bool = True
    unclean: bool = False
    damages: tuple[str, ...] = ()
    rolls_beyond: bool = False
    compaction: bool = False
    weights: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)

    def __post_init__(self):
        self.random = random.Random(self.seed)
        self.isr = self.random.choice([(), (), (1,), (1, 2)])
        self.config = {**self._config(), **{name: str(value) for name, value in self.settings.items()}}
        self._policy = self.config["cleanup.policy"]
        self._epoch = self._marker_epoch = 0
        self._producers = {pid: _Producer() for pid in self._producer_ids()}
        weights = {**WEIGHTS, **(COMPACTION_WEIGHTS if self.compaction else {}), **self.weights}
        weights["reopen"] = weights["reopen"] if self.reopen else 0
        weights["epochs"] = weights["epochs"] if self.epochs else 0
        weights["isr"] = weights["isr"] if self.isr else 0
        self._names, self._weights = zip(*weights.items())

    def operation(self) -> Operation:
        """The next operation."""
        name = self.random.choices(self._names, self._weights)[0]
        return getattr(self, f"_{name}")()

    def _config(self) -> dict[str, str]:
        r = self.random
        config = {
            "internal.segment.bytes": r.choice([300, 500, 700, 1000, 2000]),
            "index.interval.bytes": r.choice([0, 1, 70, 100, 200, 400]),
            "segment.index.bytes": r.choice([16, 24, 36, 60, 120, 4096, 4096]),
            "segment.ms": r.choice([50, 1000, 604_800_000, 604_800_000]),
            "retention.ms": r.choice([-1, 0, 100, 2000, 60_000]),
            "retention.bytes": r.choice([-1, -1, 0, 500, 1500, 4000]),
            "max.message.bytes": r.choice([250, 600, 1_048_588]),
            "file.delete.delay.ms": r.choice([0, 100, 60_000]),
            "flush.messages": r.choice([1, 5, LONG_MAX, LONG_MAX]),
            "message.timestamp.type": r.choice(["CreateTime"] * 5 + ["LogAppendTime"]),
            "message.timestamp.before.max.ms": r.choice([LONG_MAX] * 3 + [500]),
            "message.timestamp.after.max.ms": r.choice([3_600_000, 3_600_000, 300]),
            "cleanup.policy": r.choice(["delete"] * 6 + ["compact", "compact,delete"]),
            "preallocate": r.choice(["false"] * 5 + ["true"]),
        }
        if self.compaction:
            config |= {
                **{name: self._draw_setting(name) for name in self._COMPACTION_SETTINGS},
                "retention.ms": r.choice([-1, -1, -1, 2000]),
                "max.message.bytes": r.choice([600, 1_048_588]),
                "log.cleaner.dedupe.buffer.size": r.choice([2, 3, 6, 12, 1000]) * _SLOT_BYTES,
                "log.cleaner.io.buffer.size": r.choice([50, 400, 4096, 1_048_576]),
                "message.max.bytes": r.choice([100, 1_048_588]),
            }
        return {name: str(value) for name, value in config.items()}

    _COMPACTION_SETTINGS = {
        "cleanup.policy": ["compact"] * 6 + ["compact,delete"] * 2 + ["delete"],
        "min.cleanable.dirty.ratio": [0, 0, 0, 0.01, 0.3, 0.5],
        "delete.retention.ms": [0, 100, 1000, 60_000, 86_400_000],
        "min.compaction.lag.ms": [*[0] * 8, 100, 2000],
        "max.compaction.lag.ms": [LONG_MAX] * 3 + [5000, 60_000],
        "internal.segment.bytes": [150, 200, 300, 300, 500, 1000],
        "segment.index.bytes": [24, 60, 120, *[4096] * 7],
    }

    def _draw_setting(self, name: str):
        return self.random.choice(self._COMPACTION_SETTINGS[name])

    def _producer_ids(self) -> list[int]:
        near = [7, 23, 39, 55, 16, 4294967311]
        return [near[i] if i < len(near) else 1000 + 17 * i for i in range(self.producers)]

    def _append(self) -> Operation:
        if self.random.random() < self.refused:
            return self._refused_append()
        batches = tuple(self._batch() for _ in range(self._batches_in_append()))
        ends_one = self.transactions and self.random.random() < (0.5 if self.compaction else 0.3)
        if self._producers and ends_one and (marker := self._marker()):
            if self.follower:
                return ops.AppendAsFollower((*batches[1:], marker), self._epoch)
            return ops.AppendAsLeader((marker,), self._epoch, "coordinator", self.random.choice([0, 0, 0, 1, 2, -1]))
        return self._set(batches)

    def _set(self, batches) -> Operation:
        kind = ops.AppendAsFollower if self.follower else ops.AppendAsLeader
        return kind(batches, self._epoch)

    def _batches_in_append(self) -> int:
        return self.random.choice([1, 1, 1, 2, 3, 5]) if self.follower else 1

    def _batch(self) -> Batch:
        r = self.random
        batch = Batch(
            count=r.choice([1, 1, 2, 3, 5, 8]),
            sizes=tuple(r.choice([0, 1, 10, 30, 63, 64, 100, 200, None]) for _ in range(r.choice([1, 1, 2]))),
            ts=tuple(self._timestamp() for _ in range(r.choice([1, 1, 1, 2, 3]))),
            keys=3 if "compact" in self._policy else r.choice([0, 0, 3]),
            headers=r.choice([0, 0, 0, 2]),
            codec=r.choice(self.codecs),
            data=r.randrange(100),
        )
        if self.compaction:
            batch = self._with_tombstones(batch)
        if self.follower and r.random() < 0.15:
            batch = self._with_gap(batch)
        return self._produced(batch) if self._producers and r.random() < 0.8 else batch

    def _with_tombstones(self, batch: Batch) -> Batch:
        """The batch with values that are more often null, and with other keys if it has any."""
        r = self.random
        sizes = tuple(r.choice([None, None, 0, 1, 10, 30, 100]) for _ in range(r.choice([1, 2, 3])))
        return batch.with_(sizes=sizes, keys=r.choice([1, 2, 3, 5, 8]) if batch.keys else 0)

    def _with_gap(self, batch: Batch) -> Batch:
        """A batch as compaction or a retention gap leaves it: it begins later, or names a later last offset."""
        jump = self.random.choice([1, 2, 10, 2_147_483_640, 2_147_483_648])
        if jump < 100 and self.random.random() < 0.5:
            return batch.with_(offset=At("leo", 0), last=At("leo", batch.count - 1 + jump))
        return batch.with_(offset=At("leo", jump))

    def _timestamp(self) -> At:
        r = self.random
        if r.random() < 0.04:
            return At("", -1)
        return At("now", r.choice([0, 0, 0, 1, -1, -10, -100, -1000, 10, 100, -r.randrange(500)]))

    def _produced(self, batch: Batch) -> Batch:
        """Let an idempotent producer send the batch; sometimes again, with a gap, or in a new epoch."""
        r = self.random
        pid = r.choice(list(self._producers))
        producer = self._producers[pid]
        chance = r.random()
        if chance < 0.10 and producer.last is not None:
            return producer.last
        if chance < 0.14:
            return batch.with_(pid=pid, epoch=producer.epoch, seq=(producer.sequence + r.choice([1, 2, -1])) % 2**31)
        if chance < 0.19:
            producer.epoch, producer.sequence, producer.open = producer.epoch + 1, 0, False
        elif chance < 0.21:
            producer.sequence = 2**31 - r.choice([1, 2, 3])
        elif chance < 0.23:
            return batch.with_(pid=pid, epoch=max(producer.epoch - 1, 0), seq=0)
        txn = producer.open or (self.transactions and r.random() < 0.6)
        producer.open = txn
        batch = batch.with_(pid=pid, epoch=producer.epoch, seq=producer.sequence, txn=txn)
        producer.sequence = (producer.sequence + batch.count) % 2**31
        producer.last = batch
        return batch

    def _marker(self) -> Batch | None:
        r = self.random
        open_ones = [pid for pid, producer in self._producers.items() if producer.open]
        if not open_ones and r.random() < 0.8:
            return None
        pid = r.choice(open_ones or list(self._producers))
        producer = self._producers[pid]
        if r.random() < 0.3:
            producer.epoch, producer.sequence = producer.epoch + 1, 0
        self._marker_epoch += r.random() < 0.1
        stale = r.random() < 0.05
        producer.open = producer.open and stale
        return Batch(
            marker=r.choice(["commit", "commit", "abort"]),
            ts=(self._timestamp(),),
            pid=pid,
            epoch=max(producer.epoch - stale, 0),
            coordinator_epoch=max(self._marker_epoch - (r.random() < 0.05), 0),
        )

    def _refused_append(self) -> Operation:
        """An append that breaks one rule."""
        batch, small = self._batch(), Batch(sizes=(1,))
        choices = [
            self._set((batch.with_(sizes=(int(self.config["internal.segment.bytes"]) + 10,), count=1),)),
            self._set((batch.with_(damage="crc"),)),
            self._set((batch.with_(damage="torn"),)),
            self._set((batch.with_(damage="magic"),)),
            ops.AppendAsLeader((), self._epoch),
        ]
        if self.follower:
            choices += [
                ops.AppendAsFollower((batch.with_(offset=At("leo", -1), last=None),), self._epoch),
                ops.AppendAsFollower((small.with_(offset=At("leo", 5)), small.with_(offset=At("leo", 5))), self._epoch),
                ops.AppendAsFollower((small.with_(offset=At("leo", 5)), small.with_(offset=At("leo", 2))), self._epoch),
                ops.AppendAsFollower((small, small.with_(leader_epoch=self._epoch + 1), small), self._epoch),
                ops.AppendAsFollower((batch.with_(leader_epoch=-1),), self._epoch),
            ]
        else:
            choices += [
                ops.AppendAsLeader((batch, batch), self._epoch),
                ops.AppendAsLeader((batch.with_(offset=3),), self._epoch),
                ops.AppendAsLeader((batch.with_(damage="count"),), self._epoch),
                ops.AppendAsLeader((batch.with_(log_append_time=True),), self._epoch),
                ops.AppendAsLeader((batch.with_(ts=At("now", 4_000_000)),), self._epoch),
                ops.AppendAsLeader((small.with_(pid=99, epoch=0),), self._epoch),
                ops.AppendAsLeader((Batch(marker="commit", pid=7, epoch=0),), self._epoch),
            ]
        return self.random.choice(choices)

    def _offset(self, *anchors: str) -> At:
        """An offset at or beside one of the places."""
        anchor = self.random.choice(anchors)
        return At(anchor, self.random.choice([0, 0, 0, 1, -1, 2, -2, -5, 5, -20]))

    def _tick(self) -> Operation:
        if self._producers and self.random.random() < 0.02:
            return ops.Tick(86_400_000)  # producers are forgotten after a day
        return ops.Tick(self.random.choice([0, 0, 1, 10, 51, 100, 101, 500, 1001, 2001, 60_000]))

    def _fetch(self) -> Operation:
        replica = self.random.choice([*self.isr, 1, 2])
        return ops.Fetch(
            replica, self.random.choice([At("leo", 0), At("leo", 0), self._offset("leo", "hw", "active", "start")])
        )

    def _high_watermark(self) -> Operation:
        if self.compaction and self.random.random() < 0.9:
            return ops.MaybeIncrementHighWatermark(At("leo", 0))
        kind = self.random.choice(
            [
                ops.UpdateHighWatermark,
                ops.MaybeIncrementHighWatermark,
                ops.MaybeIncrementHighWatermark,
                ops.MaybeUpdateHighWatermark,
            ]
        )
        return kind(
            self.random.choice([At("leo", 0), At("leo", 0), self._offset("leo", "hw", "active", "start", "lso")])
        )

    def _roll(self) -> Operation:
        places = [At("leo", 0), At("leo", 0), At("leo", 3), At("active", 0), At("start", 0)]
        if self.rolls_beyond:
            places += [At("leo", 1), At("leo", 3), At("leo", 10)]
        return ops.Roll(self.random.choice(places))

    def _retention(self) -> Operation:
        return ops.DeleteOldSegments()

    def _log_start(self) -> Operation:
        return ops.MaybeIncrementLogStartOffset(self._offset("hw", "hw", "active", "start", "leo"))

    def _truncate(self) -> Operation:
        return ops.TruncateTo(self._offset("leo", "leo", "hw", "active", "start"))

    def _truncate_fully(self) -> Operation:
        offset = self._offset("leo", "hw", "start")
        start = self.random.choice(
            [None, None, At(offset.anchor, offset.distance - 2), At(offset.anchor, offset.distance + 2)]
        )
        return ops.TruncateFullyAndStartAt(offset, start)

    def _flush(self) -> Operation:
        return ops.Flush(self.random.random() < 0.3)

    def _read(self) -> Operation:
        r = self.random
        offset = self._offset("start", "start", "hw", "lso", "active", "active", "leo")
        length = r.choice([0, 1, 60, 61, 100, 300, 700, 1_048_576, -1])
        return ops.Read(offset, length, r.choice(ISOLATIONS), r.random() < 0.5)

    def _search(self) -> Operation:
        special = At("", self.random.choice([-1, -2, -3, -3, -4, -5, -6]))
        return ops.FetchOffsetByTimestamp(self.random.choice([special, self._timestamp(), self._timestamp()]))

    def _consume(self) -> Operation:
        if self.random.random() < 0.4:
            return ops.Count(self._offset("hw", "start"), At("leo", 0))
        return ops.Consume(At("start", 0), self.random.random() < 0.6)

    def _epochs(self) -> Operation:
        if self.random.random() < 0.3:
            return ops.EndOffsetForEpoch(self.random.randrange(-1, self._epoch + 2))
        self._epoch += self.random.choice([1, 1, 2])
        return ops.AssignEpochStartOffset(self._epoch, At("leo", 0))

    def _snapshot(self) -> Operation:
        return ops.TakeProducerSnapshot()

    def _checkpoint(self) -> Operation:
        return ops.Checkpoint()

    def _reopen(self) -> Operation:
        clean = not self.unclean or self.random.random() < 0.5
        return ops.Reopen(clean, self.random.choice(self.damages) if self.damages else ())

    def _clean(self) -> Operation:
        if "compact" not in self._policy and self.random.random() < 0.5:
            return self._update_config()
        return ops.Clean()

    def _update_config(self) -> Operation:
        compacted = "compact" in self._policy
        name = self.random.choice(list(self._COMPACTION_SETTINGS)) if compacted else "cleanup.policy"
        setting = str(self._draw_setting(name))
        if name == "cleanup.policy":
            self._policy = setting
        return ops.UpdateConfig(((name, setting),))

    def _isr(self) -> Operation:
        return ops.Isr(self.random.choice([(1,), (2,), (1, 2), ()]))
