"""Our public classes and methods beside their twins in Kafka, as data and as a page."""

import html
from collections.abc import Iterable
from dataclasses import dataclass

from minikafka.twins.kafka_sources import KafkaTable
from minikafka.twins.our_members import OurMember
from minikafka.twins.resolve import resolve, stands_elsewhere
from minikafka.twins.twin_name import TwinName


@dataclass(frozen=True)
class Twin:
    """A member of Kafka's: `name` with the package and, for a method, the parameters; file and line, from 1, in Kafka's
    repository at `version`. What stands elsewhere (the JDK's, Scala's) has its name alone: "", 0 and "".
    """

    name: str
    file: str
    line: int
    version: str

    @property
    def address(self) -> str:
        """Where to read it; "" for what stands elsewhere."""
        return f"https://github.com/apache/kafka/blob/{self.version}/{self.file}#L{self.line}" if self.file else ""


@dataclass(frozen=True)
class Pair:
    """One of ours with its twins: several where it does the work of several, or stands for overloads."""

    ours: OurMember
    twins: tuple[Twin, ...]


def source_map(table: KafkaTable, ours: Iterable[OurMember]) -> list[Pair]:
    """A pair for each public member of ours, in their order; attributes only where Kafka has their name."""
    pairs = [Pair(mine, _twins(mine, table)) for mine in ours if mine.public]
    return [pair for pair in pairs if pair.twins or pair.ours.kind != "attribute"]


def as_data(pairs: Iterable[Pair]) -> list[dict[str, object]]:
    """The map as JSON takes it."""
    return [
        {
            "name": pair.ours.full_name,
            "kind": pair.ours.kind,
            "file": pair.ours.file,
            "line": pair.ours.line,
            "summary": pair.ours.summary,
            "twins": [vars(twin) | {"address": twin.address} for twin in pair.twins],
        }
        for pair in pairs
    ]


def as_page(pairs: Iterable[Pair], version: str) -> str:
    """The map as one page of HTML that needs nothing else; a field above the table filters its rows."""
    rows = "\n".join(map(_row, pairs))
    return _PAGE.replace("@VERSION", html.escape(version)).replace("@ROWS", rows)


def _twins(mine: OurMember, table: KafkaTable) -> tuple[Twin, ...]:
    found: dict[Twin, None] = {}
    for name in mine.twins:
        for twin in _found(name, table):
            found[twin] = None
    return tuple(found)


def _found(name: TwinName, table: KafkaTable) -> list[Twin]:
    if stands_elsewhere(name):
        return [Twin(str(name), "", 0, "")]
    return [
        Twin(
            f"{owner.full_name}.{member.signature}" if member else owner.full_name,
            owner.file,
            member.line if member else owner.line,
            table.version,
        )
        for owner, member in resolve(name, table)
    ]


def _row(pair: Pair) -> str:
    ours, theirs = html.escape(pair.ours.full_name), "<br>".join(map(_link, pair.twins)) or "–"
    told = f"<p>{html.escape(pair.ours.summary)}</p>" if pair.ours.summary else ""
    where = html.escape(f"{pair.ours.file}:{pair.ours.line}")
    return f'<tr class="{pair.ours.kind}"><td><code title="{where}">{ours}</code>{told}</td><td>{theirs}</td></tr>'


def _link(twin: Twin) -> str:
    package, _, name = _split(twin.name)
    shown = f"<small>{html.escape(package)}</small><code>{html.escape(name)}</code>"
    return f'<a href="{html.escape(twin.address)}">{shown}</a>' if twin.address else shown


def _split(name: str) -> tuple[str, str, str]:
    """(package with its last dot, "", the rest)."""
    parts = name.split(".")
    first = next((at for at, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    package = ".".join(parts[:first])
    return (f"{package}." if package else "", "", ".".join(parts[first:]))


_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>minikafka beside Apache Kafka @VERSION</title>
<style>
:root { color-scheme: light dark; --line: light-dark(#d8d8d8, #444); --quiet: light-dark(#5c5c5c, #a8a8a8); }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 75rem; padding: 0 1rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .4rem .6rem; margin: .8rem 0; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
tr.class code { font-weight: 600; }
td p { margin: .1rem 0 0; color: var(--quiet); }
small { color: var(--quiet); }
a { color: light-dark(#0b57d0, #8ab4f8); }
</style>
<h1>minikafka beside Apache Kafka @VERSION</h1>
<p>Each public class and method of minikafka, and the lines of Kafka's source that it mirrors.</p>
<label for="filter">Show what contains</label>
<input id="filter" type="search" placeholder="append, UnifiedLog, high_watermark …">
<p id="count" role="status"></p>
<table>
<thead><tr><th scope="col">minikafka</th><th scope="col">Apache Kafka</th></tr></thead>
<tbody>
@ROWS
</tbody>
</table>
<script>
const rows = [...document.querySelectorAll("tbody tr")], filter = document.getElementById("filter");
const texts = rows.map(row => row.textContent.toLowerCase());
function show() {
  const wanted = filter.value.toLowerCase();
  let shown = 0;
  rows.forEach((row, at) => { row.hidden = !texts[at].includes(wanted); shown += !row.hidden; });
  document.getElementById("count").textContent = `${shown} of ${rows.length} rows`;
}
filter.addEventListener("input", show);
show();
</script>
</html>
"""
