"""What tests of `minikafka spark` share."""

import pytest
from click.testing import CliRunner

from minikafka.cli import main


@pytest.fixture
def on_the_session(spark, monkeypatch):
    """Run a command in this process, on the session of the tests, which goes on."""
    monkeypatch.setattr("minikafka.spark.jobs.job_session.job_session", lambda *_: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    return lambda *arguments: CliRunner().invoke(main, ["spark", *map(str, arguments)])
