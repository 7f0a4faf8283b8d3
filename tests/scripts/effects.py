"""Effect scripts: what is done to a log, and below each line what Apache Kafka showed after it.

A script is a text file of this folder:

    # A batch is refused because of its CRC; the log stays as it was.
    config segment.index.bytes=1200
    append_as_leader [1x10]
        = 0..0 epoch none max_timestamp 1700000000000 …
        log start 0, high watermark 0, last stable 0, log end 1, recovery point 0
        segments 0:78
        index none
        epochs 0:0
        producers none
    append_as_leader [1x10 damage=crc]
        ! CorruptRecordException
    files
        00000000000000000000.log 78 4d0b6c…
    kafka 4.… asked 5d41402abc4b

`#` begins a remark. The lines that are not indented are those of a workload (`minikafka.witness.log.workload`), and
these, which change files as a crash, a disk or a hand may; a file's number is written short (`0.log`):

    kill                    the process ends: what is open is let go of, nothing is closed
    cut 0.log 20            the last 20 bytes are lost
    flip 0.log 80           the lowest bit of byte 80 changes
    add 0.log 00ff          these bytes come to the end, in a file that there was not before, too
    zeros 0.log 40          so many zeros come to the end
    join 0.log 9.log        what the other file holds comes to the end, too
    write a.txt 0.log       the file has this text, `\\n` standing for the end of a line
    remove *.index          the files of that name go
    rename 0.log 0.log.swap the file gets another name

Below a line: `=` what it returned or `!` what it raised; then, where something is other than before, offsets (all upper
bounds exclusive), segments as base:size, offset index entries as offset:position, leader epochs as epoch:start and
producers as id:epoch:last sequence:last offset:last timestamp:coordinator's epoch:first offset of the transaction.
At the end stand the directory's files, with size and the first 12 digits of their SHA-256. The last line has Kafka's
version and the hash of what it was asked: a script that was changed since is refused until Kafka has been asked again.

Anybody can read them without Kafka, and minikafka replays them in a second (`test_scripts.py`). `make scripts` asks
Kafka anew.
"""

import hashlib
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.witness.log.operations import parse_operation
from minikafka.witness.log.run import Runner
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observation, show
from tests.kafka_answers import digest

HERE = Path(__file__).parent
SCRIPTS = sorted(path.stem for path in HERE.glob("*.txt"))
FILE_CHANGES = ("cut", "flip", "add", "zeros", "join", "write", "remove", "rename")
INDENT = "    "


class Script(NamedTuple):
    """The lines of a script without what was seen: remarks and settings at its head, then what is done."""

    head: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def workload(self) -> Workload:
        """The settings, with no operations."""
        return Workload.parse("\n".join(self.head))

    @property
    def asked(self) -> str:
        """The last line of the script's file: which Kafka was asked what. Remarks do not count."""
        questions = "\n".join(line for line in (*self.head, *self.lines) if not line.startswith("#"))
        return f"kafka {KAFKA_VERSION} asked {hashlib.sha256(questions.encode()).hexdigest()[:12]}"


def load(name: str) -> tuple[Script, str]:
    """A script, and its whole text."""
    text = (HERE / f"{name}.txt").read_text(encoding="utf-8")
    words = (line for line in text.splitlines() if line.strip() and not line.startswith(INDENT))
    lines = [line for line in words if line != "files" and not line.startswith("kafka ")]  # what only ends a script
    begun = next(i for i, line in enumerate(lines) if not line.startswith(("#", "config", "start", "isr")))
    return Script(tuple(lines[:begun]), tuple(lines[begun:])), text


class OneLog:
    """One log, minikafka's or Kafka's, to which a script is done."""

    def __init__(self, log_factory, directory: Path, workload: Workload):
        self.runner = Runner(log_factory, directory, workload)
        self.directory = directory
        self.kill = self.runner.let_go

    def observe(self, line: str) -> Observation:
        """Do an operation."""
        return self.runner.apply(parse_operation(line))

    def change(self, change) -> None:
        """Do `change(directory)`."""
        change(self.directory)


def play(script: Script, log) -> str:
    """Do what the script says to `log` (`OneLog`, or what has its methods); the script's text, with what was seen."""
    text, before = [*script.head], None
    for line in script.lines:
        text.append(line)
        word, *arguments = line.split(" ")
        if line.startswith("#"):
            continue
        if word == "kill":
            log.kill()
        elif word in FILE_CHANGES:
            log.change(lambda directory: change_file(directory, word, *arguments))
        else:
            observation = log.observe(line)
            text += [INDENT + said for said in seen(observation, before)]
            before = observation
    log.kill()
    text += ["files", *(INDENT + line for line in files(log.directory)), script.asked]
    return "\n".join(text) + "\n"


def seen(observation: Observation, before: Observation | None) -> list[str]:
    """The lines below an operation; those that say the same as before are left out."""
    said = f"! {observation.error}" if observation.error else observation.result and f"= {observation.result}"
    known = _state(before) if before else ()
    return [*filter(None, [said]), *(line for line in _state(observation) if line not in known)]


def _state(o: Observation) -> tuple[str, ...]:
    if o.log_end_offset is None:
        return ("not open",)
    return (
        f"log start {o.log_start_offset}, high watermark {o.high_watermark}, last stable {o.last_stable_offset}, "
        f"log end {o.log_end_offset}, recovery point {o.recovery_point}",
        f"segments {show(o.segments)}",
        f"index {show(o.index_entries)}",
        f"epochs {show(o.epochs)}",
        f"producers {show(o.producers)}",
    )


def files(directory: Path) -> list[str]:
    """Name, size and the beginning of the SHA-256 of each file."""
    contents = {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
    return [f"{name} {digest(data)}" for name, data in contents.items()]


def change_file(directory: Path, kind: str, name: str, *rest: str) -> None:
    """One of FILE_CHANGES."""
    if kind == "remove":
        for found in sorted(directory.glob(_full(name))):
            found.unlink()
        return
    path = directory / _full(name)
    if kind == "rename":
        path.rename(directory / _full(rest[0]))
        return
    data = bytearray(b"" if kind in ("add", "write") and not path.exists() else path.read_bytes())
    if kind == "cut":
        del data[len(data) - int(rest[0]) :]
    elif kind == "flip":
        data[int(rest[0])] ^= 1
    elif kind == "add":
        data += bytes.fromhex(rest[0])
    elif kind == "join":
        data += (directory / _full(rest[0])).read_bytes()
    elif kind == "zeros":
        data += bytes(int(rest[0]))
    else:
        data = " ".join(rest).replace("\\n", "\n").encode()
    path.write_bytes(data)


def _full(name: str) -> str:
    """`0.log` as `00000000000000000000.log`."""
    return re.sub(r"^\d+(?=\.)", lambda number: number[0].zfill(20), name)


def main() -> None:
    """Write all scripts anew, as Kafka does them."""
    from minikafka.jvm.kafka_jvm import KafkaJvm
    from minikafka.witness.kafka.kafka_log import kafka_log

    factory = kafka_log(KafkaJvm.start())
    for name in SCRIPTS:
        script, before = load(name)
        with tempfile.TemporaryDirectory() as home:
            text = play(script, OneLog(factory, Path(home) / "topic-0", script.workload))
        (HERE / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"{name}: {'as before' if text == before else 'written'}")


if __name__ == "__main__":
    main()
