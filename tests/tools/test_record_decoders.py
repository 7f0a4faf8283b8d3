"""The records of Kafka's internal topics are printed as Kafka's dump tool prints them, whole and damaged ones."""

import re

import pytest

from minikafka.messages.message_tables import message_schemas
from minikafka.messages.versions import Versions
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.tools.dump_log.java_json import java_double, java_json
from tests.tools import make_message_tables
from tests.tools.drawn_messages import MessageDrawer, varint

COORDINATORS = {
    "--offsets-decoder": "consumer-offsets",
    "--transaction-log-decoder": "transaction-state",
    "--share-group-state-decoder": "share-group-state",
}
FRAMED = {"--cluster-metadata-decoder": "cluster-metadata", "--remote-log-metadata-decoder": "remote-log-metadata"}
DRAWS = 12
"""Of each message in each version."""


@pytest.fixture
def same(kafkas_dump, our_dump, tmp_path):
    """Dumps a log of (key, value) records with both tools, demands the same lines, and returns them."""
    file = tmp_path / f"{0:020d}.log"

    def dump(records: list[tuple], *options: str) -> list[str]:
        written = [SimpleRecord(n, key, value) for n, (key, value) in enumerate(records)]
        file.write_bytes(bytes(MemoryRecords.with_records(CompressionType.NONE, *written, initial_offset=0).buffer))
        theirs, ours = (tool("--files", str(file), *options) for tool in (kafkas_dump, our_dump))
        our_lines, their_lines = (told.stdout.decode().splitlines() for told in (ours, theirs))
        for our_line, their_line in zip(our_lines, their_lines):
            assert our_line == their_line
        assert (ours.failed, len(our_lines)) == (theirs.failed, len(their_lines)), ours.stderr
        return our_lines

    return dump


@pytest.mark.parametrize("name", make_message_tables.SOURCES)
def test_the_tables_are_those_of_kafkas_jars(kafka, name):
    table = make_message_tables.Path(make_message_tables.message_tables.__file__).with_name("tables") / f"{name}.txt"
    assert table.read_text() == make_message_tables.table(name)


@pytest.mark.parametrize("option", COORDINATORS)
@pytest.mark.parametrize("damage", [False, True])
def test_records_of_coordinators(same, option, damage):
    drawer, records = MessageDrawer(1), []
    schemas = message_schemas(COORDINATORS[option])
    by_key = {schema.api_key: schema for name, schema in schemas.items() if name.endswith("Value")}
    for name, schema in schemas.items():
        if not name.endswith("Key"):
            continue
        value_schema = by_key[schema.api_key]
        for version in range(value_schema.versions.lowest, value_schema.versions.highest + 1):
            for _ in range(DRAWS):
                key = schema.api_key.to_bytes(2, "big") + drawer.message(schema.struct, 0, schema.versions)
                value = drawer.message(value_schema.struct, version, value_schema.versions)
                value = version.to_bytes(2, "big") + value
                if damage:
                    key = drawer.damaged(key) if drawer.draw.random() < 0.2 else key
                    value = drawer.damaged(value)
                records.append((key, value if drawer.draw.random() < 0.9 else None))
    lines = same(records, option)
    wrong = sum("skipping" in line for line in lines)
    assert wrong > len(records) / 5 if damage else wrong == 0
    assert any("<DELETE>" in line for line in lines)
    assert same(records, option, "--skip-record-metadata")[-1].startswith("| key: ")


@pytest.mark.parametrize("option", FRAMED)
@pytest.mark.parametrize("damage", [False, True])
def test_records_behind_a_frame(same, option, damage):
    drawer, records = MessageDrawer(2), []
    for schema in message_schemas(FRAMED[option]).values():
        for version in range(schema.versions.lowest, schema.versions.highest + 1):
            for _ in range(DRAWS):
                message = drawer.message(schema.struct, version, schema.versions)
                value = b"\1" + varint(schema.api_key) + varint(version) + message
                records.append((b"a key that nobody prints", drawer.damaged(value) if damage else value))
    lines = same(records, option)
    if damage or "remote" in option:
        assert any("skipping" in line for line in lines)
    else:
        assert not any("skipping" in line for line in lines)
    assert sum("payload: " in line for line in lines) == len(records)


def test_frames(same):
    records = [
        (None, None),
        (None, b""),
        (None, b"\0\2\0"),
        (None, b"\2\2\0"),
        (None, b"\1\xff\xff\x03\0"),
        (None, b"\1\xff\xff\xff\xff\x0f\0"),
        (None, b"\1\x80\x80\x80\x80\x80\x01\0"),
        (None, b"\1\2\xff\xff\xff\xff\x0f\2a" + bytes(17)),
        (None, b"\1\6\0"),
        (None, b"\1\2\0\2a" + bytes(17) + b"garbage"),
        (None, b"\1\2\7\2a" + bytes(17)),
        (None, b"\1\0\7" + bytes(40)),
    ]
    for option in FRAMED:
        assert len(same(records, option)) > len(records)


def test_keys_and_versions_of_coordinators(same):
    group = b"\0\2\0\5group"
    records = [
        (b"", b""),
        (b"\0", b"\0\0"),
        (b"\0\x09\0\1a", b"\0\0"),
        (b"\xff\xff", None),
        (b"\0\x63", b"any"),
        (group, b""),
        (group, b"\0"),
        (group, b"\0\5"),
        (group, b"\xff\xff"),
        (group + b" and more", None),
        (b"\0\2\xff\xff", None),
        (b"\0\2\x7f\xff", None),
        (b"\0\3\0\5group", b"\0\0\0\0\0\7" + b"\xff" * 5),
        (b"\0\3\0\5group", b"\0\0\0\0\0\7\1\1\xff\xff\xff\xff\x0f"),
    ]
    for option in COORDINATORS:
        same(records, option)


def test_a_missing_key_ends_the_dump(same, our_dump):
    same([(b"\0\2\0\1a", None), (None, b"\0\0"), (b"\0\2\0\1a", None)], "--offsets-decoder")


def test_the_first_of_several_decoders(same):
    records = [(b"\0\2\0\1a", b"\1\2\0\2a" + bytes(17))]
    every = [*COORDINATORS, *FRAMED]
    for n in range(len(every)):
        same(records, *every[n:])
        same(records, *reversed(every[n:]))


@pytest.mark.slow
def test_a_value_without_measure_is_not_decoded(our_dump, tmp_path):
    """Kilobytes of a compressed batch, two gigabytes of lists in Python."""
    value = b"\0\0" + bytes(6) + varint(20_000_000) + b"\1" * 60_000_000
    record = SimpleRecord(0, b"\0\x11\0\1g", value)
    file = tmp_path / f"{0:020d}.log"
    file.write_bytes(bytes(MemoryRecords.with_records(CompressionType.ZSTD, record, initial_offset=0).buffer))
    dump = our_dump("--files", str(file), "--offsets-decoder")
    assert b"Error at offset 0, skipping. a message of 600000" in dump.stdout and not dump.failed


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (1e-3, "0.001"), (9.999e-4, "9.999E-4"), (1e7, "1.0E7"),
        (9999999.0, "9999999.0"), (123456789.125, "1.23456789125E8"), (1.7976931348623e308, "1.7976931348623E308"),
        (5e-324, "4.9E-324"), (-120.0, "-120.0"), (float("nan"), "NaN"), (float("-inf"), "-Infinity"),
    ],
)  # fmt: skip
def test_doubles_as_java_writes_them(number, text):
    assert java_double(number) == text


def test_json_as_jackson_writes_it():
    value = {"a": [1, True, None, 2.5, float("inf"), 'ж"\\\n\x1f\x7f'], "b": {}, "c": []}
    assert java_json(value) == '{"a":[1,true,null,2.5,"Infinity","ж\\"\\\\\\n\\u001F\x7f"],"b":{},"c":[]}'


@pytest.mark.parametrize(
    ("text", "version", "possible", "has"),
    [
        ("none", 0, "0-4", False), ("2+", 2, "0-4", True), ("2+", 1, "0-4", False), ("2+", 9, "0-4", True),
        ("0+", -3, "0-4", True), ("1-1", 1, "0-4", True), ("1-1", 2, "0-4", False), ("0-4", 9, "0-4", True),
    ],
)  # fmt: skip
def test_versions(text, version, possible, has):
    assert Versions.parse(text).has(version, Versions.parse(possible)) is has


def test_every_table_says_what_its_messages_are():
    for name in make_message_tables.SOURCES:
        for schema in message_schemas(name).values():
            assert re.fullmatch(r"[A-Z]\w+", schema.name)
            assert schema.versions.lowest <= schema.versions.highest or schema.versions == Versions.parse("none")
