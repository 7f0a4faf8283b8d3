"""Drawn requests to Kafka's own KafkaApis and to ours: `python -m tests.slow.fuzz.fuzz_requests --minutes 10`.

Each seed draws requests of what a broker answers by itself, with a clock that stands still; sequences of fetches in
sessions; and requests of all APIs to a whole broker over sockets, where topics come and go. The first answer that
differs is printed, with the seed that leads to it again.
"""

import argparse
import logging
import sys
import tempfile
import time
import traceback
from pathlib import Path

from minikafka.jvm.kafka_jvm import KafkaJvm
from tests.broker.both_sides import BothSides
from tests.broker.test_against_kafka import compare_drawn_requests
from tests.broker.test_fetch_sessions_against_kafka import SLOTS, STEPS, compare_drawn_sessions
from tests.slow.kafka_broker import both_brokers, drawn_requests

REQUESTS = 1000
"""How many requests a seed draws for each kind of brokers."""

A_SEED = 2 * REQUESTS + STEPS


def compare(kafka: KafkaJvm, seed: int, directory: Path) -> None:
    """All that a seed draws. Raises AssertionError for the first difference."""
    both = BothSides(kafka, directory / "requests")
    try:
        compare_drawn_requests(both, seed, REQUESTS)
    finally:
        both.close()
    compare_drawn_sessions(kafka, directory / "sessions", seed, SLOTS[seed % len(SLOTS)])
    with both_brokers.both_brokers(directory / "whole") as (kafkas, ours):
        whole = both_brokers.BothSides(kafkas.port, ours.endpoints[0].port)
        drawn_requests.compare_drawn_requests(whole, seed, REQUESTS)


def main(arguments: list[str] | None = None) -> int:
    """Draw requests until time is up or an answer differs; exit code 1 in that case."""
    parser = argparse.ArgumentParser(prog="python -m tests.slow.fuzz.fuzz_requests", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="begin no other seed after so many (default: 10)")
    parser.add_argument("--seed", type=int, default=None, help="the first seed (default: from the clock)")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)  # refused requests tell much
    first = number = int(time.time()) if options.seed is None else options.seed
    begun = time.monotonic()
    kafka, differs = KafkaJvm.start(), False
    while not differs and (number == first or time.monotonic() - begun < options.minutes * 60):
        with tempfile.TemporaryDirectory() as directory:
            try:
                compare(kafka, number, Path(directory))
                number += 1
            except Exception:  # whatever tells that something is not as Kafka has it
                traceback.print_exc()
                print(f"\n--seed {number}", flush=True)
                differs = True
    kafka.close()
    told = "an answer differs" if differs else "every answer is Kafka's"
    print(f"about {A_SEED * (number - first)} requests, {told}, {time.monotonic() - begun:.0f} s")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
