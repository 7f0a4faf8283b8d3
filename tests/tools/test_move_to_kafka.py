"""Where another version of Kafka is written down; what is made from that Kafka then, other tests hold."""

import ast
import json
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from minikafka.jvm import kafka_jars
from tests.tools.make_jar_digests import write_digests
from tests.tools.move_to_kafka import (
    GENERATED,
    ROOT,
    changed_answers,
    changed_sources,
    write_version,
)


def test_the_version_is_written_where_it_stands(tmp_path):
    file = Path(shutil.copy(kafka_jars.__file__, tmp_path))
    write_version(file, "4.9.8")
    assert file.read_text() == Path(kafka_jars.__file__).read_text().replace(kafka_jars.KAFKA_VERSION, "4.9.8")


@pytest.mark.slow
def test_the_version_stands_in_one_string_of_the_code():
    """Prose may name it (`make kafka` prints where), and so may what is asked of another version."""
    version, found = kafka_jars.KAFKA_VERSION, []
    for path in [*(ROOT / "minikafka").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        if "lessons" in path.parts or (version not in text and re.escape(version) not in text):
            continue
        tree = ast.parse(text)
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found += [
            str(path.relative_to(ROOT))
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and id(node) not in prose and version in str(node.value).replace("\\", "")
        ]
    assert found == ["minikafka/jvm/kafka_jars.py"]


def test_digests_are_those_of_the_jars(tmp_path):
    jars = [tmp_path / name for name in ("b-4.9.8.jar", "a-4.9.8-sources.jar")]
    for jar in jars:
        jar.write_text(jar.name)
    write_digests(tmp_path / "digests.json", jars, jars[:1])
    written = json.loads((tmp_path / "digests.json").read_text())
    digests = [(jar.name, sha256(jar.name.encode()).hexdigest()) for jar in reversed(jars)]
    assert list(written.pop("digests").items()) == digests and written == {"storage": [jars[0].name]}


def test_sources_that_differ_are_named(tmp_path):
    jars = []
    for version, files in (
        ("1", {"a/Same.java": "class", "b/Other.java": "old", "Gone.scala": "", "META-INF/x": "1"}),
        ("2", {"a/Same.java": "class", "b/Other.java": "new", "New.scala": "", "META-INF/x": "2"}),
    ):
        jars.append(tmp_path / f"{version}.jar")
        with ZipFile(jars[-1], "w") as archive:
            for name, words in files.items():
                archive.writestr(name, words)
    assert changed_sources(jars[:1], jars[1:]) == (3, ["Gone.scala", "New.scala", "b/Other.java"])


def test_the_order_of_keys_is_no_other_answer():
    before = {"cases": {"a": {"x": 1, "y": 2}, "b": [1, 2], "gone": 1}}
    now = {"cases": {"b": [2, 1], "a": {"y": 2, "x": 1}}}
    assert changed_answers(json.dumps(before), json.dumps(now)) == ["b", "gone"]


def test_each_step_is_a_module():
    assert all(map(find_spec, GENERATED))


@pytest.mark.slow
@pytest.mark.parametrize(("version", "told"), [("4.3", "'4.3' is no version"), ("", "'' is no version")])
def test_a_mistyped_version_changes_nothing(version, told):
    command = [sys.executable, "-m", "tests.tools.move_to_kafka", version]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 2 and told in ended.stderr
