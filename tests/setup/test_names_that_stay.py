"""What others use by its name stays: the names of the package, the commands and their options."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import minikafka
from minikafka.cli import main

LIST = Path(__file__).parent / "names_that_stay.txt"


def names() -> Iterator[str]:
    yield from (f"from minikafka import {name}" for name in minikafka.__all__)
    yield from _options_of(main, ("minikafka",))


def _options_of(command: click.Command, words: tuple[str, ...]) -> Iterator[str]:
    yield " ".join(words)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _options_of(command.get_command(context, name), (*words, name))
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from (" ".join((*words, name)) for name in (*parameter.opts, *parameter.secondary_opts))


@pytest.mark.slow
def test_no_name_that_others_use_goes_away_and_a_new_one_is_written_down():
    assert sorted(names()) == LIST.read_text(encoding="utf-8").splitlines()
