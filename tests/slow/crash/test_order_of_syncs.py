"""minikafka does to its disk what Apache Kafka was seen doing, in the same order: kafka_syncs.txt says what that
was.
"""

from pathlib import Path

import pytest

from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from tests.slow.crash.disk_effects import listed, noted_effects, read_scenarios
from tests.slow.crash.steps import perform

SCENARIOS = {
    scenario.name: scenario for scenario in read_scenarios(Path(__file__).with_name("kafka_syncs.txt").read_text())
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_disk_sees_what_it_sees_of_kafka(tmp_path, name):
    scenario = SCENARIOS[name]
    runner = Runner(minikafka_log, tmp_path / "topic-0", Workload(config=scenario.config))
    for number, (line, effects) in enumerate(scenario.steps):
        with noted_effects(runner.directory) as ours:
            perform(runner, line)
        assert listed(line, ours) == effects, f"step {number}: {line}"
    runner.let_go()
