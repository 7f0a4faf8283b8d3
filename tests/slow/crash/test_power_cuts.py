"""The power fails: bytes that were not flushed are lost, file by file, and names that were not synced are lost, too.

What is done are the scenarios of kafka_syncs.txt and drawn workloads, by minikafka and by Apache Kafka. A drawn part
of what was not synced is gone afterwards; what is left is opened by both engines, which must end equal: the same log,
the same exceptions, the same files. `--disk-states` says how many disk states of each are opened, `--seed` which.
"""

import random
from contextlib import nullcontext, suppress
from pathlib import Path
from unittest import mock

import pytest

from minikafka.common import file_ops
from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.differ import PROFILES, draw
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from tests.slow.crash.disk_effects import noted_effects, read_scenarios
from tests.slow.crash.disk_states import batches, look, open_both, put
from tests.slow.crash.simulated_disk import SimulatedDisk
from tests.slow.crash.steps import perform

SCENARIOS = {
    scenario.name: scenario
    for scenario in read_scenarios(Path(__file__).with_name("kafka_syncs.txt").read_text())
    if scenario.name != "meta.properties"  # it says when it was written, and nothing of a log
}
BY_HAND = ("vanish", "tear", "overflow", "swap", "litter")  # steps that lay out files, all of them on the device


pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.in_parts(4)
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_a_power_cut_leaves_of_minikafka(kafka, two_live_logs, cuts, name):
    logs, scenario = two_live_logs(), SCENARIOS[name]
    runner = Runner(minikafka_log, home(logs) / "topic-0", Workload(config=scenario.config))
    power_cuts = PowerCuts(runner, random.Random(f"{cuts.seed} {name}"))
    for line, _ in scenario.steps:
        power_cuts.do(line)
    power_cuts.open_some(kafka, logs, cuts.disk_states)


@pytest.mark.in_parts(4)
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_a_power_cut_leaves_of_kafka(kafka, two_live_logs, cuts, name):
    logs, scenario = two_live_logs(), SCENARIOS[name]
    runner = Runner(kafka_log(kafka), home(logs) / "topic-0", Workload(config=scenario.config))
    power_cuts = PowerCuts(runner, random.Random(f"{cuts.seed} {name}"))
    for line, effects in scenario.steps:
        power_cuts.do_with(line, effects)
    possible = killed_after_each_effect(scenario, home(logs).with_name("minikafkas") / "topic-0")
    killed = [(when, disk_state) for when, disk_state, _ in power_cuts.disk_states if when.startswith("killed")]
    assert killed and not [when for when, disk_state in killed if disk_state not in possible]
    power_cuts.open_some(kafka, logs, cuts.disk_states)


@pytest.mark.in_parts(4)
@pytest.mark.parametrize("profile", PROFILES)
def test_what_a_power_cut_leaves_of_a_drawn_workload(kafka, two_live_logs, cuts, profile):
    """Kafka does the same beside minikafka, whose effects tell what its disk was made sure of: theirs are the same."""
    logs, workload = two_live_logs(), draw(profile, cuts.seed, 40)
    directories = home(logs) / "minikafka" / "topic-0", home(logs) / "kafka" / "topic-0"
    ours, theirs = (
        PowerCuts(Runner(factory, directory, workload), random.Random(cuts.seed), may_fail=True)
        for factory, directory in zip((minikafka_log, kafka_log(kafka)), directories, strict=True)
    )
    for operation in workload:
        line = "write_checkpoints" if operation.kind == "checkpoint" else str(operation)
        theirs.do_with(line, ours.do(line))
    ours.open_some(kafka, logs, cuts.disk_states)
    theirs.open_some(kafka, logs, cuts.disk_states)


def test_a_truncation_of_which_the_names_are_lost_leaves_offsets_twice(kafka, two_live_logs):
    """Kafka syncs no directory after it has renamed what it cut off, so the files may come back, beside new records."""
    logs = two_live_logs()
    runner = Runner(minikafka_log, home(logs) / "topic-0", Workload(config=SCENARIOS["truncation"].config))
    for _ in range(3):
        perform(runner, "append_as_leader leader_epoch=1 [3x60]")
    perform(runner, "flush")
    before = look(home(logs))
    perform(runner, "truncate_to 3")
    perform(runner, "append_as_follower leader_epoch=1 [4x30 leader_epoch=1]")
    after = {name: data for name, data in look(home(logs)).items() if not name.endswith(".deleted")}
    runner.let_go()
    put({**before, **after}, home(logs))
    _, opened = open_both(kafka, logs, home(logs), runner.config, runner.time.milliseconds())
    assert sorted(batch[:2] for batch in opened) == [(0, 3), (3, 7), (6, 9)]


def test_a_flush_that_was_due_before_a_truncation_makes_the_recovery_point_promise_too_much(two_live_logs):
    logs = two_live_logs()
    logs.do("append_as_leader [3x60]", "append_as_leader [3x60]", "roll", "truncate_to 3")
    flushed = logs.do("tick 0")
    assert (flushed.recovery_point, flushed.log_end_offset) == (6, 3)
    never_flushed = logs.do("append_as_leader [1x10]")
    assert (never_flushed.recovery_point, never_flushed.log_end_offset) == (4, 4)


def killed_after_each_effect(scenario, directory):
    """All disk states that minikafka leaves when it is killed during this scenario."""
    runner = Runner(minikafka_log, directory, Workload(config=scenario.config))
    disk_states = [look(directory.parent)]
    for line, _ in scenario.steps:
        with file_ops.observe(lambda operation, path: disk_states.append(look(directory.parent))):
            perform(runner, line)
        disk_states.append(look(directory.parent))
    runner.let_go()
    return disk_states


def home(logs):
    """A log directory beside those of `logs`."""
    return logs.directories[0].parents[1] / "before"


class PowerCuts:
    """Disk states that a power cut may leave while steps are done, drawn after each effect, no two alike.

    `disk_states`: (when, disk state, batches that must survive). What is between the log start and the recovery
    point must, but where Kafka keeps no promise either:

    - The changes of names reach the device in no order.
    - A flush that was due before a truncation has raised the recovery point beyond the log's end: the next append lies
      below it.
    - A higher log start has raised the recovery point over records that were not flushed. They may be torn, and
      recovery from a checkpoint below deletes all that follows.
    - Segments are preallocated. A roll cuts a flushed one, but does not sync the cut; recovery does the same there.

    `may_fail`: the log may refuse an operation.
    """

    def __init__(self, runner: Runner, rng: random.Random, may_fail: bool = False):
        self.runner = runner
        self.may_fail = may_fail
        self.rng = rng
        self.log_dir = runner.directory.parent
        self.disk = SimulatedDisk(self.log_dir)
        self.disk_states = []
        self._seen = set()
        self._flushed_range = None
        self._flushed = set()
        self._no_promise = runner.config.get("preallocate") == "true"

    def do(self, line: str) -> list[str]:
        """Let minikafka's log do `line`; the power may fail after each of its effects, which are returned."""

        def after(operation, path):
            self.disk.effect(operation, path)
            self._draw(f"within {line}, after {operation} of {Path(path).name}", 1)

        with noted_effects(self.runner.directory, after) as effects:
            self._do(line)
        return effects

    def do_with(self, line: str, effects: list[str]) -> None:
        """Let Kafka's log do `line`, which has these effects; the power may fail after the last of them.

        Within them it may be killed: whenever it asks for the time, its directory is looked at.
        """

        def look_first(ask):
            def asked():
                self._note(f"killed within {line}", look(self.log_dir), self._flushed)
                return ask()

            return asked

        clock = self.runner.time
        asking = {name: look_first(getattr(clock, name)) for name in ("milliseconds", "hi_res_clock_ms")}
        with mock.patch.multiple(clock, **asking):
            self._do(line)
        if line not in BY_HAND:
            self.disk.effects(effects, self.runner.directory)
        self._draw(f"after {line}", 4)
        self._note(f"killed after {line}", look(self.log_dir), self._promised())

    def open_some(self, kafka, logs, most: int) -> None:
        """Let the log go, open at most `most` of the disk states with both engines, and demand that they end equal."""
        kept = batches(self.runner.directory)
        now_ms = self.runner.time.milliseconds()
        self.runner.let_go()
        stopped = home(logs).with_name("stopped")
        for when, disk_state, must_survive in self.rng.sample(self.disk_states, min(most, len(self.disk_states))):
            put(disk_state, stopped)
            try:
                observation, opened = open_both(kafka, logs, stopped, self.runner.config, now_ms)
            except AssertionError as difference:
                raise AssertionError(f"{when}: {difference}") from None
            # Some disk states Kafka does not open, as a segment without an index behind one that ends with zeros.
            assert observation.error or must_survive & kept <= opened, f"{when}: flushed records are lost"

    def _do(self, line: str) -> None:
        before = self.runner.log and self.runner.log.recovery_point
        with suppress(Exception) if self.may_fail else nullcontext():
            perform(self.runner, line)
        if line in BY_HAND:
            self.disk = SimulatedDisk(self.log_dir)
        if log := self.runner.log:
            self._no_promise |= log.recovery_point > log.log_end_offset
            self._no_promise |= line.startswith("maybe_increment_log_start") and log.recovery_point != before

    def _draw(self, when: str, times: int) -> None:
        for in_order in (True, False) * times:
            order = "in order" if in_order else "in no order"
            disk_state = self.disk.cut(self.rng, in_order=in_order)
            self._note(f"power cut {when}, names {order}", disk_state, self._promised() if in_order else set())

    def _note(self, when: str, disk_state: dict[str, bytes], must_survive: set) -> None:
        key = hash(tuple(sorted(disk_state.items())))
        if key not in self._seen:
            self._seen.add(key)
            self.disk_states.append((when, disk_state, must_survive))

    def _promised(self) -> set:
        """The batches between the log start and the recovery point."""
        log = self.runner.log
        if self._no_promise:
            return set()
        if log is not None and (log.log_start_offset, log.recovery_point) != self._flushed_range:
            start, end = self._flushed_range = log.log_start_offset, log.recovery_point
            self._flushed = {batch for batch in batches(self.runner.directory) if start < batch[1] <= end}
        return self._flushed
