"""Drawn steps of three replicas, for as long as there is time: `python -m tests.slow.fuzz.fuzz_promises --minutes 10`.

Each seed draws a hundred examples. Where a promise of `tests.slow.replication.replication_machine.Replication` is
broken, the shortest such example is printed, and the seed that leads to it again.
"""

import argparse
import logging
import sys
import time
import traceback

from hypothesis import Phase, seed
from hypothesis.stateful import run_state_machine_as_test

from tests.slow.replication.replication_machine import Replication, examples

EXAMPLES = 100
"""How many examples a seed draws."""


def main(arguments: list[str] | None = None) -> int:
    """Draw examples until time is up or a promise is broken; exit code 1 in that case."""
    parser = argparse.ArgumentParser(prog="python -m tests.slow.fuzz.fuzz_promises", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="begin no other seed after so many (default: 10)")
    parser.add_argument("--seed", type=int, default=None, help="the first seed (default: from the clock)")
    parser.add_argument("--steps", type=int, default=40, help="steps in an example")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)  # brokers that die tell much
    first = number = int(time.time()) if options.seed is None else options.seed
    begun = time.monotonic()
    broken = False
    while not broken and time.monotonic() - begun < options.minutes * 60:
        try:
            shortest_too = [Phase.generate, Phase.shrink]
            drawn = examples(EXAMPLES, options.steps, derandomize=False, phases=shortest_too)
            run_state_machine_as_test(seed(number)(Replication), settings=drawn)
            number += 1
        except Exception:  # whatever an example ends in that it should not
            traceback.print_exc()
            print(f"\n--seed {number} --steps {options.steps}", flush=True)
            broken = True
    print(
        f"{EXAMPLES * (number - first)} examples of three replicas, {Replication.acknowledged} requests acknowledged, "
        f"{'a promise was broken' if broken else 'every promise kept'}, {time.monotonic() - begun:.0f} s"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
