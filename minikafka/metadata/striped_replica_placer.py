"""Where the replicas of a new topic go."""

from collections.abc import Iterable
from dataclasses import dataclass

from minikafka.common.errors import InvalidReplicationFactorException
from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.common.java.java_random import JavaRandom

NO_RACK = ""  # sorts before every rack, and hashes as Java's empty Optional does


@dataclass(frozen=True, slots=True)
class UsableBroker:
    """A broker on which replicas may be placed. Kafka: `org.apache.kafka.metadata.placement.UsableBroker`."""

    id: int
    rack: str | None
    fenced: bool


class StripedReplicaPlacer:
    """Spreads replicas over racks, and over the brokers of each rack. Kafka: `StripedReplicaPlacer`.

    - The first replica, which will lead, is never on a fenced broker; the others only when there is no one else.
    - Each partition begins one rack, and in each rack one broker, further than the one before, so that leaders are
      spread evenly; where the first begins is random.
    """

    def __init__(self, random: JavaRandom):
        self._random = random

    def place(
        self, num_partitions: int, num_replicas: int, usable_brokers: Iterable[UsableBroker]
    ) -> list[tuple[int, ...]]:
        """The replicas of each of `num_partitions` partitions, `num_replicas` broker ids each.

        Raises InvalidReplicationFactorException when there are too few brokers. Kafka: `StripedReplicaPlacer.place`.
        """
        racks = _RackList(self._random, usable_brokers)
        return [racks.place(num_replicas) for _ in range(num_partitions)]


class _BrokerList:
    """Brokers that are handed out in turn, once in each round. Kafka: `StripedReplicaPlacer.BrokerList`."""

    def __init__(self) -> None:
        self.brokers: list[int] = []
        self._index = 0
        self._offset = 0
        self._epoch = 0

    def initialize(self, random: JavaRandom) -> None:
        if self.brokers:
            self.brokers.sort()
            self._offset = random.next_int(len(self.brokers))

    def next(self, epoch: int) -> int | None:
        """The next broker of the round `epoch`; None when each has had its turn."""
        if not self.brokers:
            return None
        if self._epoch != epoch:
            self._epoch = epoch
            self._index = 0
            self._offset = (self._offset + 1) % len(self.brokers)
        if self._index >= len(self.brokers):
            return None
        self._index += 1
        return self.brokers[(self._index - 1 + self._offset) % len(self.brokers)]


class _Rack:
    """The brokers of a rack. Kafka: `StripedReplicaPlacer.Rack`."""

    def __init__(self) -> None:
        self.fenced = _BrokerList()
        self.unfenced = _BrokerList()

    def next(self, epoch: int) -> int | None:
        """The next broker of the round `epoch`, fenced ones last; None when each has had its turn."""
        broker = self.unfenced.next(epoch)
        return self.fenced.next(epoch) if broker is None else broker


class _RackList:
    """The racks, and how far their brokers have been handed out. Kafka: `StripedReplicaPlacer.RackList`."""

    def __init__(self, random: JavaRandom, brokers: Iterable[UsableBroker]):
        self._random = random
        self._racks: dict[str, _Rack] = {}
        self._num_total, self._num_unfenced = 0, 0
        for broker in brokers:
            rack = self._racks.setdefault(broker.rack or NO_RACK, _Rack())
            (rack.fenced if broker.fenced else rack.unfenced).brokers.append(broker.id)
            self._num_total += 1
            self._num_unfenced += not broker.fenced
        for rack in self._walk():
            rack.fenced.initialize(random)
            rack.unfenced.initialize(random)
        self._names = sorted(self._racks)
        self._epoch = 0
        self._offset = random.next_int(len(self._names)) if self._names else 0

    def place(self, num_replicas: int) -> tuple[int, ...]:
        """The replicas of the next partition."""
        self._check(num_replicas)
        # After as many partitions as there are brokers alive, another order: else the same sets would come again.
        if self._epoch == self._num_unfenced and self._num_unfenced > 1:
            self._shuffle()
            self._epoch = 0
        self._offset %= len(self._names)
        first_rack, leader = self._next_leader()
        brokers, rack_index, rack_of_leader = [leader], self._offset, first_rack
        while len(brokers) < num_replicas:
            # The leader's rack has had its turn when it comes by for the first time.
            broker = None if rack_index == rack_of_leader else self._racks[self._names[rack_index]].next(self._epoch)
            if rack_index == rack_of_leader:
                rack_of_leader = -1
            rack_index = (rack_index + 1) % len(self._names)
            if broker is not None:
                brokers.append(broker)
        self._epoch += 1
        self._offset += 1
        return tuple(brokers)

    def _next_leader(self) -> tuple[int, int]:
        """The index of the next rack with a broker that is alive, and that broker."""
        index = self._offset
        while (broker := self._racks[self._names[index]].unfenced.next(self._epoch)) is None:
            index = (index + 1) % len(self._names)
        return index, broker

    def _check(self, num_replicas: int) -> None:
        if num_replicas <= 0:
            raise InvalidReplicationFactorException(
                f"Invalid replication factor {num_replicas}: the replication factor must be positive."
            )
        if self._num_unfenced == 0:
            raise InvalidReplicationFactorException(
                "All brokers are currently fenced, or have all their log directories cordoned."
            )
        if num_replicas > self._num_total:
            raise InvalidReplicationFactorException(
                f"The target replication factor of {num_replicas} cannot be reached because only {self._num_total} "
                "broker(s) are registered or some brokers have all their log directories cordoned."
            )

    def _shuffle(self) -> None:
        self._random.shuffle(self._names)
        for rack in self._walk():
            self._random.shuffle(rack.fenced.brokers)
            self._random.shuffle(rack.unfenced.brokers)

    def _walk(self) -> list[_Rack]:
        """The racks in the order of Kafka's map, since each draws random numbers when its turn comes."""
        racks: JavaHashMap[str, _Rack] = JavaHashMap()
        for name, rack in self._racks.items():
            racks[name] = rack
        return [rack for _, rack in racks.items()]
