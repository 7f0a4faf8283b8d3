"""minikafka's log manager and Apache Kafka's, each given the same operations."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from minikafka.common.topic_partition import TopicPartition
from minikafka.log.manager.log_manager import LogManager
from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager
from minikafka.witness.log_dir.one_log_manager import OneLogManager


class TwoLogManagers:
    """Does the same with both managers, and demands equal results, exceptions, logs, tasks and log directories."""

    def __init__(
        self, kafka, directory: Path, names: Sequence[str] = ("a",), default_config: Mapping | None = None, **settings
    ):
        def kafkas(*args, **kwargs) -> KafkaLogManager:
            return KafkaLogManager(kafka, *args, **kwargs)

        self.minikafka = OneLogManager(LogManager, directory / "minikafka", names, default_config or {}, **settings)
        self.both = [self.minikafka]
        if kafka is not None:
            self.kafka = OneLogManager(kafkas, directory / "kafka", names, default_config or {}, **settings)
            self.both.append(self.kafka)

    # What is done to both

    def start(self, **options):
        """Make the managers and load their logs; then tasks that are due at once."""
        return self.do(lambda one: one.start(**options), "start", options)

    def stop(self, broker_epoch: int = 7):
        """Stop both as a broker does."""
        return self.do(lambda one: one.stop(broker_epoch), "stop", broker_epoch)

    def tick(self, ms: int):
        """Let time pass, and what is due happen."""
        return self.do(lambda one: one.time.sleep(ms), "tick", ms)

    def append(self, partition: TopicPartition, *batches: str, is_future: bool = False):
        """Append batches, in the text form of workloads, to a log, and let them count as replicated."""
        return self.do(lambda one: one.append(partition, *batches, is_future=is_future), "append", partition, batches)

    def note_cleaned(self, partition: TopicPartition, offset: int):
        """Let both cleaners' checkpoints say that the partition is clean below `offset`."""
        return self.do(lambda one: one.note_cleaned(partition, offset), "note_cleaned", partition, offset)

    def call(self, method: str, *args, **kwargs):
        """Call a method of the managers. Paths of log directories begin with `DIR/`."""

        def step(one: OneLogManager):
            return getattr(one.manager, method)(*(_there(one, arg) for arg in args), **kwargs)

        return self.do(step, "call", method, args, kwargs)

    def do(self, step: Callable[[OneLogManager], object], *told: object):
        """Do `step(one)` to both; returns what it gave in words, or (name of the exception, its message).

        `told` says what is done. Raises AssertionError where the two differ in anything.
        """
        ours, theirs = (self._result(step, one) for one in self.both)
        assert ours == theirs, f"\n minikafka: {ours!r}\n Kafka:     {theirs!r}"
        self.compare()
        return ours

    def fails(self, result: tuple[str, str]) -> str:
        """The name of the exception that something done gave."""
        assert isinstance(result, tuple), f"nothing was refused: {result!r}"
        return result[0]

    def compare(self) -> None:
        """Demand equal logs, tasks and log directories."""
        ours, theirs = (one.state() for one in self.both)
        assert ours == theirs, f"\n minikafka: {ours}\n Kafka:     {theirs}"
        mine, yours = (one.files() for one in self.both)
        for name in sorted(mine.keys() | yours.keys()):
            assert (name in mine) == (name in yours), f"only {'minikafka' if name in mine else 'Kafka'} has {name}"
            assert mine[name] == yours[name], f"{name}\n minikafka: {mine[name]!r}\n Kafka:     {yours[name]!r}"

    # What befalls both

    def change(self, change: Callable[[Path], object]) -> None:
        """Do `change(directory)` to what holds each manager's log directories."""
        for one in self.both:
            one.directory.mkdir(parents=True, exist_ok=True)
            change(one.directory)

    def kill(self) -> None:
        """End both, and write nothing."""
        for one in self.both:
            one.kill()

    @staticmethod
    def _result(step: Callable[[OneLogManager], object], one: OneLogManager):
        try:
            return one.neutral(step(one))
        except Exception as error:
            return type(error).__name__, one.neutral(str(error))


def _there(one: OneLogManager, arg: object) -> object:
    """The log directory that begins with `DIR/`; anything else as it is."""
    return one.directory / arg.removeprefix("DIR/") if isinstance(arg, str) and arg.startswith("DIR/") else arg
