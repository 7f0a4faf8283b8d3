"""`minikafka source-map`, `minikafka coverage` and `minikafka drift`."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from minikafka.common.draft_file import draft_of
from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.tools.tool_command import ToolCommand
from minikafka.twins.coverage import Coverage, storage_coverage
from minikafka.twins.drift import Comparison, Drift, compare
from minikafka.twins.kafka_sources import KafkaSources, kafka_table
from minikafka.twins.our_members import our_members
from minikafka.twins.source_map import Pair, as_data, as_page
from minikafka.twins.source_map import source_map as map_of

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("source-map", cls=ToolCommand, failure_exit_code=2, context_settings=_SETTINGS)
@click.argument("text", default="")
@_AS_JSON
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Write a page to FILE instead.")
def source_map(text: str, as_json: bool, page: Path | None) -> None:
    """Print each public class and method, with the lines of Kafka's source that it mirrors; of all or of those whose
    names, ours or Kafka's, contain TEXT.
    """
    wanted = text.lower()
    pairs = [pair for pair in map_of(kafka_table(), our_members()) if wanted in _names(pair)]
    if page is not None:
        with draft_of(page) as draft:
            draft.write(as_page(pairs, KAFKA_VERSION).encode())
        click.echo(f"{len(pairs)} rows in {page}")
    elif as_json:
        click.echo(json.dumps(as_data(pairs)))
    else:
        for pair in pairs:
            click.echo(f"{pair.ours.full_name}  ({pair.ours.file}:{pair.ours.line})")
            for twin in pair.twins:
                click.echo(f"    {twin.name}" + (f"  ({twin.file}:{twin.line})" if twin.file else ""))
    if not pairs:
        click.echo(f"nothing has {text!r} in its name", err=True)
        sys.exit(1)


@click.command(cls=ToolCommand, failure_exit_code=2, context_settings=_SETTINGS)
@_AS_JSON
@click.option("--methods", is_flag=True, help="A line for each public method, too.")
def coverage(as_json: bool, methods: bool) -> None:
    """Print each class of Kafka's storage module: mirrored by what, or left out, and why."""
    rows = storage_coverage(kafka_table(), our_members())
    if as_json:
        click.echo(json.dumps([_coverage_as_data(row) for row in rows]))
        return
    for row in rows:
        if methods or row.member is None:
            what = ", ".join(row.mirrored_by[:1]) if row.mirrored_by else f"left out: {row.why}"
            more = f" and {len(row.mirrored_by) - 1} more" if len(row.mirrored_by) > 1 else ""
            click.echo(f"{'    ' if row.member else ''}{row.name}: {what}{more}")
    click.echo(
        f"Kafka {KAFKA_VERSION}, storage module: {_share(rows, False)} classes, {_share(rows, True)} public methods"
    )


@click.command(cls=ToolCommand, failure_exit_code=2, context_settings=_SETTINGS)
@click.option("--kafka", "version", required=True, metavar="VERSION", help="The version to look at, such as 4.3.1.")
@click.option("--since", default=KAFKA_VERSION, show_default=True, metavar="VERSION", help="Compare with this one.")
@_AS_JSON
def drift(version: str, since: str, as_json: bool) -> None:
    """Say which classes and methods that minikafka mirrors differ between two versions of Kafka.

    The sources of both (6 MB each) come from the registry, once; then they are in the cache. Compared is all of a class
    that is mirrored as a whole, and of others the methods that are mirrored and what they use of their class. Comments
    and layout do not count. The exit code is 0 when nothing differs, 1 when something does, 2 when they cannot be
    compared.
    """
    found = compare(KafkaSources.of(since), KafkaSources.of(version), our_members())
    if as_json:
        click.echo(json.dumps(asdict(found)))
    else:
        _print(found)
    if found.drifts:
        sys.exit(1)


def _names(pair: Pair) -> str:
    return " ".join([pair.ours.full_name, *(twin.name for twin in pair.twins)]).lower()


def _coverage_as_data(row: Coverage) -> dict[str, object]:
    return {
        "name": row.full_name,
        "kind": "method" if row.member else row.owner.kind,
        "file": row.owner.file,
        "line": row.line,
        "mirrored_by": row.mirrored_by,
        "why": row.why,
    }


def _share(rows: list[Coverage], methods: bool) -> str:
    of_kind = [row for row in rows if (row.member is not None) == methods]
    return f"{sum(bool(row.mirrored_by) for row in of_kind)} of {len(of_kind)}"


def _print(found: Comparison) -> None:
    for each in found.drifts:
        click.echo(f"{each.what:9} {each.name}{_now(each)}  ({each.file}:{each.line})")
        more = f" and {len(each.mirrored_by) - 1} more" if len(each.mirrored_by) > 1 else ""
        click.echo(f"{'':9} {each.mirrored_by[0]}{more}")
    counts = [f"{_count(found, what)} {what}" for what in dict.fromkeys(each.what for each in found.drifts)]
    click.echo(
        f"Kafka {found.since} → {found.version}: {', '.join(counts) or 'no difference'} "
        f"in {found.classes} classes and {found.members} members that minikafka mirrors"
    )


def _now(each: Drift) -> str:
    return f" → {each.now}" if each.now and each.now != each.file else ""


def _count(found: Comparison, what: str) -> int:
    return sum(each.what == what for each in found.drifts)
