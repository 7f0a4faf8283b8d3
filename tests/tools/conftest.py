"""Runs Kafka's dump tool inside the tests' JVM and minikafka's in this process, so that a comparison takes
milliseconds.
"""

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from tests.tools.kafkas_dump import Dump, KafkasDump


def dump_with_minikafka(*arguments: str) -> Dump:
    """`minikafka dump-log` with these arguments; a traceback is an error of the test."""
    result = CliRunner().invoke(main, ["dump-log", *arguments], catch_exceptions=False)
    return Dump(result.stdout_bytes, result.stderr, result.exit_code != 0)


@pytest.fixture(scope="module")
def kafkas_dump(kafka):
    return KafkasDump(kafka)


@pytest.fixture(scope="session")
def our_dump():
    return dump_with_minikafka
