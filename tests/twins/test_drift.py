"""What a later version of Kafka has changed in what is mirrored, found in small versions made for it."""

import json
import os
import subprocess
import sys
import zipfile
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path

import pytest

from minikafka.jvm import jar_digests
from minikafka.jvm import source_jars as source_jars_module
from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.jvm.source_jars import SourcesUnavailableError, source_jars
from minikafka.twins.drift import compare
from minikafka.twins.kafka_sources import KafkaSources
from minikafka.twins.our_members import members_of

OURS = list(
    members_of(
        '''
class Log:
    """Kafka: `UnifiedLog`."""

    def append(self): """Kafka: `UnifiedLog.append`."""

    def read(self): """Kafka: `UnifiedLog.read`."""

    def roll(self): """Kafka: `UnifiedLog.roll`."""

    def flush(self): """Kafka: `UnifiedLog.flush`."""

def moved(): """Kafka: `LogFileUtils.name`."""

def point(): """Kafka: `Point`."""

def turned(): """Kafka: `Partition.makeLeader`."""
''',
        "minikafka.log.log",
    )
)
LOG = "org/apache/kafka/storage/internals/log/UnifiedLog.java"
UTILS = "org/apache/kafka/storage/internals/log/LogFileUtils.java"
PACKAGE = "package org.apache.kafka.storage.internals.log;\n"
OLD = {
    LOG: PACKAGE
    + """public class UnifiedLog {
    // The old words.
    public int append(int a) { return a + 1; }
    public int read(int a) { return a; }
    public int roll(int a) { return 2 * a; }
    public void flush() { run(3); }
    private int helper() { return 9; }
    UnifiedLog(int a) { this.start = a; }
    static final int SIZE = 1024;
    static { register(1); }
    enum Kind { OPEN, CLOSED; int bits() { return 2; } }
}""",
    UTILS: PACKAGE
    + "public class LogFileUtils { public static String name() { return padded(7); } int other; int WIDTH = 20;"
    + "static String padded(int a) { return a + WIDTH; } static { register(2); } }",
    "org/apache/kafka/storage/internals/log/Point.java": PACKAGE + "public class Point { int x, y, z; void far() {} }",
    "kafka/cluster/Partition.scala": "package kafka.cluster\nclass Partition { def makeLeader(a: Int): Int = a }",
}


def sources(version: str, files: dict[str, str], directory: Path) -> KafkaSources:
    """A version of Kafka made of these files, in the cache below `directory`."""
    jar = directory / "sources" / version / f"kafka-storage-{version}-sources.jar"
    jar.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return KafkaSources(version, [jar])


def drifts(files: dict[str, str | None], tmp_path: Path) -> list[str]:
    """What differs when these files of the old version are replaced (or removed, for None)."""
    old = sources("1.0.0", OLD, tmp_path)
    new = sources("1.0.1", {name: text for name, text in {**OLD, **files}.items() if text is not None}, tmp_path)
    found = compare(old, new, OURS).drifts
    return [f"{each.what} {each.name} {each.now}".strip() for each in found]


def edited(file: str, change: str, to: str) -> dict[str, str]:
    assert change in OLD[file]
    return {file: OLD[file].replace(change, to)}


@pytest.mark.parametrize(
    ("change", "to", "told"),
    [
        ("// The old words.", "/* Others,\n on two lines. */", []),
        ("{ return a + 1; }", "{\n        return a\n            + 1;\n    }", []),
        ("return a + 1", "return a + 2", ["changed UnifiedLog.append(int)"]),
        ("read(int a)", "read(long a)", ["changed UnifiedLog.read(int) UnifiedLog.read(long)"]),
        ("public int roll(", "public int rollOver(", ["renamed UnifiedLog.roll(int) UnifiedLog.rollOver(int)"]),
        ("    public void flush() { run(3); }\n", "", ["removed UnifiedLog.flush()"]),
        ("{\n", "{\n    public void fsync() {}\n", ["new UnifiedLog.fsync()"]),
        ("return 9", "return 10", ["changed UnifiedLog.helper()"]),
        ("this.start = a", "this.start = a + 1", ["changed UnifiedLog.UnifiedLog(int)"]),
        (
            "UnifiedLog(int a) {",
            "UnifiedLog(long a) {",
            ["changed UnifiedLog.UnifiedLog(int) UnifiedLog.UnifiedLog(long)"],
        ),
        ("1024", "2048", ["changed UnifiedLog.SIZE"]),
        ("static final int SIZE = 1024;", "", ["removed UnifiedLog.SIZE"]),
        ("static final", "static int more; static final", ["new UnifiedLog.more"]),
        ("public class UnifiedLog {", "public class UnifiedLog extends Log {", ["changed UnifiedLog"]),
        ("public class", "@Deprecated public class", ["changed UnifiedLog"]),
        ("register(1)", "register(2)", ["changed UnifiedLog"]),
        ("return 2; }", "return 3; }", ["changed UnifiedLog.Kind.bits()"]),
        ("OPEN, CLOSED", "OPEN, TORN, CLOSED", ["new UnifiedLog.Kind.TORN"]),
        ("enum Kind", "record Other() {}\n    enum Kind", ["new UnifiedLog.Other"]),
        ("int read(int a)", "int read() { return 1; } public int read(int a)", ["new UnifiedLog.read()"]),
    ],
)
def test_a_class_that_is_mirrored_as_a_whole(change, to, told, tmp_path):
    assert drifts(edited(LOG, change, to), tmp_path) == told


@pytest.mark.parametrize(
    ("change", "to", "told"),
    [
        ("padded(7)", "padded(8)", ["changed LogFileUtils.name()"]),
        ("a + WIDTH", "a - WIDTH", ["changed LogFileUtils.padded(int)"]),
        ("20", "21", ["changed LogFileUtils.WIDTH"]),
        ("int other;", "int other = 3;", []),  # nothing that is mirrored uses it
        ("register(2)", "register(3)", []),
    ],
)
def test_a_class_of_which_only_a_member_is_mirrored(change, to, told, tmp_path):
    assert drifts(edited(UTILS, change, to), tmp_path) == told


def test_classes(tmp_path):
    directory = "org/apache/kafka/storage/internals/log"
    utils = OLD[UTILS]
    told = drifts(
        {
            UTILS: None,
            "org/apache/kafka/server/LogFileUtils.java": utils.replace("storage.internals.log", "server"),
            f"{directory}/Point.java": None,
            f"{directory}/Place.java": OLD[f"{directory}/Point.java"].replace("Point", "Place"),
            "kafka/cluster/Partition.scala": None,
            "org/apache/kafka/Partition.java": "package org.apache.kafka; class Partition { int makeLeader() {} }",
        },
        tmp_path,
    )
    assert told == [
        "moved LogFileUtils storage/src/main/java/org/apache/kafka/server/LogFileUtils.java",
        "rewritten Partition storage/src/main/java/org/apache/kafka/Partition.java",
        "renamed Point org.apache.kafka.storage.internals.log.Place",
    ]


def test_a_class_that_is_gone(tmp_path):
    assert drifts({LOG: None}, tmp_path) == ["removed UnifiedLog"]


def run(*arguments: str, cache: Path, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "MINIKAFKA_CACHE": str(cache)}
    command = [sys.executable, "-m", "minikafka", "drift", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, **options)


@pytest.fixture
def cache(tmp_path):
    """Three versions: two that are the same, one with another `append`, and one whose jar is broken."""
    name = "public LogAppendInfo appendAsLeader() { return null; }"
    log = {LOG: PACKAGE + "public class UnifiedLog { " + name + " }"}
    sources("1.0.0", log, tmp_path)
    sources("1.0.1", log, tmp_path)
    sources("1.1.0", {LOG: log[LOG].replace("null", "info")}, tmp_path)
    sources("1.2.0", log, tmp_path)
    broken = tmp_path / "sources" / "1.2.0" / "kafka-storage-1.2.0-sources.jar"
    broken.write_bytes(broken.read_bytes()[:40])
    return tmp_path


@pytest.mark.slow
def test_the_command(cache):
    same = run("--since", "1.0.0", "--kafka", "1.0.1", cache=cache)
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout == ("Kafka 1.0.0 → 1.0.1: no difference in 1 classes and 1 members that minikafka mirrors\n")
    changed = run("--since", "1.0.0", "--kafka", "1.1.0", "--json", cache=cache)
    assert (changed.returncode, changed.stderr) == (1, "")
    (drift,) = json.loads(changed.stdout)["drifts"]
    assert (drift["what"], drift["name"]) == ("changed", "UnifiedLog.appendAsLeader()")
    assert drift["mirrored_by"] == ["minikafka.log.log.Log.append_as_leader"]
    told = run("--since", "1.0.0", "--kafka", "1.1.0", cache=cache).stdout.splitlines()
    assert told[0].startswith("changed   UnifiedLog.appendAsLeader()") and "1 changed in 1 classes" in told[-1]


@pytest.mark.in_parts(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kafka", "4.x"], "'4.x' is no version of Kafka"),
        (["--kafka", "../../etc"], "'../../etc' is no version of Kafka"),
        (["--since", "1.0.0", "--kafka", "1.2.0"], "kafka-storage-1.2.0-sources.jar is broken"),
        ([], "Missing option '--kafka'"),
    ],
)
def test_bad_input_is_told_in_one_line(arguments, told, cache):
    ended = run(*arguments, cache=cache)
    assert ended.returncode == 2 and ended.stdout == ""
    assert told in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_closed_and_full_output(cache):
    arguments = ("--since", "1.0.0", "--kafka", "1.1.0")
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "MINIKAFKA_CACHE": str(cache)}
        command = [sys.executable, "-m", "minikafka", "drift", *arguments]
        ended = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (2, "IOException: No space left on device: standard output\n")
    closed = run(*arguments, cache=cache, preexec_fn=lambda: os.close(1))
    assert closed.returncode == 2 and len(closed.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.kafka
def test_without_a_network_or_without_such_a_version(tmp_path, monkeypatch):
    """A JVM that asks a proxy where nobody listens."""
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9")
    with pytest.raises(SourcesUnavailableError, match=r"4\.9\.9 are not in the cache .*Connection refused"):
        source_jars("4.9.9")
    assert not (tmp_path / "sources").exists() or list((tmp_path / "sources").iterdir()) == []


def test_a_jar_that_is_not_the_published_one(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    sources(KAFKA_VERSION, OLD, tmp_path)
    monkeypatch.setattr(source_jars_module, "_fetch", lambda version, into: None)
    with pytest.raises(
        SourcesUnavailableError, match=f"is not the jar that Apache Kafka {KAFKA_VERSION} was published with"
    ):
        source_jars(KAFKA_VERSION)


def test_a_wrong_jar_that_was_removed_is_fetched_and_not_taken_from_what_ivy_keeps(tmp_path, monkeypatch):
    """What the registry gives is another jar at first, and then the right one."""
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    monkeypatch.setattr(source_jars_module, "jvm_with_ivy", nullcontext)
    names = [source_jars_module._name(each, KAFKA_VERSION) for each in source_jars_module.ARTIFACTS]
    digests = {name: sha256(name.encode()).hexdigest() for name in names}
    monkeypatch.setattr(jar_digests, "pinned_digests", lambda: digests)
    given = []

    def ask_ivy(_jvm, version, ivy_dir=tmp_path / "ivy-sources"):
        given.append("wrong" if not given else "")
        ivy_dir.mkdir(exist_ok=True)
        for name in names:
            if not (ivy_dir / name).exists():
                (ivy_dir / name).write_text(name + given[-1])
        return {name.removesuffix(f"-{version}-sources.jar"): str(ivy_dir / name) for name in names}, ""

    monkeypatch.setattr(source_jars_module, "_ask_ivy", ask_ivy)
    with pytest.raises(SourcesUnavailableError, match="remove it to fetch it again"):
        source_jars(KAFKA_VERSION)
    (tmp_path / "sources" / KAFKA_VERSION / names[0]).unlink()
    assert sorted(jar.name for jar in source_jars(KAFKA_VERSION)) == sorted(names)
    assert [path.name for path in tmp_path.iterdir()] == ["sources"]
