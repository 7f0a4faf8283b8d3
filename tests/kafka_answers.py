"""What Kafka answered to the fixed questions of the tests, kept in files, so that most runs start no JVM.

A test asks by the fixture `kafka_says`, or does the same to two logs by `two_logs`. What Kafka answered lies in
`tests/kafka_said`, one file for each module of tests, one line for each test: the hash of its questions, and the
answers in their order, each behind the first digits of the hash of all questions up to it. A test whose questions have
changed is refused until Kafka has been asked again.

With `--ask-kafka` Kafka is asked as well, and its answers must be those in the files: `make test` does so. With
`--write-answers` Kafka is asked, and the files are written.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minikafka.jvm.kafka_jars import KAFKA_VERSION

SAID = Path(__file__).parent / "kafka_said"


def plain(value: Any) -> Any:
    """`value` as it comes back from a file: tuples are lists, bytes are hexadecimal, keys are texts."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return repr(value)
    raise TypeError(f"no answer for a file: {value!r}")


def _is_out_of_memory(*answers: Any) -> bool:
    """Whether one of them says that Java's heap had no room: how much it has is a matter of the tests before."""
    return any(isinstance(answer, str) and answer.startswith("OutOfMemoryError") for answer in answers)


def digest(content: bytes) -> str:
    """Size and SHA-256, in short, of a file's content: so a difference is seen, and the answer stays short."""
    return f"{len(content)} {hashlib.sha256(content).hexdigest()[:12]}"


class Answers:
    """Kafka's answers to the questions of one test, in the order in which they are asked.

    `asked` is True when Kafka itself is asked; `kafka` gives its JVM. `recorded` is what the file has, None for
    nothing; `writes` says that what Kafka answers now is to take its place.
    """

    def __init__(self, name: str, recorded: dict | None, asked: bool, writes: bool, kafka: Callable[[], Any]):
        self.name = name
        self.asked = asked
        self._recorded = None if writes else recorded
        self._kafka = kafka
        self._hash = hashlib.sha256()
        self._answers: list[list] = []

    @property
    def kafka(self):
        """The JVM with Kafka's classes; only for what is asked."""
        assert self.asked, "this test is answered from its file"
        return self._kafka()

    def __call__(self, ask: Callable[[Any], Any], *question: Any) -> Any:
        """What Kafka answers, as `plain` makes it: `ask(kafka)`, or what it answered when it was asked last."""
        self._hash.update(json.dumps(plain(question)).encode() + b"\n")
        until_here, number = self._hash.hexdigest()[:4], len(self._answers)
        before = self._recorded["answers"][number : number + 1] if self._recorded else []
        if self._recorded and (not before or before[0][0] != until_here):
            pytest.fail(f"{self.name} asks another question than Kafka was asked: {question!r}; run `make scripts`")
        if not self.asked:
            if not before:
                pytest.fail(f"{self.name}: Kafka was not asked yet; run `make scripts`")
            answer = before[0][1]
        else:
            answer = json.loads(json.dumps(plain(ask(self.kafka))))
            if before and answer != before[0][1] and not _is_out_of_memory(answer, before[0][1]):
                pytest.fail(f"{self.name}: Kafka answers {answer}, and in the file stands {before[0][1]}")
        self._answers.append([until_here, answer])
        return answer

    def now(self, before: dict, ask: Callable[[Any], dict], *question: Any) -> dict:
        """As `__call__`, of something that is asked again and again: in the file stands what changed since `before`."""

        def changes(kafka):
            after = plain(ask(kafka))
            gone = dict.fromkeys(sorted(before.keys() - after.keys()))  # as each run writes them
            return gone | {name: value for name, value in after.items() if before.get(name) != value}

        changed = self(changes, *question)
        return {name: value for name, value in {**before, **changed}.items() if value is not None}

    def close(self) -> dict | None:
        """What belongs into the file, None when nothing was asked. Fails when the file has more answers than that."""
        if self._recorded and len(self._recorded["answers"]) != len(self._answers):
            pytest.fail(f"{self.name} no longer asks all that Kafka was asked; run `make scripts`")
        return {"questions": self._hash.hexdigest(), "answers": self._answers} if self._answers else None


def _file_of(module: Path) -> Path:
    """Where the answers for a module of tests are."""
    return SAID / module.relative_to(SAID.parent).with_suffix(".json")


class AnswerFiles:
    """All files of answers, and whether the tests ask Kafka itself. `chosen`: some tests of a module may not be run."""

    def __init__(self, asked: bool, writes: bool, chosen: bool = False):
        self.asked = asked or writes
        self.writes = writes
        self._chosen = chosen
        self._read: dict[Path, dict] = {}
        self._written: dict[Path, dict] = {}

    def answers_of(self, module: Path, case: str, kafka: Callable[[], Any]) -> Answers:
        """The answers for `case` of a module of tests."""
        path = _file_of(module)
        if path not in self._read:
            self._read[path] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"cases": {}}
        stored = self._read[path]
        if stored.get("kafka", KAFKA_VERSION) != KAFKA_VERSION and not self.writes:
            pytest.fail(f"{path.name} has the answers of Kafka {stored['kafka']}; run `make scripts`")
        name = f"{module.stem}::{case}"
        return Answers(name, stored["cases"].get(case), self.asked, self.writes, kafka)

    def keep(self, module: Path, case: str, answers: dict | None) -> None:
        """Take the answers for `case` into the file that `write` writes."""
        if answers is not None:
            self._written.setdefault(_file_of(module), {})[case] = answers

    def write(self) -> None:
        """Write the file of each module whose tests have been run.

        Of `chosen` tests the others' answers stay; else what nobody asks any more goes.
        """
        for path, written in self._written.items():
            cases = {**self._read[path]["cases"], **written} if self._chosen else written
            stored = {case: json.dumps(cases[case], separators=(",", ":")) for case in sorted(cases)}
            lines = ",\n".join(f"{json.dumps(case)}: {answers}" for case, answers in stored.items())
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'{{"kafka": "{KAFKA_VERSION}", "cases": {{\n{lines}\n}}}}\n', encoding="utf-8")
