"""The command line, and the doctor's report."""

import pytest
from click.testing import CliRunner

from minikafka import __version__, cli
from minikafka.cli import doctor
from minikafka.jvm import kafka_jars


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(cli.main, arguments)


def test_the_version_is_the_packages(run):
    assert run("--version").output == f"minikafka, version {__version__}\n"


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_each_command_exists_and_has_help(run, name):
    result = run(name, "--help")
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")
    assert name in run("--help").output


def test_an_unknown_command_is_refused_by_name(run):
    result = run("no-such-command")
    assert result.exit_code == 2
    assert "no-such-command" in result.output


@pytest.mark.slow
def test_the_doctor_finds_all_that_the_tests_need(run):
    result = run("doctor")
    for what in (
        "Python",
        "core",
        "kernel",
        "Java",
        "Spark",
        "Kafka's jars",
        "Graphviz",
        "Jupyter",
        "widgets",
        "Chromium",
    ):
        assert any(line[9:].startswith(what) for line in result.output.splitlines()), what


def test_what_is_missing_is_named_with_one_thing_to_do(run, monkeypatch):
    missing = doctor.Finding("Java", "none", "install a JDK")
    monkeypatch.setattr(doctor, "examine", lambda: iter([doctor.Finding("Python", "3.11"), missing]))
    result = run("doctor")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "ok       Python       3.11",
        "MISSING  Java         none",
        "                      -> install a JDK",
    ]


def test_what_one_can_do_without_is_no_failure(run, monkeypatch):
    monkeypatch.setattr(
        doctor, "examine", lambda: iter([doctor.Finding("Chromium", "none", "install it", needed=False)])
    )
    result = run("doctor")
    assert result.exit_code == 0
    assert result.output.startswith("absent   Chromium")


def test_kafkas_jars_that_are_not_cached_are_a_finding(monkeypatch, tmp_path):
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    finding = next(finding for finding in doctor.examine() if finding.what == "Kafka's jars")
    assert finding.mark == "MISSING"
    assert "minikafka fetch" in finding.remedy


def test_another_jar_under_the_name_of_one_of_kafkas_is_a_finding(monkeypatch):
    monkeypatch.setattr(kafka_jars, "cached_classpath", lambda part: ["x.jar", __file__])
    finding = doctor._kafka_jars()
    assert finding.mark == "MISSING" and "x.jar is not the jar of that name" in finding.found


def test_a_check_that_breaks_is_a_finding(monkeypatch):
    def _java():
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(doctor, "_java", _java)
    finding = next(finding for finding in doctor.examine() if finding.what == "java")
    assert finding.found == "RuntimeError: unforeseen"
