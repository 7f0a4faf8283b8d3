"""Log managers, minikafka's or Kafka's, on log directories of their own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from minikafka.lab.exercises.asked import jvm_of


def manager_maker(factory: Any) -> Any:
    """What makes the log managers of those who open logs with `factory`."""
    from minikafka.log.manager.log_manager import LogManager
    from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager

    kafka = jvm_of(factory)
    return LogManager if kafka is None else partial(KafkaLogManager, kafka)


@contextmanager
def managed(factory: Any, names: Sequence[str] = ("disk",)) -> Iterator[Any]:
    """A `OneLogManager`, not started, on new log directories of these names; it is killed in the end."""
    from minikafka.lab.stage.workbench import scratch
    from minikafka.witness.log_dir.one_log_manager import OneLogManager

    one = OneLogManager(manager_maker(factory), scratch("disks"), names, {})
    try:
        yield one
    finally:
        one.kill()


def after_lines(factory: Any, lines: str) -> Any:
    """What a log manager makes of what `lines` do to a log directory."""
    from minikafka.lab.stage.workbench import scratch
    from minikafka.witness.log_dir.run import run_log_dir
    from minikafka.witness.log_dir.workload import LogDirWorkload

    return run_log_dir(LogDirWorkload.parse(lines), manager_maker(factory), scratch("disk"))
