"""The links beside the source: each leads to the line on which Kafka declares the method."""

import json
import os
import re
import struct
import zipfile
from pathlib import Path

import pytest

import minikafka
from minikafka.jvm.kafka_jars import KAFKA_VERSION, KafkaJarsUnavailableError, kafka_classpath
from minikafka.lab.stepper.kafka_lines import _TABLE, kafka_line, kafka_link, lines_of, read_jars
from tests.absent import absent

ROOMS = Path(minikafka.__file__).parent
WALKED = {
    "UnifiedLog",
    "LocalLog",
    "LogSegment",
    "LogSegments",
    "LogLoader",
    "LogOffsetMetadata",
    "OffsetIndex",
    "TimeIndex",
}


def test_a_link_names_tag_file_and_line():
    assert kafka_link("UnifiedLog.append") == (
        f"https://github.com/apache/kafka/blob/{KAFKA_VERSION}/storage/src/main/java/org/apache/kafka/storage/internals/log/UnifiedLog.java"
        f"#L{kafka_line('UnifiedLog.append')[1]}"
    )
    assert kafka_link("UnifiedLog.noSuchMethod") == "" and kafka_line("NoSuchClass.method") is None


def test_declarations_are_told_from_calls():
    java = """public class A {
    public void run(int x) {
        run(x, 1);
        return other(
            x);
    }

    private static <T> Optional<T> other(
        T x) {
        new Thread(() -> run(1)) {
            public void inner() {
    }

    static class B {
        boolean packagePrivate(int x) {
            other(x) {
        else if (x) {
        return wrong(x) {
}"""
    assert lines_of(java, scala=False) == {"run": [2], "other": [8], "inner": [11], "packagePrivate": [15]}
    assert lines_of("class A {\n  private[log] def run(x: Int): Int = {\n    other(x)\n", scala=True) == {"run": [2]}


def test_every_method_with_numbered_steps_has_its_link():
    """The steps are what lessons walk: each such method's docstring names a Kafka method that the table knows."""
    missing = []
    for module in ("log", "local_log", "log_segment", "log_loader"):
        source = (ROOMS / "log" / f"{module}.py").read_text()
        for method in re.split(r"\n    def ", source)[1:]:
            named = re.search(r"Kafka:\s*`?([A-Z]\w*\.\w+)", method)
            if re.search(r"^\s+# 2\. ", method, re.MULTILINE) and named and kafka_line(named.group(1)) is None:
                missing.append(named.group(1))
    assert missing == []


@pytest.mark.kafka
def test_the_lines_are_those_in_kafkas_class_files(kafka_classes):
    """A class file tells on which line a method's code begins: the last declaration above it must have its name."""
    table, compared = json.loads(_TABLE.read_text()), 0
    for name, entry in table.items():
        if not entry["file"].endswith(".java") or name not in kafka_classes:
            continue
        declared = sorted((line, method) for method, lines in entry["methods"].items() for line in lines)
        for method, first_line in methods_of(kafka_classes[name]):
            if method.startswith(("<", "lambda$", "access$")) or method not in entry["methods"]:
                continue
            above = [m for line, m in declared if line <= first_line]
            if name in WALKED:
                assert above and above[-1] == method, f"{name}.{method} begins at line {first_line}"
            compared += bool(above) and above[-1] == method
    assert compared > 600


if directory := os.environ.get("MINIKAFKA_KAFKA_SOURCES"):
    # Whoever has Kafka's -sources.jar files names their directory; the class files above tell the same lines.
    def test_the_table_is_what_kafkas_sources_say():
        jars = sorted(Path(directory).glob("kafka*-sources.jar"))
        assert json.loads(_TABLE.read_text()) == read_jars(jars)


@pytest.fixture(scope="module")
def kafka_classes():
    """The class files of Kafka's jars by simple name."""
    try:
        jars = kafka_classpath()
    except KafkaJarsUnavailableError as unavailable:
        absent(str(unavailable))
    found = {}
    for jar in jars:
        if not re.search(r"/(org\.apache\.kafka_)?kafka-(storage|clients|server|server-common)-\d[\d.]*\.jar$", jar):
            continue
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".class") and "$" not in name and ("/internals/" in name or "/internal/" in name):
                    found[Path(name).stem] = archive.read(name)
    return found


def methods_of(data):
    """(name, first line) of each method in a class file that says it. The format: JVM specification, chapter 4."""
    at, words, number = 10, {}, 1
    while number < struct.unpack_from(">H", data, 8)[0]:
        tag = data[at]
        if tag == 1:
            size = struct.unpack_from(">H", data, at + 1)[0]
            words[number] = data[at + 3 : at + 3 + size].decode("utf-8", "replace")
        at += 3 + size if tag == 1 else {7: 3, 8: 3, 16: 3, 19: 3, 20: 3, 15: 4, 5: 9, 6: 9}.get(tag, 5)
        number += 2 if tag in (5, 6) else 1
    at += 6
    at += 2 + 2 * struct.unpack_from(">H", data, at)[0]
    found = []
    for kind in ("field", "method"):
        count = struct.unpack_from(">H", data, at)[0]
        at += 2
        for _ in range(count):
            flags, name_index = struct.unpack_from(">HH", data, at)
            name, made_by_the_compiler = words[name_index], flags & 0x1040
            attributes, at = _attributes(data, at + 6, words)
            if kind == "method" and "Code" in attributes and not made_by_the_compiler:
                code = attributes["Code"]
                after = code + 8 + struct.unpack_from(">I", data, code + 4)[0]
                after += 2 + 8 * struct.unpack_from(">H", data, after)[0]
                lines, _ = _attributes(data, after, words)
                if "LineNumberTable" in lines:
                    begin = lines["LineNumberTable"]
                    numbers = struct.unpack_from(f">{2 * struct.unpack_from('>H', data, begin)[0]}H", data, begin + 2)
                    found.append((name, min(numbers[1::2])))
    return found


def _attributes(data, at, words):
    """Attribute name → where its content begins, and where the attributes end."""
    found, count = {}, struct.unpack_from(">H", data, at)[0]
    at += 2
    for _ in range(count):
        name, size = struct.unpack_from(">HI", data, at)
        found[words[name]] = at + 6
        at += 6 + size
    return found, at
