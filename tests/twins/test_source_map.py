"""Ours beside Kafka's, as lines, as data and as a page."""

import json
import re
import resource

from click.testing import CliRunner

from minikafka.cli.twins import coverage, source_map
from minikafka.jvm.kafka_jars import KAFKA_VERSION

VERSION = re.escape(KAFKA_VERSION)


def test_a_name_leads_to_the_lines_of_kafka():
    told = CliRunner().invoke(source_map, ["Log.append_as_leader", "--json"])
    (pair,) = json.loads(told.stdout)
    assert (pair["name"], pair["kind"]) == ("minikafka.log.log.Log.append_as_leader", "method")
    assert {twin["name"].partition("(")[0].rpartition(".")[2] for twin in pair["twins"]} == {"appendAsLeader"}
    assert re.fullmatch(
        rf"https://github\.com/apache/kafka/blob/{VERSION}/storage/src/main/java/.*/UnifiedLog\.java#L\d+",
        pair["twins"][0]["address"],
    )


def test_kafkas_names_are_found_too():
    lines = CliRunner().invoke(source_map, ["maybeIncrementHighWatermark"]).stdout.splitlines()
    assert lines[0].startswith("minikafka.log.log.Log.maybe_increment_high_watermark  (minikafka/log/log.py:")


def test_a_name_that_nothing_has():
    told = CliRunner().invoke(source_map, ["nosuchname"])
    assert (told.exit_code, told.stdout, told.stderr) == (1, "", "nothing has 'nosuchname' in its name\n")


def test_the_page_stands_alone(tmp_path):
    page = tmp_path / "map.html"
    assert CliRunner().invoke(source_map, ["--html", str(page)]).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    assert not re.search(r"<(?:link|img|script)[^>]*(?:src|href)=", text)
    assert (
        '<code title="minikafka/log/log.py:' in text and "UnifiedLog.appendAsLeader(MemoryRecords, int)</code>" in text
    )


def test_a_page_that_cannot_be_written(tmp_path):
    told = CliRunner().invoke(source_map, ["--html", str(tmp_path / "none" / "map.html")])
    assert told.exit_code == 2 and told.stderr.startswith("NoSuchFileException: ")


def test_a_page_stays_whole_where_the_new_one_cannot_be_written(tmp_path):
    page = tmp_path / "map.html"
    page.write_text("the old one")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        told = CliRunner().invoke(source_map, ["--html", str(page)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert told.exit_code == 2 and [each.name for each in tmp_path.iterdir()] == ["map.html"]
    assert page.read_text() == "the old one"


def test_coverage_ends_with_its_sums():
    lines = CliRunner().invoke(coverage, []).stdout.splitlines()
    assert re.fullmatch(rf"Kafka {VERSION}, storage module: \d+ of \d+ classes, \d+ of \d+ public methods", lines[-1])
    assert any(line.startswith("UnifiedLog: minikafka.log.log.Log") for line in lines)
    assert any(line.startswith("RemoteIndexCache: left out: Remote") for line in lines)
    rows = json.loads(CliRunner().invoke(coverage, ["--json"]).stdout)
    assert all(row["mirrored_by"] or row["why"] for row in rows)
