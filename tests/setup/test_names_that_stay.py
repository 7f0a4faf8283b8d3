"""What others use by its name stays: names of the package, commands with their options, exit codes and JSON, and of the
data source options, tables and columns.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest
from click.testing import CliRunner

import minikafka
from minikafka.cli import main
from minikafka.lab.course.places import COURSE
from minikafka.spark.sink import sink_options
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.known_options import IGNORED_OPTIONS, SOURCE_OPTIONS
from minikafka.spark.source.tables import TABLES

LIST = Path(__file__).parent / "names_that_stay.txt"
SOUND = COURSE / "data" / "orders-0"


def names() -> Iterator[str]:
    yield from (f"from minikafka import {name}" for name in minikafka.__all__)
    yield from _options_of(main, ("minikafka",))
    yield from _told("ls", SOUND.parent)
    yield from _told("verify", SOUND)
    with TemporaryDirectory() as place:
        damaged = shutil.copytree(SOUND, Path(place, SOUND.name))
        segment = damaged / f"{0:020}.log"
        segment.write_bytes(segment.read_bytes()[:-1] + b"!")
        yield from _told("verify", damaged, about="what is damaged")
    yield from _told("recover", SOUND, "--dry-run")
    yield from _told("clean", SOUND, "--dry-run")
    yield f"minikafka ls without a directory: exit code {CliRunner().invoke(main, ['ls']).exit_code}"
    yield from (f"spark.read.option({name})" for name in (*SOURCE_OPTIONS, *IGNORED_OPTIONS))
    yield from (f"df.write.option({name})" for name in sink_options._OPTIONS)
    for table in ("records", *TABLES):
        for column in KafkaLogDataSource({"path": ".", "table": table}).schema().fieldNames():
            yield f"spark.read.option(table, {table}): {column}"


def _options_of(command: click.Command, words: tuple[str, ...]) -> Iterator[str]:
    yield " ".join(words)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _options_of(command.get_command(context, name), (*words, name))
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from (" ".join((*words, name)) for name in (*parameter.opts, *parameter.secondary_opts))


def _told(command: str, *arguments: str | Path, about: str = "what is sound") -> Iterator[str]:
    """The exit code and the names in the JSON of a command."""
    done = CliRunner().invoke(main, [command, *map(str, arguments), "--json"])
    named = f"minikafka {command} --json, of {about}"
    yield f"{named}: exit code {done.exit_code}"
    yield from (f"{named}: {name}" for name in _keys_of(json.loads(done.stdout)))


def _keys_of(told: object, before: str = "") -> Iterator[str]:
    if isinstance(told, dict):
        for name, value in told.items():
            yield f"{before}{name}"
            yield from _keys_of(value, f"{before}{name}.")
    elif isinstance(told, list) and told:
        yield from _keys_of(told[0], before)


@pytest.mark.slow
def test_no_name_that_others_use_goes_away_and_a_new_one_is_written_down():
    assert sorted(set(names())) == LIST.read_text(encoding="utf-8").splitlines()
