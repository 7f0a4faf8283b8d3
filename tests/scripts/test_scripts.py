"""minikafka replays what Kafka once showed, without a JVM; and Kafka, where it is there, shows it still."""

import pytest

from minikafka.witness.log.run import minikafka_log
from tests.scripts import effects
from tests.scripts.effects import SCRIPTS, OneLog, load, play


@pytest.mark.parametrize("name", SCRIPTS)
def test_minikafka_does_what_kafka_did(name, tmp_path):
    script, text = load(name)
    assert play(script, OneLog(minikafka_log, tmp_path / "topic-0", script.workload)).splitlines() == text.splitlines()


@pytest.mark.parametrize("name", SCRIPTS)
def test_kafka_was_asked_this(name):
    script, text = load(name)
    assert text.splitlines()[-1] == script.asked, "run `make scripts`: Kafka was asked something else, or another Kafka"


def test_a_script_that_was_changed_and_another_kafka_are_noticed(monkeypatch):
    script, text = load(SCRIPTS[0])
    changed = [
        script._replace(lines=script.lines[:-1]),
        script._replace(head=(*script.head, "config retention.ms=1")),
        script._replace(lines=(*script.lines[:-2], *reversed(script.lines[-2:]))),
    ]
    assert len({script.asked, *(each.asked for each in changed)}) == 4
    assert script._replace(head=("# another remark", *script.head)).asked == script.asked
    monkeypatch.setattr(effects, "KAFKA_VERSION", "4.4.0")
    assert script.asked != text.splitlines()[-1]


class Both:
    """minikafka's log and Kafka's, compared after each line: messages and every file, too."""

    def __init__(self, logs):
        self.logs = logs
        self.kill, self.change, self.directory = logs.kill, logs.change, logs.directories[1]

    def observe(self, line):
        return self.logs.do(line)


@pytest.mark.parametrize("name", SCRIPTS)
def test_kafka_does_it_still(name, two_live_logs):
    script, text = load(name)
    settings = {key.replace(".", "__"): value for key, value in script.workload.config.items()}
    assert play(script, Both(two_live_logs(**settings))).splitlines() == text.splitlines()


def test_a_script_ends_in_every_way():
    """Between them the scripts show each end of a load: a log that opens, and one that does not."""
    texts = [load(name)[1] for name in SCRIPTS]
    assert len(SCRIPTS) >= 15
    assert any("not open" in text for text in texts) and any("reopen clean=false" in text for text in texts)
