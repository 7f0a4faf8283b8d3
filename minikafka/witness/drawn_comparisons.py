"""Workloads drawn and compared, one after the other, for as long as wanted: the command lines of `make fuzz` and
`make fuzz-replicas`.
"""

import argparse
import itertools
import logging
import math
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.jvm.kafka_jvm import KafkaJvm


@dataclass
class Tally:
    """How far a run has got: `operations` compared and `differences` found in `seconds`."""

    operations: int = 0
    differences: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """The seconds since the run began."""
        return time.monotonic() - self.started

    def __str__(self) -> str:
        return f"{self.operations} operations, {self.differences} differences"


class Judgement(NamedTuple):
    """What the comparison of one workload has shown: how many operations were compared, and what differed."""

    operations: int
    difference: Any = None


def drawn_workloads(
    profiles: Collection[str], draw: Callable[[str, int, int], Any], first_seed: int, size: int
) -> Iterator[tuple[str, int, Any]]:
    """Workloads without end, with profile and seed: each profile in turn, a new seed for each."""
    for seed, profile in zip(itertools.count(first_seed), itertools.cycle(profiles)):
        yield profile, seed, draw(profile, seed, size)


def compare_drawn_workloads(
    module: str,
    description: str,
    profiles: Collection[str],
    draw: Callable[[str, int, int], Any],
    judge: Callable[[KafkaJvm, Any], Judgement],
    *,
    size: int,
    arguments: list[str] | None = None,
) -> int:
    """Compare drawn workloads until time or operations are used up, or until stopped; exit code 1 when any differed.

    `draw(profile, seed, size)` makes a workload, `judge(kafka, workload)` compares it; `size` is that of a workload
    unless `arguments` (default: the process's own) say otherwise.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--minutes", type=float, help="stop after so many (default: 10, none with --operations)")
    parser.add_argument("--operations", type=int, help="stop after so many")
    parser.add_argument("--seed", type=int, default=None, help="the first seed (default: from the clock)")
    parser.add_argument("--size", type=int, default=size, help="operations in a workload")
    parser.add_argument("--profile", choices=profiles, help="repeat one workload: this profile with --seed")
    parser.add_argument("--differences", type=int, default=3, help="stop after so many")
    options = parser.parse_args(arguments)
    if options.minutes is None:
        options.minutes = math.inf if options.operations else 10
    logging.getLogger("minikafka").setLevel(logging.CRITICAL)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed = int(time.time()) if options.seed is None else options.seed
    drawn = drawn_workloads(profiles, draw, seed, options.size)
    if options.profile:
        drawn = iter([(options.profile, seed, draw(options.profile, seed, options.size))])
    tally = Tally()
    try:
        _compare_all(drawn, judge, options, tally)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    print(tally, flush=True)
    return 1 if tally.differences else 0


def _compare_all(
    drawn: Iterator[tuple[str, int, Any]],
    judge: Callable[[KafkaJvm, Any], Judgement],
    options: argparse.Namespace,
    tally: Tally,
) -> None:
    """Compare as the options say, with a line a minute on stderr."""
    kafka = KafkaJvm.start()
    minutes = 0
    for profile, seed, workload in drawn:
        if tally.seconds > options.minutes * 60 or tally.differences >= options.differences:
            break
        if options.operations and tally.operations >= options.operations:
            break
        operations, difference = judge(kafka, workload)
        if difference is not None:
            tally.differences += 1
            print(f"\n--profile '{profile}' --seed {seed} --size {options.size}\n{difference}", flush=True)
        tally.operations += operations
        if tally.seconds >= (minutes + 1) * 60:
            minutes = int(tally.seconds // 60)
            print(f"{minutes} min: {tally}", file=sys.stderr, flush=True)
    kafka.close()
